import { z } from 'zod'
import type { CallerRequest } from '../dialect.ts'
import { aBoolean, anInteger, anObject, aNumber, aString, someStrings } from '../engine/request/scalars.ts'
import { isObject } from '../../json/json.ts'
import type { JsonObject } from '../../json/json.ts'
import type { JsonObjectBytes, Member } from '../../json/json-members.ts'
import type { SearchFailure } from '../turn.ts'

const aCount = anInteger.nonnegative('an integer that is not negative')

/** Source: Anthropic Messages API reference, extended and adaptive thinking, 2026-11. */
const thinking = z.object(
  { type: aString, budget_tokens: aCount.nullish(), display: aString.nullish(), block_binding: z.unknown().optional() },
  'an object with a type',
)

/** Source: Anthropic Messages API reference, structured outputs, 2026-11. */
const outputFormat = z
  .object({ type: aString, schema: anObject.nullish() }, 'an object with type and schema')
  .refine(({ type, schema }) => type !== 'json_schema' || isObject(schema), {
    path: ['schema'],
    error: 'an object that is a JSON schema',
  })

/**
 * Body of POST /v1/messages. check-request.ts checks messages, tools and system text, because zod's report for a union
 * of unions is long and vague. Keys we do not read pass: clients add betas weekly. `null` means "default". Only zod's
 * verdict is used, never its copy, so inner objects may be plain `z.object`. Source: Anthropic Messages API reference,
 * 2026-11.
 */
export const messagesRequest = z.looseObject({
  model: aString.min(1, 'a non-empty string'),
  messages: z.unknown().optional(),
  system: z.unknown().optional(),
  tools: z.unknown().optional(),
  // 0 warms the cache without an answer.
  max_tokens: aCount.nullish(),
  stream: aBoolean.nullish(),
  stop_sequences: someStrings.nullish(),
  temperature: aNumber.nullish(),
  top_p: aNumber.nullish(),
  top_k: aNumber.nullish(),
  thinking: thinking.nullish(),
  output_config: z
    .object({ effort: aString.nullish(), format: outputFormat.nullish() }, 'an object with effort or format')
    .nullish(),
  /** Beta, the older spelling of `output_config.format`. */
  output_format: outputFormat.nullish(),
  tool_choice: z
    .object(
      { type: aString, name: aString.nullish(), disable_parallel_tool_use: aBoolean.nullish() },
      'an object with a type',
    )
    .refine(({ type, name }) => type !== 'tool' || typeof name === 'string', {
      path: ['name'],
      error: 'the name of a tool',
    })
    .nullish(),
  metadata: z.object({ user_id: aString.nullish() }, 'an object').nullish(),
  context_management: anObject.nullish(),
})
export type MessagesRequest = Readonly<z.infer<typeof messagesRequest>> & {
  readonly messages: readonly MessagesMessage[]
  readonly system?: string | readonly MessagesBlock[] | null | undefined
  readonly tools?: readonly MessagesTool[] | null | undefined
}

/** Newer Claude models take `system` between turns, after a user message. */
export const MESSAGES_ROLES = ['user', 'assistant', 'system'] as const
export type MessagesRole = (typeof MESSAGES_ROLES)[number]

/** Keys we do not read pass. */
export interface MessagesMessage {
  readonly role: MessagesRole
  /** May be null or absent for `system` only, which may contain settings alone. */
  readonly content?: string | readonly MessagesBlock[] | null | undefined
  readonly [key: string]: unknown
}

/** If `type` is one of `KnownBlocks`, its members are well-formed. Other blocks pass. */
export interface MessagesBlock {
  readonly type: string
  readonly cache_control?: CacheControl | null | undefined
  readonly [key: string]: unknown
}

/** Anthropic's prompt cache mark. */
export interface CacheControl {
  readonly type?: string | null | undefined
  /** `5m`, `1h`. */
  readonly ttl?: string | null | undefined
  readonly [key: string]: unknown
}

/** `base64` has `media_type` and `data`, `text` has `data`, `url` has `url`, `content` has `content`. */
export interface MediaSource {
  readonly type: string
  readonly media_type?: string | null | undefined
  readonly data?: string | null | undefined
  readonly url?: string | null | undefined
  readonly content?: string | readonly MessagesBlock[] | null | undefined
}

/** A call's `input`: some clients write "no arguments" as null. */
interface ToolUse {
  readonly id: string
  readonly name: string
  readonly input?: JsonObject | null | undefined
}

/** In `system` messages: from here on, a tool is offered or withdrawn. */
interface ToolChange {
  readonly tool: {
    readonly name?: string | null | undefined
    /** Absent if the tool was defined earlier. */
    readonly definition?: MessagesTool | null | undefined
  }
}

