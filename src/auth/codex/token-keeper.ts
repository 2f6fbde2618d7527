import { isLoopbackHost } from '../../config/loopback.ts'
import { Fault } from '../../errors.ts'
import { noteNothing, type NoteSecrets } from '../../known-secrets.ts'
import type { Logger } from '../../log.ts'
import { isHeaderSafe } from '../http-json.ts'
import { RecordStoreError } from '../record-fs.ts'
import { elapsedMs, isDue, isExpired, type Moment, type TokenLife } from '../token-life.ts'
import { accessLife } from './access-life.ts'
import { readClaims } from './claims.ts'
import type { CodexAccount, CodexCredential, CodexLoginStatus } from './credentials.ts'
import { codexLoginFix, isRenewalInDoubt, withRenewedTokens, type CodexRecord } from './record.ts'
import { refreshTokens } from './token-endpoint.ts'
import {
  cannotRenew,
  loginEnded,
  MAX_REPLACEMENT_GAP_MS,
  MIN_REPLACEMENT_GAP_MS,
  MIN_RENEWAL_GAP_MS,
  storeTrouble,
  type CodexTrouble,
  type TroubleContext,
} from './trouble.ts'

export interface CodexKeeperDeps {
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
  /** Hears how each renewal went. */
  readonly onRefresh?: ((ok: boolean) => void) | undefined
}

export interface CodexKeeperOptions {
  /** `codex.issuer`, no slash at the end; a record that was made elsewhere carries its own. */
  readonly issuer: string
  /** `codex.client-id`. */
  readonly clientId: string
  /** How long the answer to one renewal is listened for, whoever still waits for it. Ms; 120,000 by default. */
  readonly renewalTimeoutMs?: number
}

/** The login in use, and the rules of when its token is good, due and worth a renewal. Reads and writes no store. */
export interface CodexTokenKeeper {
  /** The credential, unless its token has really expired or is known to be dead. */
  readonly usable: () => CodexCredential | undefined
  readonly isDue: () => boolean
  /** Whether a renewal now would be in time, and allowed by back-off. `rejected`: the value upstream refused. */
  readonly wantsRenewal: (rejected: string | undefined) => boolean
  /** Follows what is stored: another account, newer tokens of another process, nothing at all. */
  readonly follow: (record: CodexRecord | undefined) => void
  /**
   * Redeems the record's refresh token, once. Returns the record that must be stored before it is used, or undefined
   * when there is none; never throws. Nothing can cancel it: the reply of a redemption is the only copy of the login.
   */
  readonly renew: (record: CodexRecord, rejected: string | undefined) => Promise<CodexRecord | undefined>
  /** The store could not be read, written or locked. */
  readonly noteStoreTrouble: (error: unknown) => void
  /** Upstream took it. */
  readonly noteAccepted: (accepted: string) => void
  /** Upstream refused it, and a renewal has been tried where one was possible. */
  readonly noteRejected: (rejected: string) => void
  /** Upstream says that the login is dead. */
  readonly noteRevoked: (rejected: string, detail: string) => void
  readonly status: () => CodexLoginStatus
  /** The fault of a caller who gets no credential. */
  readonly unavailable: () => Fault
  /** The fault of a caller whose request upstream still refuses; `message` is upstream's. */
  readonly refused: (message: string) => Fault
}

interface Held {
  readonly credential: Extract<CodexCredential, { kind: 'chatgpt' }>
  readonly life: TokenLife
}

