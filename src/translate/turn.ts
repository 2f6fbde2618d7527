/**
 * The neutral model between dialects: one request as a `Turn`, one reply as a stream of `TurnEvent`s. Ordered items as
 * in the Responses API, widened with what only the Messages API has (cache marks, `is_error`, signatures). Decoders
 * never reorder items, never trim text and never look into opaque values.
 */
import type { Provider } from './model-traits.ts'
import type { JsonObject } from './parts/is-object.ts'

/** Vendors whose opaque values must not be mixed; `unknown` matches nothing. */
export type Vendor = 'openai' | 'anthropic' | 'google' | 'xai' | 'unknown'

/**
 * Reasoning state that only its maker can read. It goes back to the same vendor over the same kind of upstream or
 * nowhere: elsewhere it would make every later request of the session fail.
 */
export interface Opaque {
  readonly vendor: Vendor
  /** Whose upstream made it; no other can read it. Undefined where the caller kept it as it came, which tells nothing. */
  readonly provider?: Provider | undefined
  /** E.g. `gpt-6`, `claude`; '' where unknown. For people who debug; matching goes by vendor and form. */
  readonly family: string
  /**
   * `encrypted_content` of Responses, `signature` and `redacted` (thinking) of Messages, `reasoning_opaque` of Copilot's
   * chat. The form tells the upstream dialect.
   */
  readonly form: 'encrypted_content' | 'signature' | 'redacted' | 'reasoning_opaque'
  /** Upstream's own item id, where the form has one. */
  readonly id?: string | undefined
  readonly value: string
}

/** An Anthropic prompt-cache mark, `ttl` as the caller wrote it (`5m`, `1h`). */
export interface CacheMark {
  readonly ttl?: string | undefined
}

export type ImageSource =
  | { readonly type: 'base64'; readonly mediaType: string; readonly data: string }
  | { readonly type: 'url'; readonly url: string }
  /** Uploaded elsewhere; only the dialect it came from understands it. */
  | { readonly type: 'file_id'; readonly id: string }

export type FileSource =
  | { readonly type: 'base64'; readonly mediaType: string; readonly data: string }
  | { readonly type: 'url'; readonly url: string }
  | { readonly type: 'file_id'; readonly id: string }

export type TurnPart =
  | { readonly type: 'text'; readonly text: string; readonly cache?: CacheMark | undefined }
  | {
      readonly type: 'image'
      readonly source: ImageSource
      /** OpenAI's `low`, `high`, `auto`. */
      readonly detail?: string | undefined
      readonly cache?: CacheMark | undefined
    }
  /** A PDF or another file. A text document is a `text` part already. */
  | {
      readonly type: 'file'
      readonly source: FileSource
      readonly filename?: string | undefined
      readonly cache?: CacheMark | undefined
    }
  | { readonly type: 'audio'; readonly data: string; readonly format: string }
  /** Assistant only: the model's own words of refusal. */
  | { readonly type: 'refusal'; readonly text: string }

/** Where an item stood in the caller's body, as warnings name it: `messages.3`, `input.0`. */
interface Placed {
  readonly path: string
}

export interface MessageItem extends Placed {
  readonly type: 'message'
  /** `system` stands for `developer` too. */
  readonly role: 'system' | 'user' | 'assistant'
  readonly parts: readonly TurnPart[]
  /** Responses' `commentary` or `final_answer`. */
  readonly phase?: string | undefined
}

export interface ReasoningItem extends Placed {
  readonly type: 'reasoning'
  /** Readable text, '' for none. Never sent to another vendor. */
  readonly text: string
  readonly opaque?: Opaque | undefined
}

