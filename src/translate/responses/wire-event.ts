// Two views of the same wire. What upstream sends is not promised: `WireEvent` states no more than "an object", and every
// field is looked at where it is read. What we make up ourselves is exact, and assignable to the event types of the
// `openai` package. Source: OpenAI API reference, responses streaming events, 2026-11.

/** One event of the upstream stream. A schema per event would cost more than all the rest of a forwarded event. */
export interface WireEvent {
  type?: unknown
  sequence_number?: unknown
  /** Of lifecycle events: the response object. */
  response?: unknown
  output_index?: unknown
  content_index?: unknown
  summary_index?: unknown
  annotation_index?: unknown
  /** Changes from event to event with Copilot (docs/copilot-wire.md, "Responses stream"); `output_index` does not. */
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
  /** Random filling that hides the length of a delta. */
  obfuscation?: unknown
  /** Of `error` events: flat or, from some servers, nested under `error`. */
  error?: unknown
  code?: unknown
  message?: unknown
  [extra: string]: unknown
}

/** Any output item or content part of upstream's. */
export interface WireObject {
  type?: unknown
  id?: unknown
  status?: unknown
  [extra: string]: unknown
}

export type ItemStatus = 'in_progress' | 'completed' | 'incomplete'

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

type SummaryText = { type: 'summary_text'; text: string }

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

export type CompactionOutput = { type: 'compaction'; id: string; encrypted_content: string }

export type OutputItem =
  | MessageOutput
  | ReasoningOutput
  | FunctionCallOutput
  | CustomCallOutput
  | WebSearchOutput
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
 * The response object without what repeats the request, which is the caller's own JSON. `output_text`, which the
 * `openai` package's type demands, is added by that package and never on the wire.
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

/** What a response says of its request: OpenAI's defaults, or the caller's own JSON of the same kind. */
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
  /** Open Responses (2026-04-24) has these; OpenAI's reference does not. */
  presence_penalty: number
  frequency_penalty: number
}

type OfItem = { item_id: string; output_index: number }
type OfContent = OfItem & { content_index: number }
type OfSummary = OfItem & { summary_index: number }
type Numbered<Type extends string, Fields> = { type: Type; sequence_number: number } & Fields

/** Every event we make up, but for those that end a failed stream (`error.ts`). */
export type ResponseEvent =
  | Numbered<'response.created', { response: ResponseObject }>
  | Numbered<'response.in_progress', { response: ResponseObject }>
  | Numbered<'response.completed', { response: ResponseObject }>
  | Numbered<'response.incomplete', { response: ResponseObject }>
  | Numbered<'response.output_item.added', { output_index: number; item: OutputItem }>
  | Numbered<'response.output_item.done', { output_index: number; item: OutputItem }>
  | Numbered<'response.content_part.added', OfContent & { part: OutputText | Refusal }>
  | Numbered<'response.content_part.done', OfContent & { part: OutputText | Refusal }>
  | Numbered<'response.output_text.delta', OfContent & { delta: string; logprobs: LogProb[] }>
  | Numbered<'response.output_text.done', OfContent & { text: string; logprobs: LogProb[] }>
  | Numbered<'response.output_text.annotation.added', OfContent & { annotation_index: number; annotation: UrlCitation }>
  | Numbered<'response.refusal.delta', OfContent & { delta: string }>
  | Numbered<'response.refusal.done', OfContent & { refusal: string }>
  | Numbered<'response.reasoning_summary_part.added', OfSummary & { part: SummaryText }>
  | Numbered<'response.reasoning_summary_part.done', OfSummary & { part: SummaryText }>
  | Numbered<'response.reasoning_summary_text.delta', OfSummary & { delta: string }>
  | Numbered<'response.reasoning_summary_text.done', OfSummary & { text: string }>
  | Numbered<'response.function_call_arguments.delta', OfItem & { delta: string }>
  | Numbered<'response.function_call_arguments.done', OfItem & { name: string; arguments: string }>
  | Numbered<'response.custom_tool_call_input.delta', OfItem & { delta: string }>
  | Numbered<'response.custom_tool_call_input.done', OfItem & { input: string }>
  | Numbered<'response.web_search_call.in_progress', OfItem>
  | Numbered<'response.web_search_call.searching', OfItem>
  | Numbered<'response.web_search_call.completed', OfItem>
