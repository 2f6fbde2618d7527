import type { EncodeContext, Dialect, UpstreamDialectId } from '../../../src/translate/dialect.ts'
import { describe, expect, test } from 'vitest'
import { createSseDecoder } from '../../../src/sse/decode.ts'
import { dialects } from '../../../src/translate/dialects.ts'
import type { ModelTraits } from '../../../src/translate/model-traits.ts'
import { openOpaque } from '../../../src/translate/engine/opaque-envelope.ts'
import { formatWarning } from '../../../src/translate/warning.ts'
import { encodeContext, remembered, replySeed, traits, translateForResponses } from '../turns.ts'
import { readStream, toStream } from './fixture-streams.ts'
import type { Json } from './fixture-streams.ts'
import { bytes } from '../fixture-folder.ts'

// Reasoning that one upstream encrypted is an error at any other: it goes back to its maker or nowhere.

const codex = traits('gpt-6-sol', { provider: 'codex', vendor: 'OpenAI' })
const copilot = traits('gpt-6-sol', { provider: 'copilot', vendor: 'Azure OpenAI' })

const contexts: Readonly<Record<'codex' | 'key' | 'copilot', EncodeContext>> = {
  codex: encodeContext(codex, { profile: 'chatgpt' }),
  key: encodeContext(codex),
  copilot: encodeContext(copilot),
}

type Caller = UpstreamDialectId

const request: Readonly<Record<Caller, object>> = {
  chat: { messages: [{ role: 'user', content: 'go' }] },
  messages: { max_tokens: 9, thinking: { type: 'adaptive' }, messages: [{ role: 'user', content: 'go' }] },
  responses: { input: [{ role: 'user', content: 'go' }] },
}

/** The body a caller of the dialect gets of a reply of the model. */
function reply(caller: Caller, model: ModelTraits, wire: string): Json {
  const dialect: Dialect = dialects[caller]
  const asked = dialect.decodeRequest(JSON.stringify({ model: 'm', ...request[caller] }))
  const { reader } = translateForResponses(dialect, asked, encodeContext(model))
  const fold = reader.createFold(replySeed(model, { notes: reader.notes }))
  const decoder = createSseDecoder()
  for (const event of [...decoder.push(bytes(wire)), ...decoder.end()]) fold.push(event)
  return fold.end()
}

/** The next request of the same caller, with what it got. */
function goOn(caller: Caller, got: Json, context: EncodeContext) {
  const next: Readonly<Record<Caller, () => object>> = {
    chat: () => ({
      messages: [...Object(request.chat).messages, got.choices[0].message, { role: 'user', content: 'on' }],
    }),
    messages: () => ({
      max_tokens: 9,
      messages: [
        ...Object(request.messages).messages,
        { role: 'assistant', content: got.content },
        { role: 'user', content: 'on' },
      ],
    }),
    responses: () => ({ input: [...Object(request.responses).input, ...got.output, { role: 'user', content: 'on' }] }),
  }
  const dialect: Dialect = dialects[caller]
  const asked = dialect.decodeRequest(JSON.stringify({ model: 'm', ...next[caller]() }))
  const { request: sent } = translateForResponses(dialect, asked, context)
  const { input }: Json = JSON.parse(sent.body.toString())
  return {
    reasoning: input.filter(({ type }: Json) => type === 'reasoning'),
    warnings: sent.warnings.map(formatWarning).filter((warning) => warning.startsWith('thinking_dropped')),
  }
}

const wire = readStream('codex-empty-output')

describe.each(['chat', 'messages'] as const)('a %s caller', (caller) => {
  test.each([
    ['codex', codex, 1],
    ['key', codex, 1],
    ['copilot', codex, 0],
    ['copilot', copilot, 1],
    ['codex', copilot, 0],
  ] as const)('that goes on with %s from %o', (to, from, kept) => {
    const { reasoning, warnings } = goOn(caller, reply(caller, from, wire), contexts[to])
    expect(reasoning).toEqual(kept === 0 ? [] : [{ type: 'reasoning', summary: [], encrypted_content: 'gAAAA-final' }])
    expect(warnings).toEqual(kept === 0 ? [expect.stringMatching(/^thinking_dropped;messages\.1/)] : [])
  })
})

/** Under an id of upstream's own, so that nothing but an envelope tells whose it is. */
const named = (type: string) =>
  toStream([
    {
      type: 'response.output_item.added',
      output_index: 0,
      item: { id: 'rs_1', type, encrypted_content: 'gAAAA-early' },
    },
    {
      type: 'response.output_item.done',
      output_index: 0,
      item: { id: 'rs_1', type, encrypted_content: 'gAAAA-final' },
    },
    {
      type: 'response.completed',
      response: {
        id: 'resp_1',
        object: 'response',
        status: 'completed',
        model: 'gpt-6-sol',
        output: [{ id: 'rs_1', type, encrypted_content: 'gAAAA-late' }],
      },
    },
  ])

