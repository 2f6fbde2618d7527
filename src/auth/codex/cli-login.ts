import { constants } from 'node:fs'
import * as nodeFs from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { Fault } from '../../errors.ts'
import { noteNothing, type NoteSecrets } from '../../redaction/known-secrets.ts'
import type { Logger } from '../../logging/logger.ts'
import { waitFor } from '../shared-fetch.ts'
import { isHeaderSafe } from '../http-json.ts'
import { watchByPolling } from '../records/poll-watch.ts'
import { errnoOf } from '../records/record-fs.ts'
import type { CredentialStatus } from '../credential/state.ts'
import { isExpired, type Moment, type TokenLife } from '../token-life.ts'
import { readLoginClaims } from './claims.ts'
import type { CodexAccount, CodexCredential, CodexCredentialSource, CodexLoginStatus } from './credentials.ts'
import { parseJson } from '../../json/json.ts'

/** The part of node:fs/promises that is used. Nothing in it can change a file. */
export type CliFileFs = Pick<typeof nodeFs, 'open' | 'stat'>

export interface CliLoginDeps {
  /** Ms since epoch. */
  readonly now: () => number
  /** Ms. Never jumps, and may stop while the machine sleeps. */
  readonly monotonicMs: () => number
  /** Waits before a half-written file is read again. Always resolves. */
  readonly sleep: (ms: number) => Promise<void>
  readonly log: Logger
  /** Called with every credential that is read. */
  readonly noteSecrets?: NoteSecrets | undefined
  readonly fs?: CliFileFs
}

export interface CliLoginOptions {
  /** The path `$CODEX_HOME`, by default `~/.codex`. */
  readonly codexHome: string
  /** How often the file is checked with one stat. Ms; 2,000 by default. */
  readonly watchEveryMs?: number
}

/** The file is a few KB. A larger file is not Codex CLI's. Bytes. */
const MAX_FILE_BYTES = 1024 * 1024

/** The CLI writes its file in place, which takes less than this (docs/codex-wire.md, "Stored login of Codex CLI"). */
const PARTIAL_WAITS_MS: readonly number[] = [50, 100, 250]

interface Login {
  readonly kind: 'login'
  readonly credential: Extract<CodexCredential, { kind: 'chatgpt' }>
  readonly account: CodexAccount
  readonly email: string | undefined
  readonly plan: string | undefined
  readonly life: TokenLife
}

/** Why the file contains no usable login. */
interface Nothing extends CredentialStatus {
  readonly kind: 'nothing'
  /** The file system's error, for the log. */
  readonly code?: string
}

type Found = Login | Nothing

/**
 * The login that Codex CLI keeps in its `auth.json`, read-only. The file is never written and its refresh token never
 * redeemed, because redeeming it would end the CLI's own login. The file is read again when it changes.
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

  const readWhole = async (): Promise<Found> => {
    for (const waitMs of PARTIAL_WAITS_MS) {
      const read = await readCliFile(fs, path, moment())
      if (read !== partial) return read
      await deps.sleep(waitMs)
    }
    return readCliFile(fs, path, moment())
  }

  const read = async (): Promise<void> => {
    // Read the signature first, so that the next check notices a change during the read.
    const signature = await signCliFile(fs, path)
    const now = await readWhole()
    if (now.kind === 'login') noteSecrets(now.credential.value)
    readSignature = signature
    if (now.kind === 'nothing' && (found?.kind !== 'nothing' || found.detail !== now.detail)) {
      log.warn({ path, ...(now.code !== undefined && { code: now.code }) }, now.detail)
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

  const usable = (): CodexCredential | undefined =>
    found?.kind === 'login' && !isExpired(found.life, moment()) && found.credential.value !== dead?.value
      ? found.credential
      : undefined

  const status = (): CodexLoginStatus => {
    if (found === undefined)
      return { state: 'starting', detail: 'copilot-proxy is reading Codex CLI’s login', fix: '', source }
    if (found.kind === 'nothing') return { state: found.state, detail: found.detail, fix: found.fix, source }
    const { credential, account, email, plan, life } = found
    const expiresAtMs = life.expiresAfterMs < Infinity ? life.seenAt.wallMs + life.expiresAfterMs : undefined
    const known = { source, recordId: account.id, email, plan, expiresAtMs } as const
    if (credential.value === dead?.value) return { state: 'login_required', detail: dead.detail, fix: cliFix, ...known }
    return isExpired(life, moment())
      ? { state: 'expired', detail: 'The login of Codex CLI has expired', fix: renewalFix, ...known }
      : { state: 'ok', detail: 'Using the login of Codex CLI', fix: '', ...known }
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
      // Do not compare the file's times: a coarse clock, or a copy that keeps them, must not hide a new token.
      if (!closed) await waitFor(flight === undefined ? readOnce() : flight.then(readOnce), signal)
      return usableOrThrow()
    },
    markAccepted() {},
    // Upstream's advice to log in again does not apply, because the CLI renews its token.
    refused: () =>
      new Fault({
        kind: 'codex_unavailable',
        detail: 'OpenAI no longer accepts the token of Codex CLI’s login',
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
const renewalFix = 'Renew it with a Codex CLI command, for example codex exec "hello", then try again'

const cliFix = 'Log in to Codex CLI again: codex login'

const absent: Nothing = {
  kind: 'nothing',
  state: 'login_required',
  detail:
    'Codex CLI has no login in a file: it is not logged in, or it keeps its login in the system’s keyring, which ' +
    'copilot-proxy does not read',
  fix: 'Log in here instead: copilot-proxy login codex, and set codex.use-cli-login to false',
}
const partial: Nothing = {
  kind: 'nothing',
  state: 'unreadable',
  detail: 'Codex CLI’s auth.json is not valid JSON',
  fix: cliFix,
}
const holdsApiKey: Nothing = {
  kind: 'nothing',
  state: 'unreadable',
  detail: 'Codex CLI’s auth.json has an API key, but no ChatGPT login',
  fix: 'To use an API key here, set codex.api-key',
}

/** @param mode the CLI's name for the kind of login in its file */
function unusable(mode?: string | null): Nothing {
  const known = mode && /^\w{1,40}$/.test(mode) ? ` (${mode})` : ''
  return {
    kind: 'nothing',
    state: 'unreadable',
    detail: `Codex CLI’s auth.json has no usable ChatGPT login${known}`,
    fix: 'Log in to Codex CLI with ChatGPT: codex login',
  }
}

