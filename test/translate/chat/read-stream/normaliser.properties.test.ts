import { chatDialect } from '../../../../src/translate/chat/dialect.ts'
import { fc } from '../../../fast-check.ts'
import { some } from '../../some-keys.ts'
import { times } from '../../../thorough.ts'
import OpenAI from 'openai'
import { describe, expect, test } from 'vitest'
import { Fault } from '../../../../src/errors.ts'
import { dataEvent, dataOf, fold, readStream, seedOf, stream, streamNames } from '../fixture-streams.ts'
import { type Answer, answers, generatedUsage, quirks, type Quirks, toWire } from '../generated-streams.ts'
import { bytes } from '../../fixture-folder.ts'

interface Chunk {
  id: unknown
  object: unknown
  created: unknown
  model: unknown
  usage?: unknown
  choices: {
    index: unknown
    finish_reason: unknown
    delta: { role?: unknown; content?: unknown; tool_calls?: ToolCall[] }
  }[]
}

interface ToolCall {
  index: number
  id?: string
  type?: string
  function?: { name?: string; arguments?: string }
}

/** Thousands of runs, for a machine that has other work. Ms. */
const patient = { timeout: 60_000 }

describe('any cut of the bytes', patient, () => {
  const wires = streamNames.map((name) => bytes(readStream(name)))

  test('gives the same reply', () => {
    fc.assert(
      fc.property(fc.constantFrom(...wires), fc.array(fc.nat(), { maxLength: 12 }), (wire, cuts) => {
        const at = cuts.map((cut) => cut % (wire.length + 1)).toSorted((a, b) => a - b)
        const chunks = [0, ...at].map((start, i) => wire.subarray(start, at[i] ?? wire.length))
        expect(stream(chunks)).toEqual(stream([wire]))
        expect(fold(chunks)).toEqual(fold([wire]))
      }),
      { numRuns: 1000 },
    )
  })

  test.each(streamNames)('of %s into single bytes gives the same reply', (name) => {
    const wire = bytes(readStream(name))
    expect(stream(Array.from(wire, (byte) => Uint8Array.of(byte)))).toEqual(stream([wire]))
  })
})

describe('whatever the quirks of upstream', patient, () => {
  const generated = fc.tuple(answers, quirks)

  test('the stream keeps to the grammar clients read', () => {
    fc.assert(
      fc.property(generated, fc.boolean(), ([answer, quirk], usage) => {
        const { text, fault } = stream([bytes(toWire(answer, quirk))], seedOf({ usage }))
        expect(fault).toBeUndefined()
        const data = dataOf(text)
        expect(data.at(-1)).toBe('[DONE]')
        expectGrammar(data.slice(0, -1).map(parseChunk), usage && quirk.usage !== 'none')
      }),
      { numRuns: 1500 },
    )
  })

  test('the body contains what upstream sent', () => {
    fc.assert(
      fc.property(generated, ([answer, quirk]) => {
        const { body, fault } = fold([bytes(toWire(answer, quirk))])
        expect(fault).toBeUndefined()
        expect(body).toMatchObject(bodyOf(answer, quirk))
      }),
      { numRuns: 1500 },
    )
  })

  test("openai's own helper makes the same body of the stream", async () => {
    await fc.assert(
      fc.asyncProperty(generated, async ([answer, quirk]) => {
        const wire = [bytes(toWire(answer, quirk))]
        const theirs = await readByOpenAi(stream(wire).text)
        const { body } = fold(wire)
        expect(comparable(body)).toEqual(comparable(theirs))
      }),
      { numRuns: 300 },
    )
  })

  // Of parts that are not text the helper makes "[object Object]".
  const readable = streamNames.filter((name) => name !== 'content-parts')

  test.each(readable)("openai's own helper makes the same body of %s", async (name) => {
    const wire = [bytes(readStream(name))]
    const { text, fault } = stream(wire)
    const theirs = readByOpenAi(text)
    if (fault !== undefined) return expect(theirs).rejects.toThrow()
    expect(comparable(fold(wire).body)).toEqual(comparable(await theirs))
  })
})

