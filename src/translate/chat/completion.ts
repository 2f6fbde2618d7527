/**
 * The body of a non-streaming answer: what the program knows of it. What upstream adds (reasoning, filter results,
 * Copilot's own keys) is there too, under the key it came with.
 * Source: OpenAI API reference, the chat completion object, 2026-11.
 */
export interface ChatCompletion {
  readonly id: string
  readonly object: 'chat.completion'
  /** Seconds since epoch. */
  readonly created: number
  readonly model: string
  readonly choices: [ChatCompletionChoice]
  readonly usage?: ChatUsage
}

export interface ChatCompletionChoice {
  readonly index: 0
  readonly message: ChatCompletionMessage
  readonly logprobs: Logprobs | null
  readonly finish_reason: FinishReason
}

export interface ChatCompletionMessage {
  readonly role: 'assistant'
  readonly content: string | null
  readonly refusal: string | null
  readonly tool_calls?: ChatToolCall[]
  readonly function_call?: { readonly name: string; readonly arguments: string }
}

export type ChatToolCall =
  | {
      readonly id: string
      readonly type: 'function'
      readonly function: { readonly name: string; readonly arguments: string }
    }
  | { readonly id: string; readonly type: 'custom'; readonly custom: { readonly name: string; readonly input: string } }

/**
 * One event of a stream that is made up here; those of upstream's keep what is in them (`WireChunk`). An alias, so that
 * it is a loose chunk too.
 * Source: OpenAI API reference, the chat completion chunk object, 2026-11.
 */
export type ChatCompletionChunk = {
  readonly id: string
  readonly object: 'chat.completion.chunk'
  readonly created: number
  readonly model: string
  /** None beside the usage at the end. */
  readonly choices: [] | [ChatChunkChoice]
  readonly usage?: ChatUsage | null
}

type ChatChunkChoice = {
  readonly index: 0
  readonly delta: ChatDelta
  readonly logprobs?: Logprobs
  readonly finish_reason: FinishReason | null
}

export type ChatDelta = {
  readonly role?: 'assistant'
  readonly content?: string | null
  readonly refusal?: string
  readonly tool_calls?: [ChatToolCallDelta]
  /** Copilot's own two, DeepSeek's name for the first, and the citations that OpenAI has in whole messages only. */
  readonly reasoning_text?: string
  readonly reasoning_content?: string
  readonly reasoning_opaque?: string
  readonly annotations?: [ChatAnnotation]
}

/** Id, type and name in the first delta of a call, pieces of its text in the others. */
type ChatToolCallDelta = {
  readonly index: number
  readonly id?: string
  readonly type?: 'function' | 'custom'
  readonly function?: { readonly name?: string; readonly arguments: string }
  readonly custom?: { readonly name?: string; readonly input: string }
}

export type ChatAnnotation = {
  readonly type: 'url_citation'
  readonly url_citation: {
    readonly url: string
    readonly title: string
    readonly start_index: number
    readonly end_index: number
  }
}

interface Logprobs {
  readonly content: unknown[] | null
  readonly refusal: unknown[] | null
}

export interface ChatUsage {
  readonly prompt_tokens: number
  readonly completion_tokens: number
  readonly total_tokens: number
  readonly prompt_tokens_details?: { readonly cached_tokens: number; readonly cache_write_tokens?: number }
  readonly completion_tokens_details?: { readonly reasoning_tokens: number }
}

const finishReasons = ['stop', 'length', 'tool_calls', 'content_filter', 'function_call'] as const
export type FinishReason = (typeof finishReasons)[number]

export function isFinishReason(value: unknown): value is FinishReason {
  return finishReasons.some((reason) => reason === value)
}
