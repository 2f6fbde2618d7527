import { chooseModels } from '../client-settings/choose-models.ts'
import { shellSafeId, type ClientModel } from '../client-settings/client-model.ts'
import type { ClientId } from '../client-settings/clients.ts'
import type { Target } from '../client-settings/target.ts'
import { providers } from '../models/names.ts'
import { createModelRegistry } from '../models/registry.ts'
import { renderModelList } from '../models/render.ts'
import { nearMisses } from '../models/near-misses.ts'
import { visible } from '../terminal/visible.ts'
import { findCallerKey } from './caller-key.ts'
import { builtInNote, fetchClientModels, toClientModels } from './client-models.ts'
import type { CommandContext } from './context.ts'
import { CommandFailure, exitCode } from './exit-code.ts'
import { findDaemon } from './find-daemon.ts'
import type { FoundDaemon } from './find-daemon.ts'
import { fetchFromProviders, modelList } from './fetch-models.ts'
import type { ListedModel } from './fetch-models.ts'
import { modelSources } from './model-sources.ts'
import type { LoadedSettings } from './settings.ts'

/** As `pickTarget`, without a daemon where none runs: nothing is started and nobody has to be logged in. */
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
        providers.filter((provider) => health[provider] === 'ok'),
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
  const found = models.find(({ id }) => id === shellSafeId(wanted))
  if (found !== undefined) return found
  const near = nearMisses(
    wanted,
    models.map(({ id }) => id),
  )
  const meant = near.length === 0 ? 'See: copilot-proxy models' : `Near it are: ${near.join(', ')}`
  throw new CommandFailure(exitCode.usage, `There is no model ${visible(wanted)}. ${meant}`)
}
