import { randomBytes } from 'node:crypto'
import { env as ownEnv, pid, platform } from 'node:process'
import { isDeepStrictEqual } from 'node:util'
import { findProcessStart } from '../auth/records/process-start.ts'
import { resolveTokenDir } from '../config/paths.ts'
import type { Config } from '../config/schema.ts'
import type { Gateway, GatewayDeps } from './open-gateway.ts'
import { createProviderTools, type ProviderTools } from './provider-tools.ts'

export interface GatewaySwitchDeps extends Pick<
  GatewayDeps,
  'config' | 'dataDir' | 'portHolder' | 'holdSecrets' | 'log' | 'setTimer'
> {
  /** The environment, which may set COPILOT_HOME. */
  readonly env: Readonly<Record<string, string | undefined>>
  /** Returns the user's home directory. May throw. */
  readonly homeDir: () => string
}

/** The functions of the open workspaces that the gateway needs. */
type GatewayHost = Pick<GatewayDeps, 'workspaces' | 'push' | 'lifecycle'>

/** Opens and closes the gateway as the configuration states. */
export interface GatewaySwitch {
  /** A source of tools for the registry; it has none while the gateway is closed. */
  readonly tools: ProviderTools
  /**
   * Opens, closes or reopens the gateway to match the configuration. `host` is undefined while no workspace is configured.
   * Calls run one after the other.
   */
  readonly update: (host: GatewayHost | undefined) => Promise<void>
  /** Returns the token for programs that the daemon starts as providers, or undefined while the gateway is closed. */
  readonly token: () => string | undefined
  readonly close: (deadlineMs: number) => Promise<void>
}

/** Interval between two pings of a connection. Ms. */
const pingMs = 25_000

/** Time for providers to send `goodbye` when the configuration closes the gateway. Ms. */
const reconfiguredMs = 5000

export function createGatewaySwitch(deps: GatewaySwitchDeps): GatewaySwitch {
  const tools = createProviderTools(deps.setTimer)
  let gateway: Gateway | undefined
  let settings: Config['gateway'] | undefined
  /** Clients that have read it connect again to a gateway that was reopened. */
  let token: string | undefined
  let done = Promise.resolve()

  async function closeNow(deadlineMs: number): Promise<void> {
    const closing = gateway
    gateway = undefined
    settings = undefined
    token = closing?.token() ?? token
    await closing?.close(deadlineMs)
  }

  async function apply(host: GatewayHost | undefined): Promise<void> {
    const wanted = deps.config().gateway
    const isWanted = host !== undefined && wanted.enabled
    if (gateway !== undefined && (!isWanted || !isDeepStrictEqual(wanted, settings))) await closeNow(reconfiguredMs)
    if (!isWanted || gateway !== undefined) return
    // Import it here, so that a daemon without the gateway does not load it.
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
      token,
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

/** Removes the records and tokens that gateways of killed daemons have left. */
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

/** Returns the folder in which providers look for the token, or undefined if there is no home directory. */
function findDiscoveryDir({ env, homeDir }: Pick<GatewaySwitchDeps, 'env' | 'homeDir'>): string | undefined {
  try {
    return resolveTokenDir(env, homeDir, platform)
  } catch {
    return undefined
  }
}
