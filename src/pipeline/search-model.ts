import { responsesEndpoint } from '../models/endpoints.ts'
import type { Model } from '../models/model.ts'
import { modelFamily } from '../translate/engine/model-family.ts'
import type { PipelineState } from './pipeline-state.ts'

/**
 * Returns the Copilot model that runs web searches for models without search (`messages.web-search-model`): the named
 * model, or for `auto` the cheapest allowed GPT model with `/responses`. Undefined if search is off or no model fits.
 */
export function searchModel({ config, registry }: Pick<PipelineState, 'config' | 'registry'>): Model | undefined {
  const { webSearchModel: wanted } = config().messages
  if (wanted === '') return undefined
  if (wanted !== 'auto') {
    const route = registry.route(wanted, {
      callerPath: responsesEndpoint,
      setting: 'auto',
      spoken: [responsesEndpoint],
    })
    return route.ok && route.value.model.provider === 'copilot' ? route.value.model : undefined
  }
  const suitable = registry.list().flatMap(({ model }) => (canSearch(model) ? [model] : []))
  return suitable.toSorted((a, b) => costOf(a) - costOf(b) || multiplierOf(a) - multiplierOf(b))[0]
}

/** Whether a web search can be run for a model without search. Logs a warning if the setting names no suitable model. */
export function canRunSearch(deps: Pick<PipelineState, 'config' | 'log' | 'registry'>): boolean {
  const { webSearchModel } = deps.config().messages
  const isAvailable = searchModel(deps) !== undefined
  if (!isAvailable && webSearchModel !== '') {
    deps.log.warn(
      { webSearchModel },
      'web search is unavailable: no Copilot model on /responses matches messages.web-search-model',
    )
  }
  return isAvailable
}

function canSearch(model: Model): boolean {
  const { provider, type, endpoints, policy } = model
  const isOpen = policy === undefined || policy === 'enabled'
  const isCopilotChat = provider === 'copilot' && type === 'chat'
  return isCopilotChat && isOpen && endpoints.includes(responsesEndpoint) && modelFamily(model).kind === 'gpt'
}

/** Credits for a million input tokens and a million output tokens. */
function costOf({ prices }: Model): number {
  const { input, output } = prices?.default ?? {}
  return input === undefined || output === undefined ? Number.MAX_VALUE : input + output
}

function multiplierOf({ premiumMultiplier }: Model): number {
  return premiumMultiplier ?? Number.MAX_VALUE
}
