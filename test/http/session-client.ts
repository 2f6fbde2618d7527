import type { Client, Reply } from './client.ts'

export interface ReceivedEvent {
  readonly id: number | undefined
  readonly event: string
  readonly data: Readonly<Record<string, unknown>>
}

type OpenReply = Awaited<ReturnType<Client['open']>>

export interface EventListener extends OpenReply {
  /** The next event; comments and the resume point at the start are left out. Undefined at the end. */
  readonly nextEvent: () => Promise<ReceivedEvent | undefined>
}

function parseEvent(block: string): ReceivedEvent | undefined {
  const fields = new Map(
    block.split('\n').map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]),
  )
  const data = fields.get('data')
  if (data === undefined) return undefined
  const id = fields.get('id')
  return { id: id === undefined ? undefined : Number(id), event: fields.get('event') ?? '', data: JSON.parse(data) }
}

/** Opens `GET /events`. */
export async function listen(
  client: Client,
  path = '/events',
  headers: Readonly<Record<string, string>> = {},
): Promise<EventListener> {
  const reply = await client.open(path, { headers })
  return {
    ...reply,
    async nextEvent() {
      for (;;) {
        const block = await reply.next()
        if (block === undefined) return undefined
        const event = parseEvent(block)
        if (event !== undefined) return event
      }
    },
  }
}

/** Reads events up to and with the first of this type. */
export async function eventsUntil(
  listener: EventListener,
  type: string,
  matches: (event: ReceivedEvent) => boolean = () => true,
): Promise<readonly ReceivedEvent[]> {
  const events: ReceivedEvent[] = []
  for (;;) {
    const event = await listener.nextEvent()
    if (event === undefined)
      throw new Error(`The stream ended before ${type}: ${events.map((each) => each.event).join(' ')}`)
    events.push(event)
    if (event.event === type && matches(event)) return events
  }
}

export function postMessage(
  client: Client,
  body: Readonly<Record<string, unknown>>,
  headers: Readonly<Record<string, string>> = {},
): Promise<Reply> {
  return client.send('/message', {
    body: JSON.stringify(body),
    headers: { 'content-type': 'application/json', ...headers },
  })
}
