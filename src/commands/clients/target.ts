import { modelList, modelRow } from '../../api/models.ts'
import type { ModelRow } from '../../api/models.ts'
import { usageReport } from '../../api/usage.ts'
import { chooseModels } from '../../client-settings/choose-models.ts'
import { clients, shellSafeId } from '../../client-settings/target.ts'
import type { ClientId, ClientModel, Target } from '../../client-settings/target.ts'
import type { ProviderId } from '../../executors/executor.ts'
import { nearMisses, providers as allProviders } from '../../models/names.ts'
import { createModelRegistry } from '../../models/registry.ts'
import { renderModelList } from '../../models/render.ts'
import { copilotSeeds, seedClientId } from '../../models/seeds.ts'
import { visibleLines, visible } from '../../terminal/visible.ts'
import { findStateFiles, findRunningDaemon } from '../background/background-daemon.ts'
import { startBackgroundDaemon } from '../background/start-daemon.ts'
import { findCallerKey, findDaemon, askHealth, refuseWrongKey } from '../shared/find-daemon.ts'
import type { CallerKey, FoundDaemon, DaemonAddress, DaemonHealth } from '../shared/find-daemon.ts'
import { CommandFailure, exitCode, isNotLoggedIn } from '../shared/command.ts'
import type { CommandContext } from '../shared/command.ts'
import { loginAdvice } from '../shared/accounts.ts'
import { findLogins } from '../shared/logins.ts'
import type { LoadedSettings } from '../shared/settings.ts'
import { getterAt, modelPath, RouteRefused } from '../shared/view.ts'

/**
 * URL, key and models for the client, from the daemon's list.
 * @param wanted a model by any of its names; undefined: the best for this client
 * @throws CommandFailure
 */
export async function pickTarget(
  context: CommandContext,
  client: ClientId,
  { url, providers }: RunningDaemon,
  { key, isAsked }: CallerKey,
  wanted: string | undefined,
): Promise<Target> {
  const address = { url, key }
  const models = await fetchClientModels(context, address, providers)
  const main = wanted === undefined ? undefined : await fetchClientModel(context, address, wanted)
  const chosen = chooseModels(client, models, main)
  if (chosen === undefined)
    throw new CommandFailure(exitCode.failed, 'No chat models are available. See: copilot-proxy models')
  const { id, tools } = chosen.main
  if (!tools) {
    context.stderr.write(visibleLines(`Note: ${id} cannot call tools, and ${clients[client].name} needs them.\n`))
  }
  // A hidden model is not in the list.
  const isListed = models.some((model) => model.id === id)
  return { url, key, isKeyAsked: isAsked, chosen, models: isListed ? models : [...models, chosen.main] }
}

/**
 * As `pickTarget`, but starts no daemon.
 * @throws CommandFailure `notLoggedIn` without a login if `needsLogin`; else the models are built in
 */
export async function sketchTarget(
  context: CommandContext,
  settings: LoadedSettings,
  client: ClientId,
  wanted: string | undefined,
  { needsLogin }: { readonly needsLogin: boolean },
): Promise<Target> {
  const { config } = settings
  const { key, isAsked } = findCallerKey(context, config) ?? { key: '', isAsked: true }
  const daemon = await (needsLogin ? planDaemon : findDaemon)(context, settings)
  const models = await sketchModels(context, settings, daemon, key)
  const main = wanted === undefined ? undefined : requireModel(models, wanted)
  const chosen = chooseModels(client, models, main)
  if (chosen === undefined) {
    throw new CommandFailure(exitCode.failed, 'No chat models are available. See: copilot-proxy models')
  }
  return { url: daemon.url, key, isKeyAsked: isAsked, chosen, models }
}

async function sketchModels(
  context: CommandContext,
  settings: LoadedSettings,
  { url, health }: FoundDaemon,
  key: string,
): Promise<readonly ClientModel[]> {
  try {
    await requireLogins(context, settings, health)
    if (health === undefined) {
      return (await listLocally(context, settings)).flatMap(toClientModels)
    }
    const usable = allProviders.filter((provider) => health[provider] === 'ok')
    return await fetchClientModels(context, { url, key }, usable)
  } catch (error) {
    if (!(error instanceof CommandFailure)) throw error
    context.stderr.write(isNotLoggedIn(error) ? loggedOutNote : builtInNote)
    return builtIn(settings).flatMap(toClientModels)
  }
}

