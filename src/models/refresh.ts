import { Fault, toRetrySeconds, type ProxyError } from '../errors.ts'
import type { Executor } from '../executors/executor.ts'
import type { Logger } from '../logging/logger.ts'
import type { ModelListing } from './model.ts'
import type { ModelRegistry } from './registry.ts'

/** As in GitHub's own clients. Ms. */
const intervalMs = 10 * 60_000
/** After a failure; doubles up to the interval. Ms. */
const firstRetryMs = 30_000
/** For one fetch. Ms. */
const deadlineMs = 30_000
/** Upstream has sent `retry-after` of more than two days; timers overflow after 24 days. Ms. */
const longestHoldMs = 24 * 60 * 60_000
/** Many replies at once report a changed list: they cause one fetch. Ms. */
const changeDelayMs = 1000
/** Upstream's servers can disagree for a while about the current list. Ms. */
const changeSpacingMs = 60_000

export interface ModelRefreshDeps {
  /** The provider in log lines: `Copilot`. */
  readonly name: string
  readonly listModels: Executor['listModels']
  /** Reads the reply of `listModels`; undefined if it is no model list. */
  readonly parse: (reply: unknown) => ModelListing | undefined
  readonly registry: Pick<ModelRegistry, 'register'>
  /** The record of the account that owns the list. */
  readonly clientId: () => string
  /** Ms since epoch. */
  readonly now: () => number
  /** Returns how to cancel it. Must not keep the process alive. */
  readonly setTimer: (run: () => void, delayMs: number) => () => void
  readonly log: Logger
}

type RefreshOutcome =
  | { readonly kind: 'updated'; readonly models: number }
  /** The last good list, or the seeds, stay in use. `problem` is for people. */
  | { readonly kind: 'kept'; readonly problem: string; readonly error: ProxyError }

const stopped: RefreshOutcome = {
  kind: 'kept',
  problem: 'the program is stopping',
  error: { kind: 'shutting_down' },
}

interface RefreshState {
  /** When the current account's list was fetched. Ms since epoch; undefined while the seeds are in use. */
  readonly loadedAtMs: number | undefined
  /** Why the last attempt failed. */
  readonly problem: string | undefined
}

/** Keeps the live model list of one account fresh. No failure is fatal: the list stays as it is. */
export interface ModelRefresh {
  /** After a login or a change of account: fetches now, and every ten minutes in the background. */
  readonly tokenChanged: () => void
  /** Upstream reports a changed list: fetches soon, at most once a minute. */
  readonly listChanged: () => void
  /**
   * Fetches, or joins the fetch under way. Sends nothing while upstream's 429 lasts. Rejects only with the signal's reason;
   * the fetch itself continues, because others may wait for it.
   */
  readonly refresh: (options: { signal: AbortSignal }) => Promise<RefreshOutcome>
  readonly state: () => RefreshState
  /** Ends the timer and a fetch under way. Final. */
  readonly stop: () => void
}

