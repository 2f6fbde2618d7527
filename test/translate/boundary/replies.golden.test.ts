import { expect, test } from 'vitest'
import { createSseDecoder } from '../../../src/sse/decode.ts'
import type { UpstreamDialectId } from '../../../src/translate/dialect.ts'
import { readStream as readChat, streamNames as chatNames } from '../chat/fixture-streams.ts'
import { readStream as readMessages, streamNames as messagesNames } from '../messages/fixture-streams.ts'
import { readStream as readResponses, streamNames as responsesNames } from '../responses/fixture-streams.ts'
import { openBoundary } from './ask.ts'
import { modelsOf, upstreamIds, type UpstreamId } from './models.ts'
import { goldenFiles } from './print.ts'
import { callers } from './request-fixtures.ts'

// What callers of each dialect get of each stream, as events and as a body. A caller of the same dialect gets it also with a tool
// that has another name upstream.

const { ask } = openBoundary()

const streamsOf: Readonly<Record<UpstreamId, readonly (readonly [name: string, wire: string])[]>> = {
  chat: chatNames.map((name) => [name, readChat(name)]),
  messages: messagesNames.map((name) => [name, readMessages(name)]),
  responses: responsesNames.filter((name) => !name.startsWith('codex-')).map((name) => [name, readResponses(name)]),
  chatgpt: responsesNames.filter((name) => name.startsWith('codex-')).map((name) => [name, readResponses(name)]),
}

/** The same request of each caller. It asks for all that a reply can have. */
const requests = {
  chat: {
    messages: [{ role: 'user', content: 'go' }],
    stream_options: { include_usage: true },
    tools: ['get_weather', 'read_file'].map((name) => ({ type: 'function', function: { name } })),
  },
  messages: {
    max_tokens: 4000,
    thinking: { type: 'enabled', budget_tokens: 2000 },
    messages: [{ role: 'user', content: 'go' }],
    tools: ['get_weather', 'read_file'].map((name) => ({ name, input_schema: { type: 'object' } })),
  },
  responses: {
    input: 'go',
    reasoning: { effort: 'high', summary: 'auto' },
    include: ['reasoning.encrypted_content'],
    tools: ['get_weather', 'read_file'].map((name) => ({ type: 'function', name, parameters: { type: 'object' } })),
  },
} as const

/** The tools of the streams of Codex, one of them with a namespace where there are any. */
const codexTools = {
  chat: ['read_file', 'list_dir', 'grep'].map((name) => ({ type: 'function', function: { name } })),
  messages: ['read_file', 'list_dir', 'grep'].map((name) => ({ name, input_schema: { type: 'object' } })),
  responses: [
    ...['read_file', 'grep'].map((name) => ({ type: 'function', name, parameters: { type: 'object' } })),
    { type: 'namespace', name: 'files', description: 'd', tools: [{ type: 'function', name: 'list_dir' }] },
  ],
} as const

/** In the stream `codex-lite`, upstream takes the lite form alone. */
const usualFormRefused = {
  kind: 'upstream_status',
  status: 400,
  message: 'reasoning.context must be all_turns for this model',
} as const
const liteHeader = 'x-openai-internal-codex-responses-lite'

/** The family of a chat stream is the beginning of its name. */
function modelOf(upstream: UpstreamId, name: string) {
  const [family] = name.split('-')
  const models = modelsOf[upstream]
  // What is learned of a model stays, so the lite form has a model of its own.
  const other = name === 'codex-lite' ? models.at(-1) : models[0]
  const model = models.find(({ id }) => id.startsWith(`${family}-`)) ?? other
  if (model === undefined) throw new Error(`no model of ${upstream}`)
  return model
}

/** A tool with a name that upstreams refuse. Its other name upstream changes how the reply is read. */
const renamed = {
  chat: [{ type: 'function', function: { name: 'odd.tool' } }],
  messages: [{ name: 'odd.tool', input_schema: { type: 'object' } }],
  responses: [{ type: 'function', name: 'odd.tool', parameters: { type: 'object' } }],
} as const

/** Streams with calls, with members that nobody knows, or with values that only some callers know. */
const shownRenamed = /tools|extra|unknown|thinking|reasoning|logprobs|refusal|web-search|usage|error-context/

interface Case {
  readonly upstream: UpstreamId
  readonly caller: UpstreamDialectId
  readonly name: string
  readonly wire: string
  readonly isRenamed: boolean
}

const all: readonly Case[] = upstreamIds.flatMap((upstream) =>
  callers.flatMap((caller) =>
    streamsOf[upstream].flatMap(([name, wire]) =>
      (caller === upstream && shownRenamed.test(name) ? [false, true] : [false]).map((isRenamed) => ({
        upstream,
        caller,
        name,
        wire,
        isRenamed,
      })),
    ),
  ),
)

const cases = all.map(
  (each) =>
    [
      `a ${each.caller} caller gets ${each.upstream} ${each.name}${each.isRenamed ? ', with a renamed tool' : ''}`,
      each,
    ] as const,
)

function fileOf({ upstream, caller, name, isRenamed }: Case): string {
  return `${upstream}-${caller}${isRenamed ? '-renamed' : ''}/${name}.jsonl`
}

test.each(cases)('%s', async (_, shown) => {
  const { upstream, caller, name, wire, isRenamed } = shown
  const { tools: usual, ...request } = requests[caller]
  const tools = upstream === 'chatgpt' ? codexTools[caller] : usual
  const get = (stream: boolean) =>
    ask({
      caller,
      body: JSON.stringify({
        model: 'asked-model',
        stream,
        ...request,
        tools: isRenamed ? [...tools, ...renamed[caller]] : tools,
      }),
      upstream,
      model: modelOf(upstream, name),
      respond: ({ headers = {} }) => (name === 'codex-lite' && !(liteHeader in headers) ? usualFormRefused : wire),
    })
  const streamed = await get(true)
  const folded = await get(false)
  const decoder = createSseDecoder()
  const events = [...decoder.push(Buffer.from(streamed.reply)), ...decoder.end()].map(({ event, data }) =>
    (event === '' || new RegExp(`"type": ?"${event}"`).test(data)) && !data.includes('\n')
      ? data
      : JSON.stringify([event, data]),
  )
  const lines = [
    ...(streamed.status === 200 ? withoutCopies(events) : [`[${streamed.status},${streamed.reply}]`]),
    events.at(-1)?.includes(folded.reply) === true
      ? '["the body of the last event"]'
      : `[${folded.status},${folded.reply}]`,
  ]
  await expect(lines.map((line) => `${line}\n`).join('')).toMatchFileSnapshot(`../../golden/replies/${fileOf(shown)}`)
})

test('every golden has its stream', () => {
  expect(goldenFiles('replies')).toEqual(all.map(fileOf).toSorted())
})

/** Events as they were written. Those of a response repeat the first one's, which is shown once. */
function withoutCopies(events: readonly string[]): readonly string[] {
  const response = /"response":(\{.*\})\}$/.exec(events[0] ?? '')?.[1]
  if (response === undefined) return events
  return events.map((data, at) => (at === 0 ? data : data.replace(response, '"that of the first event"')))
}