async function listLocally(context: CommandContext, settings: LoadedSettings): Promise<readonly ModelRow[]> {
  const { createLocalView } = await import('../shared/local-view.ts')
  const view = createLocalView(context, settings)
  try {
    return (await view.get('/v1/models', modelList)).data
  } finally {
    await view.close()
  }
}

function builtIn({ config }: LoadedSettings): readonly ModelRow[] {
  const registry = createModelRegistry(config.models)
  registry.register(seedClientId, copilotSeeds)
  return renderModelList(registry.list(), config.copilot.upstreamDialect).data
}

function requireModel(models: readonly ClientModel[], wanted: string): ClientModel {
  const model = models.find(({ id }) => id === shellSafeId(wanted))
  if (model !== undefined) return model
  const near = nearMisses(
    wanted,
    models.map(({ id }) => id),
  )
  const meant = near.length === 0 ? '' : ` Did you mean ${near.join(', ')}?`
  const message = `Unknown model ${JSON.stringify(visible(wanted))}.${meant} All models: copilot-proxy models`
  throw new CommandFailure(exitCode.usage, message)
}

/** Polling interval and number of polls for a complete list. */
const pollMs = 200
const mostPolls = 25

/**
 * The chat models of a running daemon. After its start, a daemon lists built-in models; this waits for those of the
 * accounts.
 * @throws CommandFailure also if no model can be used now
 */
async function fetchClientModels(
  context: CommandContext,
  address: DaemonAddress,
  asked: RunningDaemon['providers'],
): Promise<readonly ClientModel[]> {
  for (let poll = 1; ; poll += 1) {
    const { data } = await getterAt(context, address)('/v1/models', modelList)
    const live = data.filter(({ copilot_proxy: { source } }) => source === 'live')
    const isComplete = asked.every((provider) => live.some((model) => model.copilot_proxy.provider === provider))
    if (isComplete || poll === mostPolls) {
      if (live.length === 0) await explainBuiltIn(context, address, asked)
      const models = (live.length > 0 ? live : data).flatMap(toClientModels)
      if (models.length > 0) return models
      throw new CommandFailure(
        exitCode.failed,
        `copilot-proxy at ${address.url} has no chat models. See: copilot-proxy models`,
      )
    }
    await context.sleep(pollMs, context.signal)
  }
}

const loggedOutNote =
  'Note: Not logged in, so the models are from a built-in list and may not be yours. Run: copilot-proxy login\n'
const builtInNote =
  'Note: Could not get the models of your account, so they are from a built-in list. Find the cause: copilot-proxy doctor\n'

/**
 * Writes a note that the list is built in.
 * @throws CommandFailure if no provider is usable
 */
async function explainBuiltIn(
  context: CommandContext,
  address: DaemonAddress,
  asked: RunningDaemon['providers'],
): Promise<void> {
  const health = await askHealth(address.url, context.fetch)
  if (allProviders.some((provider) => health?.[provider] === 'ok')) {
    context.stderr.write(builtInNote)
    return
  }
  const account = await getterAt(context, address)('/usage?partial=true', usageReport).catch((error: unknown) => {
    if (error instanceof RouteRefused) return undefined
    throw error
  })
  const why = (asked.includes('copilot') && account?.problem) || 'Find the cause: copilot-proxy doctor'
  throw new CommandFailure(
    exitCode.failed,
    visibleLines(`copilot-proxy runs at ${address.url}, but cannot use any model. ${why}`),
  )
}

/**
 * Resolves a model name by the daemon's rules.
 * @throws CommandFailure `usage` for an unknown name, with similar ones
 */
async function fetchClientModel(context: CommandContext, address: DaemonAddress, name: string): Promise<ClientModel> {
  const row = await getterAt(context, address)(modelPath(name), modelRow).catch((error: unknown) => {
    if (error instanceof RouteRefused && error.status === 404) throw new CommandFailure(exitCode.usage, error.message)
    throw error
  })
  const [model] = toClientModels(row)
  if (model !== undefined) return model
  throw new CommandFailure(exitCode.usage, `${visible(name)} is not a chat model.`)
}

