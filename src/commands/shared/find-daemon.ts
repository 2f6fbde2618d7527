import { readdir, readFile, readlink } from 'node:fs/promises'
import type { networkInterfaces } from 'node:os'
import { basename, join } from 'node:path'
import { z } from 'zod'
import { findProcessStart } from '../../auth/records/process-start.ts'
import { isForeign } from '../../auth/records/record-fs.ts'
import { anyKey } from '../../client-settings/target.ts'
import { parseApiKeyEntry } from '../../config/api-keys.ts'
import { callerKeyVariable } from '../../config/environment.ts'
import { canonicalHost } from '../../config/loopback.ts'
import type { Config } from '../../config/schema.ts'
import { readOwnerToken } from '../../daemon/owner-token-file.ts'
import { findListeners, openSocketTables } from '../../http/access/socket-table.ts'
import type { SocketRow } from '../../http/access/socket-table.ts'
import { findStateFiles, findRunningDaemon } from '../background/background-daemon.ts'
import type { DaemonRecord } from '../background/background-daemon.ts'
import { CommandFailure, exitCode } from './command.ts'
import type { CommandContext } from './command.ts'
import type { LoadedSettings } from './settings.ts'

export interface FoundDaemon {
  readonly url: string
  /** Undefined: no daemon of this user answers. */
  readonly health: DaemonHealth | undefined
}

export interface FindOptions {
  /** For callers that have looked up the background daemon already. */
  readonly findBackground?: () => Promise<DaemonRecord | undefined>
  /** The time limit of each address. Ms. */
  readonly timeoutMs?: number
}

/**
 * The daemon that a command talks to: the one at the configured address, else the background daemon, which may use
 * another port.
 */
export async function findDaemon(
  context: CommandContext,
  settings: LoadedSettings,
  { findBackground = () => findRunningDaemon(context, findStateFiles(context)), timeoutMs }: FindOptions = {},
): Promise<FoundDaemon> {
  const { server } = settings.config
  const url = daemonUrl(server)
  // Port 0 selects another port at each start, and only the record of the background daemon has that port.
  const health = server.port === 0 ? undefined : await askHealth(url, context.fetch, timeoutMs)
  // A daemon of another user must not receive the key.
  if (health !== undefined && !(await isForeignListener(server.port))) return { url, health }
  const background = await findBackground()
  if (background === undefined || background.url === url || !isMeant(background, settings)) {
    return { url, health: undefined }
  }
  return { url: background.url, health: await askHealth(background.url, context.fetch, timeoutMs) }
}

/** With an explicit `--config`, only a daemon that runs with the same file is meant. */
function isMeant({ flags }: DaemonRecord, { isNamed, configFile }: LoadedSettings): boolean {
  return !isNamed || flags.config === configFile
}

/** Body of `GET /healthz`, which needs no key. */
const healthBody = z
  .object({
    ok: z.boolean(),
    /** `ok` or `unavailable`. */
    copilot: z.string(),
    /** As `copilot`; absent if Codex is switched off, and from older versions. */
    codex: z.string().optional().catch(undefined),
    version: z.string(),
    /** It answers from the simulated Copilot. */
    demo: z.boolean().catch(false),
    config: z.string().optional().catch(undefined),
  })
  .transform(({ copilot, codex, version, demo, config }) => ({
    copilot,
    codex,
    version,
    demo,
    /** The configuration file is empty or invalid, so older settings are in force. */
    isConfigRefused: config === 'invalid',
  }))
export type DaemonHealth = z.infer<typeof healthBody>

const answerTimeoutMs = 1000

/** The URL of a daemon on this machine; a wildcard address is reached on loopback. */
export function daemonUrl(server: { readonly host: string; readonly port: number }): string {
  const wildcards: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' }
  const host = wildcards[server.host] ?? server.host
  return `http://${host.includes(':') ? `[${host}]` : host}:${server.port}`
}

/** The IPv4 addresses at which other machines reach a daemon that listens on all networks; none for other hosts. */
export function networkAddresses(host: string, interfaces: ReturnType<typeof networkInterfaces>): readonly string[] {
  if (!['0.0.0.0', '::'].includes(canonicalHost(host) ?? '')) return []
  return Object.values(interfaces).flatMap((list = []) =>
    list.flatMap(({ address, family, internal }) => (internal || family !== 'IPv4' ? [] : [address])),
  )
}

/** The health of the copilot-proxy at this address; undefined if none answers. */
export async function askHealth(
  url: string,
  fetch: typeof globalThis.fetch,
  timeoutMs = answerTimeoutMs,
): Promise<DaemonHealth | undefined> {
  try {
    const response = await fetch(`${url}/healthz`, { redirect: 'error', signal: AbortSignal.timeout(timeoutMs) })
    return healthBody.safeParse(await response.json()).data
  } catch {
    return undefined
  }
}

export interface DaemonAddress {
  readonly url: string
  /** Undefined if it is unknown: the daemon may need none. */
  readonly key: string | undefined
}

