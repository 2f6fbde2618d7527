/**
 * The neutral model between dialects: a request is a `Turn`, a reply is a stream of `TurnEvent`s. A Turn has ordered items
 * as in the Responses API, and the Messages API's cache marks, `is_error` and signatures. Decoders never reorder items,
 * trim text or read opaque values.
 */
import type { Provider } from './model-traits.ts'
import type { JsonObject } from '../json/json.ts'

/** Makers of models. No vendor reads another's opaque values; `unknown` matches nothing. */
export type Vendor = 'openai' | 'anthropic' | 'google' | 'xai' | 'unknown'

/**
 * Reasoning state that only its maker can read. It is sent to the same vendor over the same provider only: any other
 * upstream would refuse every later request of the session.
 */
export interface Opaque {
  readonly vendor: Vendor
  /** The provider that made it; no other can read it. Undefined if the caller returned a value without our envelope. */
  readonly provider?: Provider | undefined
  /** E.g. `gpt-6`, `claude`; '' if unknown. For debugging only; matching uses vendor and form. */
  readonly family: string
  /**
   * `encrypted_content` of Responses, `signature` and `redacted` (thinking) of Messages, `reasoning_opaque` of Copilot's
   * chat. The form implies the upstream dialect.
   */
  readonly form: 'encrypted_content' | 'signature' | 'redacted' | 'reasoning_opaque'
  /** Upstream's item id, if the form has one. */
  readonly id?: string | undefined
  readonly value: string
}

/** An Anthropic prompt-cache mark, `ttl` as the caller wrote it (`5m`, `1h`). */
export interface CacheMark {
  readonly ttl?: string | undefined
}

/** The bytes of an image or another file, or where they are. */
export type MediaSource =
  | { readonly type: 'base64'; readonly mediaType: string; readonly data: string }
  | { readonly type: 'url'; readonly url: string }
  /** An upload; only the caller's own dialect can resolve it. */
  | { readonly type: 'file_id'; readonly id: string }

export type TurnPart =
  | { readonly type: 'text'; readonly text: string; readonly cache?: CacheMark | undefined }
  | {
      readonly type: 'image'
      readonly source: MediaSource
      /** OpenAI's `low`, `high`, `auto`. */
      readonly detail?: string | undefined
      readonly cache?: CacheMark | undefined
    }
  /** A PDF or another file. Decoders make a text document a `text` part. */
  | {
      readonly type: 'file'
      readonly source: MediaSource
      readonly filename?: string | undefined
      readonly cache?: CacheMark | undefined
    }
  | { readonly type: 'audio'; readonly data: string; readonly format: string }
  /** Assistant only. */
  | { readonly type: 'refusal'; readonly text: string }

interface HasPath {
  /**
   * Position in the caller's body, as warnings name it: the message or item (`messages.3`, `input.0`). Decoders add the part
   * only where one warning is about it.
   */
  readonly path: string
}

export interface MessageItem extends HasPath {
  readonly type: 'message'
  /** `system` includes `developer`. */
  readonly role: 'system' | 'user' | 'assistant'
  readonly parts: readonly TurnPart[]
  /** Responses' `commentary` or `final_answer`. */
  readonly phase?: string | undefined
}

export interface ReasoningItem extends HasPath {
  readonly type: 'reasoning'
  /** Readable text, '' for none. Never sent to another vendor. */
  readonly text: string
  readonly opaque?: Opaque | undefined
}

export interface ToolCallItem extends HasPath {
  readonly type: 'tool_call'
  /** `custom` (freeform): `arguments` is plain text, not JSON. */
  readonly kind: 'function' | 'custom'
  readonly id: string
  readonly name: string
  readonly namespace?: string | undefined
  /** JSON text as the model wrote it, '{}' for none; may be broken. */
  readonly arguments: string
  readonly cache?: CacheMark | undefined
}

export interface ToolResultItem extends HasPath {
  readonly type: 'tool_result'
  readonly callId: string
  /** Text or parts as the caller sent them: '' and `[]` are legal. */
  readonly content: string | readonly TurnPart[]
  readonly isError: boolean
  readonly cache?: CacheMark | undefined
}

/** A web search of an earlier answer, run by upstream or emulated by the proxy. */
export interface SearchItem extends HasPath {
  readonly type: 'web_search'
  readonly id: string
  readonly query: string
  /** Set if the proxy ran the search: the caller then returns readable results. */
  readonly outcome?: SearchOutcome | undefined
}

/** The result of a web search that the proxy ran. */
export type SearchOutcome =
  /** `text` is the whole result; it equals the joined texts of the pages, unless there are none. */
  { readonly pages: readonly FoundPage[]; readonly text: string } | { readonly failure: SearchFailure }

export interface FoundPage {
  readonly url: string
  readonly title: string
  /** The part of the result that the search attributes to this page. */
  readonly text: string
}

