interface UpstreamError {
  readonly status?: number
  readonly code?: string
  readonly message: string
}

/** How backends report a prompt that is too long (docs/copilot-wire.md and docs/codex-wire.md, "Errors"). */
const CODES = new Set([
  'model_max_prompt_tokens_exceeded',
  'context_length_exceeded',
  'context_too_large',
  'context_window_exceeded',
  'model_context_window_exceeded',
])

const WORDINGS = [
  // Claude: `prompt is too long: 210194 tokens > 200000 maximum`, `Input is too long for requested model.`
  /\b(?:prompt|input|conversation|context|history) (?:is|was) too long\b/i,
  // Copilot: `prompt token count of 9 exceeds the limit of 8`; Gemini: `The input token count (9) exceeds the maximum
  // number of tokens allowed (8).`; Codex: `Input tokens exceed the configured limit of 8 tokens.`
  /\b(?:prompt|input|request|context|message)s?(?:'s)? tokens?(?: counts?)?\b.{0,40}\bexceeds?\b/i,
  // GPT: `Your input exceeds the context window of this model.`; llama.cpp: `the request exceeds the available context size`
  /\b(?:exceed(?:s|ed|ing)?|larger? than|longer than|too (?:large|long|big) for|overflows?|beyond)\b.{0,40}\bcontext(?: (?:window|length|limit|size))?\b/i,
  // OpenAI: `This model's maximum context length is 8 tokens.`; xAI: `maximum prompt length is 8`
  /\bmaximum (?:context|prompt|input) (?:length|size|window)\b/i,
  /\bcontext[_ ](?:window|length)(?:[_ ]limit)?(?: (?:is|was|has been))?[_ ](?:exceeded|reached|full)\b/i,
  // Moonshot: `Your request exceeded model token limit: 8`
  /\b(?:request|prompt|input)s? exceed(?:s|ed)? (?:the )?(?:model(?:'s)? )?(?:maximum )?(?:input )?token limit\b/i,
  /\breduce the length of (?:the|your) (?:messages|prompt|input|conversation)\b/i,
]

/** Tokens per minute are another limit, and a text of one field may be too long by itself. */
const OTHER_LIMITS = /\bper (?:min|minute|hour|day)\b|\bTPM\b|\bstring too long\b|string_above_max_length/i

/** Whether upstream refused the prompt as too long for the model, or prompt and answer together. */
export function isPromptTooLong({ status, code, message }: UpstreamError): boolean {
  if (CODES.has(code ?? '')) return true
  if (status === 429 || OTHER_LIMITS.test(message)) return false
  return outputOverflowOf(message) !== undefined || WORDINGS.some((wording) => wording.test(message))
}

/** Where each wording has the two counts. */
const COUNTS = [
  /token count (?:of )?\(?(?<tokens>\d+)\)? exceeds the (?:limit of|maximum number of tokens allowed) \(?(?<maximum>\d+)/i,
  /(?:context length is|limit of) (?<maximum>\d+) tokens\D{1,80}(?<tokens>\d+) tokens/i,
  /maximum prompt length is (?<maximum>\d+)\D{1,80}(?<tokens>\d+) tokens/i,
]

/** Tokens of the prompt and the model's maximum, if upstream states them. */
export function promptCountsOf(message: string): { readonly tokens: string; readonly maximum: string } | undefined {
  for (const pattern of COUNTS) {
    const { tokens, maximum } = pattern.exec(message)?.groups ?? {}
    if (tokens !== undefined && maximum !== undefined) return { tokens, maximum }
  }
  return undefined
}

/** The prompt fits and leaves some tokens, but fewer than the request allows the answer. */
const OVERFLOWS = [
  // Claude: input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000
  /input length and `?max_tokens`? exceed context limit: (?<prompt>\d{1,9}) \+ \d{1,9} > (?<window>\d{1,9})/i,
  // OpenAI: maximum context length is 8 tokens. However, you requested 9 tokens (5 in the messages, 4 in the completion)
  /maximum context length is (?<window>\d{1,9}) tokens.{0,80}\((?<prompt>\d{1,9}) (?:in|of|from) [^()]{1,60}completion/i,
]

/** Tokens that a prompt leaves for the answer, if upstream refused the sum of prompt and answer. At least 1. */
export function outputOverflowOf(message: string): number | undefined {
  for (const pattern of OVERFLOWS) {
    const { prompt, window } = pattern.exec(message)?.groups ?? {}
    const left = Number(window) - Number(prompt)
    if (left > 0) return left
  }
  return undefined
}