/** Every `encrypted_content` of a reply: in its events, in its body, and in what is stored of it. */
function everyCiphertext(model: ModelTraits, text: string) {
  const asked = dialects.responses.decodeRequest(JSON.stringify({ model: 'm', ...request.responses }))
  const { reader } = translateForResponses(dialects.responses, asked, encodeContext(model))
  const stream = reader.createStream(replySeed(model, { notes: reader.notes }))
  const decoder = createSseDecoder()
  let emitted = ''
  for (const event of [...decoder.push(bytes(text)), ...decoder.end()]) emitted += stream.push(event)
  const stored = JSON.stringify(remembered(stream).record?.response)
  const body = JSON.stringify(reply('responses', model, text))
  return [emitted, stored, body].map((each) => [...each.matchAll(/"encrypted_content":"([^"]+)"/g)].map(([, it]) => it))
}

describe('a responses caller', () => {
  /** As Copilot sends it: with an id too long to be kept, or none. */
  const nameless = toStream([
    {
      type: 'response.output_item.done',
      output_index: 0,
      item: { id: 'x'.repeat(300), type: 'reasoning', summary: [], encrypted_content: 'gAAAA-final' },
    },
    {
      type: 'response.completed',
      response: { id: 'resp_1', object: 'response', status: 'completed', model: 'gpt-6-sol', output: [] },
    },
  ])

  test.each([
    ['codex', copilot, 0],
    ['copilot', codex, 0],
    ['codex', codex, 1],
    ['copilot', copilot, 1],
  ] as const)('gets an id that tells who made the reasoning: %s after %o', (to, from, kept) => {
    const { reasoning, warnings } = goOn('responses', reply('responses', from, nameless), contexts[to])
    expect(reasoning).toHaveLength(kept)
    expect(warnings).toEqual(kept === 0 ? ['thinking_dropped;input.1'] : [])
  })

  const bare = { output: [{ id: 'rs_1', type: 'reasoning', summary: [], encrypted_content: 'gAAAA-final' }] }

  test.each([
    ['copilot', 0],
    ['codex', 1],
    ['key', 1],
  ] as const)('may go on with %s after Codex: what Codex encrypted is sent to Codex alone', (to, kept) => {
    const got = reply('responses', codex, named('reasoning'))
    const { reasoning, warnings } = goOn('responses', got, contexts[to])
    expect(reasoning.map((item: Json) => item.encrypted_content)).toEqual(kept === 0 ? [] : ['gAAAA-final'])
    expect(warnings).toEqual(kept === 0 ? ['thinking_dropped;input.1'] : [])
  })

  test('goes back to OpenAI under the id that the ciphertext is bound to, or under none', () => {
    const got = reply('responses', codex, named('reasoning'))
    expect(goOn('responses', got, contexts.key).reasoning).toMatchObject([{ id: 'rs_1' }])
    expect(goOn('responses', got, contexts.codex).reasoning).toEqual([
      { type: 'reasoning', summary: [], encrypted_content: 'gAAAA-final' },
    ])
    const moved = { output: [{ ...got.output[0], id: 'rs_2' }] }
    expect(goOn('responses', moved, contexts.key).reasoning).toEqual([
      { type: 'reasoning', summary: [], encrypted_content: 'gAAAA-final' },
    ])
  })

  test.each(['codex', 'copilot', 'key'] as const)('may have reasoning that nothing tells of: %s decides', (to) => {
    const { reasoning, warnings } = goOn('responses', bare, contexts[to])
    expect(reasoning.map((item: Json) => item.encrypted_content)).toEqual(['gAAAA-final'])
    expect(warnings).toEqual([])
  })

  test.each(['reasoning', 'compaction'])('gets %s of Codex in one envelope, wherever it stands', (type) => {
    const [emitted, stored, body] = everyCiphertext(codex, named(type))
    const values = emitted?.map((text) => openOpaque(text ?? ''))
    const common = { vendor: 'openai', provider: 'codex', family: 'gpt-6', form: 'encrypted_content', id: 'rs_1' }
    expect(values).toEqual([
      { ...common, value: 'gAAAA-early' },
      { ...common, value: 'gAAAA-final' },
      { ...common, value: 'gAAAA-final' },
    ])
    expect(stored).toEqual(emitted?.slice(-1))
    expect(body).toEqual(stored)
  })

  test('gets ciphertext that only the final event has in an envelope too', () => {
    const late = named('reasoning').split('\n\n').slice(2).join('\n\n')
    for (const found of everyCiphertext(codex, late)) {
      expect(found.length).toBeGreaterThan(0)
      expect(new Set(found.map((text) => openOpaque(text ?? '')?.value))).toEqual(new Set(['gAAAA-late']))
    }
  })

  test('gets what Copilot encrypted as it came', () => {
    const [emitted] = everyCiphertext(copilot, named('reasoning'))
    expect(emitted).toEqual(['gAAAA-early', 'gAAAA-final', 'gAAAA-final'])
  })

  test.each([
    ['copilot', []],
    ['codex', ['gAAAA-final']],
  ] as const)('that compacted with Codex goes on with %s', (to, kept) => {
    const got = reply('responses', codex, named('compaction'))
    const asked = dialects.responses.decodeRequest(
      JSON.stringify({ model: 'm', input: [...got.output, { role: 'user', content: 'on' }] }),
    )
    const { request: sent } = translateForResponses(dialects.responses, asked, contexts[to])
    const { input }: Json = JSON.parse(sent.body.toString())
    expect(input.flatMap((item: Json) => item.encrypted_content ?? [])).toEqual(kept)
    expect(sent.warnings.map(formatWarning)).toEqual(kept.length === 0 ? ['compaction_dropped;input.0'] : [])
  })

  test('whose request is translated gets the same', () => {
    const got = reply('responses', copilot, nameless)
    const context = { ...contexts.codex, learnedRefusals: new Set(['custom_tools']) }
    const custom = { type: 'custom_tool_call', call_id: 'c1', name: 'patch', input: 'x' }
    const { reasoning, warnings } = goOn('responses', { output: [...got.output, custom] }, context)
    expect(reasoning).toEqual([])
    expect(warnings).toEqual(['thinking_dropped;input.1'])
  })
})
