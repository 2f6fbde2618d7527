import { arch, platform } from 'node:os'
import type { CodexCredential, CodexCredentialSource } from '../auth/codex/credentials.ts'
import { Fault } from '../errors.ts'
import type { Logger } from '../log.ts'
import type { AccountRequests } from './account-requests.ts'
import type { ConnectionPool } from './agent.ts'
import { isLoginDead, toCodexFault, withHeaderError } from './codex-fault.ts'
import type { CodexRefusal } from './codex-fault.ts'
import { judgeCodexEvent } from './codex-first-event.ts'
import { codexHeaders, codexModelsHeaders, passedCodexHeaders } from './codex-headers.ts'
import type { Executor, UpstreamBody } from './executor.ts'
import { untilFirstOutput } from './first-output.ts'
import { notAStream } from './not-a-stream.ts'
import { toPayload } from './payload.ts'
import { readErrorText, readReplyJson } from './read-reply.ts'
import { retryAfterIn } from './reply-headers.ts'
import { sendPastStale } from './send-past-stale.ts'
import { sendRequest } from './send-request.ts'
import type { UpstreamReply } from './send-request.ts'
import { readErrorBody } from './status-fault.ts'
import { toTarget } from './target.ts'

export interface CodexExecutorDeps {
  readonly credentials: Pick<
    CodexCredentialSource,
    'kind' | 'get' | 'replace' | 'markAccepted' | 'markRevoked' | 'refused'
  >
  /** The executor's own; closed with it. */
  readonly pool: ConnectionPool
  readonly log: Logger
  /** Ms since epoch. */
  readonly now: () => number
  /** Called when a reply names another version of the model list than the one that was fetched last. */
  readonly onModelsEtag?: (etag: string) => void
  /** Takes part in what ends the requests of a ChatGPT account. */
  readonly requests?: Pick<AccountRequests, 'begin'> | undefined
  /** Takes known credentials out of what upstream says of a failure. */
  readonly redact: (text: string) => string
  /** Hears the status of every answer, and its headers, which tell how much of a plan is used. */
  readonly onStatus?: ((status: number, headers: UpstreamReply['headers']) => void) | undefined
}

export interface CodexExecutorOptions {
  /** For a ChatGPT login, and for nothing else. */
  readonly baseUrl: string
  /** For an API key, and for nothing else. */
  readonly apiBaseUrl: string
  /** Who the program says it is. */
  readonly originator: string
  /** The program's own. */
  readonly version: string
  /** The version of Codex CLI whose model list is asked for. */
  readonly clientVersion: string
  readonly connectMs: number
  readonly headersMs: number
  readonly idleMs: number
}

/** One HTTP exchange before the credential is known. */
interface Exchange<Result> {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly body: string | Buffer | null
  readonly headers: (credential: CodexCredential) => Record<string, string>
  /** Takes a reply with status 200. What it says can still turn out to be a refusal. */
  readonly accept: (reply: UpstreamReply) => Promise<Outcome<Result>>
  readonly signal: AbortSignal
}

type Outcome<Result> =
  | { readonly kind: 'accepted'; readonly result: Result }
  | { readonly kind: 'refused'; readonly refusal: CodexRefusal }

/** Callers are sent nothing while a stream is held back, not even that it goes on. Ms. */
const mostHeldMs = 15_000
/** The first events repeat the request's instructions and tools. */
const mostHeldBytes = 1024 * 1024

/**
 * The executor of OpenAI Codex: the ChatGPT backend with a login, the OpenAI API with a key. Error rules, for statuses and
 * for failures at the start of a 200 stream alike: 401 → one replay with a different credential, unless the login is
 * dead; everything else goes to the caller, never retried.
 */
