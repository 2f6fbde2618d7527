import { chooseModels } from '../../client-settings/choose-models.ts'
import { shellSafeId } from '../../client-settings/target.ts'
import type { ClientModel, Target } from '../../client-settings/target.ts'
import { clients } from '../../client-settings/clients.ts'
import type { ClientId } from '../../client-settings/clients.ts'
import { nearMisses, providers as allProviders } from '../../models/names.ts'
import { createModelRegistry } from '../../models/registry.ts'
import { renderModelList } from '../../models/render.ts'
import { visibleLines, visible } from '../../terminal/visible.ts'
import type { RunningDaemon } from '../background/ensure-daemon.ts'
import { fetchFromProviders, modelList, modelSources } from '../models/fetch-models.ts'
import type { ListedModel } from '../models/fetch-models.ts'
import { findCallerKey } from '../shared/caller-key.ts'
import type { CallerKey } from '../shared/caller-key.ts'
import { CommandFailure, exitCode } from '../shared/command.ts'
import type { CommandContext } from '../shared/command.ts'
import { findDaemon } from '../shared/find-daemon.ts'
import type { FoundDaemon } from '../shared/find-daemon.ts'
import type { LoadedSettings } from '../shared/settings.ts'
import { fetchClientModel, fetchClientModels, builtInNote, toClientModels } from './client-models.ts'

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
  if (chosen === undefined) throw new CommandFailure(exitCode.failed, 'copilot-proxy offers no chat model.')
  const { id, tools } = chosen.main
  if (!tools) {
    context.stderr.write(
      visibleLines(`Note: ${id} calls no tools, without which ${clients[client].name} does little.\n`),
    )
  }
  // A hidden model is not in the list.
  const isListed = models.some((model) => model.id === id)
  return { url, key, isKeyAsked: isAsked, chosen, models: isListed ? models : [...models, chosen.main] }
}

/** As `pickTarget`, but works without a daemon: starts nothing and needs no login. */
export async function sketchTarget(
  context: CommandContext,
  settings: LoadedSettings,
  client: ClientId,
  wanted: string | undefined,
): Promise<Target> {
  const { config } = settings
  const { key, isAsked } = findCallerKey(context, config) ?? { key: '', isAsked: true }
  const daemon = await findDaemon(context, settings)
  const models = await listModels(context, settings, daemon, key)
  const main = wanted === undefined ? undefined : requireModel(models, wanted)
  const chosen = chooseModels(client, models, main)
  if (chosen === undefined)
    throw new CommandFailure(exitCode.failed, 'There is no chat model. See: copilot-proxy models')
  return { url: daemon.url, key, isKeyAsked: isAsked, chosen, models }
}

async function listModels(
  context: CommandContext,
  settings: LoadedSettings,
  { url, health }: FoundDaemon,
  key: string,
): Promise<readonly ClientModel[]> {
  try {
    if (health !== undefined) {
      return await fetchClientModels(
        context,
        { url, key },
        allProviders.filter((provider) => health[provider] === 'ok'),
      )
    }
    return (await fetchFromProviders(context, settings, modelSources)).models.flatMap(toClientModels)
  } catch (error) {
    if (!(error instanceof CommandFailure)) throw error
    context.stderr.write(builtInNote)
    return builtIn(settings).flatMap(toClientModels)
  }
}

function builtIn({ config }: LoadedSettings): readonly ListedModel[] {
  const registry = createModelRegistry(config.models)
  for (const { provider, seeds, seedsWithoutLogin } of modelSources) {
    if (seedsWithoutLogin) registry.register(provider, seeds)
  }
  return modelList.parse(renderModelList(registry.list(), config.copilot.upstreamDialect)).data
}

function requireModel(models: readonly ClientModel[], wanted: string): ClientModel {
  const model = models.find(({ id }) => id === shellSafeId(wanted))
  if (model !== undefined) return model
  const near = nearMisses(
    wanted,
    models.map(({ id }) => id),
  )
  const meant = near.length === 0 ? 'See: copilot-proxy models' : `Near it are: ${near.join(', ')}`
  throw new CommandFailure(exitCode.usage, `There is no model ${visible(wanted)}. ${meant}`)
}
