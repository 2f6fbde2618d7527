import { expect, test } from 'vitest'
import { createSseDecoder } from '../../../src/sse/decode.ts'
import type { UpstreamDialectId } from '../../../src/translate/dialect.ts'
import { readStream as readChat, streamNames as chatNames } from '../chat/fixture-streams.ts'
import { readStream as readMessages, streamNames as messagesNames } from '../messages/fixture-streams.ts'
import { readStream as readResponses, streamNames as responsesNames } from '../responses/fixture-streams.ts'
import { openBoundary } from './ask.ts'
import { modelsOf } from './models.ts'
import { callers } from './request-fixtures.ts'

// What a caller of another dialect gets of each stream. For callers of the same dialect, and for streams of Codex, see
// chat/upstream/reply.golden.test.ts, messages/streams.golden.test.ts and responses/*.golden.test.ts.

const { ask } = openBoundary()

const streams: Readonly<Record<UpstreamDialectId, readonly (readonly [name: string, wire: string])[]>> = {
  chat: chatNames.map((name) => [name, readChat(name)]),
  messages: messagesNames.map((name) => [name, readMessages(name)]),
  responses: responsesNames.filter((name) => !name.startsWith('codex-')).map((name) => [name, readResponses(name)]),
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

/** The family of a chat stream is the beginning of its name. */
function modelOf(upstream: UpstreamDialectId, name: string) {
  const [family] = name.split('-')
  const models = modelsOf[upstream]
  const model = models.find(({ id }) => id.startsWith(`${family}-`)) ?? models[0]
  if (model === undefined) throw new Error(`no model of ${upstream}`)
  return model
}

const cases = callers.flatMap((upstream) =>
  streams[upstream].flatMap(([name, wire]) =>
    callers
      .filter((caller) => caller !== upstream)
      .map((caller) => [`a ${caller} caller gets ${upstream} ${name}`, upstream, caller, name, wire] as const),
  ),
)

test.each(cases)('%s', async (_, upstream, caller, name, wire) => {
  const get = (stream: boolean) =>
    ask({
      caller,
      body: JSON.stringify({ model: 'asked-model', stream, ...requests[caller] }),
      upstream,
      model: modelOf(upstream, name),
      respond: () => wire,
    })
  const streamed = await get(true)
  const folded = await get(false)
  const decoder = createSseDecoder()
  const events = [...decoder.push(Buffer.from(streamed.reply)), ...decoder.end()].map(({ event, data }) =>
    event === '' || data.includes(`"type":"${event}"`) ? data : JSON.stringify([event, data]),
  )
  const lines = [
    ...(streamed.status === 200 ? withoutCopies(events) : [`[${streamed.status},${streamed.reply}]`]),
    events.at(-1)?.includes(folded.reply) === true
      ? '["the body of the last event"]'
      : `[${folded.status},${folded.reply}]`,
  ]
  await expect(lines.map((line) => `${line}\n`).join('')).toMatchFileSnapshot(
    `../../golden/replies/${upstream}-${caller}/${name}.jsonl`,
  )
})

/** Events as they were written. Those of a response repeat the first one's, which is shown once. */
function withoutCopies(events: readonly string[]): readonly string[] {
  const response = /"response":(\{.*\})\}$/.exec(events[0] ?? '')?.[1]
  if (response === undefined) return events
  return events.map((data, at) => (at === 0 ? data : data.replace(response, '"that of the first event"')))
}
