import { arch, platform } from 'node:os'
import type { CodexCredential, CodexCredentialSource } from '../auth/codex/credentials.ts'
import { Fault } from '../errors.ts'
import type { Logger } from '../logging/logger.ts'
import { readErrorBody } from '../upstream-errors/error-body.ts'
import type { AccountRequests } from './account-requests.ts'
import type { ConnectionPool } from './connection-pool.ts'
import { isLoginDead, toCodexFault, withHeaderError } from './codex-fault.ts'
import type { CodexRefusal } from './codex-fault.ts'
import { codexHeaders, codexModelsHeaders, passedCodexHeaders } from './codex-headers.ts'
import type { Executor, UpstreamBody, UpstreamCall } from './executor.ts'
import { untilFirstOutput } from './first-output.ts'
import { readErrorText, readModelList, requireEventStream, retryAfterIn } from './read-reply.ts'
import { createSender, toTarget } from './send-request.ts'
import type { UpstreamReply } from './send-request.ts'

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
  /** Ends requests when their ChatGPT account logs out. */
  readonly requests?: Pick<AccountRequests, 'begin'> | undefined
  /** Removes known credentials from upstream's error messages. */
  readonly redact: (text: string) => string
  /** Called with the status and headers of every reply; the headers show how much of a plan is used. */
  readonly onStatus?: ((status: number, headers: UpstreamReply['headers']) => void) | undefined
}

export interface CodexExecutorOptions {
  /** For a ChatGPT login, and for nothing else. */
  readonly baseUrl: string
  /** For an API key, and for nothing else. */
  readonly apiBaseUrl: string
  /** Identifies the program to upstream. */
  readonly originator: string
  /** This program's version. */
  readonly version: string
  /** The version of Codex CLI whose model list is asked for. */
  readonly clientVersion: string
  readonly connectMs: number
  readonly headersMs: number
  readonly idleMs: number
}

/** A request whose credential is not known yet. */
interface CredentialRequest<Result> {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly body: string | Buffer | null
  readonly headers: (credential: CodexCredential) => Record<string, string>
  /** Handles a reply with status 200, which may still be a refusal. */
  readonly accept: (reply: UpstreamReply) => Promise<Outcome<Result>>
  readonly signal: AbortSignal
}

type Outcome<Result> =
  | { readonly kind: 'accepted'; readonly result: Result }
  | { readonly kind: 'refused'; readonly refusal: CodexRefusal }

/** The caller gets nothing while a stream is held back, not even a heartbeat. Ms. */
const mostHeldMs = 15_000
/** The first events repeat the request's instructions and tools. */
const mostHeldBytes = 1024 * 1024

/**
 * The executor of OpenAI Codex: the ChatGPT backend with a login, the OpenAI API with a key. Error rules, for statuses
 * and for failures at the start of a 200 stream alike: 401 → one replay with a different credential, unless the login
 * is dead; everything else goes to the caller, never retried.
 */