/** `announce` is called when another account is in use; with undefined when there is none (any more). */
export function createCodexTokenKeeper(
  deps: CodexKeeperDeps,
  options: CodexKeeperOptions,
  announce: (account: CodexAccount | undefined) => void,
): CodexTokenKeeper {
  const { log, noteSecrets = noteNothing } = deps

  let loaded = false
  let login: CodexRecord | undefined
  let held: Held | undefined
  let announced: string | undefined
  let trouble: CodexTrouble | undefined
  let failures = 0
  /** The trouble with the store that was told last. */
  let toldTrouble = ''
  let lastRenewal: Moment | undefined
  let lastReplacement: Moment | undefined
  /** Renewals after a rejection since upstream last took a token: not one of them has helped so far. */
  let vainReplacements = 0
  let renewing = false
  /** The rejected value for which a renewal has been made; a second one would bring nothing new. */
  let settledRejection: string | undefined
  /** An access token that upstream will never take again. */
  let dead: string | undefined
  /** The refresh token this process has sent last, and whether it may be spent. */
  let sent: { readonly token: string; readonly mayBeSpent: boolean } | undefined

  const moment = (): Moment => ({ wallMs: deps.now(), monotonicMs: deps.monotonicMs() })
  const since = (then: Moment | undefined): number => (then === undefined ? Infinity : elapsedMs(then, moment()))
  const usable = (): CodexCredential | undefined =>
    held === undefined || isExpired(held.life, moment()) ? undefined : held.credential
  const due = (): boolean => held === undefined || isDue(held.life, moment())
  /** What this process does not know of a token the record's mark tells. */
  const mayBeSpent = (record: CodexRecord): boolean =>
    sent?.token === record.metadata.refresh_token ? sent.mayBeSpent : isRenewalInDoubt(record)
  const replacementGapMs = (): number =>
    vainReplacements === 0
      ? MIN_RENEWAL_GAP_MS
      : Math.min(MIN_REPLACEMENT_GAP_MS * 2 ** (vainReplacements - 1), MAX_REPLACEMENT_GAP_MS)
  const troubleContext = (): TroubleContext => ({ at: moment(), failures, random: deps.random() })

  const hold = (record: CodexRecord): void => {
    const { access_token: value, account_id: accountId } = record.metadata
    if (!isHeaderSafe(value) || value === dead) {
      held = undefined
      return
    }
    held = {
      credential: { kind: 'chatgpt', value, accountId, isFedramp: readClaims(value).isFedramp },
      life: accessLife(record, deps.random(), moment()),
    }
    const key = loginKey(record)
    if (key === announced || usable() === undefined) return
    announced = key
    announce({ id: record.id, label: record.label })
  }

  const follow = (record: CodexRecord | undefined): void => {
    const { access_token: access, refresh_token: refresh, id_token: id } = record?.metadata ?? {}
    noteSecrets(access, refresh, id)
    const isOther = loginKey(record) !== loginKey(login)
    if (isOther) {
      settledRejection = undefined
      lastRenewal = undefined
      lastReplacement = undefined
      vainReplacements = 0
    }
    if (isOther || tokenKey(record) !== tokenKey(login)) {
      trouble = undefined
      failures = 0
    }
    if (trouble?.state === 'unreadable') trouble = undefined
    const isNews = !loaded || announced !== undefined
    const isKnown = held?.credential.value === record?.metadata.access_token && !isOther
    loaded = true
    login = record
    if (record === undefined) {
      held = undefined
      announced = undefined
      sent = undefined
      dead = undefined
      if (isNews) announce(undefined)
    } else if (!isKnown) {
      hold(record)
    }
  }

  const wantsRenewal = (rejected: string | undefined): boolean => {
    if (login === undefined) return false
    const token = usable()
    const isRefused = token !== undefined && token.value === rejected
    if (trouble !== undefined) {
      const waitMs = token === undefined || isRefused ? trouble.waitWithoutTokenMs : trouble.waitMs
      if (since(trouble.at) < waitMs) return false
    }
    if (token === undefined) return true
    if (isRefused) return settledRejection !== rejected && since(lastReplacement) >= replacementGapMs()
    // A refresh token that may be spent is tried again only when there is nothing left to lose: a login server that sees
    // one twice may end the whole login, and with it the access token that still works.
    return due() && !mayBeSpent(login) && since(lastRenewal) >= MIN_RENEWAL_GAP_MS
  }

  const renew: CodexTokenKeeper['renew'] = async (record, rejected) => {
    const { refresh_token: refreshToken, issuer } = record.metadata
    const wasCutOff = mayBeSpent(record)
    lastRenewal = moment()
    if (rejected !== undefined) lastReplacement = lastRenewal
    sent = { token: refreshToken, mayBeSpent: true }
    renewing = true
    const outcome = await refreshTokens(
      { fetch: deps.fetch, timeoutMs: options.renewalTimeoutMs ?? 120_000 },
      { issuer: usableIssuer(issuer) ?? options.issuer, clientId: options.clientId, refreshToken },
      neverAborted,
    )
    renewing = false
    if (outcome.kind !== 'aborted') deps.onRefresh?.(outcome.kind === 'ok')
    switch (outcome.kind) {
      case 'ok':
        noteSecrets(outcome.tokens.accessToken, outcome.tokens.refreshToken, outcome.tokens.idToken)
        settledRejection = rejected
        if (rejected !== undefined) vainReplacements += 1
        toldTrouble = ''
        // Where the answer names no other one, it stays good.
        sent = { token: refreshToken, mayBeSpent: false }
        return withRenewedTokens(record, outcome.tokens, deps.now())
      case 'permanent':
        trouble = loginEnded(wasCutOff ? cutOffDetail : outcome.detail, moment())
        if (held?.credential.value === rejected) kill(rejected)
        break
      case 'transient':
        // A refusal tells nothing of an earlier try whose answer never came.
        sent = { token: refreshToken, mayBeSpent: wasCutOff || outcome.inDoubt }
        failures += 1
        trouble = cannotRenew(outcome, troubleContext())
        break
      case 'aborted':
        return undefined
    }
    log.warn({ state: trouble.state, detail: trouble.detail }, 'the ChatGPT login was not renewed')
    return undefined
  }

  const hasEnded = (): boolean => trouble?.state === 'login_required'

  const kill = (value: string | undefined): void => {
    dead = value
    held = undefined
  }

  const status = (): CodexLoginStatus => {
    const known = {
      source: 'login',
      ...(login !== undefined && { recordId: login.id }),
      ...(login?.metadata.email !== undefined && { email: login.metadata.email }),
      ...(login?.metadata.plan !== undefined && { plan: login.metadata.plan }),
      ...(held !== undefined && held.life.expiresAfterMs < Infinity && { expiresAtMs: expiryOf(held.life) }),
    } as const
    if (usable() !== undefined) return { state: 'ok', detail: trouble?.detail ?? 'Logged in', fix: '', ...known }
    if (renewing) return { state: 'unreachable', ...renewalUnderWay, ...known }
    if (trouble !== undefined) return { state: trouble.state, detail: trouble.detail, fix: trouble.fix, ...known }
    if (loaded && login === undefined) {
      return { state: 'login_required', detail: 'Nobody is logged in to OpenAI Codex', fix: codexLoginFix, ...known }
    }
    return loaded
      ? { state: 'expired', detail: 'The token has run out; the next request renews it', fix: '', ...known }
      : { state: 'starting', detail: 'The stored login is being read', fix: '', ...known }
  }

  /** For when `blame` is what keeps a caller from a token. */
  const toFault = (
    { state, detail, fix }: Pick<CodexLoginStatus, 'state' | 'detail' | 'fix'>,
    blame: CodexTrouble | undefined,
  ): Fault => {
    const leftMs = blame === undefined ? 0 : blame.waitWithoutTokenMs - since(blame.at)
    const retryAfter =
      state === 'login_required' ? {} : { retryAfterSeconds: Math.max(1, Math.ceil(Math.min(leftMs, 3600_000) / 1000)) }
    return new Fault({ kind: 'codex_unavailable', detail, fix, ...retryAfter })
  }

  return {
    usable,
    isDue: due,
    wantsRenewal,
    follow,
    renew,
    noteStoreTrouble(error) {
      failures += 1
      const found = storeTrouble(error, troubleContext())
      if (!hasEnded()) trouble = found
      // Met with every request: once is enough. Of a file it cannot read the store itself has told, by name.
      const message = error instanceof Error ? error.message : ''
      const told = message === toldTrouble || (error instanceof RecordStoreError && found.state === 'unreadable')
      toldTrouble = message
      log[told ? 'debug' : 'warn']({ err: error }, 'the stored ChatGPT login could not be used')
    },
    noteAccepted(accepted) {
      // Not at once: a backend that refuses some requests only would have a renewal for each of them.
      if (held?.credential.value === accepted && since(lastReplacement) >= replacementGapMs()) vainReplacements = 0
    },
    noteRejected(rejected) {
      if (hasEnded() && held?.credential.value === rejected) kill(rejected)
    },
    noteRevoked(rejected, detail) {
      // Tokens that have come since then are another login's, or this one's after a renewal.
      if (login === undefined || login.metadata.access_token !== rejected) return
      trouble = loginEnded(detail, moment())
      kill(rejected)
      log.warn({ detail }, 'the ChatGPT login has ended')
    },
    status,
    unavailable: () => toFault(status(), trouble),
    refused(message) {
      if (renewing) return toFault({ state: 'unreachable', ...renewalUnderWay }, undefined)
      if (trouble !== undefined) return toFault(trouble, trouble)
      const text = `OpenAI refuses the ChatGPT login, although it was renewed: ${sentence(message)} ${codexLoginFix}`
      return new Fault({ kind: 'upstream_status', status: 401, message: text, code: 'invalid_api_key' })
    },
  }
}