/** The model and its long context tier. Empty for a model without chat. */
function toClientModels({ id, copilot_proxy: facts }: ModelRow): readonly ClientModel[] {
  const { provider, type, routes, capabilities, context_tier: tier, long_context: long, prices } = facts
  if (type !== 'chat' || !Object.values(routes).some((route) => route !== null)) return []
  const model: ClientModel = {
    id: shellSafeId(id),
    provider,
    routes,
    contextTokens: promptTokens(facts),
    contextTier: tier === 'default' || tier === 'long' ? tier : undefined,
    prices: (tier === 'long' ? prices?.long_context : prices?.default) ?? undefined,
    outputTokens: facts.max_output_tokens ?? undefined,
    vision: capabilities.vision === true,
    tools: capabilities.tool_calls !== false,
    thinks: (capabilities.reasoning_effort ?? []).length > 0,
  }
  if (long === null) return [model]
  const ofTier = {
    contextTokens: promptTokens(long),
    contextTier: 'long',
    prices: prices?.long_context ?? undefined,
  } as const
  return [model, { ...model, ...ofTier, id: shellSafeId(long.id) }]
}

function promptTokens(
  limits: Pick<ModelRow['copilot_proxy'], 'max_prompt_tokens' | 'context_window'>,
): number | undefined {
  return limits.max_prompt_tokens ?? limits.context_window ?? undefined
}

export interface RunningDaemon {
  readonly url: string
  /** Providers whose live models the daemon lists, at the latest a few seconds after its start. */
  readonly providers: readonly ProviderId[]
}

/** A daemon, which may not run yet, and the providers that it can use. */
interface PlannedDaemon extends FoundDaemon, RunningDaemon {}

/** @throws CommandFailure if the daemon refuses the key; `notLoggedIn` unless it simulates a login */
export async function planDaemon(context: CommandContext, settings: LoadedSettings): Promise<PlannedDaemon> {
  const found = await findDaemon(context, settings)
  if (found.health !== undefined) await refuseWrongKey(context, found.url, settings.config)
  return { ...found, providers: await requireLogins(context, settings, found.health) }
}

async function requireLogins(
  context: CommandContext,
  settings: LoadedSettings,
  health: DaemonHealth | undefined,
): Promise<readonly ProviderId[]> {
  if (health?.demo === true) return allProviders
  const logins = await findLogins(context, settings)
  if (logins.length === 0) throw new CommandFailure(exitCode.notLoggedIn, loginAdvice)
  return logins
}

/**
 * The planned daemon if it runs, else a new one in the background.
 * @throws CommandFailure why the daemon did not start
 */
export async function ensureDaemon(
  context: CommandContext,
  settings: LoadedSettings,
  { url, health, providers }: PlannedDaemon,
  configFlag: string | undefined,
): Promise<RunningDaemon> {
  if (health !== undefined) {
    await noteMismatch(context, url, health)
    // A provider that the daemon cannot use never lists live models.
    const usable = providers.filter((provider) => health[provider] === 'ok')
    return { url, providers: usable.length > 0 ? usable : providers }
  }
  const { record, wasRunning } = await startBackgroundDaemon(context, settings, {
    ...(configFlag !== undefined && { config: configFlag }),
  })
  if (!wasRunning) {
    context.stderr.write(`Started copilot-proxy in the background at ${record.url}. To stop it: copilot-proxy stop\n`)
  }
  return { url: record.url, providers }
}

async function noteMismatch(context: CommandContext, url: string, health: DaemonHealth): Promise<void> {
  const { version, stderr } = context
  if (health.demo) stderr.write('Note: copilot-proxy runs with --demo, so all answers are simulated.\n')
  if (health.version !== version) {
    const running = `copilot-proxy ${health.version} is running, but version ${version} is installed`
    const record = await findRunningDaemon(context, findStateFiles(context))
    const isBackground = record?.url === url
    const fix = isBackground ? 'copilot-proxy restart' : 'stop it with Ctrl-C and start it again'
    stderr.write(visibleLines(`Note: ${running}. To update it: ${fix}\n`))
  }
}
