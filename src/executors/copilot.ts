import { errors } from 'undici'
import type { Dispatcher } from 'undici'
import type { CopilotTokenSource } from '../auth/copilot-token.ts'
import { Fault } from '../errors.ts'
import type { Logger } from '../log.ts'
import { copilotHeaders, copilotModelsHeaders, passedHeaders } from './copilot-headers.ts'
import type { IdentityHeaders } from './copilot-headers.ts'
import type { Executor, UpstreamCall } from './executor.ts'
import { toStatusFault, toUpstreamFault } from './upstream-fault.ts'

export interface CopilotExecutorDeps {
  readonly tokens: Pick<CopilotTokenSource, 'get' | 'replace'>
  /** The executor's own pool; closed with it. */
  readonly agent: Dispatcher
  readonly log: Logger
}

export interface CopilotExecutorOptions {
  readonly refreshOnUnauthorized: boolean
  readonly headers: IdentityHeaders
  readonly connectMs: number
  readonly headersMs: number
  readonly idleMs: number
}

/** One HTTP exchange before the token and the host are known. */
interface Exchange {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly body: string | Buffer | null
  readonly headers: (token: string) => Record<string, string>
  readonly signal: AbortSignal
}

const errorBodyLimitBytes = 64 * 1024
const jsonBodyLimitBytes = 64 * 1024 * 1024

/**
 * The executor of GitHub Copilot. Error rules (DESIGN §6): 401 → one refresh and one replay with a different token;
 * 421 → the next endpoint of the chain, once; everything else goes to the caller as it is, never retried.
 */
export function createCopilotExecutor(deps: CopilotExecutorDeps, options: CopilotExecutorOptions): Executor {
  const { tokens, agent, log } = deps
  /** The endpoint that answered after a 421; good for as long as its token. */
  let chosen: { readonly token: string; readonly baseUrl: string } | undefined

  let lastTarget: Target | undefined

  async function request(exchange: Exchange, token: string, baseUrl: string): Promise<Dispatcher.ResponseData> {
    const target = lastTarget?.baseUrl === baseUrl ? lastTarget : toTarget(baseUrl)
    lastTarget = target
    const send = () =>
      agent.request({
        origin: target.origin,
        path: target.prefix + exchange.path,
        method: exchange.method,
        headers: exchange.headers(token),
        body: exchange.body,
        headersTimeout: options.headersMs,
        signal: exchange.signal,
      })
    try {
      return await send()
    } catch (error) {
      if (!wasIdleSocketReset(error)) throw toUpstreamFault(error, 'headers', options)
    }
    // Upstream closed an idle connection just as it was picked up: no byte of an answer was seen, so ask once more.
    try {
      return await send()
    } catch (error) {
      throw toUpstreamFault(error, 'headers', options)
    }
  }

  /** @returns a reply with status 200 and its body unread */
  async function open(exchange: Exchange): Promise<Dispatcher.ResponseData> {
    let token = await tokens.get(exchange.signal)
    let mayRefresh = options.refreshOnUnauthorized
    let mayFallThrough = true
    for (;;) {
      const { candidates } = token
      const baseUrl = (chosen?.token === token.value ? chosen?.baseUrl : undefined) ?? candidates[0]
      if (baseUrl === undefined) throw new Fault({ kind: 'internal' })
      const reply = await request(exchange, token.value, baseUrl)
      if (reply.statusCode === 200) return reply

      const fault = await readFault(reply)
      if (fault.error.kind === 'upstream_status') {
        const { status, message } = fault.error
        log.warn(
          {
            status,
            message,
            code: fault.error.code,
            upstreamRequestId: reply.headers['x-github-request-id'],
            path: exchange.path,
          },
          'upstream refused the request',
        )
        if (status === 421 && mayFallThrough) {
          mayFallThrough = false
          const next = candidates[candidates.indexOf(baseUrl) + 1]
          if (next !== undefined) {
            chosen = { token: token.value, baseUrl: next }
            continue
          }
        }
        if (status === 401 && isAboutToken(message)) {
          if (mayRefresh) {
            mayRefresh = false
            const fresh = await tokens.replace(token.value, exchange.signal)
            if (fresh.value !== token.value) {
              token = fresh
              continue
            }
          }
          throw new Fault({ kind: 'upstream_unauthorized', upstreamMessage: message })
        }
      }
      throw fault
    }
  }

  async function readJson(reply: Dispatcher.ResponseData): Promise<unknown> {
    let text: string
    try {
      text = await readText(reply, jsonBodyLimitBytes)
    } catch (error) {
      throw toUpstreamFault(error, 'body', options)
    }
    try {
      return JSON.parse(text)
    } catch (cause) {
      throw new Fault({ kind: 'upstream_unusable', detail: 'its answer is not JSON' }, { cause })
    }
  }

  function post(call: UpstreamCall, accept: string, signal: AbortSignal): Exchange {
    return {
      method: 'POST',
      path: call.path,
      body: call.body,
      headers: (token) => copilotHeaders(options.headers, token, call, accept),
      signal,
    }
  }

  return {
    provider: 'copilot',

    async stream(call, { signal }) {
      const reply = await open(post(call, 'text/event-stream', signal))
      const type = reply.headers['content-type']
      if (typeof type === 'string' && type.startsWith('text/html')) {
        discard(reply)
        throw new Fault({ kind: 'upstream_unusable', detail: 'it answered with a web page instead of an event stream' })
      }
      if (reply.headers['content-encoding'] !== undefined) {
        discard(reply)
        throw new Fault({ kind: 'upstream_unusable', detail: 'it compressed an event stream without being asked to' })
      }
      return { body: reply.body, idleMs: options.idleMs, headers: passedHeaders(reply.headers) }
    },

    async json(call, { signal }) {
      return readJson(await open(post(call, 'application/json', signal)))
    },

    async listModels({ signal }) {
      return readJson(
        await open({
          method: 'GET',
          path: '/models',
          body: null,
          headers: (token) => copilotModelsHeaders(options.headers, token),
          signal,
        }),
      )
    },

    close: () => agent.close(),
  }
}