const renewalUnderWay = {
  detail: 'The login is being renewed, and the login server has not answered yet',
  fix: 'Try again in a moment',
} as const

const cutOffDetail = 'The ChatGPT login has ended: its last renewal was cut off before the new tokens could be stored'

const neverAborted = new AbortController().signal

function sentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`
}

/** Changes when somebody logs in, also with the same account. */
function loginKey(record: CodexRecord | undefined): string {
  return record === undefined
    ? ''
    : JSON.stringify([record.id, record.metadata.account_id, record.metadata.logged_in_at])
}

/** Changes with every renewal. */
function tokenKey(record: CodexRecord | undefined): string {
  return record === undefined ? '' : JSON.stringify([record.metadata.access_token, record.metadata.refresh_token])
}

function expiryOf({ seenAt, expiresAfterMs }: TokenLife): number {
  return seenAt.wallMs + expiresAfterMs
}

/** The login server that made a record, which alone takes its refresh token; undefined when it is no such address. */
function usableIssuer(issuer: string | undefined): string | undefined {
  const url = URL.parse(issuer ?? '')
  if (url === null || issuer === undefined) return undefined
  const isSafe = url.protocol === 'https:' || (url.protocol === 'http:' && isLoopbackHost(url.hostname))
  return isSafe ? issuer.replace(/\/+$/, '') : undefined
}
