import { Fault, type ProxyError } from '../errors.ts'
import type { Executor } from '../executors/executor.ts'
import type { Logger } from '../log.ts'
import type { ModelListing } from './model.ts'
import type { ModelRegistry } from './registry.ts'

/** As GitHub's own clients do. Ms. */
const intervalMs = 10 * 60_000
/** After a failure; doubles with each further one, up to the interval. Ms. */
const firstRetryMs = 30_000
/** A model list is small: an exchange that takes longer is given up. Ms. */
const deadlineMs = 30_000
/** Upstream has asked for more than two days; a timer cannot hold more than 24. Ms. */
const longestHoldMs = 24 * 60 * 60_000
/** Upstream's news of a changed list comes with many replies at once: they cause one exchange. Ms. */
const changeDelayMs = 1000
/** Servers of one upstream can disagree for a while about which list is the present one. Ms. */
const changeSpacingMs = 60_000

export interface ModelRefreshDeps {
  /** Of the provider, for log lines: `Copilot`. */
  readonly name: string
  readonly listModels: Executor['listModels']
  /** Reads what `listModels` brought; undefined when it is not a model list. */
  readonly parse: (reply: unknown) => ModelListing | undefined
  readonly registry: Pick<ModelRegistry, 'register'>
  /** The record whose account the list belongs to. */
  readonly clientId: () => string
  /** Ms since epoch. */
  readonly now: () => number
  /** Runs once after a delay; returns how to cancel it. Must not keep the process alive. */
  readonly setTimer: (run: () => void, delayMs: number) => () => void
  readonly log: Logger
}

type RefreshOutcome =
  | { readonly kind: 'updated'; readonly models: number }
  /** The last good list, or the seeds, stay in force. `problem` is for people. */
  | { readonly kind: 'kept'; readonly problem: string; readonly error: ProxyError }

const stopped: RefreshOutcome = {
  kind: 'kept',
  problem: 'the program is stopping',
  error: { kind: 'shutting_down' },
}

interface RefreshState {
  /** When the present account's list was last fetched, ms since epoch; undefined: never, the seeds are in force. */
  readonly loadedAtMs: number | undefined
  /** Why the last attempt failed. */
  readonly problem: string | undefined
}

/** Keeps the live model list of one account fresh. Nothing it meets is fatal: at worst the list stays as it is. */
export interface ModelRefresh {
  /** There is a token, or one of another account: fetches now and from then on every ten minutes, in the background. */
  readonly tokenChanged: () => void
  /** Upstream says that its list is another one now: fetches soon, once for all who say so within a minute. */
  readonly listChanged: () => void
  /**
   * Fetches and waits, joining an exchange that is under way. While upstream's 429 lasts it asks nothing.
   * Rejects only with the signal's reason; the exchange itself goes on, others may be waiting for it.
   */
  readonly refresh: (options: { signal: AbortSignal }) => Promise<RefreshOutcome>
  readonly state: () => RefreshState
  /** Ends the timer and an exchange under way. Final. */
  readonly stop: () => void
}

export function createModelRefresh(deps: ModelRefreshDeps): ModelRefresh {
  const { log, now } = deps
  const stopping = new AbortController()
  let loaded: { readonly clientId: string; readonly atMs: number } | undefined
  let problem: string | undefined
  let flight: Promise<RefreshOutcome> | undefined
  let failures = 0
  /** Upstream answered 429 to this account. */
  let hold: { readonly clientId: string; readonly untilMs: number; readonly error: ProxyError } | undefined
  let cancelTimer: (() => void) | undefined
  /** The list has changed since the last exchange began. */
  let isStale = false
  let startedAtMs = 0

  /** One refresh at a time; whoever asks meanwhile gets its outcome. Never rejects. */
  async function fly(): Promise<RefreshOutcome> {
    if (stopping.signal.aborted) return stopped
    if (hold?.clientId === deps.clientId() && now() < hold.untilMs) {
      // Again, because this may be the timer's own call, come early after a change of the clock.
      scheduleNext()
      return { kind: 'kept', problem: problem ?? 'upstream asked to wait', error: hold.error }
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
    // The account changed meanwhile: this is neither its list nor its failure.
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
    // Without a login every attempt fails alike, and login and status say so better. A lasting problem is told once.
    const isNews = error.kind !== 'copilot_unavailable' && error.kind !== 'codex_unavailable' && reason !== problem
    const fields = { problem: reason, ...(error.kind === 'internal' && { err: cause }) }
    log[isNews ? 'warn' : 'debug'](
      fields,
      `${deps.name} model list could not be fetched; the last known one stays in force`,
    )
    problem = reason
    return { kind: 'kept', problem: reason, error }
  }

  function scheduleNext(): void {
    cancelTimer?.()
    if (stopping.signal.aborted) return
    cancelTimer = deps.setTimer(() => void fly(), nextDelayMs())
  }

  function nextDelayMs(): number {
    if (hold !== undefined) return hold.untilMs - now()
    if (failures > 0) return Math.min(intervalMs, firstRetryMs * 2 ** (failures - 1))
    if (!isStale) return intervalMs
    const spacingMs = startedAtMs + changeSpacingMs - now()
    // A clock that was set back must not put it off for long.
    return Math.min(changeSpacingMs, Math.max(changeDelayMs, spacingMs))
  }

  function listChanged(): void {
    if (isStale) return
    isStale = true
    // What is under way may bring the old list, and schedules what follows it; what failed has a timer of its own.
    if (flight === undefined && failures === 0 && hold === undefined) scheduleNext()
  }

  return {
    tokenChanged: () => void fly(),
    listChanged,
    refresh: async ({ signal }) => {
      signal.throwIfAborted()
      return unlessAborted(fly(), signal)
    },
    state: () => ({ loadedAtMs: loaded?.clientId === deps.clientId() ? loaded.atMs : undefined, problem }),
    stop: () => {
      stopping.abort()
      cancelTimer?.()
    },
  }
}

/** How long a 429 is respected: what `retry-after` says, seconds or an HTTP date, but at least the usual interval. */
function holdMs(retryAfter: string | undefined, nowMs: number): number {
  if (retryAfter === undefined) return intervalMs
  const asked = /^\d+$/.test(retryAfter) ? Number(retryAfter) * 1000 : Date.parse(retryAfter) - nowMs
  return Number.isNaN(asked) ? intervalMs : Math.min(longestHoldMs, Math.max(intervalMs, asked))
}

/** Why a list could not be fetched, for people. */
function describe(error: ProxyError): string {
  switch (error.kind) {
    case 'copilot_unavailable':
    case 'codex_unavailable':
    case 'upstream_unreachable':
    case 'upstream_unusable':
      return error.detail
    case 'upstream_status':
      return `upstream answered ${error.status}: ${error.message}`
    case 'upstream_unauthorized':
      return `upstream answered 401: ${error.upstreamMessage}`
    case 'upstream_silent':
      return `upstream did not answer within ${error.afterMs / 1000} s`
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