/** A base URL taken apart once, not with every request. */
interface Target {
  readonly baseUrl: string
  readonly origin: string
  /** The base URL's own path, '' for none. */
  readonly prefix: string
}

function toTarget(baseUrl: string): Target {
  const { origin, pathname } = new URL(baseUrl)
  return { baseUrl, origin, prefix: pathname.replace(/\/+$/, '') }
}

/** Upstream also says 401 when a replayed item belongs to another connection; a new token would not help. */
function isAboutToken(message: string): boolean {
  return !/does not belong to this connection/i.test(message)
}

/**
 * True when a kept-alive connection that had served before broke before any byte of this answer: the one failure where
 * upstream cannot have worked on the request (RFC 9112 §9.3.1).
 */
function wasIdleSocketReset(error: unknown): boolean {
  return error instanceof errors.SocketError && (error.socket?.bytesRead ?? 0) > 0
}

/** Closes the connection of a reply nobody will read. undici reports that to whoever listens, and throws otherwise. */
function discard(reply: Dispatcher.ResponseData): void {
  reply.body.on('error', () => {})
  reply.body.destroy()
}

async function readFault(reply: Dispatcher.ResponseData): Promise<Fault> {
  const retryAfter = reply.headers['retry-after']
  const body = await readText(reply, errorBodyLimitBytes).catch(() => '')
  return toStatusFault(reply.statusCode, body, typeof retryAfter === 'string' ? retryAfter : undefined)
}

async function readText(reply: Dispatcher.ResponseData, limitBytes: number): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of reply.body) {
    const bytes: unknown = chunk
    if (!Buffer.isBuffer(bytes)) continue
    size += bytes.length
    if (size > limitBytes) {
      throw new Fault({ kind: 'upstream_unusable', detail: `its answer is larger than ${limitBytes} bytes` })
    }
    chunks.push(bytes)
  }
  return Buffer.concat(chunks).toString('utf8')
}
