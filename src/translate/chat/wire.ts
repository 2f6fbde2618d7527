import { z } from 'zod'
import type { CallerRequest } from '../dialect.ts'
import { aBoolean, anInteger, anObject, aNumber, aString } from '../engine/request/scalars.ts'
import type { JsonObject } from '../../json/json.ts'
import type { JsonObjectBytes, Member } from '../../json/json-members.ts'

const namedFunction = z.object({ name: aString }, 'an object with the name of a function')

/** One entry of `tools`. Types we do not know pass. Source: OpenAI API reference, chat completions, 2026-08. */
const tool = z
  .object(
    {
      type: aString,
      function: z
        .object(
          {
            name: aString,
            description: aString.nullish(),
            parameters: anObject.nullish(),
            strict: aBoolean.nullish(),
          },
          'an object that describes the function',
        )
        .optional(),
      custom: z.object({ name: aString }, 'an object that describes the tool').optional(),
    },
    'an object with type and function',
  )
  .refine((value) => value.type !== 'function' || value.function !== undefined, {
    path: ['function'],
    error: 'an object that describes the function',
  })
  .refine((value) => value.type !== 'custom' || value.custom !== undefined, {
    path: ['custom'],
    error: 'an object that describes the tool',
  })

/** `validated` is Gemini's. GitHub's Copilot CLI sends it (docs/copilot-wire.md, "Parameters by model"). */
const toolChoice = z.union(
  [
    z.enum(['none', 'auto', 'required', 'validated']),
    z.object({ type: z.string(), function: namedFunction.optional() }),
  ],
  '"none", "auto", "required" or an object that names a tool',
)

/**
 * Body of POST /v1/chat/completions without its messages, which `check-messages.ts` checks by hand: there are many of
 * them, and a union of unions reports too much and too vaguely. Keys we do not read pass. `null` means "default" as it
 * does in OpenAI's schema. Only zod's verdict is used and never its copy of the value, so inner objects may be plain
 * `z.object`. Source: OpenAI API reference, chat completions, 2026-08.
 */
export const chatRequest = z.looseObject({
  model: aString.min(1, 'a non-empty string'),
  messages: z.unknown().optional(),
  stream: aBoolean.nullish(),
  stream_options: z.object({ include_usage: aBoolean.nullish() }, 'an object').nullish(),
  n: anInteger.nullish(),
  max_tokens: anInteger.nullish(),
  max_completion_tokens: anInteger.nullish(),
  temperature: aNumber.nullish(),
  top_p: aNumber.nullish(),
  frequency_penalty: aNumber.nullish(),
  presence_penalty: aNumber.nullish(),
  // A number, not an integer: seeds of 64 bits are allowed and are not safe integers here.
  seed: aNumber.nullish(),
  logprobs: aBoolean.nullish(),
  top_logprobs: anInteger.nullish(),
  logit_bias: anObject.nullish(),
  stop: z.custom<string | readonly string[]>(isStop, 'a string or an array of strings').nullish(),
  tools: z.array(tool, 'an array of tools').nullish(),
  tool_choice: toolChoice.nullish(),
  parallel_tool_calls: aBoolean.nullish(),
  functions: z.array(namedFunction, 'an array of functions').nullish(),
  function_call: z
    .union([z.enum(['none', 'auto']), z.object({ name: z.string() })], '"none", "auto" or an object with a name')
    .nullish(),
  response_format: z.object({ type: aString }, 'an object with a type').nullish(),
  reasoning_effort: aString.nullish(),
  prediction: anObject.nullish(),
  metadata: anObject.nullish(),
  store: aBoolean.nullish(),
  service_tier: aString.nullish(),
  user: aString.nullish(),
})
export type ChatRequest = Readonly<z.infer<typeof chatRequest>> & { readonly messages: readonly ChatMessage[] }

/** `z.array` would report every wrong element. */
function isStop(value: unknown): boolean {
  return typeof value === 'string' || (Array.isArray(value) && value.every((word) => typeof word === 'string'))
}

export const CHAT_ROLES = ['system', 'developer', 'user', 'assistant', 'tool', 'function'] as const
export type ChatRole = (typeof CHAT_ROLES)[number]

/** One message, checked as far as its type states. Keys we do not read pass. */
export interface ChatMessage {
  readonly role: ChatRole
  /** May be null or absent for `assistant` and `function` only. */
  readonly content?: string | readonly ChatPart[] | null | undefined
  readonly tool_calls?: readonly ({ readonly id: string } & JsonObject)[] | null | undefined
  /** Present on every message of role `tool`. */
  readonly tool_call_id?: string
  readonly function_call?: { readonly name: string; readonly arguments: string } | null | undefined
  readonly [key: string]: unknown
}

