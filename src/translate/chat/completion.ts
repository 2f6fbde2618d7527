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

interface Logprobs {
  readonly content: unknown[] | null
  readonly refusal: unknown[] | null
}

export interface ChatUsage {
  readonly prompt_tokens: number
  readonly completion_tokens: number
  readonly total_tokens: number
}

const finishReasons = ['stop', 'length', 'tool_calls', 'content_filter', 'function_call'] as const
export type FinishReason = (typeof finishReasons)[number]

export function isFinishReason(value: unknown): value is FinishReason {
  return finishReasons.some((reason) => reason === value)
}