export function createCodexExecutor(deps: CodexExecutorDeps, options: CodexExecutorOptions): Executor {
  const { credentials, pool, log, now } = deps
  const { idleMs } = options
  const send = createSender(pool, options, deps.requests)
  const identity = {
    originator: options.originator,
    userAgent: `${options.originator}/${options.version} (${platform()}; ${arch()})`,
  }
  const targets = {
    chatgpt: toTarget(options.baseUrl),
    'api-key': toTarget(options.apiBaseUrl),
  } satisfies Record<CodexCredential['kind'], unknown>
  const etags = watchModelsEtag(deps.onModelsEtag ?? (() => {}))

  async function sendWith<Result>(
    request: CredentialRequest<Result>,
    credential: CodexCredential,
  ): Promise<Outcome<Result>> {
    const { method, path, body, signal } = request
    const reply = await send({
      // By the credential's own kind: neither kind may reach the other's host.
      target: targets[credential.kind],
      path,
      method,
      body,
      headers: () => request.headers(credential),
      account: credential.kind === 'chatgpt' ? credential.accountId : undefined,
      signal,
    })
    deps.onStatus?.(reply.status, reply.headers)
    if (reply.status === 200) return request.accept(reply)
    const text = await readErrorText(reply, idleMs)
    // An error body that was cut off by an abort is no answer.
    signal.throwIfAborted()
    if (reply.status < 400) {
      throw new Fault({ kind: 'upstream_unusable', detail: `it answered with the unexpected status ${reply.status}` })
    }
    const stated = readErrorBody(text)
    const error = reply.status === 401 ? withHeaderError(stated, reply.headers) : stated
    return { kind: 'refused', refusal: toRefusal(reply, reply.status, error) }
  }

  /** Sends the request, and once more with a different credential after a 401. */
  async function open<Result>(request: CredentialRequest<Result>): Promise<Result> {
    const { signal } = request
    let credential = await credentials.get(signal)
    let mayReplay = true
    for (;;) {
      // The body was encoded for that kind.
      if (credential.kind !== credentials.kind) throw new Fault({ kind: 'internal' })
      const outcome = await sendWith(request, credential)
      if (outcome.kind === 'accepted') {
        // Upstream gives the model list even for a token that it refuses everywhere else.
        if (request.method === 'POST') credentials.markAccepted(credential.value)
        return outcome.result
      }

      const fault = toCodexFault(outcome.refusal, now(), deps.redact)
      const { error } = fault
      log.debug({ ...error, path: request.path }, 'Codex refused the request')
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

  /** Another credential than the refused one; the same if there is no other. */
  function nextCredential(
    refused: CodexCredential,
    isDead: boolean,
    mayReplay: boolean,
    signal: AbortSignal,
  ): Promise<CodexCredential> | CodexCredential {
    // If the login has ended, the source returns another credential, or throws the reason why there is none.
    if (isDead) return credentials.get(signal)
    return mayReplay ? credentials.replace(refused.value, signal) : refused
  }

  /** Holds a stream back until there is output: a failure before it is a refusal like any other. */
  async function acceptStream(
    reply: UpstreamReply,
    judge: UpstreamCall['judgeFirstEvent'],
    signal: AbortSignal,
  ): Promise<Outcome<{ readonly body: UpstreamBody; readonly headers: Readonly<Record<string, string>> }>> {
    const headers = passedCodexHeaders(reply.headers)
    requireEventStream(reply, headers)
    if (judge === undefined) return { kind: 'accepted', result: { body: reply.body, headers } }
    const first = await untilFirstOutput(reply.body, {
      judge,
      idleMs,
      mostHeldMs,
      mostHeldBytes,
      signal,
    })
    if (first.kind === 'output') return { kind: 'accepted', result: { body: reply.body, headers } }
    return { kind: 'refused', refusal: toRefusal(reply, first.refusal.status, first.refusal.error) }
  }

  return {
    provider: 'codex',
    profile: credentials.kind === 'chatgpt' ? 'chatgpt' : undefined,

    async stream(call, { signal }) {
      const opened = await open({
        method: 'POST',
        path: call.path,
        body: call.body,
        headers: (credential) => codexHeaders(identity, credential, call.headers),
        accept(reply) {
          etags.seen(reply.headers)
          return acceptStream(reply, call.judgeFirstEvent, signal)
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
          detail: 'Codex has no embeddings; use an embeddings model of Copilot',
        }),
      ),

    listModels: ({ signal }) =>
      open({
        method: 'GET',
        path: credentials.kind === 'chatgpt' ? `/models?client_version=${options.clientVersion}` : '/models',
        body: null,
        headers: (credential) => codexModelsHeaders(identity, credential),
        async accept(reply) {
          const result = await readModelList(reply, idleMs)
          etags.listed(reply.headers)
          return { kind: 'accepted', result }
        },
        signal,
      }),

    close: () => pool.close(),
  }
}

/** For a source that does not report the end of a login itself. */
const deadError = {
  chatgpt: {
    kind: 'codex_unavailable',
    detail: 'OpenAI has ended this ChatGPT login',
    fix: 'Run `copilot-proxy login codex`.',
  },
  'api-key': {
    kind: 'codex_unavailable',
    detail: 'OpenAI has revoked this API key',
    fix: 'Set codex.api-key to another key.',
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
 * Reports when the model list has changed. Reports each version once: a backend that alternates between two versions
 * would otherwise cause a fetch with every request.
 */
function watchModelsEtag(onChange: (etag: string) => void) {
  let listed: string | undefined
  let reported: string | undefined
  return {
    /** The list was fetched. */
    listed(headers: UpstreamReply['headers']): void {
      listed = etagIn(headers['etag'])
    },
    /** A reply arrived. */
    seen(headers: UpstreamReply['headers']): void {
      const etag = etagIn(headers['x-models-etag'])
      // Assume that a list without a version has the first version that a reply names.
      listed ??= etag
      if (etag === undefined || etag === listed || etag === reported) return
      reported = etag
      onChange(etag)
    },
  }
}

/** The tag without `W/` and quotes, which not every header has. */
function etagIn(value: string | string[] | undefined): string | undefined {
  const etag = typeof value === 'string' ? value.trim().replace(/^W\//, '').replaceAll('"', '') : ''
  return etag === '' ? undefined : etag
}