describe('whatever upstream sends', patient, () => {
  const loose = fc.jsonValue({ maxDepth: 2 })
  const text = fc.constantFrom(
    '',
    'a',
    '\r',
    '\n',
    'b\r',
    '{"x":',
    '1}',
    '\n\t\n\t\n\t\n\t\n\t\n\t\n\t\n\t\n\t\n\t\n\t\n\t',
  )
  /** A value of the right kind, now and then of any other. */
  const mostly = <Value>(arbitrary: fc.Arbitrary<Value>) =>
    fc.oneof({ weight: 6, arbitrary }, { weight: 1, arbitrary: loose })
  const toolCall = some({
    index: mostly(fc.nat({ max: 2 })),
    id: mostly(fc.constantFrom('', 'call_a', 'call_b')),
    type: mostly(fc.constantFrom('function', 'custom')),
    function: mostly(some({ name: mostly(fc.constantFrom('', 'f', 'g')), arguments: mostly(text) })),
    custom: mostly(some({ name: mostly(fc.constantFrom('', 'f')), input: mostly(text) })),
  })
  const choice = some({
    index: mostly(fc.nat({ max: 1 })),
    delta: mostly(
      some({
        role: mostly(fc.constantFrom('assistant', 'user', null)),
        content: mostly(text),
        refusal: mostly(text),
        reasoning_text: mostly(text),
        tool_calls: mostly(fc.array(mostly(toolCall), { maxLength: 2 })),
        function_call: mostly(some({ name: text, arguments: text })),
      }),
    ),
    logprobs: mostly(some({ content: mostly(fc.array(loose)), refusal: mostly(fc.array(loose)) })),
    finish_reason: mostly(fc.constantFrom(null, null, null, 'stop', 'tool_calls', 'length', 'error')),
  })
  const chunk = some({
    id: mostly(fc.constantFrom('', 'chatcmpl-1')),
    object: mostly(fc.constantFrom('', 'chat.completion.chunk')),
    created: mostly(fc.constantFrom(0, 1_764_940_861)),
    model: mostly(fc.constantFrom('', 'gpt')),
    choices: mostly(fc.array(mostly(choice), { maxLength: 3 })),
    usage: mostly(fc.constantFrom(null, generatedUsage)),
    copilot_usage: loose,
    extra: loose,
  })
  const event = fc.oneof(
    { weight: 20, arbitrary: chunk.map(dataEvent) },
    { weight: 2, arbitrary: loose.map(dataEvent) },
    { weight: 1, arbitrary: some({ error: loose, copilot_errors: loose, type: loose }).map(dataEvent) },
    {
      weight: 1,
      arbitrary: some({ type: fc.constantFrom('response.completed', 'response.incomplete'), response: loose }).map(
        dataEvent,
      ),
    },
    { weight: 1, arbitrary: fc.string().map(dataEvent) },
    { weight: 1, arbitrary: fc.constantFrom(dataEvent('[DONE]'), ': comment\n\n', 'event: error\ndata: 1\n\n') },
  )

  test('a reply ends as the grammar says or in a Fault, and body and stream agree', () => {
    fc.assert(
      fc.property(fc.array(event, { maxLength: 8 }), (events) => {
        const wire = [bytes(events.join(''))]
        const streamed = stream(wire)
        const folded = fold(wire)
        expect(folded.fault).toEqual(streamed.fault)
        if (streamed.fault !== undefined) return
        const data = dataOf(streamed.text)
        expect(data.at(-1)).toBe('[DONE]')
        const chunks = data.slice(0, -1)
        expectGrammar(chunks.map(parseChunk), streamed.usage !== undefined)
        // What needs no repair is read as it is, so the fold of what was sent adds no repair of its own.
        const sent = [bytes(streamed.text)]
        expect(dataOf(stream(sent).text).slice(0, -1).map(parseChunk)).toEqual(chunks.map(parseChunk))
        expect(asWritten(folded)).toEqual(asWritten(fold(sent)))
      }),
      { numRuns: 1500 },
    )
  })
})

