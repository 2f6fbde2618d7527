import { githubHostsOf } from '../config/upstream-hosts.ts'
import { Fault } from '../errors.ts'
import { noteNothing, type NoteSecrets } from '../known-secrets.ts'
import type { Logger } from '../log.ts'
import type { ExchangedToken } from './copilot-exchange.ts'
import type { CopilotToken, CopilotTokenStatus } from './copilot-token.ts'
import { endpointCandidates, hintedBaseUrl } from './endpoint.ts'
import { isDirectKind, obtainCopilotToken, type CopilotAuth } from './github-api.ts'
import { RecordStoreError } from './record-fs.ts'
import { elapsedMs, isDue, isExpired, tokenLife, type Moment, type TokenLife } from './token-life.ts'
import { loginFix } from './token-origin.ts'
import {
  MIN_EXCHANGE_GAP_MS,
  REFUSED_RETRY_MS,
  toLocalTrouble,
  toTrouble,
  type TokenTrouble,
  type TroubleContext,
} from './token-trouble.ts'
import { isUsedDirectly, type CopilotRecord } from './wire.ts'

export interface TokenKeeperDeps {
  readonly fetch: typeof globalThis.fetch
  /** Ms since epoch. */
  readonly now: () => number
  /** Ms; never jumps, may stand still while the machine sleeps. */
  readonly monotonicMs: () => number
  /** 0…1, for jitter. */
  readonly random: () => number
  readonly log: Logger
  /** Told of every credential that is met. */
  readonly noteSecrets?: NoteSecrets | undefined
  /** Hears how each exchange for a new token went. */
  readonly onRefresh?: ((ok: boolean) => void) | undefined
}

export interface TokenKeeperOptions {
  /** `copilot-oauth.github-base-url` and `-api-base-url`; a record of another host carries its own. */
  readonly githubBaseUrl: string
  readonly githubApiBaseUrl: string
  /** `copilot.base-url`; '' when not set. */
  readonly baseUrl: string
  /** `copilot.headers`, names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly refreshSafetyMarginSeconds: number
  /** `copilot.auth`; `exchange` by default. */
  readonly auth?: CopilotAuth
  /** `COPILOT_GITHUB_TOKEN`: used instead of the stored records, and never stored. */
  readonly githubToken?: string
  /** For one exchange. Ms; 15,000 by default. */
  readonly exchangeTimeoutMs?: number
}

/** The account and token in use, and the rules of when they are good, due and worth an exchange. Reads no store. */
export interface TokenKeeper {
  /** The token, unless it has really expired. */
  readonly usable: () => CopilotToken | undefined
  readonly isDue: () => boolean
  /** Upstream has refused this value: where GitHub gives no other, there is nothing left to go on with. */
  readonly noteRejection: (rejected: string) => void
  /** Upstream has refused this value with 402 or 403: it is due from now on. */
  readonly markStale: (refused: string) => void
  /** Whether an exchange now would be in time, and allowed by back-off. `rejected`: the value upstream refused. */
  readonly wantsExchange: (rejected: string | undefined) => boolean
  /** Follows what is stored: another account, a newer token from another process, an edited base URL, nothing at all. */
  readonly follow: (record: CopilotRecord | undefined) => void
  /** One exchange. Returns the record to store, or undefined when there is no new token; never throws. */
  readonly exchange: (
    record: CopilotRecord,
    rejected: string | undefined,
    signal: AbortSignal,
  ) => Promise<CopilotRecord | undefined>
  /** The store could not be read or locked. */
  readonly noteStoreTrouble: (error: unknown) => void
  readonly status: () => CopilotTokenStatus
  /** The fault of a caller who gets no token. */
  readonly unavailable: () => Fault
}

/** What is in use: the token, its life by our clocks, and what the exchange taught us beyond the stored record. */
interface Held {
  readonly token: CopilotToken
  readonly life: TokenLife
  readonly metadata: CopilotRecord['metadata']
}