/** Anthropic's error codes for a web search. Source: Anthropic documentation, web search tool, 2026-11. */
export type SearchFailure =
  | 'invalid_tool_input'
  | 'max_uses_exceeded'
  | 'query_too_long'
  | 'too_many_requests'
  | 'unavailable'

/** History that upstream compacted: opaque, or a summary, or both. */
export interface CompactionItem extends HasPath {
  readonly type: 'compaction'
  readonly opaque?: Opaque | undefined
  readonly text: string
}

export type TurnItem = MessageItem | ReasoningItem | ToolCallItem | ToolResultItem | SearchItem | CompactionItem

export interface FunctionTool extends HasPath {
  readonly type: 'function'
  readonly name: string
  readonly namespace?: string | undefined
  readonly description?: string | undefined
  /** JSON Schema as received; `prepareTurn` makes it an object schema. */
  readonly parameters?: unknown
  readonly strict?: boolean | undefined
  readonly cache?: CacheMark | undefined
}

export interface CustomTool extends HasPath {
  readonly type: 'custom'
  readonly name: string
  readonly namespace?: string | undefined
  readonly description?: string | undefined
  /** Responses' `{type: "text"}` or `{type: "grammar", syntax, definition}`. */
  readonly format?: JsonObject | undefined
}

export interface WebSearchTool extends HasPath {
  readonly type: 'web_search'
  readonly allowedDomains?: readonly string[] | undefined
  readonly blockedDomains?: readonly string[] | undefined
  /** Limit on the searches in one answer. */
  readonly maxUses?: number | undefined
  readonly userLocation?: JsonObject | undefined
  /** `low`, `medium`, `high`. */
  readonly contextSize?: string | undefined
  /** Members that only the caller's dialect has, e.g. `max_uses`; each causes a warning. */
  readonly onlyThere: readonly string[]
}

/** A tool that upstream runs and that no other dialect knows; refused unless it can be passed through. */
export interface HostedTool extends HasPath {
  readonly type: 'hosted'
  /** E.g. `file_search`, `computer_20250124`. */
  readonly wireType: string
}

export type TurnTool = FunctionTool | CustomTool | WebSearchTool | HostedTool

export interface ToolName {
  readonly name: string
  readonly namespace?: string | undefined
}

export type TurnToolChoice =
  /** `validated`: as `auto`, and the model checks its calls against the schemas of their tools. */
  | { readonly type: 'auto' | 'none' | 'required' | 'validated' }
  | ({ readonly type: 'tool' } & ToolName)
  | { readonly type: 'allowed'; readonly mode: 'auto' | 'required'; readonly tools: readonly ToolName[] }

export type OutputFormat =
  | { readonly type: 'json_object' }
  | {
      readonly type: 'json_schema'
      readonly name?: string | undefined
      readonly description?: string | undefined
      readonly schema: JsonObject
      readonly strict?: boolean | undefined
    }

/** Reasoning settings in either vocabulary; `engine/effort.ts` maps them for a model. */
export interface TurnReasoning {
  /** Messages' `thinking.type`. */
  readonly mode?: 'adaptive' | 'enabled' | 'disabled' | 'between_tools' | undefined
  readonly budgetTokens?: number | undefined
  /** `none`, `minimal`, `low`, `medium`, `high`, `xhigh`, `max`, or an unknown level. */
  readonly effort?: string | undefined
  /** Whether to return readable text: `auto`, `concise`, `detailed`, or `none`. */
  readonly summary?: string | undefined
}

export interface Sampling {
  readonly temperature?: number | undefined
  readonly topP?: number | undefined
  readonly topK?: number | undefined
  readonly frequencyPenalty?: number | undefined
  readonly presencePenalty?: number | undefined
  readonly seed?: number | undefined
  readonly logitBias?: JsonObject | undefined
}

/** One request. The caller did not state an absent member. */
export interface Turn {
  /** The caller dialect's names of fields, for warnings and refusals. */
  readonly fieldNames: FieldNames
  readonly items: readonly TurnItem[]
  readonly tools: readonly TurnTool[]
  readonly toolChoice?: TurnToolChoice | undefined
  readonly parallelToolCalls?: boolean | undefined
  readonly maxOutputTokens?: number | undefined
  readonly sampling: Sampling
  /** Stop sequences; [] for none. */
  readonly stop: readonly string[]
  readonly format?: OutputFormat | undefined
  /** `low`, `medium`, `high`. */
  readonly verbosity?: string | undefined
  readonly reasoning?: TurnReasoning | undefined
  /** Set if the caller wants log probabilities; `top` alternatives for each token. */
  readonly logprobs?: { readonly top?: number | undefined } | undefined
  /** Stable for one conversation; used as upstream's prompt cache key. */
  readonly cacheKey?: string | undefined
  /** As `CallerRequest.sessionId`. The cache key if the caller states none. */
  readonly sessionId?: string | undefined
}

