import type { UpstreamDialectId } from '../../src/translate/dialect.ts'
import { codexRoutes, upstreamRoutes } from '../sdk/kinds.ts'
import type { ProxyOptions } from '../http/harness.ts'
import type { Proxy } from '../http/harness.ts'
import type { Outcome } from '../upstreams/http/outcome.ts'

/** An upstream and a model that it serves to callers of every dialect. */
interface Upstream {
  readonly name: string
  readonly dialect: UpstreamDialectId
  readonly model: string
  /** What the daemon needs to reach it. */
  readonly options: ProxyOptions
  /** The header by which it names a request. */
  readonly idHeader: string
  /** How that header is called on its way to the caller. */
  readonly passedIdHeader: string
  /** Sets how it answers the next `times` requests. */
  readonly answer: (proxy: Proxy, outcome: Outcome, times?: number) => void
}

function copilot(dialect: UpstreamDialectId, model: string): Upstream {
  return {
    name: `Copilot over ${dialect}`,
    dialect,
    model,
    options: {},
    idHeader: 'x-github-request-id',
    passedIdHeader: 'x-github-request-id',
    answer: ({ demo }, outcome, times = 1) => demo.script(upstreamRoutes[dialect], { outcome, times }),
  }
}

export const upstreams: readonly Upstream[] = [
  copilot('chat', 'gpt-4.1'),
  copilot('responses', 'gpt-5.3-codex'),
  copilot('messages', 'claude-opus-4.7'),
  {
    name: 'Codex',
    dialect: 'responses',
    model: 'codex/gpt-5.3-codex',
    options: { codexLogin: 'stored' },
    idHeader: 'x-oai-request-id',
    passedIdHeader: 'x-oai-request-id',
    answer: ({ codex }, outcome, times = 1) => codex.script(codexRoutes.stored, { outcome, times }),
  },
]

/** The events of one answer as an upstream of a dialect writes them. */
interface AnswerEvents {
  readonly begin: readonly string[]
  /** A piece of the text; `text` is a JSON string, so that a test decides on its escapes. */
  readonly say: (text: string) => string
  /** That the answer is complete, where the dialect says so before the end mark. */
  readonly finish: (text: string) => readonly string[]
  /** What ends the stream; none where finishing does. */
  readonly mark: readonly string[]
  readonly fail: (message: string) => string
}

function sse(value: Readonly<Record<string, unknown>>): string {
  return `event: ${String(value['type'])}\ndata: ${JSON.stringify(value)}\n\n`
}

function chunk(delta: string, finish: string | null): string {
  return `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":${delta},"finish_reason":${JSON.stringify(finish)}}]}\n\n`
}

const place = { item_id: 'msg_1', output_index: 0, content_index: 0 }
const part = (text: string) => ({ type: 'output_text', text, annotations: [] })
const item = (status: string, content: readonly unknown[]) => ({
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  status,
  content,
})
const response = (status: string, output: readonly unknown[]) => ({
  id: 'resp_1',
  object: 'response',
  created_at: 1,
  status,
  model: 'm',
  output,
  error: null,
  usage: status === 'completed' ? { input_tokens: 1, output_tokens: 1, total_tokens: 2 } : null,
})

export const answers: Readonly<Record<UpstreamDialectId, AnswerEvents>> = {
  chat: {
    begin: [chunk('{"role":"assistant","content":""}', null)],
    say: (text) => chunk(`{"content":${text}}`, null),
    finish: () => [chunk('{}', 'stop')],
    mark: ['data: [DONE]\n\n'],
    fail: (message) => `data: ${JSON.stringify({ error: { message, code: 500 } })}\n\n`,
  },
  responses: {
    begin: [
      sse({ type: 'response.created', sequence_number: 0, response: response('in_progress', []) }),
      sse({ type: 'response.output_item.added', sequence_number: 1, output_index: 0, item: item('in_progress', []) }),
      sse({ type: 'response.content_part.added', sequence_number: 2, ...place, part: part('') }),
    ],
    say: (text) =>
      `event: response.output_text.delta\ndata: {"type":"response.output_text.delta","sequence_number":3,"item_id":"msg_1","output_index":0,"content_index":0,"delta":${text}}\n\n`,
    finish: (text) => [
      sse({ type: 'response.output_text.done', sequence_number: 9, ...place, text }),
      sse({ type: 'response.content_part.done', sequence_number: 10, ...place, part: part(text) }),
      sse({
        type: 'response.output_item.done',
        sequence_number: 11,
        output_index: 0,
        item: item('completed', [part(text)]),
      }),
      sse({
        type: 'response.completed',
        sequence_number: 12,
        response: response('completed', [item('completed', [part(text)])]),
      }),
    ],
    mark: [],
    fail: (message) =>
      sse({
        type: 'response.failed',
        sequence_number: 9,
        response: { ...response('failed', []), error: { code: 'server_error', message } },
      }),
  },
  messages: {
    begin: [
      sse({
        type: 'message_start',
        message: {
          id: 'msg_1',
          type: 'message',
          role: 'assistant',
          model: 'm',
          content: [],
          stop_reason: null,
          stop_sequence: null,
          usage: { input_tokens: 1, output_tokens: 1 },
        },
      }),
      sse({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }),
    ],
    say: (text) =>
      `event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":${text}}}\n\n`,
    finish: () => [
      sse({ type: 'content_block_stop', index: 0 }),
      sse({
        type: 'message_delta',
        delta: { stop_reason: 'end_turn', stop_sequence: null },
        usage: { output_tokens: 2 },
      }),
    ],
    mark: [sse({ type: 'message_stop' })],
    fail: (message) => sse({ type: 'error', error: { type: 'api_error', message } }),
  },
}

interface Heard {
  /** Every piece of text, joined. */
  readonly text: string
  /** The last event says: that the answer is complete, that it failed, or neither. */
  readonly ending: 'complete' | 'failed' | 'none'
  readonly events: readonly unknown[]
}

/** A streamed answer as a caller of the dialect hears it. */
export function hear(caller: UpstreamDialectId, wire: string): Heard {
  const data = wire.split('\n\n').flatMap((block) => /^(?:event: [^\n]*\n)?data: ([^]*)$/.exec(block)?.[1] ?? [])
  const events = data.filter((each) => each !== '[DONE]').map((each) => JSON.parse(each))
  const last = events.at(-1) ?? {}
  switch (caller) {
    case 'chat':
      return {
        text: events.map(({ choices }) => choices?.[0]?.delta?.content ?? '').join(''),
        ending: 'error' in last ? 'failed' : data.at(-1) === '[DONE]' ? 'complete' : 'none',
        events,
      }
    case 'responses':
      return {
        text: events.map(({ type, delta }) => (type === 'response.output_text.delta' ? delta : '')).join(''),
        ending:
          last.type === 'response.completed' ? 'complete' : /error|failed/.test(last.type ?? '') ? 'failed' : 'none',
        events,
      }
    case 'messages':
      return {
        text: events.map(({ delta }) => delta?.text ?? '').join(''),
        ending: last.type === 'message_stop' ? 'complete' : last.type === 'error' ? 'failed' : 'none',
        events,
      }
  }
}

/** The text of a whole answer. */
export function textOf(caller: UpstreamDialectId, body: string): unknown {
  const value = JSON.parse(body)
  switch (caller) {
    case 'chat':
      return value.choices[0].message.content
    case 'responses':
      return value.output[0].content[0].text
    case 'messages':
      return value.content[0].text
  }
}