const text = z.string().min(1).nullish().catch(null)

/** Codex CLI's `auth.json` (docs/codex-wire.md, "Stored login of Codex CLI"). */
const authFile = z.looseObject({
  auth_mode: text,
  OPENAI_API_KEY: text,
  tokens: z.looseObject({ id_token: text, access_token: text, account_id: text }).nullish().catch(null),
})

/**
 * Reads the file at `path`. Follows a link, because users link their dotfiles. Never writes, and ignores the refresh
 * token, which belongs to the CLI. Returns every outcome as a value.
 */
async function readCliFile(fs: CliFileFs, path: string, seenAt: Moment): Promise<Found> {
  try {
    // With NONBLOCK, a FIFO at this path does not block.
    const file = await fs.open(path, constants.O_RDONLY | constants.O_NONBLOCK)
    try {
      const stat = await file.stat()
      if (!stat.isFile() || stat.size > MAX_FILE_BYTES) return unusable()
      return toFound(await file.readFile('utf8'), seenAt)
    } finally {
      await file.close()
    }
  } catch (error) {
    const code = errnoOf(error)
    if (code === 'ENOENT' || code === 'ENOTDIR') return absent
    return {
      kind: 'nothing',
      state: 'unreadable',
      detail: 'Codex CLI’s auth.json cannot be read',
      fix: 'Check the owner and mode of auth.json in the folder of Codex CLI',
      code,
    }
  }
}

/** Changes when the file is replaced, rewritten, added or removed, also through a link. */
async function signCliFile(fs: CliFileFs, path: string): Promise<string> {
  try {
    const { dev, ino, mtimeMs, size } = await fs.stat(path)
    return `${dev} ${ino} ${mtimeMs} ${size}`
  } catch (error) {
    return errnoOf(error)
  }
}

function toFound(content: string, seenAt: Moment): Found {
  const json = parseJson(content)
  if (json === undefined) return partial
  const { data } = authFile.safeParse(json)
  if (data === undefined) return unusable()
  const { auth_mode: stated, OPENAI_API_KEY: key, tokens } = data
  // Files of old versions do not state the mode. As in the CLI, an API key then wins over tokens.
  const mode = stated?.toLowerCase() ?? (key ? 'apikey' : 'chatgpt')
  if (mode === 'apikey') return holdsApiKey
  const value = tokens?.access_token
  if (mode !== 'chatgpt' || !value) return unusable(stated)
  const { email, plan, expiresAtSeconds, isFedramp, ...claims } = readLoginClaims(value, tokens.id_token ?? undefined)
  const accountId = tokens.account_id || claims.accountId
  if (!isHeaderSafe(value) || accountId === undefined || !isHeaderSafe(accountId)) return unusable()
  const expiresAfterMs = expiresAtSeconds === undefined ? Infinity : expiresAtSeconds * 1000 - seenAt.wallMs
  return {
    kind: 'login',
    credential: { kind: 'chatgpt', value, accountId, isFedramp },
    account: { id: `codex-cli-${accountId}`, label: email ?? accountId },
    email,
    plan,
    life: { seenAt, dueAfterMs: expiresAfterMs, expiresAfterMs },
  }
}