/** Fields that an upstream may lack. */
export type TurnField =
  | 'maxOutputTokens'
  | 'temperature'
  | 'topP'
  | 'topK'
  | 'frequencyPenalty'
  | 'presencePenalty'
  | 'seed'
  | 'logitBias'
  | 'stop'
  | 'format'
  | 'verbosity'
  | 'reasoning'
  | 'effort'
  | 'logprobs'
  | 'toolChoice'
  | 'parallelToolCalls'

export type FieldNames = Readonly<Record<TurnField, string>>

/** Token counts as upstream reported them; never estimated. Absent: not stated. */
export interface Usage {
  /** All input tokens, including cache reads and writes, as OpenAI counts. */
  readonly inputTokens: number
  readonly cachedInputTokens: number
  readonly cacheWriteTokens?: number | undefined
  /** Those of `cacheWriteTokens` that the cache keeps for an hour. */
  readonly cacheWrite1hTokens?: number | undefined
  /** All output tokens, including reasoning. */
  readonly outputTokens: number
  readonly reasoningTokens?: number | undefined
  /** Web searches that upstream ran. */
  readonly searches?: number | undefined
  /** AI credits that upstream charges, in billionths. */
  readonly nanoAiu?: number | undefined
}

/**
 * Why an answer ended. A limit or a filter takes precedence over tool calls: a call that was cut short must not reach a caller as a
 * complete call.
 */
export type TurnStop =
  | 'end'
  | 'stop_sequence'
  /** The answer has at least one complete call of a tool that the caller runs. */
  | 'tool_calls'
  | 'max_tokens'
  | 'context_full'
  | 'content_filter'
  | 'pause'
  | 'compaction'

/**
 * One step of a reply. `slot` numbers the parts of a reply in order of appearance: 0, 1, 2…. A slot is text, thinking or a
 * tool call and keeps its type. Slots may interleave; an encoder whose dialect forbids that buffers. `stop` is the last
 * event. A failure is a thrown Fault, never an event.
 */
export type TurnEvent =
  /** The first event of every reply. */
  | {
      readonly type: 'start'
      /** Upstream's own model name. */
      readonly model?: string | undefined
      /** Counts that upstream states before the answer. */
      readonly usage?: Usage | undefined
    }
  | {
      readonly type: 'text.delta'
      readonly slot: number
      readonly text: string
      /** OpenAI's token log probabilities for this piece. */
      readonly logprobs?: readonly unknown[] | undefined
    }
  | { readonly type: 'refusal.delta'; readonly slot: number; readonly text: string }
  | { readonly type: 'think.delta'; readonly slot: number; readonly text: string }
  /**
   * At most once per thinking slot, directly before its `part.close`. Its slot may have no text, and may come after texts and
   * calls.
   */
  | { readonly type: 'think.sign'; readonly slot: number; readonly opaque: Opaque }
  | {
      readonly type: 'tool.open'
      readonly slot: number
      readonly id: string
      readonly name: string
      readonly namespace?: string | undefined
      readonly kind: 'function' | 'custom'
    }
  /** Pieces concatenate to the arguments: JSON text, or plain text for a custom tool. No piece at all means `{}`. */
  | { readonly type: 'tool.args'; readonly slot: number; readonly text: string }
  /** A citation of the slot's text so far. */
  | { readonly type: 'citation'; readonly slot: number; readonly citation: Citation }
  /** A completed web search of upstream's own. */
  | { readonly type: 'search'; readonly slot: number; readonly id: string; readonly query: string }
  /** The proxy starts a web search. The next event of the slot is `search.result`. */
  | { readonly type: 'search.open'; readonly slot: number; readonly id: string; readonly query: string }
  | {
      readonly type: 'search.result'
      readonly slot: number
      readonly id: string
      readonly query: string
      readonly outcome: SearchOutcome
    }
  /**
   * The last event of a slot. A call that was cut short is closed too: only the reason of `stop` tells whether the last call is
   * complete. At `stop`, encoders close slots that are still open.
   */
  | { readonly type: 'part.close'; readonly slot: number }
  /** Before `stop`; a later one replaces an earlier one. */
  | { readonly type: 'usage'; readonly usage: Usage }
  | {
      readonly type: 'stop'
      readonly reason: TurnStop
      /** The text that ended the answer, with `stop_sequence`. */
      readonly stopSequence?: string | undefined
      /** Upstream's account of a content filter. */
      readonly detail?:
        | { readonly category?: string | undefined; readonly explanation?: string | undefined }
        | undefined
    }

export interface Citation {
  readonly url: string
  readonly title: string
  /** Offsets into the slot's text, in UTF-16 units. */
  readonly start?: number | undefined
  readonly end?: number | undefined
  /** The cited text of the page. Undefined: use the text between the offsets. */
  readonly quote?: string | undefined
}