export function createCodexExecutor(deps: CodexExecutorDeps, options: CodexExecutorOptions): Executor {
  const { credentials, pool, log, now, requests } = deps
  const { idleMs } = options
  const identity = {
    originator: options.originator,
    version: options.version,
    platform: platform(),
    arch: arch(),
  }
  const targets = {
    chatgpt: toTarget(options.baseUrl),
    'api-key': toTarget(options.apiBaseUrl),
  } satisfies Record<CodexCredential['kind'], unknown>
  const etags = watchModelsEtag(deps.onModelsEtag ?? (() => {}))

  function request(exchange: Exchange<unknown>, credential: CodexCredential): Promise<UpstreamReply> {
    // By the credential's own kind: one of them must never reach the other's host.
    const target = targets[credential.kind]
    const account = credential.kind === 'chatgpt' ? credential.accountId : undefined
    return sendPastStale(pool, options, (agent) => {
      const { body, headers } = toPayload(exchange.body)
      return sendRequest(agent, {
        origin: target.origin,
        path: target.prefix + exchange.path,
        method: exchange.method,
        headers: Object.assign(exchange.headers(credential), headers),
        body,
        headersTimeout: options.headersMs,
        signal: exchange.signal,
        onBegin: account === undefined ? undefined : requests?.begin(account),
      })
    })
  }

  async function ask<Result>(exchange: Exchange<Result>, credential: CodexCredential): Promise<Outcome<Result>> {
    const reply = await request(exchange, credential)
    deps.onStatus?.(reply.status, reply.headers)
    if (reply.status === 200) return exchange.accept(reply)
    const text = await readErrorText(reply, idleMs)
    // An error body that was cut off by an abort is no answer.
    exchange.signal.throwIfAborted()
    if (reply.status < 400) {
      throw new Fault({ kind: 'upstream_unusable', detail: `it answered with the unexpected status ${reply.status}` })
    }
    const body = readErrorBody(text)
    const error = reply.status === 401 ? withHeaderError(body, reply.headers) : body
    return { kind: 'refused', refusal: toRefusal(reply, reply.status, error) }
  }

  /** An exchange with the one recovery there is. */
  async function exchangeWith<Result>(exchange: Exchange<Result>): Promise<Result> {
    const { signal } = exchange
    let credential = await credentials.get(signal)
    let mayReplay = true
    for (;;) {
      // The body was encoded for that kind.
      if (credential.kind !== credentials.kind) throw new Fault({ kind: 'internal' })
      const outcome = await ask(exchange, credential)
      if (outcome.kind === 'accepted') {
        // A model list may be had with a token that everything else is refused with.
        if (exchange.method === 'POST') credentials.markAccepted(credential.value)
        return outcome.result
      }

      const fault = toCodexFault(outcome.refusal, now(), deps.redact)
      const { error } = fault
      log.debug({ ...error, path: exchange.path }, 'Codex refused the request')
      if (error.kind !== 'upstream_status' || error.status !== 401) throw fault
      const isDead = isLoginDead(outcome.refusal.error)
      if (isDead) credentials.markRevoked(credential.value, error.message)
      const next = await nextCredential(credential, isDead, mayReplay, signal)
      if (next.value === credential.value || !mayReplay) {
        throw isDead ? new Fault(deadError[credential.kind]) : credentials.refused(error.message)
      }
      mayReplay = false
      credential = next
    }
  }

  /** Another credential than the one that was refused; the same where there is none. */
  function nextCredential(
    refused: CodexCredential,
    isDead: boolean,
    mayReplay: boolean,
    signal: AbortSignal,
  ): Promise<CodexCredential> | CodexCredential {
    // When a login has died the source knows what helps, and says it: the one to use now, or why there is none.
    if (isDead) return credentials.get(signal)
    return mayReplay ? credentials.replace(refused.value, signal) : refused
  }

  /** Holds a stream back until there is output: a failure before it is a refusal like any other. */
  async function acceptStream(
    reply: UpstreamReply,
    signal: AbortSignal,
  ): Promise<Outcome<{ readonly body: UpstreamBody; readonly headers: Readonly<Record<string, string>> }>> {
    const problem = notAStream(reply.headers)
    if (problem !== undefined) {
      reply.body.destroy()
      throw new Fault({ kind: 'upstream_unusable', detail: problem, headers: passedCodexHeaders(reply.headers) })
    }
    const first = await untilFirstOutput(reply.body, {
      judge: judgeCodexEvent,
      idleMs,
      mostHeldMs,
      mostHeldBytes,
      signal,
    })
    if (first.kind === 'output') {
      return { kind: 'accepted', result: { body: first.body, headers: passedCodexHeaders(reply.headers) } }
    }
    return { kind: 'refused', refusal: toRefusal(reply, first.refusal.status, first.refusal.error) }
  }

  return {
    provider: 'codex',
    profile: credentials.kind === 'chatgpt' ? 'chatgpt' : undefined,

    async stream(call, { signal }) {
      const opened = await exchangeWith({
        method: 'POST',
        path: call.path,
        body: call.body,
        headers: (credential) => codexHeaders(identity, credential, call.headers),
        accept(reply) {
          etags.seen(reply.headers)
          return acceptStream(reply, signal)
        },
        signal,
      })
      return { ...opened, idleMs }
    },

    json: () =>
      Promise.reject(
        new Fault({
          kind: 'invalid_request',
          path: 'model',
          detail: 'Codex serves no embeddings; choose an embeddings model of another provider',
        }),
      ),

    listModels: ({ signal }) =>
      exchangeWith({
        method: 'GET',
        path: credentials.kind === 'chatgpt' ? `/models?client_version=${options.clientVersion}` : '/models',
        body: null,
        headers: (credential) => codexModelsHeaders(identity, credential),
        async accept(reply) {
          const result = await readReplyJson(reply, idleMs)
          etags.listed(reply.headers)
          return { kind: 'accepted', result }
        },
        signal,
      }),

    close: () => pool.agent.close(),
  }
}

/** For a source that has nothing to say of a login that is over. */
const deadError = {
  chatgpt: {
    kind: 'codex_unavailable',
    detail: 'OpenAI has ended this ChatGPT login',
    fix: 'Run `copilot-proxy login codex`.',
  },
  'api-key': {
    kind: 'codex_unavailable',
    detail: 'OpenAI has revoked this API key',
    fix: 'Set another one as codex.api-key.',
  },
} as const

function toRefusal(reply: UpstreamReply, status: number | undefined, error: CodexRefusal['error']): CodexRefusal {
  return {
    status,
    error,
    retryAfter: retryAfterIn(reply.headers),
    headers: passedCodexHeaders(reply.headers),
  }
}

/**
 * Tells when the model list has changed. Each version is told once, so that a backend which labels the list in two ways
 * is not asked for it with every request.
 */
function watchModelsEtag(tell: (etag: string) => void) {
  let listed: string | undefined
  let told: string | undefined
  return {
    /** The list was fetched. */
    listed(headers: UpstreamReply['headers']): void {
      listed = etagIn(headers['etag'])
    },
    /** A reply came by. */
    seen(headers: UpstreamReply['headers']): void {
      const etag = etagIn(headers['x-models-etag'])
      // Of a list that did not name its version it is taken to be the first that is seen.
      listed ??= etag
      if (etag === undefined || etag === listed || etag === told) return
      told = etag
      tell(etag)
    },
  }
}

/** Without the marks around it, which not every header that repeats it carries. */
function etagIn(value: string | string[] | undefined): string | undefined {
  const etag = typeof value === 'string' ? value.trim().replace(/^W\//, '').replaceAll('"', '') : ''
  return etag === '' ? undefined : etag
}
