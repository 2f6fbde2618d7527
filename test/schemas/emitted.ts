import type { UpstreamDialectId } from '../../src/translate/dialect.ts'
import { openProxy } from '../http/harness.ts'
import { asked } from './requests.ts'

/** One JSON value the program sent to a caller: an event of a stream, or a body. */
export interface Emitted {
  readonly from: 'event' | 'body' | 'error body'
  /** Name of the request it answers. */
  readonly name: string
  readonly status: number
  readonly value: Readonly<Record<string, unknown>>
}

const callerPaths = {
  chat: '/v1/chat/completions',
  responses: '/v1/responses',
  messages: '/v1/messages',
} as const satisfies Record<UpstreamDialectId, string>

/** Everything the program says to a caller of a dialect who asks a model all there is to ask, streamed and not. */
export async function emittedBy(dialect: UpstreamDialectId, model: string): Promise<readonly Emitted[]> {
  // Many events in one write: how they are cut is not what is looked at here.
  const proxy = await openProxy({ demo: { settings: { eventsPerWrite: 100 } } })
  const all: Emitted[] = []
  for (const { name, bodies } of asked) {
    const body = bodies[dialect]
    if (body === undefined) continue
    for (const stream of [false, true]) {
      const usage = stream && dialect === 'chat' ? { stream_options: { include_usage: true } } : {}
      const reply = await proxy.send(callerPaths[dialect], {
        body: JSON.stringify({ ...body, ...usage, model, stream }),
      })
      const { status } = reply
      if (String(reply.headers['content-type']).startsWith('text/event-stream')) {
        for (const value of eventsOf(reply.text)) all.push({ from: 'event', name, status, value })
      } else {
        all.push({ from: status < 400 ? 'body' : 'error body', name, status, value: JSON.parse(reply.text) })
      }
    }
  }
  return all
}

function eventsOf(text: string): readonly Emitted['value'][] {
  return text
    .split(/\n/)
    .filter((line) => line.startsWith('data: ') && line !== 'data: [DONE]')
    .map((line) => JSON.parse(line.slice('data: '.length)))
}
