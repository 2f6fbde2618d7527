import { randomUUID } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { isDeepStrictEqual } from 'node:util'
import type { Config } from '../config/schema.ts'
import type { GatewaySwitch, GatewaySwitchDeps } from '../gateway/gateway-switch.ts'
import type { McpServers } from '../mcp/servers/mcp-servers.ts'
import type { SecretSets } from './secret-sets.ts'
import type { Companion, CompanionDeps } from '../sessions/open-companion.ts'

export interface CompanionSwitchDeps
  extends
    Pick<CompanionDeps, 'keepsSessions' | 'ownPaths' | 'runTurn' | 'modelFacts' | 'defaultModel' | 'log' | 'setTimer'>,
    Pick<GatewaySwitchDeps, 'portHolder' | 'env'> {
  readonly config: () => Config
  /** The folder for the journals of workspaces, and for what a person has allowed there; undefined: tools write nothing. */
  readonly workspacesDir: string | undefined
  /** The folder for the file of sessions; undefined: they are in memory. */
  readonly sessionsDir: string | undefined
  /** The folder for the record of the gateway for tool providers; undefined: it has none. */
  readonly gatewayDir: string | undefined
  /** Returns the user's home folder. Absent: the user has none. May throw. */
  readonly homeDir: (() => string) | undefined
  readonly version: string
  readonly secrets: Pick<SecretSets, 'ofForeignTools' | 'ofProviders' | 'holdOwn'>
}

/** For tool providers to end after the last request. Ms. */
const goodbyeMs = 5000

function noHome(): never {
  throw new Error('You have no home folder.')
}

/**
 * The workspaces, their sessions, the gateway for tool providers and the MCP servers, opened when the first workspace is
 * configured: until then, nothing of them is loaded.
 */
export function createCompanionSwitch(deps: CompanionSwitchDeps) {
  const { config, env, version, secrets, log, setTimer, homeDir = noHome } = deps
  let companion: Promise<Companion> | undefined
  let openNow: Companion | undefined
  let gateway: GatewaySwitch | undefined
  let mcpServers: McpServers | undefined

  async function open(): Promise<Companion> {
    const [opened, { createGatewaySwitch }, { createMcpServers }] = await Promise.all([
      import('../sessions/open-companion.ts'),
      import('../gateway/gateway-switch.ts'),
      import('../mcp/servers/mcp-servers.ts'),
    ])
    gateway ??= createGatewaySwitch({
      config,
      dataDir: deps.gatewayDir,
      env,
      homeDir,
      portHolder: deps.portHolder,
      holdSecrets: (...values) => secrets.holdOwn('gateway', ...values),
      log,
      setTimer,
    })
    mcpServers ??= createMcpServers({
      settings: () => config().mcpServers,
      providerToken: () => gateway?.token(),
      homeDir,
      env,
      version,
      redact: secrets.ofForeignTools.redact,
      log,
      now: () => performance.now(),
      setTimer,
    })
    return opened.openCompanion({
      config,
      dataDir: deps.workspacesDir,
      sessionsDir: deps.sessionsDir,
      keepsSessions: deps.keepsSessions,
      homeDir,
      ownPaths: deps.ownPaths,
      redact: secrets.ofProviders.redact,
      redactForeign: secrets.ofForeignTools.redact,
      runTurn: deps.runTurn,
      modelFacts: deps.modelFacts,
      defaultModel: deps.defaultModel,
      secrets: secrets.ofProviders,
      setTimer,
      randomId: randomUUID,
      sources: [mcpServers, gateway.tools],
      log,
    })
  }

  function hasWorkspaces(): boolean {
    return config().workspaces.length > 0
  }

  async function updateWorkspaces(): Promise<void> {
    if (companion === undefined && !hasWorkspaces()) return
    try {
      const isNew = companion === undefined
      const opened = await (companion ??= open())
      openNow = opened
      if (!isNew) await opened.workspaces.reconfigure()
    } catch (error) {
      companion = undefined
      log.error({ err: error }, 'the workspaces cannot be opened')
    }
  }

  /** Opens or closes the gateway for tool providers, as the configuration says. */
  async function updateGateway(): Promise<void> {
    const host = hasWorkspaces() ? openNow : undefined
    await gateway?.update(host && { ...host.sessions, workspaces: host.workspaces })
  }

  async function closeWorkspaces(): Promise<void> {
    const opened = await companion?.catch(() => undefined)
    opened?.close()
  }

  return {
    workspaces: () => (hasWorkspaces() ? openNow?.workspaces : undefined),
    companion: async () => (hasWorkspaces() ? companion : undefined),
    mcpServers: () => mcpServers,
    openWorkspaces: updateWorkspaces,
    /** Call once the daemon listens. */
    async openGateway(): Promise<void> {
      await updateGateway()
      // A daemon that was killed has left its token where providers look; this one may open no gateway that replaces it.
      const { gatewayDir: dir } = deps
      const files = dir === undefined ? [] : await readdir(dir).catch(() => [])
      if (dir === undefined || files.length === 0) return
      const { removeStaleRecords } = await import('../gateway/gateway-switch.ts')
      await removeStaleRecords(dir, log)
    },
    /** Call after the configuration has changed. */
    reconfigure(before: Config): void {
      const now = config()
      if (!isDeepStrictEqual(now.workspaces, before.workspaces)) void updateWorkspaces().then(updateGateway)
      else if (!isDeepStrictEqual(now.gateway, before.gateway)) void updateGateway()
      if (!isDeepStrictEqual(now.mcpServers, before.mcpServers)) mcpServers?.reconfigure()
    },
    closeWorkspaces,
    async close(graceMs: number): Promise<void> {
      await gateway?.close(Math.min(graceMs, goodbyeMs))
      await Promise.all([closeWorkspaces(), mcpServers?.close()])
    },
  }
}