/** `announce` is called when the account or its base URLs are others than before; with undefined when there is none. */
export function createTokenKeeper(
  deps: TokenKeeperDeps,
  options: TokenKeeperOptions,
  announce: (token: CopilotToken | undefined) => void,
): TokenKeeper {
  const { log, noteSecrets = noteNothing } = deps
  const githubHosts = githubHostsOf([options.githubBaseUrl, options.githubApiBaseUrl])
  const isDirect = options.auth === 'direct'
  const warned = new Set<string>()

  let loaded = false
  let account: CopilotRecord | undefined
  let held: Held | undefined
  let announced: CopilotToken | undefined
  let trouble: TokenTrouble | undefined
  let failures = 0
  /** The trouble with the store that was told last. */
  let toldTrouble = ''
  let lastExchange: Moment | undefined
  let lastReplacement: Moment | undefined
  /** The rejected value for which an exchange has been made; a second one would bring nothing new. */
  let settledRejection: string | undefined
  /** The value that upstream answered with 402 or 403. */
  let staleToken: string | undefined
  let lastStaleRenewal: Moment | undefined
  /** The value that upstream has refused while GitHub gives no other. */
  let deadToken: string | undefined

  const moment = (): Moment => ({ wallMs: deps.now(), monotonicMs: deps.monotonicMs() })
  const since = (then: Moment | undefined): number => (then === undefined ? Infinity : elapsedMs(then, moment()))
  const usable = (): CopilotToken | undefined =>
    held === undefined || isExpired(held.life, moment()) ? undefined : held.token
  const isStale = (): boolean => held !== undefined && held.token.value === staleToken
  const due = (): boolean => held === undefined || isDue(held.life, moment()) || isStale()
  const troubleContext = (): TroubleContext => ({
    at: moment(),
    failures,
    random: deps.random(),
  })

  const warnOfRefused = (urls: readonly string[]): void => {
    for (const url of urls) {
      if (warned.has(url)) continue
      warned.add(url)
      log.warn({ host: hostOf(url) }, 'a base URL was ignored: a Copilot token may not be sent there')
    }
  }

  const lifeOf = ({ metadata }: CopilotRecord): TokenLife | undefined => {
    const { access_token, obtained_at: obtainedAtSeconds, refresh_in: refreshInSeconds } = metadata
    if (access_token === undefined || obtainedAtSeconds === undefined || refreshInSeconds === undefined)
      return undefined
    const direct = isUsedDirectly(metadata)
    // Stored under another `copilot.auth`.
    if (direct ? !isDirect && !isDirectKind(access_token) : isDirect) return undefined
    const settings = { marginSeconds: options.refreshSafetyMarginSeconds, random: deps.random() }
    const life = tokenLife({ obtainedAtSeconds, refreshInSeconds }, settings, moment())
    return direct ? { ...life, expiresAfterMs: Infinity } : life
  }

  const hold = (record: CopilotRecord, life: TokenLife): void => {
    const { candidates, refused } = endpointCandidates(record, { explicitBaseUrl: options.baseUrl, githubHosts })
    warnOfRefused(refused)
    const token: CopilotToken = {
      value: record.metadata.access_token ?? '',
      recordId: record.id,
      ...(isUsedDirectly(record.metadata) && { direct: true }),
      candidates,
      expiresAtMs: life.seenAt.wallMs + life.expiresAfterMs,
    }
    held = { token, life, metadata: record.metadata }
    const changed = announced?.recordId !== token.recordId || announced.candidates.join() !== candidates.join()
    announced = token
    if (changed) announce(token)
  }

  const follow = (record: CopilotRecord | undefined): void => {
    noteSecrets(record?.metadata.github_access_token, record?.metadata.access_token)
    if (accountKey(record) !== accountKey(account)) {
      held = undefined
      trouble = undefined
      settledRejection = undefined
      deadToken = undefined
      staleToken = undefined
      failures = 0
      lastExchange = undefined
    }
    if (trouble?.state === 'unreadable') trouble = undefined
    const isNews = !loaded || announced !== undefined
    loaded = true
    account = record
    if (record === undefined) {
      announced = undefined
      if (isNews) announce(undefined)
      return
    }
    const life = lifeOf(record)
    const newer = held === undefined || (record.metadata.obtained_at ?? 0) > (held.metadata.obtained_at ?? 0)
    const isDead = deadToken !== undefined && record.metadata.access_token === deadToken
    if (life !== undefined && newer && !isDead && !isExpired(life, moment())) {
      trouble = undefined
      hold(record, life)
    } else if (held !== undefined) {
      // The base URLs may have been edited. Where the token could not be stored, memory knows better than the record.
      const stored = record.metadata.access_token === held.token.value
      hold(stored ? record : { ...record, metadata: { ...record.metadata, ...held.metadata } }, held.life)
    }
  }

  const noteRejection = (rejected: string): void => {
    const refusedForGood = trouble?.state === 'login_required' || trouble?.state === 'no_access'
    if (!refusedForGood || held?.token.value !== rejected) return
    held = undefined
    deadToken = rejected
  }

  const wantsExchange = (rejected: string | undefined): boolean => {
    const token = usable()
    if (trouble !== undefined) {
      const waitMs = token === undefined ? trouble.waitWithoutTokenMs : trouble.waitMs
      if (since(trouble.at) < waitMs) return false
    }
    if (token === undefined) return true
    if (token.value === rejected) {
      // A direct token is asked about again: GitHub gives no other, but can say that it is revoked.
      const gapMs = token.direct ? REFUSED_RETRY_MS : MIN_EXCHANGE_GAP_MS
      return settledRejection !== rejected && since(lastReplacement) >= gapMs
    }
    if (since(lastExchange) < MIN_EXCHANGE_GAP_MS) return false
    if (held !== undefined && isDue(held.life, moment())) return true
    // A refusal that outlasts a new token is no news: one exchange a minute is enough to notice its end.
    return isStale() && since(lastStaleRenewal) >= REFUSED_RETRY_MS
  }

  const withToken = (record: CopilotRecord, got: ExchangedToken): CopilotRecord => {
    const base = got.apiBaseUrl === undefined ? undefined : hintedBaseUrl(got.apiBaseUrl, githubHosts)
    if (got.apiBaseUrl !== undefined && base === undefined) warnOfRefused([got.apiBaseUrl])
    const { expires_at: _, ...metadata } = record.metadata
    return {
      ...record,
      metadata: {
        ...metadata,
        access_token: got.token,
        ...(got.expiresAtSeconds === undefined ? {} : { expires_at: got.expiresAtSeconds }),
        refresh_in: got.refreshInSeconds,
        obtained_at: Math.floor(deps.now() / 1000),
        ...(base === undefined ? {} : { base_url: base }),
        ...(got.sku === undefined ? {} : { sku: got.sku }),
      },
    }
  }

  const exchange: TokenKeeper['exchange'] = async (record, rejected, signal) => {
    lastExchange = moment()
    if (rejected !== undefined) lastReplacement = lastExchange
    if (isStale()) lastStaleRenewal = lastExchange
    const outcome = await obtainCopilotToken(
      {
        fetch: deps.fetch,
        apiBaseUrl: record.metadata.github_api_base_url ?? options.githubApiBaseUrl,
        headers: options.headers,
        timeoutMs: options.exchangeTimeoutMs ?? 15_000,
        now: deps.now,
        tokenOrigin: options.githubToken === undefined ? 'record' : 'environment',
      },
      record.metadata.github_access_token,
      options.auth ?? 'exchange',
      signal,
    )
    if (outcome.kind === 'aborted') return undefined
    deps.onRefresh?.(outcome.kind === 'ok')
    if (outcome.kind === 'ok') {
      noteSecrets(outcome.token)
      failures = 0
      trouble = undefined
      settledRejection = outcome.direct ? undefined : rejected
      deadToken = undefined
      staleToken = undefined
      toldTrouble = ''
      const updated = withToken(record, outcome)
      const life = lifeOf(updated)
      account = updated
      if (life !== undefined) hold(updated, life)
      return updated
    }
    failures += 1
    trouble = toTrouble(outcome, troubleContext())
    if (rejected !== undefined) noteRejection(rejected)
    log.warn({ state: trouble.state, detail: trouble.detail }, 'no new Copilot token')
    return undefined
  }

  const status = (): CopilotTokenStatus => {
    const known = {
      ...(account === undefined ? {} : { recordId: account.id }),
      ...(account?.metadata.login === undefined ? {} : { login: account.metadata.login }),
      ...(account?.metadata.sku === undefined ? {} : { sku: account.metadata.sku }),
      ...(held === undefined ? {} : { expiresAtMs: held.token.expiresAtMs }),
    }
    if (usable() !== undefined) return { state: 'ok', detail: trouble?.detail ?? 'Logged in', fix: '', ...known }
    if (trouble !== undefined) return { state: trouble.state, detail: trouble.detail, fix: trouble.fix, ...known }
    if (loaded && account === undefined) {
      return { state: 'login_required', detail: 'Nobody is logged in to GitHub Copilot', fix: loginFix }
    }
    return held === undefined
      ? { state: 'starting', detail: 'The first token is being fetched', fix: '', ...known }
      : { state: 'expired', detail: 'The token has run out; the next request fetches a new one', fix: '', ...known }
  }

  return {
    usable,
    isDue: due,
    noteRejection,
    markStale: (refused) => {
      // Nothing of a direct token would be new.
      if (held?.token.value === refused && !held.token.direct) staleToken = refused
    },
    wantsExchange,
    follow,
    exchange,
    noteStoreTrouble: (error) => {
      failures += 1
      trouble = toLocalTrouble(error, troubleContext())
      // Met with every request: once is enough. Of a file it cannot read the store itself has told, by name.
      const message = error instanceof Error ? error.message : ''
      const told = message === toldTrouble || (error instanceof RecordStoreError && trouble.state === 'unreadable')
      toldTrouble = message
      log[told ? 'debug' : 'warn']({ err: error }, 'the stored login could not be used')
    },
    status,
    unavailable: () => {
      const { state, detail, fix } = status()
      const lasting = state === 'login_required' || state === 'no_access'
      const leftMs = trouble === undefined ? 0 : trouble.waitWithoutTokenMs - since(trouble.at)
      const retryAfter = lasting ? {} : { retryAfterSeconds: Math.max(1, Math.ceil(leftMs / 1000)) }
      return new Fault({ kind: 'copilot_unavailable', detail, fix, ...retryAfter })
    },
  }
}

/** Changes when somebody logs in, also with the same account or the same GitHub token. */
function accountKey(record: CopilotRecord | undefined): string {
  return record === undefined
    ? ''
    : JSON.stringify([record.id, record.metadata.github_access_token, record.metadata.logged_in_at])
}

/** For the log: a refused URL may hold user information. */
function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : 'not a URL'
}
