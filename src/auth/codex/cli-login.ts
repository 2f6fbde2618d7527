import * as nodeFs from 'node:fs/promises'
import { join } from 'node:path'
import { Fault } from '../../errors.ts'
import { noteNothing, type NoteSecrets } from '../../redaction/known-secrets.ts'
import type { Logger } from '../../logging/logger.ts'
import { waitFor } from '../shared-fetch.ts'
import { isHeaderSafe } from '../http-json.ts'
import { watchByPolling } from '../records/poll-watch.ts'
import { elapsedMs, type Moment } from '../token-life.ts'
import { readLoginClaims } from './claims.ts'
import { readCliFile, signCliFile, type CliFile, type CliFileFs } from './cli-file.ts'
import type { CodexAccount, CodexCredential, CodexCredentialSource, CodexLoginStatus } from './credentials.ts'

export interface CliLoginDeps {
  /** Ms since epoch. */
  readonly now: () => number
  /** Ms; never jumps, may stand still while the machine sleeps. */
  readonly monotonicMs: () => number
  /** Waits before a half-written file is read again. Always resolves. */
  readonly sleep: (ms: number) => Promise<void>
  readonly log: Logger
  /** Called with every credential that is read. */
  readonly noteSecrets?: NoteSecrets | undefined
  readonly fs?: CliFileFs
}

export interface CliLoginOptions {
  /** `$CODEX_HOME`, by default `~/.codex`; as a path. */
  readonly codexHome: string
  /** How often the file is checked with one stat. Ms; 2,000 by default. */
  readonly watchEveryMs?: number
}

/**
 * The CLI writes its file in place, which takes no longer than this (docs/codex-wire.md, "Stored login of Codex CLI").
 */
const PARTIAL_WAITS_MS: readonly number[] = [50, 100, 250]

type State = CodexLoginStatus['state']

/** The content of the file: a login, or why there is none. */
type Found =
  | { readonly kind: 'nothing'; readonly state: State; readonly detail: string; readonly fix: string }
  | {
      readonly kind: 'login'
      readonly credential: Extract<CodexCredential, { kind: 'chatgpt' }>
      readonly account: CodexAccount
      readonly email?: string
      readonly plan?: string
      readonly seenAt: Moment
      /** From `seenAt`; Infinity if the token does not say. */
      readonly expiresAfterMs: number
    }

/**
 * The login that Codex CLI keeps in its `auth.json`, read-only: the file is never written, and its refresh token never
 * redeemed, because that would end the CLI's own login. The file is read again when it changes.
 */
