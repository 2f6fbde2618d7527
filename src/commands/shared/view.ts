import type { z } from 'zod'
import type { FileConflict } from '../../errors.ts'
import { errorBody } from '../../api/error.ts'
import { CommandFailure, exitCode, isNotLoggedIn, otherVersion } from './command.ts'
import type { CommandContext } from './command.ts'
import {
  callDaemon,
  findCallerKey,
  findDaemon,
  findOwnerToken,
  KeyRefused,
  refusalOf,
  returnMissingKey,
} from './find-daemon.ts'
import type { DaemonAddress, DaemonHealth, DaemonReply, DaemonRequest, FoundDaemon } from './find-daemon.ts'
import type { LoadedSettings } from './settings.ts'

/**
 * What a command asks: the running daemon, else the same parts in this process. Both give the bodies of the daemon's
 * routes.
 */
export interface DaemonView {
  /**
   * The body of a route, checked against its schema.
   * @throws RouteRefused if the route refuses; DaemonGone; KeyRefused; CommandFailure; the signal's reason on abort
   */
  readonly get: <Schema extends z.ZodType>(
    path: string,
    schema: Schema,
    options?: { readonly timeoutMs?: number },
  ) => Promise<z.output<Schema>>
  /** Failures that the bodies do not state, as sentences. */
  readonly problems: () => readonly string[]
  /** Why this process answers, although a daemon runs. */
  readonly refusal: () => KeyRefused | undefined
  readonly close: () => Promise<void>
}

export interface RemoteView extends DaemonView {
  readonly address: DaemonAddress
  /** Undefined: this user's files do not belong to the daemon. */
  readonly ownerToken: string | undefined
  readonly health: DaemonHealth
}

/** A refusal of a route, with its message and code. */
export class RouteRefused extends CommandFailure {
  readonly status: number
  readonly code: string | undefined
  /** Of an undo that does not fit. */
  readonly conflicts: readonly FileConflict[]

  constructor({ status, body }: Pick<DaemonReply, 'status' | 'body'>) {
    const error = errorBody.safeParse(body).data?.error
    super(exitCode.failed, error?.message ?? `copilot-proxy answered with status ${status}.`)
    this.status = status
    this.code = error?.code ?? undefined
    this.conflicts = error?.conflicts ?? []
  }
}

const answerTimeoutMs = 5000
/** A daemon that is busy with another request still answers `GET /healthz` within this time. Ms. */
const healthTimeoutMs = 1000

/** The path of a model in the list, which may have slashes. */
export function modelPath(name: string): string {
  return `/v1/models/${name.split('/').map(encodeURIComponent).join('/')}`
}

/** The daemon does not answer, or is stopping. */
export class DaemonGone extends CommandFailure {
  constructor(url: string, options?: ErrorOptions) {
    super(exitCode.failed, `copilot-proxy at ${url} does not answer. Run: copilot-proxy status`, options)
  }
}

/** The view of the running daemon; undefined if none runs. */
export async function openDaemonView(
  context: CommandContext,
  settings: LoadedSettings,
  timeoutMs = healthTimeoutMs,
): Promise<RemoteView | undefined> {
  return viewOf(
    context,
    settings,
    await findDaemon(context, settings, { timeoutMs: Math.min(timeoutMs, healthTimeoutMs) }),
  )
}

/** The view of a daemon; undefined if it does not run. */
export async function viewOf(
  context: CommandContext,
  settings: LoadedSettings,
  { url, health }: FoundDaemon,
): Promise<RemoteView | undefined> {
  if (health === undefined) return undefined
  const ownerToken = await findOwnerToken(context, settings, url)
  const address = { url, key: ownerToken ?? findCallerKey(context, settings.config)?.key }
  return {
    address,
    ownerToken,
    health,
    get: getterAt(context, address),
    problems: () => [],
    refusal: () => undefined,
    close: async () => {},
  }
}

/** Asks the daemon at an address with a key of the caller's choice. */
export function getterAt(context: CommandContext, address: DaemonAddress): DaemonView['get'] {
  return (path, schema, options) =>
    askRoute(context, address, path, schema, options).catch((error: unknown) => {
      if (!(error instanceof RouteRefused) || error.status !== 401) throw error
      throw new KeyRefused(address.url, refusalOf(address.key, context.env))
    })
}

