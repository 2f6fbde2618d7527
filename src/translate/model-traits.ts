/** Whose upstream it is. They share nothing, opaque values included. */
export type Provider = 'copilot' | 'codex'

/**
 * What a dialect needs to know of the model it talks to. An absent value means "not stated by upstream":
 * nothing is adapted on its account.
 */
export interface ModelTraits {
  /** Upstream's own id, e.g. `claude-opus-4.6`. */
  readonly id: string
  /** Upstream's `capabilities.family`, or the id where upstream states none. */
  readonly family: string
  /** Upstream's `vendor`, e.g. `OpenAI`, `Azure OpenAI`, `Anthropic`, `Google`, `xAI`. */
  readonly vendor?: string | undefined
  /** Absent: `copilot`. */
  readonly provider?: Provider | undefined
  /** Tokens, prompt and output together. Where there is a long context tier, that of the default tier. */
  readonly contextWindow?: number | undefined
  /** Tokens. Where there is a long context tier, that of the default tier. */
  readonly maxPromptTokens?: number | undefined
  /** The limits of the long context tier, which a caller has to ask for. Absent: the model has one tier. */
  readonly longContext?: ContextLimits | undefined
  /** Tokens. */
  readonly maxOutputTokens?: number | undefined
  /** What upstream states of images; absent where it states none of it. */
  readonly imageLimits?: ImageLimits | undefined
  readonly supports: {
    readonly toolCalls?: boolean | undefined
    readonly parallelToolCalls?: boolean | undefined
    readonly vision?: boolean | undefined
    readonly structuredOutputs?: boolean | undefined
    readonly prediction?: boolean | undefined
    /** Accepted values of `reasoning_effort`, lowest first as upstream lists them. */
    readonly reasoningEffort?: readonly string[] | undefined
    /** `reasoning.summary` of Responses is taken. */
    readonly reasoningSummary?: boolean | undefined
    /** `text.verbosity` of Responses is taken. */
    readonly verbosity?: boolean | undefined
    /** Claude 4.6 and later: thinking without a budget. */
    readonly adaptiveThinking?: boolean | undefined
    /** Tokens. */
    readonly minThinkingBudget?: number | undefined
    /** Tokens. */
    readonly maxThinkingBudget?: number | undefined
    /** Tools may be deferred and found by search; the cap of 128 tools is lifted. */
    readonly toolSearch?: boolean | undefined
    /** `context_management` of Messages is taken. */
    readonly contextEditing?: boolean | undefined
  }
}

/** Tokens. */
export interface ContextLimits {
  readonly contextWindow?: number | undefined
  readonly maxPromptTokens?: number | undefined
}

export interface ImageLimits {
  /** Images in one request. */
  readonly maxImages?: number | undefined
  /** Bytes of one image, decoded. */
  readonly maxImageBytes?: number | undefined
  /** e.g. `image/png` */
  readonly mediaTypes?: readonly string[] | undefined
}