export interface ToolCallItem extends Placed {
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

export interface ToolResultItem extends Placed {
  readonly type: 'tool_result'
  readonly callId: string
  /** Text or parts as the caller sent them: '' and `[]` are legal. */
  readonly content: string | readonly TurnPart[]
  readonly isError: boolean
  readonly cache?: CacheMark | undefined
}

/** A web search that upstream ran itself. */
export interface SearchItem extends Placed {
  readonly type: 'web_search'
  readonly id: string
  readonly query: string
  /** What it found, where the caller sends that back readable: it was run here. */
  readonly outcome?: SearchOutcome | undefined
}

/** What a web search that was run here came to. */
export type SearchOutcome =
  /** `text` is all it found in words; the texts of the pages together are the same, unless there is no page. */
  { readonly pages: readonly FoundPage[]; readonly text: string } | { readonly failure: SearchFailure }

export interface FoundPage {
  readonly url: string
  readonly title: string
  /** What the search says on the word of this page. */
  readonly text: string
}

/** Anthropic's error codes of a search. Source: Anthropic documentation, web search tool, 2026-11. */
export type SearchFailure =
  | 'invalid_tool_input'
  | 'max_uses_exceeded'
  | 'query_too_long'
  | 'too_many_requests'
  | 'unavailable'

/** History that was compacted by upstream: opaque, with a summary where there is one. */
export interface CompactionItem extends Placed {
  readonly type: 'compaction'
  readonly opaque?: Opaque | undefined
  readonly text: string
}

export type TurnItem = MessageItem | ReasoningItem | ToolCallItem | ToolResultItem | SearchItem | CompactionItem

export interface FunctionTool extends Placed {
  readonly type: 'function'
  readonly name: string
  readonly namespace?: string | undefined
  readonly description?: string | undefined
  /** JSON Schema as received; `prepareTurn` makes it an object schema. */
  readonly parameters?: unknown
  readonly strict?: boolean | undefined
  readonly cache?: CacheMark | undefined
}

export interface CustomTool extends Placed {
  readonly type: 'custom'
  readonly name: string
  readonly namespace?: string | undefined
  readonly description?: string | undefined
  /** Responses' `{type: "text"}` or `{type: "grammar", syntax, definition}`. */
  readonly format?: JsonObject | undefined
}

export interface WebSearchTool extends Placed {
  readonly type: 'web_search'
  readonly allowedDomains?: readonly string[] | undefined
  readonly blockedDomains?: readonly string[] | undefined
  /** Searches in one answer. */
  readonly maxUses?: number | undefined
  readonly userLocation?: JsonObject | undefined
  /** `low`, `medium`, `high`. */
  readonly contextSize?: string | undefined
  /** Members that only the caller's dialect has, for a warning each, e.g. `max_uses`. */
  readonly onlyThere: readonly string[]
}

/** A tool that upstream would have to run and that no other dialect knows; refused where it cannot be passed. */
export interface HostedTool extends Placed {
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
  | { readonly type: 'auto' | 'none' | 'required' }
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

/** What the caller asked of reasoning, in either vocabulary; `parts/effort.ts` maps it for a model. */
export interface TurnReasoning {
  /** Messages' `thinking.type`. */
  readonly mode?: 'adaptive' | 'enabled' | 'disabled' | 'between_tools' | undefined
  readonly budgetTokens?: number | undefined
  /** `none`, `minimal`, `low`, `medium`, `high`, `xhigh`, `max`, or a word we do not know. */
  readonly effort?: string | undefined
  /** Readable text is wanted (`auto`, `concise`, `detailed`) or unwanted (`none`). Undefined: not said. */
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

/** One request. An absent member was not stated by the caller. */
export interface Turn {
  /** The dialect's member for a field, so that warnings and refusals use the caller's own words. */
  readonly fieldNames: FieldNames
  readonly items: readonly TurnItem[]
  readonly tools: readonly TurnTool[]
  readonly toolChoice?: TurnToolChoice | undefined
  readonly parallelToolCalls?: boolean | undefined
  readonly maxOutputTokens?: number | undefined
  readonly sampling: Sampling
  /** Texts that end the answer; [] for none. */
  readonly stop: readonly string[]
  readonly format?: OutputFormat | undefined
  /** `low`, `medium`, `high`. */
  readonly verbosity?: string | undefined
  readonly reasoning?: TurnReasoning | undefined
  /** Log probabilities are wanted; `top` alternatives each. */
  readonly logprobs?: { readonly top?: number | undefined } | undefined
  /** Stable for one conversation; used as upstream's prompt cache key. */
  readonly cacheKey?: string | undefined
  /** As `CallerRequest.sessionId`: the cache key where none is stated. */
  readonly sessionId?: string | undefined
}

/** Fields an upstream may lack, as warnings name them in the caller's words. */
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
  /** Everything the model read, cache reads and writes included, as OpenAI counts. */
  readonly inputTokens: number
  readonly cachedInputTokens: number
  readonly cacheWriteTokens?: number | undefined
  /** Everything the model wrote, reasoning included. */
  readonly outputTokens: number
  readonly reasoningTokens?: number | undefined
  /** Web searches upstream ran. */
  readonly searches?: number | undefined
  /** AI credits that upstream charges, in billionths. */
  readonly nanoAiu?: number | undefined
}

/** Why an answer ended. Precedence: a cap or a filter beats tool calls, for a cut call is not a call. */
export type TurnStop =
  | 'end'
  | 'stop_sequence'
  /** At least one complete call of a tool that the caller runs. */
  | 'tool_calls'
  | 'max_tokens'
  | 'context_full'
  | 'content_filter'
  | 'pause'
  | 'compaction'

/**
 * One step of a reply. `slot` numbers the parts of a reply in the order they were first seen: 0, 1, 2…; a slot is text,
 * thinking or a tool call and stays it. Slots may interleave; encoders that cannot take that hold back. After `stop`
 * nothing follows, and a failure is a thrown Fault, never an event.
 */
export type TurnEvent =
  /** First, once. What upstream says of the reply. */
  | {
      readonly type: 'start'
      /** Upstream's own model name. */
      readonly model?: string | undefined
      /** Counts known before the answer, where upstream states them. */
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
  /** Once per thinking slot at most, the last event before its `part.close`. */
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
  /** A url citation of the text so far in this slot. */
  | { readonly type: 'citation'; readonly slot: number; readonly citation: Citation }
  /** A web search upstream ran itself, complete. */
  | { readonly type: 'search'; readonly slot: number; readonly id: string; readonly query: string }
  /** A web search that is run here begins; `search.result` follows, with nothing of the slot between. */
  | { readonly type: 'search.open'; readonly slot: number; readonly id: string; readonly query: string }
  | {
      readonly type: 'search.result'
      readonly slot: number
      readonly id: string
      readonly query: string
      readonly outcome: SearchOutcome
    }
  /** Nothing more comes for the slot. Encoders close what is still open at `stop`. */
  | { readonly type: 'part.close'; readonly slot: number }
  /** Before `stop`; a later one replaces an earlier one. */
  | { readonly type: 'usage'; readonly usage: Usage }
  | {
      readonly type: 'stop'
      readonly reason: TurnStop
      /** The text that ended the answer, with `stop_sequence`. */
      readonly stopSequence?: string | undefined
      /** Of a content filter: category and words, where upstream gives them. */
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
  /** What the page says, where that is known. Undefined: the text between the offsets stands for it. */
  readonly quote?: string | undefined
}
