import { randomBytes } from 'node:crypto'
import { isAbsolute, join } from 'node:path'
import { env as ownEnv, pid, platform } from 'node:process'
import { isDeepStrictEqual } from 'node:util'
import { findProcessStart } from '../auth/records/process-start.ts'
import type { Config } from '../config/schema.ts'
import type { Gateway, GatewayDeps } from './open-gateway.ts'
import { createProviderTools, type ProviderTools } from './provider-tools.ts'

export interface GatewaySwitchDeps extends Pick<
  GatewayDeps,
  'config' | 'dataDir' | 'portHolder' | 'holdSecrets' | 'log' | 'setTimer'
> {
  /** Read for COPILOT_HOME. */
  readonly env: Readonly<Record<string, string | undefined>>
  /** The user's own folder. May throw. */
  readonly homeDir: () => string
}

/** What the open workspaces give to the gateway. */
type GatewayHost = Pick<GatewayDeps, 'workspaces' | 'push' | 'lifecycle'>

/** The gateway as the configuration wants it: open or not. */
export interface GatewaySwitch {
  /** A source of tools for the registry; it has none while the gateway is closed. */
  readonly tools: ProviderTools
  /**
   * Opens, closes or reopens the gateway as the configuration now says. `host` is undefined while no workspace is configured.
   * Calls run one after the other.
   */
  readonly update: (host: GatewayHost | undefined) => Promise<void>
  /** For programs that the daemon starts as providers; undefined while the gateway is closed. */
  readonly token: () => string | undefined
  readonly close: (deadlineMs: number) => Promise<void>
}

/** Between two pings of a connection. Ms. */
const pingMs = 30_000

/** For providers to say goodbye when the configuration closes the gateway. Ms. */
const reconfiguredMs = 5000

export function createGatewaySwitch(deps: GatewaySwitchDeps): GatewaySwitch {
  const tools = createProviderTools(deps.setTimer)
  let gateway: Gateway | undefined
  let settings: Config['gateway'] | undefined
  let done = Promise.resolve()

  async function closeNow(deadlineMs: number): Promise<void> {
    const closing = gateway
    gateway = undefined
    settings = undefined
    await closing?.close(deadlineMs)
  }

  async function apply(host: GatewayHost | undefined): Promise<void> {
    const wanted = deps.config().gateway
    const isWanted = host !== undefined && wanted.enabled
    if (gateway !== undefined && (!isWanted || !isDeepStrictEqual(wanted, settings))) await closeNow(reconfiguredMs)
    if (!isWanted || gateway !== undefined) return
    // Loaded here, so that a daemon without the gateway holds none of it.
    const { openGateway } = await import('./open-gateway.ts')
    gateway = await openGateway({
      ...deps,
      ...host,
      providers: tools,
      discoveryDir: findDiscoveryDir(deps),
      pid,
      processStart,
      now: () => performance.now(),
      randomHex: (bytes) => randomBytes(bytes).toString('hex'),
      pingMs,
    })
    settings = wanted
  }

  const queue = (work: () => Promise<void>): Promise<void> =>
    (done = done
      .then(work)
      .catch((error: unknown) => deps.log.error({ err: error }, 'the gateway failed to open or close')))

  return {
    tools,
    token: () => gateway?.token(),
    update: (host) => queue(() => apply(host)),
    close: (deadlineMs) => queue(() => closeNow(deadlineMs)),
  }
}

/** Removes what gateways of killed daemons have left: their records in this folder, and their tokens. */
export async function removeStaleRecords(dataDir: string, log: GatewaySwitchDeps['log']): Promise<void> {
  try {
    const { removeStaleTokens } = await import('./token-files.ts')
    await removeStaleTokens(dataDir, { pid, processStart })
  } catch (error) {
    log.warn({ err: error }, 'the token of an ended gateway could not be removed')
  }
}

function processStart(of: number): Promise<string | undefined> {
  return findProcessStart(of, { platform, env: ownEnv })
}

/** The folder in which providers look for the token; undefined: there is none. */
function findDiscoveryDir({ env, homeDir }: Pick<GatewaySwitchDeps, 'env' | 'homeDir'>): string | undefined {
  const given = env['COPILOT_HOME']
  const found = given !== undefined && isAbsolute(given) ? given : homeCopilot(homeDir)
  return found === undefined ? undefined : join(found, 'extensions', 'tap')
}

function homeCopilot(homeDir: () => string): string | undefined {
  try {
    return join(homeDir(), '.copilot')
  } catch {
    return undefined
  }
}
