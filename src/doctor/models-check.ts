import type { ProxyError } from '../errors.ts'
import { isOpen, type Model, type ModelListing } from '../models/model.ts'
import { failed, ok, skipped, warning } from './check.ts'
import type { Findings } from './check.ts'

/** What asking a provider for its models ended with. */
export type ListingOutcome =
  | { readonly kind: 'listed'; readonly listing: ModelListing }
  /** It answered something else. */
  | { readonly kind: 'unusable' }
  | { readonly kind: 'fault'; readonly error: ProxyError }

/** More are counted, not named. */
const mostNamed = 8

export interface ModelsQuestion {
  /** `Copilot`. */
  readonly name: string
  readonly describeFault: (error: ProxyError) => string
}

/** Whether there are models, and which ones a policy keeps away. */
export function judgeModels(outcome: ListingOutcome, { name, describeFault }: ModelsQuestion): Findings {
  const again = 'Try again in a moment: copilot-proxy doctor'
  switch (outcome.kind) {
    case 'unusable':
      return failed(`${name} answered with something that is not a model list`, again)
    case 'fault':
      return failed(describeFault(outcome.error), 'fix' in outcome.error ? outcome.error.fix : again)
    case 'listed':
      return judgeList(outcome.listing.models, name)
  }
}

function judgeList(models: readonly Model[], name: string): Findings {
  const chat = models.filter(({ type }) => type === 'chat')
  const usable = new Set(chat.filter(isOpen).map(({ id }) => id))
  const disabled = [...new Set(chat.map(({ id }) => id))].filter((id) => !usable.has(id))
  const count = usable.size === 1 ? '1 chat model' : `${usable.size} chat models`
  if (disabled.length > 0) {
    const more = disabled.length - mostNamed
    const named = disabled.slice(0, mostNamed).join(', ') + (more > 0 ? ` and ${more} more` : '')
    const detail = `${count}; switched off by a policy: ${named}`
    const fix =
      'Enable them at https://github.com/settings/copilot/features, or have the administrator who pays for the seat do so'
    return usable.size === 0 ? failed(detail, fix) : warning(detail, fix)
  }
  return usable.size === 0 ? skipped(`${name} lists no chat model for this account`) : ok(count)
}
