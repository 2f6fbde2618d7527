import { responsesEndpoint } from '../models/endpoints.ts'
import type { Model } from '../models/model.ts'
import { modelFamily } from '../translate/parts/model-family.ts'
import type { ServeDeps } from './serve-deps.ts'

/**
 * The model of Copilot's that searches the web in place of others (`messages.web-search-model`): the one that is named,
 * or of the open GPT models behind `/responses` the cheapest. Undefined where searching is switched off, or there is none.
 */
export function searchModel({ config, registry }: Pick<ServeDeps, 'config' | 'registry'>): Model | undefined {
  const { webSearchModel: wanted } = config().messages
  if (wanted === '') return undefined
  if (wanted !== 'auto') {
    const found = registry.route(wanted, {
      callerPath: responsesEndpoint,
      setting: 'auto',
      spoken: [responsesEndpoint],
    })
    return found.ok && found.value.model.provider === 'copilot' ? found.value.model : undefined
  }
  const suitable = registry
    .list()
    .map(({ model }) => model)
    .filter((model) => canSearch(model))
  return suitable.toSorted((a, b) => costOf(a) - costOf(b) || multiplierOf(a) - multiplierOf(b))[0]
}

function canSearch(model: Model): boolean {
  const { provider, type, endpoints, policy } = model
  const isOpen = policy === undefined || policy === 'enabled'
  return provider === 'copilot' && type === 'chat' && isOpen && endpoints.includes(responsesEndpoint) && isGpt(model)
}

function isGpt(model: Model): boolean {
  return modelFamily(model).kind === 'gpt'
}

/** Credits for a million tokens in and out. */
function costOf({ prices }: Model): number {
  const { input, output } = prices?.default ?? {}
  return input === undefined || output === undefined ? Number.MAX_VALUE : input + output
}

function multiplierOf({ premiumMultiplier }: Model): number {
  return premiumMultiplier ?? Number.MAX_VALUE
}
