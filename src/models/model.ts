import type { ProviderId } from '../executors/executor.ts'
import type { ModelTraits } from '../translate/model-traits.ts'

/** `other`: an unknown kind, which is not listed but can be called if it has an endpoint. */
export type ModelType = 'chat' | 'embeddings' | 'completion' | 'other'

/** If a member is absent, upstream did not state it. */
export interface Model extends ModelTraits {
  readonly provider: ProviderId
  /** For people, e.g. `Claude Opus 4.6`. */
  readonly name: string
  readonly type: ModelType
  /** Upstream's exact name for it, often with a date. */
  readonly version?: string | undefined
  /** The widest `contextWindow` that a client may set. Tokens. */
  readonly maxContextWindow?: number | undefined
  /** Texts per embeddings request. */
  readonly maxInputs?: number | undefined
  /** Usually one of `supports.reasoningEffort`. */
  readonly defaultReasoningEffort?: string | undefined
  /** Upstream wants requests in the lite form (docs/codex-wire.md, "Lite form"). */
  readonly responsesLite?: boolean | undefined
  /** Upstream paths, e.g. `/chat/completions` or `ws:/responses`. */
  readonly endpoints: readonly string[]
  /** Absent: nothing gates the model. Any value but `enabled` closes it (`isOpen`). */
  readonly policy?: string | undefined
  readonly prices?: ModelPrices | undefined
  /** The number of premium requests that one user request counts as, on plans that bill premium requests. */
  readonly premiumMultiplier?: number | undefined
  /** Upstream's notices, e.g. of a coming retirement; warnings first. */
  readonly notices?: readonly ModelNotice[] | undefined
  /** Share of its price that `auto` saves; absent: `auto` may not choose it. */
  readonly autoDiscount?: number | undefined
  /** The provider's own clients use it by default. */
  readonly isChatDefault?: boolean | undefined
  readonly preview: boolean
  /** The provider's own clients offer it. Others may still work. */
  readonly pickerEnabled: boolean
  /** Seconds since epoch. */
  readonly createdSeconds?: number | undefined
  /** `seed`: built in, until the provider's live list is known. */
  readonly source: 'seed' | 'live'
}

/** Prompts longer than the default tier's `contextMax` cost the long tier's prices. */
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
  /** For an hour. Absent: as `cacheWrite`. */
  readonly cacheWrite1h?: number | undefined
  /** The longest prompt of the tier. Tokens. */
  readonly contextMax?: number | undefined
}

export interface ModelNotice {
  readonly level: 'info' | 'warning'
  readonly code?: string | undefined
  readonly message: string
}

/** Whether the account may use the model. Any other policy, such as `pending` or an unknown one, closes it. */
export function isOpen({ policy }: Pick<Model, 'policy'>): boolean {
  return policy === undefined || policy === 'enabled'
}

export interface ModelListing {
  readonly models: readonly Model[]
  /** Entries that could not be read or name no usable model. */
  readonly leftOut: number
}