/**
 * Sends a request to a route of the daemon, and returns the body, checked against its schema.
 * @throws RouteRefused, DaemonGone, CommandFailure; the signal's reason on abort
 */
export async function askRoute<Schema extends z.ZodType>(
  context: CommandContext,
  address: DaemonAddress,
  path: string,
  schema: Schema,
  options: Partial<DaemonRequest> = {},
): Promise<z.output<Schema>> {
  const { signal = context.signal } = options
  const reply = await callDaemon(context, address, path, { timeoutMs: answerTimeoutMs, ...options, signal }).catch(
    (cause: unknown) => {
      signal.throwIfAborted()
      throw new DaemonGone(address.url, { cause })
    },
  )
  if (!reply.ok) throw new RouteRefused(reply)
  const { data, error } = schema.safeParse(reply.body)
  if (error !== undefined) throw otherVersion(error)
  return data
}

/** @throws CommandFailure `failed` if no daemon runs */
export async function requireDaemonView(context: CommandContext, settings: LoadedSettings): Promise<RemoteView> {
  const view = await openDaemonView(context, settings)
  if (view !== undefined) return view
  throw notRunning()
}

function notRunning(): CommandFailure {
  return new CommandFailure(exitCode.failed, 'copilot-proxy is not running. Run: copilot-proxy start')
}

/** An address with a key, e.g. the token that makes a command the owner. */
export type KeyedAddress = DaemonAddress & { readonly key: string }

/**
 * The running daemon of this user, for its owner.
 * @throws CommandFailure `failed` if none runs, or it has another home
 */
export async function requireOwnedDaemon(context: CommandContext, settings: LoadedSettings): Promise<KeyedAddress> {
  // A daemon on a busy machine may take longer than most commands wait.
  const { url, health } = await findDaemon(context, settings, { timeoutMs: answerTimeoutMs })
  if (health === undefined) throw notRunning()
  const key = await findOwnerToken(context, settings, url)
  if (key !== undefined) return { url, key }
  const message =
    `${settings.dataDir} has no token of the copilot-proxy at ${url}, which is of another version or uses another ` +
    'COPILOT_PROXY_HOME. Run: copilot-proxy restart'
  throw new CommandFailure(exitCode.failed, message)
}

/**
 * The view of the running daemon, else one of this process. If the daemon requires a key that the user has not, this process
 * answers too: the logins of this user are in its files.
 */
export async function openView(context: CommandContext, settings: LoadedSettings): Promise<DaemonView> {
  const remote = await openDaemonView(context, settings)
  let local: DaemonView | undefined
  let refused: KeyRefused | undefined
  const openLocal = async (): Promise<DaemonView> => {
    const { createLocalView } = await import('./local-view.ts')
    return (local ??= createLocalView(context, settings))
  }
  return {
    async get(path, schema, options) {
      if (remote !== undefined && refused === undefined) {
        const answer = await remote.get(path, schema, options).then(
          (body) => ({ body }),
          (error: unknown) => returnMissingKey(error),
        )
        if (!(answer instanceof KeyRefused)) return answer.body
        refused = answer
      }
      try {
        return await (await openLocal()).get(path, schema, options)
      } catch (error) {
        throw refused !== undefined && isNotLoggedIn(error) ? refused : error
      }
    },
    problems: () => local?.problems() ?? [],
    refusal: () => refused,
    close: async () => local?.close(),
  }
}

/**
 * What the files of this user say. The running daemon answers, because its environment counts for requests. This process
 * answers if none does, or it is another version, belongs to another home or has simulated logins.
 */
export async function readOwn<Schema extends z.ZodType>(
  context: CommandContext,
  settings: LoadedSettings,
  path: '/status' | '/accounts',
  schema: Schema,
  remote: RemoteView | undefined,
): Promise<z.output<Schema>> {
  try {
    if (remote?.health.demo === false) return await remote.get(path, schema, { timeoutMs: healthTimeoutMs })
  } catch (error) {
    if (!(error instanceof CommandFailure)) throw error
  }
  const { readOwnFiles } = await import('./local-logins.ts')
  return schema.parse(await readOwnFiles(context, settings, path))
}
