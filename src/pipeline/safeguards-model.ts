import { messagesEndpoint } from '../models/endpoints.ts'
import { isOpen, type Model } from '../models/model.ts'
import type { Route } from '../models/registry.ts'
import { upstreamPaths } from '../translate/dialects.ts'
import { modelFamily } from '../translate/engine/model-family.ts'
import type { PipelineState } from './pipeline-state.ts'

/**
 * Returns the model that checks tool calls (`messages.safeguards-model`), of the same provider as the model that made them: the
 * named model, or for `auto` the newest Claude of the class Sonnet, which Claude Code itself asks. Undefined if checks are off
 * or no model fits. A smaller model is no substitute.
 */
export function safeguardsModel(
  { config, registry }: Pick<PipelineState, 'config' | 'registry'>,
  provider: Model['provider'],
): Route | undefined {
  const { safeguardsModel: wanted } = config().messages
  const name = wanted === 'auto' ? newestSonnet(registry.list().map(({ model }) => model)) : wanted
  if (name === undefined || name === '') return undefined
  const ask = { callerPath: messagesEndpoint, setting: config().copilot.upstreamDialect, spoken: upstreamPaths }
  const route = registry.route(name, ask)
  return route.ok && route.value.model.provider === provider ? route.value : undefined
}

function newestSonnet(models: readonly Model[]): string | undefined {
  const versions = models.flatMap((model) => {
    const family = modelFamily(model)
    const isSonnet = family.kind === 'claude' && family.tier === 'sonnet'
    if (!isSonnet || model.provider !== 'copilot' || model.type !== 'chat' || !isOpen(model)) return []
    if (model.supports.toolCalls === false) return []
    return [{ id: model.id, major: family.version?.major ?? 0, minor: family.version?.minor ?? 0 }]
  })
  // The sort is stable: among equals the first of the list wins.
  return versions.toSorted((a, b) => b.major - a.major || b.minor - a.minor)[0]?.id
}