export function createModelRefresh(deps: ModelRefreshDeps): ModelRefresh {
  const { log, now } = deps
  const stopping = new AbortController()
  let loaded: { readonly clientId: string; readonly atMs: number } | undefined
  let problem: string | undefined
  let flight: Promise<RefreshOutcome> | undefined
  let failures = 0
  /** Set after a 429. */
  let hold: { readonly clientId: string; readonly untilMs: number; readonly error: ProxyError } | undefined
  let cancelTimer: (() => void) | undefined
  /** The list has changed since the last fetch began. */
  let isStale = false
  let startedAtMs = 0

  /** Single flight. Never rejects. */
  async function refreshOnce(): Promise<RefreshOutcome> {
    if (stopping.signal.aborted) return stopped
    if (hold?.clientId === deps.clientId() && now() < hold.untilMs) {
      // The timer may have called early, after a change of the clock.
      scheduleNext()
      return { kind: 'kept', problem: problem ?? 'the provider asked to wait', error: hold.error }
    }
    flight ??= run().finally(() => {
      flight = undefined
      scheduleNext()
    })
    return flight
  }

  async function run(): Promise<RefreshOutcome> {
    const clientId = deps.clientId()
    hold = undefined
    isStale = false
    startedAtMs = now()
    const attempt = await fetchList().then(
      (list) => ({ ok: true, list }) as const,
      (cause: unknown) => ({ ok: false, cause }) as const,
    )
    // The account has changed: this is neither its list nor its failure.
    if (deps.clientId() !== clientId && !stopping.signal.aborted) return run()
    return attempt.ok ? succeed(clientId, attempt.list) : fail(clientId, attempt.cause)
  }

  async function fetchList(): Promise<ModelListing> {
    const deadline = new AbortController()
    const cancelDeadline = deps.setTimer(() => {
      deadline.abort(new Fault({ kind: 'upstream_silent', phase: 'headers', afterMs: deadlineMs }))
    }, deadlineMs)
    try {
      const reply = await deps.listModels({ signal: AbortSignal.any([stopping.signal, deadline.signal]) })
      const list = deps.parse(reply)
      if (list === undefined) throw new Fault({ kind: 'upstream_unusable', detail: 'the reply is not a model list' })
      if (list.models.length === 0) throw new Fault({ kind: 'upstream_unusable', detail: 'the model list is empty' })
      return list
    } catch (error) {
      deadline.signal.throwIfAborted()
      throw error
    } finally {
      cancelDeadline()
    }
  }

  function succeed(clientId: string, { models, leftOut }: ModelListing): RefreshOutcome {
    deps.registry.register(clientId, models)
    const fields = { received: models.length, leftOut }
    if (loaded?.clientId !== clientId || problem !== undefined) log.info(fields, `${deps.name} model list loaded`)
    else log.debug(fields, `${deps.name} model list refreshed`)
    failures = 0
    loaded = { clientId, atMs: now() }
    problem = undefined
    return { kind: 'updated', models: models.length }
  }

  function fail(clientId: string, cause: unknown): RefreshOutcome {
    if (stopping.signal.aborted) return stopped
    const error: ProxyError = cause instanceof Fault ? cause.error : { kind: 'internal' }
    failures += 1
    if (error.kind === 'upstream_status' && error.status === 429) {
      hold = { clientId, untilMs: now() + holdMs(error.retryAfter, now()), error }
    }
    const reason = describe(error)
    // Log a lasting problem once, and a missing login never: the status shows it.
    const isNews = error.kind !== 'copilot_unavailable' && error.kind !== 'codex_unavailable' && reason !== problem
    const fields = { problem: reason, ...(error.kind === 'internal' && { err: cause }) }
    log[isNews ? 'warn' : 'debug'](fields, `${deps.name} model list could not be fetched; using the last one`)
    problem = reason
    return { kind: 'kept', problem: reason, error }
  }

  function scheduleNext(): void {
    cancelTimer?.()
    if (stopping.signal.aborted) return
    cancelTimer = deps.setTimer(() => void refreshOnce(), nextDelayMs())
  }

  function nextDelayMs(): number {
    if (hold !== undefined) return hold.untilMs - now()
    if (failures > 0) return Math.min(intervalMs, firstRetryMs * 2 ** (failures - 1))
    if (!isStale) return intervalMs
    const spacingMs = startedAtMs + changeSpacingMs - now()
    // A clock that was set back must not delay the fetch for long.
    return Math.min(changeSpacingMs, Math.max(changeDelayMs, spacingMs))
  }

  function listChanged(): void {
    if (isStale) return
    isStale = true
    // A fetch under way may bring the old list and schedules the next one; a failed one has its own timer.
    if (flight === undefined && failures === 0 && hold === undefined) scheduleNext()
  }

  return {
    tokenChanged: () => void refreshOnce(),
    listChanged,
    refresh: async ({ signal }) => {
      signal.throwIfAborted()
      return unlessAborted(refreshOnce(), signal)
    },
    state: () => ({ loadedAtMs: loaded?.clientId === deps.clientId() ? loaded.atMs : undefined, problem }),
    stop: () => {
      stopping.abort()
      cancelTimer?.()
    },
  }
}

/** The time of `retry-after`, in seconds or as an HTTP date, but at least the usual interval. */
function holdMs(retryAfter: string | undefined, nowMs: number): number {
  if (retryAfter === undefined) return intervalMs
  const asked = toRetrySeconds(retryAfter, nowMs) * 1000
  return Number.isNaN(asked) ? intervalMs : Math.min(longestHoldMs, Math.max(intervalMs, asked))
}

/** For people. */
function describe(error: ProxyError): string {
  switch (error.kind) {
    case 'copilot_unavailable':
    case 'codex_unavailable':
    case 'upstream_unreachable':
    case 'upstream_unusable':
      return error.detail
    case 'upstream_status':
      return `the provider answered ${error.status}: ${error.message}`
    case 'upstream_unauthorized':
      return `the provider answered 401: ${error.upstreamMessage}`
    case 'upstream_silent':
      return `the provider did not answer within ${error.afterMs / 1000} s`
    default:
      return `unexpected failure (${error.kind})`
  }
}

/** The promise's value, unless the signal aborts first. */
function unlessAborted<Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value> {
  const { promise: result, resolve, reject } = Promise.withResolvers<Value>()
  const onAbort = () => reject(signal.reason)
  signal.addEventListener('abort', onAbort, { once: true })
  promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort))
  return result
}
