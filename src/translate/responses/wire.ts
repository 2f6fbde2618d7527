import { z } from 'zod'
import type { CallerRequest } from '../dialect.ts'
import { aBoolean, anInteger, anObject, aNumber, aString, someStrings } from '../engine/request/scalars.ts'
import type { StoredInput } from '../reply-memory.ts'
import { type JsonObject, isObject } from '../../json/json.ts'
import type { JsonObjectBytes, Member } from '../../json/json-members.ts'

/** Source: OpenAI API reference, responses, `text.format`, 2026-11. */
const textFormat = z
  .object(
    {
      type: aString,
      name: aString.nullish(),
      description: aString.nullish(),
      schema: anObject.nullish(),
      strict: aBoolean.nullish(),
    },
    'an object with a type',
  )
  .refine(({ type, schema }) => type !== 'json_schema' || isObject(schema), {
    path: ['schema'],
    error: 'an object that is a JSON schema',
  })

const textConfig = z.object({ format: textFormat.nullish(), verbosity: aString.nullish() }, 'an object with a format')

/** `generate_summary` is the older name of `summary`. Source: OpenAI API reference, responses, `reasoning`, 2026-11. */
const reasoning = z.object(
  {
    effort: aString.nullish(),
    summary: aString.nullish(),
    generate_summary: aString.nullish(),
    context: aString.nullish(),
    mode: aString.nullish(),
  },
  'an object with an effort',
)

/**
 * Body of POST /v1/responses. `check-request.ts` checks items and tools, because zod would be slow and its
 * messages vague. Keys we do not read pass. `null` means "default", as in OpenAI's schema. zod's copy of the value is
 * not used, so inner objects may be plain `z.object`. Source: OpenAI API reference, responses, 2026-11.
 */
export const responsesRequest = z.looseObject({
  model: aString.min(1, 'a non-empty string'),
  input: z.unknown().optional(),
  tools: z.unknown().optional(),
  tool_choice: z.unknown().optional(),
  instructions: aString.nullish(),
  previous_response_id: aString.nullish(),
  stream: aBoolean.nullish(),
  stream_options: anObject.nullish(),
  store: aBoolean.nullish(),
  background: aBoolean.nullish(),
  include: someStrings.nullish(),
  max_output_tokens: anInteger.nullish(),
  max_tool_calls: anInteger.nullish(),
  temperature: aNumber.nullish(),
  top_p: aNumber.nullish(),
  top_logprobs: anInteger.nullish(),
  /** These two are in Open Responses (2026-04-24) and not in OpenAI's API. */
  frequency_penalty: aNumber.nullish(),
  presence_penalty: aNumber.nullish(),
  parallel_tool_calls: aBoolean.nullish(),
  reasoning: reasoning.nullish(),
  text: textConfig.nullish(),
  truncation: aString.nullish(),
  metadata: anObject.nullish(),
  prompt_cache_key: aString.nullish(),
  safety_identifier: aString.nullish(),
  service_tier: aString.nullish(),
  user: aString.nullish(),
})
export type ResponsesRequest = Readonly<z.infer<typeof responsesRequest>> & {
  readonly input?: string | readonly ResponsesItem[] | null | undefined
  readonly tools?: readonly ResponsesTool[] | null | undefined
  readonly tool_choice?: ResponsesToolChoice | null | undefined
}

/**
 * One item of `input`. In the caller's request, the members we read are well-formed (`check-request.ts`); items of
 * a stored reply are not checked. `itemTypeOf` gives the type.
 */
export type ResponsesItem = JsonObject

/** One entry of `tools`. For types we know, the members we read are well-formed (`check-request.ts`). */
export interface ResponsesTool {
  readonly type: string
  readonly [key: string]: unknown
}

/** `web_search`, `web_search_preview` and their dated names. Source: OpenAI API reference, responses, tools, 2026-11. */
export function isWebSearchType(type: string): boolean {
  return type === 'web_search' || type.startsWith('web_search_')
}

/** A tool's name, a hosted tool, or `allowed_tools` with a mode and tools. */
export type ResponsesToolChoice =
  | 'none'
  | 'auto'
  | 'required'
  | { readonly type: string; readonly [key: string]: unknown }

/** How a request refers to stored replies, and whether its own reply is stored (`previous_response_id`, `store`). */
export interface ChainLink {
  readonly previousId: string | undefined
  /** Ids of `item_reference` items. */
  readonly references: readonly string[]
  /** The caller wants the reply to be stored: `store` is not false. */
  readonly keep: boolean
  /** The request's own input items, as a list: without those of earlier requests. */
  readonly input: readonly JsonObject[]
  /** At least the length of these items as JSON text. */
  readonly inputChars: number
}

/** The part of the request to store with its reply. Undefined if the caller wants no reply stored. */
export function storedInputOf({ chain, continues }: ResponsesBody): StoredInput | undefined {
  const { keep, input, inputChars } = chain
  return keep ? { input, inputChars, previousId: continues } : undefined
}

/** `CallerRequest.body` of this dialect: the caller's JSON, as bytes and as checked value. */
export class ResponsesBody implements JsonObjectBytes {
  readonly bytes: Buffer
  readonly value: ResponsesRequest
  readonly members: readonly Member[]
  readonly chain: ChainLink
  /** The `previous_response_id` of a request whose history has been joined. */
  readonly continues: string | undefined

  constructor(
    bytes: Buffer,
    value: ResponsesRequest,
    members: readonly Member[],
    chain: ChainLink,
    continues?: string,
  ) {
    this.bytes = bytes
    this.value = value
    this.members = members
    this.chain = chain
    this.continues = continues
  }
}

