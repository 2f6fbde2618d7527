import type { ProviderId } from '../executors/executor.ts'
import type { ModelTraits } from '../translate/model-traits.ts'

/** `other` is a kind this program does not know: it is not listed, but can be named where it has an endpoint. */
export type ModelType = 'chat' | 'embeddings' | 'completion' | 'other'

/** One model of one provider. As in `ModelTraits`, an absent value means "not stated by upstream". */
export interface Model extends ModelTraits {
  readonly provider: ProviderId
  /** For people, e.g. `Claude Opus 4.6`. */
  readonly name: string
  readonly type: ModelType
  /** Tokens: how far a client may widen `contextWindow`. */
  readonly maxContextWindow?: number | undefined
  /** Texts per embeddings request. */
  readonly maxInputs?: number | undefined
  /** One of `supports.reasoningEffort`, unless upstream contradicts itself. */
  readonly defaultReasoningEffort?: string | undefined
  /** Upstream would have the model asked in the lite form (docs/codex-wire.md, "Lite form"). */
  readonly responsesLite?: boolean | undefined
  /** Upstream paths that take this model, e.g. `/chat/completions`; `ws:` ones included as upstream lists them. */
  readonly endpoints: readonly string[]
  /** Absent: nothing gates the model. Any value but `enabled` closes it (`isOpen`). */
  readonly policy?: string | undefined
  /** Absent: upstream states no prices. */
  readonly prices?: ModelPrices | undefined
  /** Premium requests that one request of the user's counts as, for accounts that are billed by them. */
  readonly premiumMultiplier?: number | undefined
  /** Upstream's notices, e.g. that the model is about to be retired; warnings first. */
  readonly notices?: readonly ModelNotice[] | undefined
  /** The part of its price that is left off where upstream chooses it for `auto`; absent: `auto` may not choose it. */
  readonly autoDiscount?: number | undefined
  /** The provider's own clients take it where the user has chosen none. */
  readonly isChatDefault?: boolean | undefined
  readonly preview: boolean
  /** The provider's own clients offer it. A model they do not offer may still work. */
  readonly pickerEnabled: boolean
  /** Seconds since epoch. */
  readonly createdSeconds?: number | undefined
  /** `seed` models are built in and give way as soon as the provider's live list is known. */
  readonly source: 'seed' | 'live'
}

/** Prices by context tier. A prompt that is longer than the default tier's `contextMax` is priced by the long one. */
export interface ModelPrices {
  readonly default: TierPrices
  readonly longContext?: TierPrices | undefined
}

/** AI credits (US$0.01 each) per million tokens. */
export interface TierPrices {
  readonly input?: number | undefined
  readonly output?: number | undefined
  readonly cacheRead?: number | undefined
  readonly cacheWrite?: number | undefined
  /** Tokens of a prompt: where the tier ends. */
  readonly contextMax?: number | undefined
}

export interface ModelNotice {
  readonly level: 'info' | 'warning'
  readonly code?: string | undefined
  readonly message: string
}

/** Whether the account may use the model: `pending`, `requires_consent` and states nobody knows yet close it, too. */
export function isOpen({ policy }: Pick<Model, 'policy'>): boolean {
  return policy === undefined || policy === 'enabled'
}

/** What a provider's model list holds. */
export interface ModelListing {
  readonly models: readonly Model[]
  /** How many entries could not be read or name nothing that this program can use. */
  readonly leftOut: number
}