/** Blocks by type, with the members we read. Source: Anthropic Messages API reference and SDK types 1.11, 2026-11. */
export interface KnownBlocks {
  readonly text: { readonly text: string }
  readonly image: { readonly source: MediaSource }
  readonly document: {
    readonly source: MediaSource
    readonly title?: string | null | undefined
    readonly context?: string | null | undefined
  }
  readonly search_result: {
    readonly source: string
    readonly title: string
    readonly content: readonly MessagesBlock[]
  }
  readonly thinking: { readonly thinking: string; readonly signature?: string | null | undefined }
  readonly redacted_thinking: { readonly data: string }
  readonly tool_use: ToolUse
  readonly tool_result: {
    readonly tool_use_id: string
    readonly content?: string | readonly MessagesBlock[] | null | undefined
    readonly is_error?: boolean | null | undefined
  }
  readonly server_tool_use: ToolUse
  /** In the result of a tool search: a deferred tool that the model may now call. */
  readonly tool_reference: { readonly tool_name: string }
  readonly tool_addition: ToolChange
  readonly tool_removal: ToolChange
}
type BlockType = keyof KnownBlocks
export type Block<Type extends BlockType> = MessagesBlock & { readonly type: Type } & KnownBlocks[Type]

/** check-request.ts has checked the members of each type. */
export function isBlock<Type extends BlockType>(block: MessagesBlock, type: Type): block is Block<Type> {
  return block.type === type
}

/**
 * A tool that the caller defines (`type` absent or `custom`), or a tool that Anthropic defines: Anthropic's models know
 * its schema (`bash_20250124`) or Anthropic runs it (`web_search_20250305`).
 */
export interface MessagesTool {
  readonly type?: string | null | undefined
  /** Present on every tool that the caller defines; absent on toolsets. */
  readonly name?: string | null | undefined
  readonly description?: string | null | undefined
  /** Absent on placeholders with `defer_loading`. */
  readonly input_schema?: JsonObject | null | undefined
  readonly strict?: boolean | null | undefined
  readonly defer_loading?: boolean | null | undefined
  readonly cache_control?: CacheControl | null | undefined
  readonly [key: string]: unknown
}

/** `CallerRequest.body` of this dialect: the caller's JSON as bytes and as checked value. */
export class MessagesBody implements JsonObjectBytes {
  readonly bytes: Buffer
  readonly value: MessagesRequest
  readonly members: readonly Member[]
  /** Values of the request header `anthropic-beta`, in order. */
  readonly betas: readonly string[]

  constructor(bytes: Buffer, value: MessagesRequest, members: readonly Member[], betas: readonly string[]) {
    this.bytes = bytes
    this.value = value
    this.members = members
    this.betas = betas
  }
}

/** A request that another dialect decoded is a programming error. */
export function messagesBodyOf(request: CallerRequest): MessagesBody {
  if (request.body instanceof MessagesBody) return request.body
  throw new TypeError('the request was not decoded by the messages dialect')
}

// The stream of the Messages API. Source: @anthropic-ai/sdk 1.11.0, RawMessageStreamEvent, 2026-11-19. Aliases, not
// interfaces, so that an exact event is assignable to a loose one.

/** Events that this program writes. A member that does not apply is null, not absent. */
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

/** `input_tokens` excludes tokens read from or written to the cache. */
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

/** Totals of the message. A null keeps the count of `message_start`. */
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

/** Blocks as they start. They are empty, except those without deltas. */
export type ContentBlock =
  | { readonly type: 'text'; readonly text: ''; readonly citations: null }
  | { readonly type: 'thinking'; readonly thinking: ''; readonly signature: '' }
  | { readonly type: 'redacted_thinking'; readonly data: string }
  | (Call & { readonly type: 'tool_use'; readonly name: string })
  | (Call & { readonly type: 'server_tool_use'; readonly name: 'web_search' })
  | {
      readonly type: 'web_search_tool_result'
      readonly tool_use_id: string
      readonly content: WebSearchContent
      readonly caller: DirectCaller
    }

type Call = { readonly id: string; readonly input: { readonly [key: string]: never }; readonly caller: DirectCaller }
type DirectCaller = { readonly type: 'direct' }

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

type Loose<Type, Members = unknown> = { readonly type: Type; readonly [extra: string]: unknown } & Members
export type LooseBlockDelta = Loose<'content_block_delta', { readonly index: number; readonly delta: JsonObject }>
/**
 * An event with the members that a fold reads, and unknown members from upstream. The proxy wrote it or passes it on.
 */
export type LooseEvent =
  | Loose<'message_start', { readonly message: JsonObject }>
  | Loose<'content_block_start', { readonly index: number; readonly content_block: JsonObject }>
  | LooseBlockDelta
  | Loose<'content_block_stop', { readonly index: number }>
  | Loose<'message_delta', { readonly delta: JsonObject; readonly usage: JsonObject }>
  | Loose<'message_stop'>

/**
 * One JSON object of an upstream stream. Only `type` is certain: the reader of any other member checks it. Source:
 * docs/copilot-wire.md, "Messages stream"; test/fixtures/messages.
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
