import { Fault } from '../errors.ts'
import type { ProxyError } from '../errors.ts'
import type { Executor } from '../executors/executor.ts'
import { toOpenAiError } from '../translate/engine/openai-error.ts'
import type { ModelListing } from './model.ts'

/** The outcome of a request for a provider's models. */
export type ListingOutcome =
  | { readonly kind: 'listed'; readonly listing: ModelListing }
  /** The answer is no model list. */
  | { readonly kind: 'unusable' }
  | { readonly kind: 'fault'; readonly error: ProxyError }

export interface ListingOptions {
  readonly signal: AbortSignal
  readonly timeoutMs: number
}

/** @throws the signal's reason on abort */
export async function tryList(
  executor: Pick<Executor, 'listModels'>,
  parse: (reply: unknown) => ModelListing | undefined,
  { signal, timeoutMs }: ListingOptions,
): Promise<ListingOutcome> {
  const timeout = AbortSignal.timeout(timeoutMs)
  try {
    const listing = parse(await executor.listModels({ signal: AbortSignal.any([signal, timeout]) }))
    return listing === undefined ? { kind: 'unusable' } : { kind: 'listed', listing }
  } catch (error) {
    if (error instanceof Fault) return { kind: 'fault', error: error.error }
    if (!timeout.aborted) throw error
    return { kind: 'fault', error: { kind: 'upstream_silent', phase: 'headers', afterMs: timeoutMs } }
  }
}

/** Why a new login does not work, with Copilot's message. Undefined if Copilot lists its models. */
export function loginRefusal(outcome: ListingOutcome): string | undefined {
  if (outcome.kind === 'listed') return undefined
  if (outcome.kind === 'unusable') return 'Copilot did not answer with a model list.'
  const { error } = outcome
  const reason = error.kind === 'upstream_unauthorized' ? error.upstreamMessage : toOpenAiError(error, '').error.message
  const isRefusal =
    error.kind === 'upstream_unauthorized' ||
    (error.kind === 'upstream_status' && error.status < 500 && error.status !== 429)
  return `${isRefusal ? 'Copilot refused this login.' : 'Could not check this login with Copilot.'} ${reason}`
}
