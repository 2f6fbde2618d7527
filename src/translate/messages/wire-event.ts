import type { JsonObject } from '../parts/is-object.ts'
import type { SearchFailure } from '../turn.ts'

// The stream of the Messages API. Source: @anthropic-ai/sdk 1.11.0, RawMessageStreamEvent, 2026-11-19. Aliases, not
// interfaces, so that an exact event is a loose one too.

/** Every event this program writes of its own, complete: a member that does not apply is null, not absent. */
export type MessagesEvent =
  | { readonly type: 'message_start'; readonly message: StartedMessage }
  | { readonly type: 'content_block_start'; readonly index: number; readonly content_block: ContentBlock }
  | { readonly type: 'content_block_delta'; readonly index: number; readonly delta: BlockDelta }
  | { readonly type: 'content_block_stop'; readonly index: number }
  | { readonly type: 'message_delta'; readonly delta: MessageEnd; readonly usage: DeltaUsage }
  | { readonly type: 'message_stop' }

export type StartedMessage = {
  readonly id: string
  readonly type: 'message'
  readonly role: 'assistant'
  readonly model: string
  readonly content: never[]
  readonly stop_reason: null
  readonly stop_sequence: null
  readonly stop_details: null
  readonly container: null
  readonly diagnostics: null
  readonly usage: StartUsage
}

/** `input_tokens` is without what was read from or written to the cache. */
export type StartUsage = {
  readonly input_tokens: number
  readonly cache_read_input_tokens: number
  readonly cache_creation_input_tokens: number
  readonly cache_creation: null
  readonly output_tokens: number
  readonly output_tokens_details: null
  readonly server_tool_use: null
  readonly service_tier: null
  readonly speed: null
  readonly inference_geo: null
}

/** Totals of the whole message. A null leaves standing what `message_start` said. */
export type DeltaUsage = {
  readonly input_tokens: number | null
  readonly cache_read_input_tokens: number | null
  readonly cache_creation_input_tokens: number | null
  readonly output_tokens: number
  readonly output_tokens_details: { readonly thinking_tokens: number } | null
  readonly server_tool_use: { readonly web_search_requests: number; readonly web_fetch_requests: number } | null
}

export type MessageEnd = {
  readonly stop_reason: StopReason
  readonly stop_sequence: string | null
  readonly stop_details: RefusalDetails | null
  readonly container: null
}

export type StopReason =
  | 'end_turn'
  | 'max_tokens'
  | 'stop_sequence'
  | 'tool_use'
  | 'pause_turn'
  | 'refusal'
  | 'model_context_window_exceeded'

export type RefusalCategory = 'cyber' | 'bio' | 'frontier_llm' | 'reasoning_extraction' | 'general_harms'

export type RefusalDetails = {
  readonly type: 'refusal'
  readonly category: RefusalCategory | null
  readonly explanation: string | null
}

/** Blocks as they begin: empty, but for those that have no deltas. */
export type ContentBlock =
  | { readonly type: 'text'; readonly text: ''; readonly citations: null }
  | { readonly type: 'thinking'; readonly thinking: ''; readonly signature: '' }
  | { readonly type: 'redacted_thinking'; readonly data: string }
  | {
      readonly type: 'tool_use'
      readonly id: string
      readonly name: string
      readonly input: EmptyObject
      readonly caller: DirectCaller
    }
  | {
      readonly type: 'server_tool_use'
      readonly id: string
      readonly name: 'web_search'
      readonly input: EmptyObject
      readonly caller: DirectCaller
    }
  | {
      readonly type: 'web_search_tool_result'
      readonly tool_use_id: string
      readonly content: WebSearchContent
      readonly caller: DirectCaller
    }

export type WebSearchContent = WebSearchResult[] | WebSearchError

type WebSearchError = { readonly type: 'web_search_tool_result_error'; readonly error_code: SearchFailure }

export type WebSearchResult = {
  readonly type: 'web_search_result'
  readonly url: string
  readonly title: string
  readonly encrypted_content: string
  readonly page_age: string | null
}

export type BlockDelta =
  | { readonly type: 'text_delta'; readonly text: string }
  | { readonly type: 'thinking_delta'; readonly thinking: string }
  | { readonly type: 'signature_delta'; readonly signature: string }
  | { readonly type: 'input_json_delta'; readonly partial_json: string }
  | { readonly type: 'citations_delta'; readonly citation: WebSearchCitation }

type WebSearchCitation = {
  readonly type: 'web_search_result_location'
  readonly url: string
  readonly title: string | null
  readonly cited_text: string
  readonly encrypted_index: string
}

type EmptyObject = { readonly [key: string]: never }
type DirectCaller = { readonly type: 'direct' }

/**
 * An event in its place, with the members that clients index by, and anything else upstream put there: what a fold
 * reads, whether the event was written here or passed on.
 */
export type LooseEvent = LooseStart | LooseBlockStart | LooseBlockDelta | LooseBlockStop | LooseMessageDelta | LooseStop

type LooseStart = {
  readonly type: 'message_start'
  readonly message: JsonObject
  readonly [extra: string]: unknown
}
type LooseBlockStart = {
  readonly type: 'content_block_start'
  readonly index: number
  readonly content_block: JsonObject
  readonly [extra: string]: unknown
}
export type LooseBlockDelta = {
  readonly type: 'content_block_delta'
  readonly index: number
  readonly delta: JsonObject
  readonly [extra: string]: unknown
}
type LooseBlockStop = {
  readonly type: 'content_block_stop'
  readonly index: number
  readonly [extra: string]: unknown
}
type LooseMessageDelta = {
  readonly type: 'message_delta'
  readonly delta: JsonObject
  readonly usage: JsonObject
  readonly [extra: string]: unknown
}
type LooseStop = { readonly type: 'message_stop'; readonly [extra: string]: unknown }

/**
 * One JSON object of an upstream stream. Nothing beside `type` is promised: every member is looked at where it is read.
 * Source: docs/copilot-wire.md, "Messages stream"; test/fixtures/messages.
 */
export interface WireEvent {
  readonly type: string
  readonly index?: unknown
  readonly message?: unknown
  readonly content_block?: unknown
  readonly delta?: unknown
  readonly usage?: unknown
  readonly copilot_usage?: unknown
  readonly [extra: string]: unknown
}