export interface DaemonReply {
  readonly ok: boolean
  readonly status: number
  /** Undefined if the body is not JSON. */
  readonly body: unknown
}

/** The headers of a command's request to the daemon. The name is the client in `copilot-proxy requests`. */
export function daemonHeaders(
  { version }: Pick<CommandContext, 'version'>,
  key: string | undefined,
): Readonly<Record<string, string>> {
  return { 'user-agent': `copilot-proxy/${version}`, ...(key !== undefined && { authorization: `Bearer ${key}` }) }
}

export interface DaemonRequest {
  readonly method?: 'GET' | 'POST'
  /** Sent as JSON. */
  readonly body?: object
  readonly timeoutMs: number
  /** Default: the command's own. */
  readonly signal?: AbortSignal
}

/** @throws errors of the network; the signal's reason on abort */
export async function callDaemon(
  context: CommandContext,
  { url, key }: DaemonAddress,
  path: string,
  { method = 'GET', body, timeoutMs, signal = context.signal }: DaemonRequest,
): Promise<DaemonReply> {
  const response = await context.fetch(url + path, {
    method,
    headers: { ...daemonHeaders(context, key), ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
    redirect: 'error',
    signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
  })
  return { ok: response.ok, status: response.status, body: await response.json().catch(() => undefined) }
}

/** `wrong`: the key of the environment. `outdated`: the one in the configuration file. */
type KeyRefusal = 'missing' | 'wrong' | 'outdated'
export type CallerKeyState = 'ok' | KeyRefusal

/** @param key that the daemon refused */
export function refusalOf(key: string | undefined, env: CommandContext['env']): KeyRefusal {
  if (!key) return 'missing'
  if (key === env[callerKeyVariable]) return 'wrong'
  return key === anyKey ? 'missing' : 'outdated'
}

const createKey = `export ${callerKeyVariable}=$(copilot-proxy key add)`
export const keyFix = `Set ${callerKeyVariable} to a valid key, or create one: ${createKey}`

export const keyProblems = {
  missing: `no key: copilot-proxy requires one, and ${callerKeyVariable} is not set`,
  wrong: `wrong key in ${callerKeyVariable}`,
  outdated: 'wrong key in server.api-keys: copilot-proxy uses other keys',
} as const satisfies Record<KeyRefusal, string>

/** The running daemon requires a key and did not get a valid one. */
export class KeyRefused extends CommandFailure {
  readonly refusal: KeyRefusal

  constructor(url: string, refusal: KeyRefusal) {
    const problems = {
      missing: `No key: copilot-proxy at ${url} requires a key, and ${callerKeyVariable} is not set.`,
      wrong: `Wrong key: copilot-proxy at ${url} refused the key in ${callerKeyVariable}.`,
      outdated: `Wrong key: copilot-proxy at ${url} refused the key in server.api-keys.`,
    }
    super(exitCode.failed, `${problems[refusal]} ${keyFix}`)
    this.refusal = refusal
  }
}

/** For commands that can do without the daemon. @throws the error if the user gave a wrong key, or it is another error */
export function returnMissingKey(error: unknown): KeyRefused {
  if (error instanceof KeyRefused && error.refusal !== 'wrong') return error
  throw error
}

/** @throws KeyRefused by the running daemon */
export async function refuseWrongKey(context: CommandContext, url: string, config: Config): Promise<void> {
  const state = await checkCallerKey(context, url, config)
  if (state !== undefined && state !== 'ok') throw new KeyRefused(url, state)
}

/** Whether a running daemon accepts the key that commands send; undefined if it needs none, or does not answer. */
async function checkCallerKey(
  context: CommandContext,
  url: string,
  config: Config,
): Promise<CallerKeyState | undefined> {
  const key = findCallerKey(context, config)
  const address = { url, key: key?.key }
  const reply = await callDaemon(context, address, '/cache', { timeoutMs: answerTimeoutMs }).catch(() => undefined)
  if (reply?.status === 401) return refusalOf(address.key, context.env)
  return reply?.ok === true && key?.isAsked === true ? 'ok' : undefined
}

/** As `checkCallerKey`, but a missing key is no problem for commands that have the owner's token. */
export async function checkCommandKey(
  context: CommandContext,
  settings: LoadedSettings,
  url: string,
): Promise<CallerKeyState | undefined> {
  const state = await checkCallerKey(context, url, settings.config)
  return state === 'missing' && (await findOwnerToken(context, settings, url)) !== undefined ? undefined : state
}

/** A program that listens on a port, as far as an ordinary user may know. */
export type Listener =
  | { readonly kind: 'process'; readonly pid: number; readonly name: string }
  | { readonly kind: 'unknown' }

type PortHolder = ({ readonly kind: 'copilot-proxy' } & Pick<DaemonHealth, 'version' | 'demo'>) | Listener

/**
 * Who listens on a port in use, as far as an ordinary user may know. Never throws.
 * @param procDir Linux's process file system, without which only another copilot-proxy can be identified
 */
export async function findPortHolder(
  fetch: typeof globalThis.fetch,
  server: { readonly host: string; readonly port: number },
  procDir = '/proc',
): Promise<PortHolder> {
  const { port } = server
  const health = await askHealth(daemonUrl(server), fetch)
  if (health !== undefined && !(await isForeignListener(port, procDir))) {
    return { kind: 'copilot-proxy', version: health.version, demo: health.demo }
  }
  return findListener(port, procDir)
}

/** Names a program in a sentence. */
export function listenerText(listener: Listener): string {
  return listener.kind === 'process' ? `${listener.name} (process ${listener.pid})` : 'another program'
}

/** The process that listens on a port at which no copilot-proxy answers. Never throws. */
export async function findListener(port: number, procDir = '/proc'): Promise<Listener> {
  try {
    const inodes = new Set((await listenersOn(port, procDir)).map(({ inode }) => inode))
    return (await findSocketOwner(inodes, procDir)) ?? { kind: 'unknown' }
  } catch {
    return { kind: 'unknown' }
  }
}

/**
 * Whether only other users of this machine listen on a port; false if there is no process file system. Never
 * throws.
 */
export async function isForeignListener(port: number, procDir = '/proc'): Promise<boolean> {
  const listeners = await listenersOn(port, procDir)
  return listeners.length > 0 && listeners.every(({ uid }) => isForeign(uid))
}

/** Never throws. */
async function listenersOn(port: number, procDir: string): Promise<readonly SocketRow[]> {
  const tables = await openSocketTables(procDir)
  if (tables === undefined) return []
  try {
    return await findListeners(tables, port)
  } catch {
    return []
  } finally {
    await tables.close()
  }
}

/** The process that has one of the sockets open. Processes of other users cannot be inspected and are skipped. */
async function findSocketOwner(inodes: ReadonlySet<string>, procDir: string): Promise<Listener | undefined> {
  if (inodes.size === 0) return undefined
  const links = new Set([...inodes].map((inode) => `socket:[${inode}]`))
  for (const pid of await readdir(procDir)) {
    if (!/^\d+$/.test(pid)) continue
    // Sequentially: a machine can have thousands of processes, and this runs once, before an error message.
    if (await hasOpen(links, join(procDir, pid, 'fd'))) {
      return { kind: 'process', pid: Number(pid), name: await nameOf(join(procDir, pid)) }
    }
  }
  return undefined
}

/** Node.js 24 names its first thread so, and Linux reports that as the name of the process. */
const threadName = /^(?:node-)?MainThread$/

/** The program's name. Only the first word of the command line is read: others can hold a secret. */
async function nameOf(processDir: string): Promise<string> {
  const read = (file: string): Promise<string> => readFile(join(processDir, file), 'utf8').catch(() => '')
  const name = (await read('comm')).trim()
  if (!threadName.test(name)) return name
  const [program = ''] = (await read('cmdline')).split('\0')
  return basename(program) || name
}

async function hasOpen(links: ReadonlySet<string>, fdDir: string): Promise<boolean> {
  const fds = await readdir(fdDir).catch(() => [])
  const targets = await Promise.all(fds.map((fd) => readlink(join(fdDir, fd)).catch(() => '')))
  return targets.some((target) => links.has(target))
}

export interface CallerKey {
  readonly key: string
  /** False: the daemon accepts any text as a key. */
  readonly isAsked: boolean
}

/**
 * The key that a client on this machine sends; undefined if the configuration holds only hashes of keys. The key is
 * registered as a secret.
 */
export function findCallerKey({ env, secrets }: CommandContext, { server }: Config): CallerKey | undefined {
  const plain = server.apiKeys.map(parseApiKeyEntry).find((entry) => entry?.form === 'plain')
  // Also without a key in this configuration: the running daemon may use another one.
  const key = env[callerKeyVariable] || plain?.key
  if (key === undefined) return server.apiKeys.length === 0 ? { key: anyKey, isAsked: false } : undefined
  secrets.note(key)
  return { key, isAsked: true }
}

/**
 * The token that makes a command the owner of the daemon at `url`; undefined if this data folder has none, because another
 * home's daemon runs there. Never give it to a client. The token is registered as a secret.
 */
export async function findOwnerToken(
  context: CommandContext,
  { dataDir: dir }: Pick<LoadedSettings, 'dataDir'>,
  url: string,
): Promise<string | undefined> {
  const token = await readOwnerToken({ dir, processStart: (pid) => findProcessStart(pid, context) }, url)
  context.secrets.note(token)
  return token
}

/** @throws CommandFailure `failed` */
export function requireCallerKey(context: CommandContext, config: Config): CallerKey {
  const callerKey = findCallerKey(context, config)
  if (callerKey !== undefined) return callerKey
  throw new CommandFailure(
    exitCode.failed,
    `No key: copilot-proxy requires one, and ${callerKeyVariable} is not set. ${keyFix}`,
  )
}
