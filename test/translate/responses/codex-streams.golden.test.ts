import { expect, test } from 'vitest'
import { Fault } from '../../../src/errors.ts'
import { createSseDecoder } from '../../../src/sse/decode.ts'
import type { Dialect } from '../../../src/translate/dialect.ts'
import { dialects } from '../../../src/translate/dialects.ts'
import type { TranslatedCall } from '../../../src/translate/translated-call.ts'
import { encodeContext, replySeed, traits, translateForResponses } from '../turns.ts'
import { readStream, streamNames } from './fixture-streams.ts'
import { bytes } from '../fixture-folder.ts'

const model = traits('gpt-6-sol', { vendor: 'OpenAI', provider: 'codex' })

/** The same request of each caller: two tools, one of them with a namespace where there are any. */
const requests = {
  chat: {
    messages: [{ role: 'user', content: 'go' }],
    stream_options: { include_usage: true },
    tools: ['read_file', 'list_dir', 'grep'].map((name) => ({ type: 'function', function: { name } })),
  },
  messages: {
    max_tokens: 1024,
    thinking: { type: 'adaptive' },
    messages: [{ role: 'user', content: 'go' }],
    tools: ['read_file', 'list_dir', 'grep'].map((name) => ({ name, input_schema: { type: 'object' } })),
  },
  responses: {
    input: 'go',
    tools: [
      ...['read_file', 'grep'].map((name) => ({ type: 'function', name, parameters: { type: 'object' } })),
      { type: 'namespace', name: 'files', description: 'd', tools: [{ type: 'function', name: 'list_dir' }] },
    ],
  },
} as const

type Caller = keyof typeof requests

function exchangeOf(caller: Caller, name: string): TranslatedCall {
  const dialect: Dialect = dialects[caller]
  const request = dialect.decodeRequest(JSON.stringify({ model: 'alias', stream: true, ...requests[caller] }))
  const learnedRefusals = new Set(name === 'codex-lite' ? ['lite'] : [])
  return translateForResponses(dialect, request, encodeContext(model, { profile: 'chatgpt', learnedRefusals }))
}

function seedOf({ reader }: TranslatedCall) {
  return replySeed(model, { requestedModel: 'alias', notes: reader.notes })
}

function eventsOf(name: string) {
  const decoder = createSseDecoder()
  return [...decoder.push(bytes(readStream(name))), ...decoder.end()]
}

/** What a streaming caller reads, one payload per line, with the fault the stream ends in. */
function streamed(caller: Caller, name: string): string {
  const exchange = exchangeOf(caller, name)
  const reply = exchange.reader.createStream(seedOf(exchange))
  let text = ''
  const fault = faultOf(() => {
    for (const event of eventsOf(name)) if (!reply.isDone()) text += reply.push(event)
    text += reply.end()
  })
  const decoder = createSseDecoder()
  const lines = [...decoder.push(bytes(text)), ...decoder.end()].map(({ data }) => data)
  if (fault !== undefined) lines.push(JSON.stringify({ fault }))
  return lines.map((line) => `${line}\n`).join('')
}

function folded(caller: Caller, name: string): string {
  const exchange = exchangeOf(caller, name)
  const reply = exchange.reader.createFold(seedOf(exchange))
  let body: unknown
  const fault = faultOf(() => {
    for (const event of eventsOf(name)) if (!reply.isDone()) reply.push(event)
    body = reply.end()
  })
  return `${JSON.stringify(fault === undefined ? body : { fault }, null, 2)}\n`
}

function faultOf(run: () => void): unknown {
  try {
    run()
    return undefined
  } catch (error) {
    if (error instanceof Fault) return error.error
    throw error
  }
}

const codexStreams = streamNames.filter((name) => name.startsWith('codex-'))
const cases = (['chat', 'messages', 'responses'] as const).flatMap((caller) =>
  codexStreams.map((name) => [caller, name] as const),
)

test.each(cases)('a %s caller streams %s', async (caller, name) => {
  await expect(streamed(caller, name)).toMatchFileSnapshot(`../../golden/codex-${caller}/${name}.jsonl`)
})

test.each(cases)('a %s caller gets %s as a body', async (caller, name) => {
  await expect(folded(caller, name)).toMatchFileSnapshot(`../../golden/codex-${caller}-fold/${name}.json`)
})
