/** Upstream accounts. Providers share nothing: neither can read the other's opaque values. */
export type Provider = 'copilot' | 'codex'

/**
 * The properties of a model that its dialects use. If upstream does not state a value, it is absent and causes no
 * adaptation.
 */
export interface ModelTraits {
  /** Upstream's own id, e.g. `claude-opus-4.6`. */
  readonly id: string
  /** Upstream's `capabilities.family`, or the id if upstream states none. */
  readonly family: string
  /** Upstream's `vendor`, e.g. `OpenAI`, `Azure OpenAI`, `Anthropic`, `Google`, `xAI`. */
  readonly vendor?: string | undefined
  /** Absent: `copilot`. */
  readonly provider?: Provider | undefined
  /** Tokens, prompt and output together, in the default tier. */
  readonly contextWindow?: number | undefined
  /** Tokens, in the default tier. */
  readonly maxPromptTokens?: number | undefined
  /** Limits of the long context tier, which a caller must ask for. Absent: the model has one tier. */
  readonly longContext?: ContextLimits | undefined
  readonly maxOutputTokens?: number | undefined
  readonly imageLimits?: ImageLimits | undefined
  readonly supports: {
    readonly toolCalls?: boolean | undefined
    readonly parallelToolCalls?: boolean | undefined
    readonly vision?: boolean | undefined
    readonly structuredOutputs?: boolean | undefined
    readonly prediction?: boolean | undefined
    /** Accepted values of `reasoning_effort`, lowest first as upstream lists them. */
    readonly reasoningEffort?: readonly string[] | undefined
    /** Responses: accepts `reasoning.summary`. */
    readonly reasoningSummary?: boolean | undefined
    /** Responses: accepts `text.verbosity`. */
    readonly verbosity?: boolean | undefined
    /** Thinking without a budget, as in Claude 4.6 and later. */
    readonly adaptiveThinking?: boolean | undefined
    /** Tokens. */
    readonly minThinkingBudget?: number | undefined
    /** Tokens. */
    readonly maxThinkingBudget?: number | undefined
    /** Tools may be deferred and found by search; the limit of 128 tools does not apply. */
    readonly toolSearch?: boolean | undefined
    /** Messages: accepts `context_management`. */
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
