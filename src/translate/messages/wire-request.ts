import { z } from 'zod'
import type { CallerRequest } from '../dialect.ts'
import { isObject, type JsonObject } from '../parts/is-object.ts'
import type { JsonObjectBytes, Member } from '../parts/json-members.ts'

// The `error` of every schema completes the sentence "expected …" of the 400.
const aString = z.string('a string')
const aNumber = z.number('a number')
const aBoolean = z.boolean('true or false')
const aCount = z.int('an integer').nonnegative('an integer that is not negative')
// Looked at from outside: `z.looseObject` walks and copies every member.
const anObject = z.custom<JsonObject>(isObject, 'an object')

/** Source: Anthropic Messages API reference, extended and adaptive thinking, 2026-11. */
const thinking = z.object(
  { type: aString, budget_tokens: aCount.nullish(), display: aString.nullish() },
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
 * Body of POST /v1/messages without what `check-messages.ts` and `check-tools.ts` check by hand: there are many of
 * those, and a union of unions reports too much and too vaguely. Keys we do not read pass: clients add betas weekly.
 * `null` means "default". Only the verdict on a value is used, never zod's copy of it, so inner objects may be plain
 * `z.object`. Source: Anthropic Messages API reference, 2026-11.
 */
export const messagesRequest = z.looseObject({
  model: aString.min(1, 'a non-empty string'),
  messages: z.unknown().optional(),
  system: z.unknown().optional(),
  tools: z.unknown().optional(),
  // 0 asks to warm the cache and for no answer.
  max_tokens: aCount.nullish(),
  stream: aBoolean.nullish(),
  stop_sequences: z.custom<readonly string[]>(isStringList, 'an array of strings').nullish(),
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

/** `z.array` would go on after the first element that is wrong, and report each. */
function isStringList(value: unknown): boolean {
  return Array.isArray(value) && value.every((word) => typeof word === 'string')
}

/** `system` stands between turns, behind a user message; newer Claude models take it there. */
export const MESSAGES_ROLES = ['user', 'assistant', 'system'] as const
export type MessagesRole = (typeof MESSAGES_ROLES)[number]

/** One message, checked as far as its types say. Keys we do not read pass. */
export interface MessagesMessage {
  readonly role: MessagesRole
  /** Null or absent for `system` only, where settings for the turn may stand alone. */
  readonly content?: string | readonly MessagesBlock[] | null | undefined
  readonly [key: string]: unknown
}

/** A content block. Where `type` is one of `KnownBlocks`, the members named there are well-formed. Others pass. */
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

interface TextBlock extends MessagesBlock {
  readonly type: 'text'
  readonly text: string
}

export interface ImageBlock extends MessagesBlock {
  readonly type: 'image'
  readonly source: MediaSource
}

export interface DocumentBlock extends MessagesBlock {
  readonly type: 'document'
  readonly source: MediaSource
  readonly title?: string | null | undefined
  readonly context?: string | null | undefined
}

/** `base64` has `media_type` and `data`, `text` has `data`, `url` has `url`, `file` has `file_id`, `content` has `content`. */
export interface MediaSource {
  readonly type: string
  readonly media_type?: string | null | undefined
  readonly data?: string | null | undefined
  readonly url?: string | null | undefined
  readonly file_id?: string | null | undefined
  readonly content?: string | readonly MessagesBlock[] | null | undefined
  readonly [key: string]: unknown
}

interface SearchResultBlock extends MessagesBlock {
  readonly type: 'search_result'
  readonly source: string
  readonly title: string
  readonly content: readonly MessagesBlock[]
}

interface ThinkingBlock extends MessagesBlock {
  readonly type: 'thinking'
  readonly thinking: string
  readonly signature?: string | null | undefined
}

interface RedactedThinkingBlock extends MessagesBlock {
  readonly type: 'redacted_thinking'
  readonly data: string
}

export interface ToolUseBlock extends MessagesBlock {
  readonly type: 'tool_use'
  readonly id: string
  readonly name: string
  /** Null from clients that write it for no arguments. */
  readonly input?: JsonObject | null | undefined
}

export interface ToolResultBlock extends MessagesBlock {
  readonly type: 'tool_result'
  readonly tool_use_id: string
  readonly content?: string | readonly MessagesBlock[] | null | undefined
  readonly is_error?: boolean | null | undefined
}

interface ServerToolUseBlock extends MessagesBlock {
  readonly type: 'server_tool_use'
  readonly id: string
  readonly name: string
  readonly input?: JsonObject | null | undefined
}

/** Stands in the result of a tool search: a deferred tool that the model may now call. */
interface ToolReferenceBlock extends MessagesBlock {
  readonly type: 'tool_reference'
  readonly tool_name: string
}

/** In `system` messages: from here on the tool is offered. */
interface ToolAdditionBlock extends MessagesBlock {
  readonly type: 'tool_addition'
  readonly tool: ToolChange
}

/** In `system` messages: from here on the tool is not offered any more. */
interface ToolRemovalBlock extends MessagesBlock {
  readonly type: 'tool_removal'
  readonly tool: ToolChange
}

/** A whole tool (`tool_definition`), or the name of one that was defined before (`tool_reference`). */
interface ToolChange {
  readonly type: string
  readonly name?: string | null | undefined
  /** There with `tool_definition`. */
  readonly definition?: MessagesTool | null | undefined
  readonly [key: string]: unknown
}

/** Blocks by type, as far as they are read here. Source: Anthropic Messages API reference and SDK types 1.11, 2026-11. */
export interface KnownBlocks {
  readonly text: TextBlock
  readonly image: ImageBlock
  readonly document: DocumentBlock
  readonly search_result: SearchResultBlock
  readonly thinking: ThinkingBlock
  readonly redacted_thinking: RedactedThinkingBlock
  readonly tool_use: ToolUseBlock
  readonly tool_result: ToolResultBlock
  readonly server_tool_use: ServerToolUseBlock
  readonly tool_reference: ToolReferenceBlock
  readonly tool_addition: ToolAdditionBlock
  readonly tool_removal: ToolRemovalBlock
}

/** The block is of that type, and therefore has its members: `check-messages.ts` has looked. */
export function isBlock<Type extends keyof KnownBlocks>(block: MessagesBlock, type: Type): block is KnownBlocks[Type] {
  return block.type === type
}

/**
 * One entry of `tools`: a tool of the caller's own (`type` absent or `custom`), or a typed one whose schema Anthropic's
 * models know (`bash_20250124`) or which Anthropic runs itself (`web_search_20250305`).
 */
export interface MessagesTool {
  readonly type?: string | null | undefined
  /** There on every tool of the caller's own; toolsets have none. */
  readonly name?: string | null | undefined
  readonly description?: string | null | undefined
  /** Absent on placeholders with `defer_loading`. */
  readonly input_schema?: JsonObject | null | undefined
  readonly strict?: boolean | null | undefined
  readonly defer_loading?: boolean | null | undefined
  readonly cache_control?: CacheControl | null | undefined
  readonly [key: string]: unknown
}

/** What `CallerRequest.body` is in this dialect: the caller's JSON as bytes and as checked value. */
export class MessagesBody implements JsonObjectBytes {
  readonly bytes: Buffer
  readonly value: MessagesRequest
  readonly members: readonly Member[]
  /** Of the request header `anthropic-beta`, in order. */
  readonly betas: readonly string[]

  constructor(bytes: Buffer, value: MessagesRequest, members: readonly Member[], betas: readonly string[]) {
    this.bytes = bytes
    this.value = value
    this.members = members
    this.betas = betas
  }
}

/** The body of a request this dialect decoded; a request of another dialect is a programming error. */
export function messagesBodyOf(request: CallerRequest): MessagesBody {
  if (request.body instanceof MessagesBody) return request.body
  throw new TypeError('the request was not decoded by the messages dialect')
}