/**
 * A content part. A part of a known `type` has a well-formed member of that name; a part without `type` has the member of
 * one known type. Unknown types pass unchecked.
 */
export interface ChatPart {
  readonly type?: string | null | undefined
  readonly [key: string]: unknown
}

/** The options of a request outside its body. */
export interface ChatOptions {
  /** `chat.history-window`: upstream gets this many last turns; 0 for all. */
  readonly historyWindow: number
  /** The caller reads readable reasoning from `reasoning_content`. */
  readonly reasoningContent: boolean
}

/** `CallerRequest.body` in this dialect: the caller's JSON as bytes and as checked value. */
export class ChatBody implements JsonObjectBytes {
  readonly bytes: Buffer
  readonly value: ChatRequest
  readonly members: readonly Member[]
  readonly options: ChatOptions

  constructor(bytes: Buffer, value: ChatRequest, members: readonly Member[], options: ChatOptions) {
    this.bytes = bytes
    this.value = value
    this.members = members
    this.options = options
  }
}

/** @throws TypeError if another dialect decoded the request */
export function chatBodyOf(request: CallerRequest): ChatBody {
  if (request.body instanceof ChatBody) return request.body
  throw new TypeError('the request was not decoded by the chat dialect')
}

/** The known part types; each has its payload in the member of the same name. */
export const PART_TYPES = ['text', 'image_url', 'input_audio', 'file', 'refusal'] as const
export type PartType = (typeof PART_TYPES)[number]

export function isPartType(type: unknown): type is PartType {
  return PART_TYPES.some((known) => known === type)
}

/**
 * The `type` of a part, otherwise the type of its payload; `undefined` if it has neither. Open WebUI sends image parts
 * without `type` and text parts with `image_url: null` (caozhiyuan/copilot-api#176).
 */
export function partTypeOf(part: Readonly<Record<string, unknown>>): string | undefined {
  const { type } = part
  if (typeof type === 'string') return type
  return PART_TYPES.find((known) => part[known] !== undefined && part[known] !== null)
}

/** No content, no parts, or only white space. */
export function isBlankContent(content: string | readonly unknown[] | null | undefined): boolean {
  return typeof content === 'string' ? content.trim() === '' : !content || content.length === 0
}

/**
 * Whether the message may be empty: tool results may, and upstream needs `reasoning_opaque` back (docs/copilot-wire.md,
 * quirk 12).
 */
export function isEmptyMessage(message: ChatMessage): boolean {
  if (message.role === 'tool' || message.tool_calls || message['reasoning_opaque']) return false
  return isBlankContent(message.content)
}

/**
 * JSON objects of the upstream stream. Every member is `unknown` and checked by its reader: a schema would cost more than
 * everything else that a forwarded event needs. Source: docs/copilot-wire.md, "Chat stream"; test/fixtures/chat.
 */
type Wire<Key extends string> = { [Known in Key]?: unknown } & { [extra: string]: unknown }

/**
 * One event. `created` is in seconds since epoch, 0 or absent on some chunks. `type` and `response` are in events of the
 * Responses dialect, which end some streams.
 */
export type WireChunk = Wire<
  | 'id'
  | 'object'
  | 'created'
  | 'model'
  | 'choices'
  | 'usage'
  | 'copilot_usage'
  | 'copilot_errors'
  | 'error'
  | 'type'
  | 'response'
>

/** In place of `delta` in an answer that is not streamed. */
export type WireChoice = Wire<'index' | 'delta' | 'message' | 'finish_reason' | 'logprobs'>

export type WireDelta = Wire<'role' | 'content' | 'refusal' | 'tool_calls' | 'function_call'>

export type WireToolCall = Wire<'index' | 'id' | 'type' | 'function' | 'custom'>

/** `function` of a call, with `arguments`, or `custom`, with `input`. */
export type WireFunction = Wire<'name' | 'arguments' | 'input'>

/**
 * The body of a non-streaming answer. Upstream's other keys (reasoning, filter results, Copilot's own) are in it too.
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
 * One event of a stream written here. An alias and not an interface, so that it is assignable to `WireChunk`.
 * Source: OpenAI API reference, the chat completion chunk object, 2026-11.
 */
export type ChatCompletionChunk = {
  readonly id: string
  readonly object: 'chat.completion.chunk'
  readonly created: number
  readonly model: string
  /** Empty in the chunk with the usage. */
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
  /** Copilot's keys, and DeepSeek's name for the first. */
  readonly reasoning_text?: string
  readonly reasoning_content?: string
  readonly reasoning_opaque?: string
  /** OpenAI has citations in whole messages only. */
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