/** @throws TypeError for a request of another dialect */
export function responsesBodyOf(request: CallerRequest): ResponsesBody {
  if (request.body instanceof ResponsesBody) return request.body
  throw new TypeError('the request was not decoded by the responses dialect')
}

// Data from upstream is not trusted: all members of a `WireEvent` are unknown, and each reader checks what it reads.
// The items and response objects of the proxy itself have exact types, assignable to those of the `openai` package.
// Source: OpenAI API reference, responses streaming events, 2026-11.

/** One event of a stream. Validating each event against a schema would cost more than forwarding it. */
export interface WireEvent {
  type?: unknown
  sequence_number?: unknown
  /** The response object, in lifecycle events. */
  response?: unknown
  output_index?: unknown
  content_index?: unknown
  summary_index?: unknown
  annotation_index?: unknown
  /** Copilot changes it from event to event (docs/copilot-wire.md, "Responses stream"); `output_index` does not. */
  item_id?: unknown
  item?: unknown
  part?: unknown
  delta?: unknown
  text?: unknown
  refusal?: unknown
  arguments?: unknown
  input?: unknown
  logprobs?: unknown
  annotation?: unknown
  /** Random padding that hides the length of a delta. */
  obfuscation?: unknown
  /** In `error` events: flat or, from some servers, nested under `error`. */
  error?: unknown
  code?: unknown
  message?: unknown
  [extra: string]: unknown
}

/** An output item or a content part of upstream. */
export interface WireObject {
  type?: unknown
  id?: unknown
  status?: unknown
  [extra: string]: unknown
}

type ItemStatus = 'in_progress' | 'completed' | 'incomplete'

export type LogProb = {
  token: string
  logprob: number
  bytes: number[]
  top_logprobs: { token: string; logprob: number; bytes: number[] }[]
}

export type UrlCitation = {
  type: 'url_citation'
  url: string
  title: string
  start_index: number
  end_index: number
}

export type OutputText = { type: 'output_text'; text: string; annotations: UrlCitation[]; logprobs: LogProb[] }

export type Refusal = { type: 'refusal'; refusal: string }

export type SummaryText = { type: 'summary_text'; text: string }

type MessageOutput = {
  type: 'message'
  id: string
  status: ItemStatus
  role: 'assistant'
  content: (OutputText | Refusal)[]
}

type ReasoningOutput = {
  type: 'reasoning'
  id: string
  summary: SummaryText[]
  encrypted_content?: string
  status: ItemStatus
}

type FunctionCallOutput = {
  type: 'function_call'
  id: string
  call_id: string
  name: string
  namespace?: string
  arguments: string
  /** Names of encrypted arguments. Only Codex CLI reads it, and only an empty list says something new to it. */
  encrypted_function_args?: never[]
  status: ItemStatus
}

type CustomCallOutput = {
  type: 'custom_tool_call'
  id: string
  call_id: string
  name: string
  namespace?: string
  input: string
  status: ItemStatus
}

type WebSearchOutput = {
  type: 'web_search_call'
  id: string
  status: 'in_progress' | 'completed'
  action: { type: 'search'; query: string }
}

type CompactionOutput = { type: 'compaction'; id: string; encrypted_content: string }

/** A search for tools that the client runs. */
type ToolSearchOutput = {
  type: 'tool_search_call'
  id: string
  call_id: string
  execution: 'client'
  arguments: unknown
  status: 'in_progress' | 'completed' | 'incomplete'
}

export type OutputItem =
  | MessageOutput
  | ReasoningOutput
  | FunctionCallOutput
  | CustomCallOutput
  | WebSearchOutput
  | ToolSearchOutput
  | CompactionOutput

/** OpenAI's counting: input includes cache reads and writes, output includes reasoning. */
export type ResponseUsage = {
  input_tokens: number
  input_tokens_details: { cached_tokens: number; cache_write_tokens: number }
  output_tokens: number
  output_tokens_details: { reasoning_tokens: number }
  total_tokens: number
}

/** `code` is open here, and a closed list in the `openai` package. */
type ResponseError = { code: string; message: string }

/**
 * The response object without the members that repeat the request, which are the caller's own JSON. The `openai`
 * package adds `output_text` itself, which its type requires and which is never on the wire.
 */
export type ResponseState = {
  id: string
  object: 'response'
  /** Seconds since epoch. */
  created_at: number
  /** Seconds since epoch once completed. */
  completed_at: number | null
  status: 'in_progress' | 'completed' | 'incomplete' | 'failed'
  error: ResponseError | null
  incomplete_details: { reason: 'max_output_tokens' | 'content_filter' } | null
  model: string
  output: OutputItem[]
  usage: ResponseUsage | null
}

export type ResponseObject = ResponseState & RequestEcho

/** The members of a response that repeat its request: OpenAI's defaults, or the caller's values. */
export type RequestEcho = {
  access_programs: null
  background: boolean
  instructions: string | null
  max_output_tokens: number | null
  max_tool_calls: number | null
  metadata: Record<string, string>
  parallel_tool_calls: boolean
  previous_response_id: string | null
  prompt_cache_key: string | null
  reasoning: { effort: null; summary: null }
  safety_identifier: string | null
  service_tier: 'default'
  store: boolean
  temperature: number | null
  text: { format: { type: 'text' } }
  tool_choice: 'auto' | 'none' | 'required'
  tools: never[]
  top_logprobs: number
  top_p: number | null
  truncation: 'auto' | 'disabled'
  /** Open Responses (2026-04-24) has these members; OpenAI's reference does not. */
  presence_penalty: number
  frequency_penalty: number
}

/** The name of a caller's member, in the form that a warning header can contain. */
export function nameable(field: string): string {
  return /^[\w.-]{1,64}$/.test(field) ? field : 'unknown member'
}