describe('a chunk that needs no change', patient, () => {
  const opener = {
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    created: 1_764_940_861,
    model: 'gpt',
    choices: [{ index: 0, delta: { role: 'assistant', content: 'a' }, finish_reason: null }],
  }
  const loose = fc.jsonValue({ maxDepth: 1 })
  const nearly = (right: unknown) =>
    fc.oneof({ weight: 30, arbitrary: fc.constant(right) }, { weight: 1, arbitrary: loose })
  const delta = some({
    role: fc.constantFrom('assistant', null, 'user'),
    content: fc.oneof(fc.string(), fc.constantFrom('a\r', '\nb', null), fc.array(some({ text: fc.string() })), loose),
    refusal: fc.oneof(fc.string(), loose),
    reasoning_text: fc.oneof(fc.string(), loose),
    tool_calls: nearly(undefined),
    message: loose,
  })
  const choice = fc.record({
    index: nearly(0),
    delta: fc.oneof({ weight: 9, arbitrary: delta }, { weight: 1, arbitrary: loose }),
    finish_reason: nearly(null),
  })
  const choices = fc.oneof(
    { weight: 20, arbitrary: fc.tuple(choice) },
    { weight: 1, arbitrary: fc.array(fc.oneof(choice, loose), { maxLength: 2 }) },
  )
  const chunk = fc.record({
    id: nearly(opener.id),
    object: nearly(opener.object),
    created: nearly(opener.created),
    model: nearly(opener.model),
    choices,
    usage: nearly(null),
    copilot_usage: nearly(undefined),
    error: nearly(undefined),
    extra: loose,
  })
  const before = fc.constantFrom<unknown[]>([opener], [], [opener, { ...opener, choices: [], filter: 1 }])
  const after = [{ ...opener, choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }, '[DONE]']

  test('is read as one whose event has a name, which takes the long path', () => {
    let forwarded = 0
    fc.assert(
      fc.property(before, fc.array(chunk, { minLength: 1, maxLength: 3 }), (opening, chunks) => {
        const events = [...opening, ...chunks, ...after].map((value) =>
          typeof value === 'string' ? value : JSON.stringify(value),
        )
        const pieces = piecesOf(events, '')
        expect(piecesOf(events, 'note')).toEqual(pieces)
        const [text = ''] = events.slice(opening.length)
        if (opening.length > 0 && pieces[opening.length] === `data: ${text}\n\n`) forwarded += 1
      }),
      { numRuns: 2000 },
    )
    // Else the property would hold of nothing.
    expect(forwarded).toBeGreaterThan(times(200))
  })
})

/** What each event adds to the reply, up to the failure. */
function piecesOf(events: readonly string[], event: string): unknown[] {
  const reply = chatDialect.upstream.createStream(seedOf({ usage: true }))
  const pieces: unknown[] = []
  try {
    for (const data of events) pieces.push(reply.push({ event, data }))
    pieces.push(reply.end())
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    pieces.push(error.error)
  }
  return [...pieces, reply.usage(), reply.skipped()]
}

