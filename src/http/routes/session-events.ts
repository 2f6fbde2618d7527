import type { FastifyInstance } from 'fastify'
import type { ServerResponse } from 'node:http'
import { crc32 } from 'node:zlib'
import { Fault } from '../../errors.ts'
import type { Payload } from '../../sessions/event-hub.ts'
import type { Companion } from '../../sessions/open-companion.ts'
import { flatHeaders } from '../serve.ts'

export interface SessionEventsDeps {
  readonly companion: () => Promise<Companion | undefined>
}

export interface SessionEventsRoute {
  /** Ends the streams of these responses. */
  readonly endWhere: (matches: (response: ServerResponse) => boolean) => void
}

/** A listener that reads nothing for this long is disconnected. It can resume. Ms. */
const stalledMs = 5 * 60 * 1000

/**
 * After a longer payload, a listener waits for the next turn of the event loop. Otherwise a fast listener would get all its
 * missed events in one turn, and other work would wait. Bytes.
 */
const largePayload = 8 * 1024

/** How long a stream that we end may take to reach its listener. Ms. */
const lastMs = 1000

/** `GET /events`: the events of the sessions, as server-sent events. */
export function registerSessionEvents(app: FastifyInstance, { companion }: SessionEventsDeps): SessionEventsRoute {
  const open = new Map<ServerResponse, () => void>()

  app.get('/events', { exposeHeadRoute: false, config: { dialect: 'chat' } }, async (request, reply) => {
    const opened = await companion()
    if (opened === undefined) throw new Fault({ kind: 'session_refused', problem: 'no_workspace' })
    const { workspaces, sessions } = opened
    const query = new URLSearchParams(request.url.split('?', 2)[1])
    const name = query.get('session')
    const session = name === null ? undefined : workspaces.find(name)
    if (name !== null && session === undefined)
      throw new Fault({ kind: 'session_refused', problem: 'session_not_found' })
    const after = lastEventId(request.headers['last-event-id'], query.get('lastEventId'))
    const response = reply.raw
    const isPacked = acceptsGzip(request.headers['accept-encoding'])
    const head = {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache, no-store',
      'x-accel-buffering': 'no',
      ...flatHeaders(reply),
      ...(isPacked && { 'content-encoding': 'gzip' }),
      vary: 'accept-encoding, origin',
    }
    const out = isPacked ? createGzipWriter(response) : plainWriter(response)
    let stalled: NodeJS.Timeout | undefined
    const sink = (payload: Payload): boolean => {
      // The head waits for the first payload: a file that cannot be used is still an answer with a status.
      if (!response.headersSent) {
        reply.hijack()
        response.writeHead(200, head)
      }
      const isTaken = out.write(payload)
      if (isTaken && payload.bytes.length < largePayload) return true
      if (isTaken) setImmediate(() => listening.drained())
      else stalled = setTimeout(() => response.destroy(), stalledMs).unref()
      return false
    }
    const listening = sessions.listen(sink, { session: session?.id, after, caller: request.caller })
    const leave = (): void => {
      clearTimeout(stalled)
      listening.end()
      open.delete(response)
    }
    open.set(response, () => {
      leave()
      out.end()
      const late = setTimeout(() => response.destroy(), lastMs).unref()
      response.once('close', () => clearTimeout(late))
    })
    response.on('drain', () => {
      clearTimeout(stalled)
      setImmediate(() => listening.drained())
    })
    response.once('close', leave)
    if (response.destroyed) leave()
  })

  return {
    endWhere(matches) {
      for (const [response, end] of open) if (matches(response)) end()
    },
  }
}

interface Writer {
  /** False if the connection is full. */
  readonly write: (payload: Payload) => boolean
  readonly end: () => void
}

function plainWriter(response: ServerResponse): Writer {
  return { write: ({ bytes }) => response.write(bytes), end: () => void response.end() }
}

/** RFC 1952: deflate, no flags, no time, unknown system. */
const gzipHead = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff])

/** An empty last block (RFC 1951). */
const lastBlock = Buffer.from([3, 0])

/** A gzip stream out of blocks that are compressed once for all listeners. */
function createGzipWriter(response: ServerResponse): Writer {
  let checksum = 0
  let length = 0
  return {
    write({ bytes, deflated }) {
      const isFirst = length === 0
      checksum = crc32(bytes, checksum)
      length += bytes.length
      return response.write(isFirst ? Buffer.concat([gzipHead, deflated()]) : deflated())
    },
    end() {
      const trailer = Buffer.alloc(8)
      trailer.writeUInt32LE(checksum)
      trailer.writeUInt32LE(length % 2 ** 32, 4)
      response.end(Buffer.concat([length === 0 ? gzipHead : Buffer.alloc(0), lastBlock, trailer]))
    },
  }
}

/** Other encodings cannot be made once for all listeners. */
function acceptsGzip(header: string | string[] | undefined): boolean {
  for (const part of [header ?? ''].flat().join(',').toLowerCase().split(',')) {
    const [coding = '', ...parameters] = part.split(';').map((each) => each.trim())
    if (coding !== 'gzip' && coding !== '*') continue
    return !parameters.some((parameter) => /^q=0(?:\.0{0,3})?$/.test(parameter))
  }
  return false
}

/** Undefined: only future events. */
function lastEventId(header: string | string[] | undefined, inQuery: string | null): number | undefined {
  const text = [header].flat().at(-1) ?? inQuery
  if (text === null || text === undefined || text === '') return undefined
  const id = Number(text)
  if (/^\d+$/.test(text) && Number.isSafeInteger(id)) return id
  const path = header === undefined ? 'lastEventId' : 'last-event-id'
  throw new Fault({ kind: 'invalid_request', path, detail: 'must be the id of an event' })
}