export function createCliLoginSource(deps: CliLoginDeps, options: CliLoginOptions): CodexCredentialSource {
  const { fs = nodeFs, log, noteSecrets = noteNothing } = deps
  const path = join(options.codexHome, 'auth.json')
  const listeners = new Set<(account: CodexAccount | undefined) => void>()
  let found: Found | undefined
  let readSignature: string | undefined
  let announced: string | undefined
  let dead: { readonly value: string; readonly detail: string } | undefined
  let closed = false
  let flight: Promise<void> | undefined

  const moment = (): Moment => ({ wallMs: deps.now(), monotonicMs: deps.monotonicMs() })

  const announce = (account: CodexAccount | undefined): void => {
    if (found !== undefined && account?.id === announced) return
    announced = account?.id
    for (const listener of listeners) listener(account)
  }

  const readWhole = async (): Promise<CliFile> => {
    for (const waitMs of PARTIAL_WAITS_MS) {
      const file = await readCliFile(fs, path)
      if (file.kind !== 'partial') return file
      await deps.sleep(waitMs)
    }
    return readCliFile(fs, path)
  }

  const read = async (): Promise<void> => {
    // First, so that the next check notices a change during the read.
    const signature = await signCliFile(fs, path)
    const file = await readWhole()
    const now = toFound(file, moment())
    if (now.kind === 'login') noteSecrets(now.credential.value)
    readSignature = signature
    if (now.kind === 'nothing' && (found?.kind !== 'nothing' || found.detail !== now.detail)) {
      log.warn({ path, ...(file.kind === 'unreadable' && { code: file.code }) }, now.detail)
    }
    announce(now.kind === 'login' ? now.account : undefined)
    found = now
  }

  /** Joins the read under way, or starts one. Never rejects. */
  const readOnce = (): Promise<void> =>
    (flight ??= read().finally(() => {
      flight = undefined
    }))

  const readIfChanged = async (): Promise<void> => {
    if (found !== undefined && readSignature === (await signCliFile(fs, path))) return
    await readOnce()
  }

  const isExpired = (login: Extract<Found, { kind: 'login' }>): boolean =>
    elapsedMs(login.seenAt, moment()) >= login.expiresAfterMs

  const usable = (): CodexCredential | undefined =>
    found?.kind === 'login' && !isExpired(found) && found.credential.value !== dead?.value
      ? found.credential
      : undefined

  const status = (): CodexLoginStatus => {
    if (found === undefined) return { state: 'starting', detail: 'Codex CLI’s login is being read', fix: '', source }
    if (found.kind === 'nothing') return { state: found.state, detail: found.detail, fix: found.fix, source }
    const { credential, account, email, plan, seenAt, expiresAfterMs } = found
    const known = {
      source,
      recordId: account.id,
      ...(email !== undefined && { email }),
      ...(plan !== undefined && { plan }),
      ...(expiresAfterMs < Infinity && { expiresAtMs: seenAt.wallMs + expiresAfterMs }),
    } as const
    if (credential.value === dead?.value) {
      return { state: 'login_required', detail: dead.detail, fix: 'Log in to Codex CLI again: codex login', ...known }
    }
    return isExpired(found)
      ? { state: 'expired', detail: 'The login of Codex CLI has run out', fix: renewalFix, ...known }
      : { state: 'ok', detail: 'Logged in with Codex CLI’s login', fix: '', ...known }
  }

  const usableOrThrow = (): CodexCredential => {
    const credential = usable()
    if (credential !== undefined) return credential
    if (closed) throw new Fault({ kind: 'shutting_down' })
    const { detail, fix } = status()
    throw new Fault({ kind: 'codex_unavailable', detail, fix })
  }

  const unwatch = watchByPolling(
    () => signCliFile(fs, path),
    options.watchEveryMs ?? 2_000,
    () => void readIfChanged(),
  )
  void readOnce()

  return {
    kind: 'chatgpt',
    async get(signal) {
      signal.throwIfAborted()
      const credential = usable()
      if (credential !== undefined) return credential
      if (!closed) await waitFor(readIfChanged(), signal)
      return usableOrThrow()
    },
    async replace(rejected, signal) {
      signal.throwIfAborted()
      const other = usable()
      if (other !== undefined && other.value !== rejected) return other
      // Ignore the file's times: a coarse clock, or a copy that keeps them, must not hide a new token.
      if (!closed) await waitFor(flight === undefined ? readOnce() : flight.then(readOnce), signal)
      return usableOrThrow()
    },
    markAccepted() {},
    // Upstream's advice to log in again does not apply: the CLI renews its token.
    refused: () =>
      new Fault({
        kind: 'codex_unavailable',
        detail: 'OpenAI no longer takes the token in Codex CLI’s login',
        fix: renewalFix,
      }),
    markRevoked(rejected, detail) {
      if (found?.kind !== 'login' || found.credential.value !== rejected) return
      dead = { value: rejected, detail }
      log.warn({ detail }, 'the login of Codex CLI has ended')
    },
    status,
    onChange(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    async close() {
      closed = true
      unwatch()
      await flight
    },
  }
}

const source = 'codex-cli'
const renewalFix = 'Run any command of Codex CLI, which renews it (codex exec "hello", say), then try again'

function toFound(file: CliFile, seenAt: Moment): Found {
  switch (file.kind) {
    case 'chatgpt':
      return toLogin(file, seenAt)
    case 'absent':
      return {
        kind: 'nothing',
        state: 'login_required',
        detail:
          'Codex CLI keeps no login in a file: nobody is logged in to it, or it uses the system’s keyring, which is ' +
          'not read from here',
        fix: 'Log in here instead: copilot-proxy login codex, and set codex.use-cli-login to false',
      }
    case 'api-key':
      return {
        kind: 'nothing',
        state: 'unreadable',
        detail: 'Codex CLI’s file holds an API key, no ChatGPT login',
        fix: 'To use an API key here, set codex.api-key',
      }
    case 'other': {
      const mode = file.mode === '' ? '' : ` (${file.mode})`
      return {
        kind: 'nothing',
        state: 'unreadable',
        detail: `Codex CLI’s file holds no ChatGPT login that can be used here${mode}`,
        fix: 'Log in to Codex CLI with ChatGPT: codex login',
      }
    }
    case 'partial':
      return {
        kind: 'nothing',
        state: 'unreadable',
        detail: 'Codex CLI’s file is not JSON, or cut short',
        fix: 'Log in to Codex CLI again: codex login',
      }
    case 'unreadable':
      return {
        kind: 'nothing',
        state: 'unreadable',
        detail: 'Codex CLI’s file cannot be read',
        fix: 'Check the owner and mode of auth.json in the folder of Codex CLI',
      }
  }
}

function toLogin(file: Extract<CliFile, { kind: 'chatgpt' }>, seenAt: Moment): Found {
  const { accessToken: value, idToken } = file
  const claims = readLoginClaims(value, idToken)
  const accountId = file.accountId ?? claims.accountId
  if (!isHeaderSafe(value) || accountId === undefined || !isHeaderSafe(accountId)) {
    return toFound({ kind: 'other', mode: '' }, seenAt)
  }
  const { email, plan, expiresAtSeconds, isFedramp } = claims
  return {
    kind: 'login',
    credential: { kind: 'chatgpt', value, accountId, isFedramp },
    account: { id: `codex-cli-${accountId}`, label: email ?? accountId },
    ...(email !== undefined && { email }),
    ...(plan !== undefined && { plan }),
    seenAt,
    expiresAfterMs: expiresAtSeconds === undefined ? Infinity : expiresAtSeconds * 1000 - seenAt.wallMs,
  }
}