/** Chat's grammar for a stream that ended well: one identity, a role first, one finish, usage last if at all. */
function expectGrammar(chunks: readonly Chunk[], withUsage: boolean): void {
  const identity = ({ id, object, created, model }: Chunk) => ({ id, object, created, model })
  const [first] = chunks
  expect(new Set(chunks.map((chunk) => JSON.stringify(identity(chunk)))).size).toBe(1)
  expect(first).toMatchObject({ object: 'chat.completion.chunk', choices: [{ delta: { role: 'assistant' } }] })
  expect(first?.id).toMatch(/./)
  expect(first?.created).toBeGreaterThan(0)

  const spoken = withUsage ? chunks.slice(0, -1) : chunks
  if (withUsage) expect(chunks.at(-1)).toMatchObject({ choices: [], usage: {} })
  for (const chunk of spoken) {
    expect(chunk.choices).toHaveLength(1)
    expect(chunk.choices[0]).toMatchObject({ index: 0, delta: {} })
    expect(chunk.usage ?? null).toBeNull()
    expect([undefined, null, 'assistant']).toContain(chunk.choices[0]?.delta.role)
  }
  const reasons = spoken.map((chunk) => chunk.choices[0]?.finish_reason)
  const calls = expectToolGrammar(spoken)
  expect(reasons.slice(0, -1).every((reason) => reason === null)).toBe(true)
  expect(['stop', 'tool_calls', 'length', 'content_filter', 'function_call']).toContain(reasons.at(-1))
  if (reasons.at(-1) === 'tool_calls') expect(calls).toBeGreaterThan(0)
  if (reasons.at(-1) === 'stop') expect(calls).toBe(0)
}

/** Each call is opened once, in order; afterwards only arguments come. Returns how many there are. */
function expectToolGrammar(chunks: readonly Chunk[]): number {
  const ids: unknown[] = []
  for (const chunk of chunks) {
    const entries = chunk.choices[0]?.delta.tool_calls
    for (const entry of Array.isArray(entries) ? entries : []) {
      if (entry.index === ids.length) {
        expect(entry).toMatchObject({
          id: expect.stringMatching(/./),
          type: expect.stringMatching(/^(function|custom)$/),
        })
        ids.push(entry.id)
      } else {
        expect(entry.index).toBeLessThan(ids.length)
        expect(entry).not.toHaveProperty('id')
        expect(entry).not.toHaveProperty('type')
        expect(entry.function ?? {}).not.toHaveProperty('name')
      }
    }
  }
  expect(new Set(ids).size).toBe(ids.length)
  return ids.length
}

function said(parts: readonly string[]): string | null {
  return parts.join('') || null
}

function bodyOf({ text, reasoning, refusal, calls }: Answer, quirk: Quirks) {
  return {
    choices: [
      {
        finish_reason: calls.length > 0 ? 'tool_calls' : 'stop',
        message: {
          ...(said(text) !== null && { content: said(text) }),
          refusal: said(refusal),
          ...(said(reasoning) !== null && { reasoning_text: said(reasoning) }),
          ...(calls.length > 0 && {
            tool_calls: calls.map(({ id, name, pieces }) => ({
              id,
              type: 'function',
              function: { name, arguments: pieces.join('') },
            })),
          }),
        },
      },
    ],
    ...(quirk.usage !== 'none' && { usage: generatedUsage }),
  }
}

function asWritten(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value))
}

/** Read as what it should be: a wrong shape fails the assertions. */
function parseChunk(data: string): Chunk {
  return JSON.parse(data)
}

async function readByOpenAi(text: string): Promise<unknown> {
  const client = new OpenAI({
    apiKey: 'example',
    maxRetries: 0,
    fetch: () => Promise.resolve(new Response(text, { headers: { 'content-type': 'text/event-stream' } })),
  })
  return client.chat.completions.stream({ model: 'any', messages: [] }).finalChatCompletion()
}

/** What both ways of reading must agree on: the helper keeps the last piece of texts it does not know, we join them. */
function comparable(completion: unknown) {
  const read: OpenAI.ChatCompletion = JSON.parse(JSON.stringify(completion))
  const { id, object, created, model, usage, choices } = read
  const [choice] = choices
  const { content, refusal, tool_calls, role } = choice?.message ?? {}
  return {
    id,
    object,
    created,
    model,
    usage: usage ?? null,
    choices: choices.length,
    finish_reason: choice?.finish_reason,
    logprobs: choice?.logprobs,
    // The helper tells an empty text from none where we do not.
    message: { role, content: content || null, refusal: refusal || null, tool_calls: tool_calls ?? [] },
  }
}
