import type { ProxyError } from '../errors.ts'
import type { SseEvent } from '../sse/decode.ts'
import type { ModelTraits } from './model-traits.ts'
import type { JsonObject } from './parts/json.ts'
import type { Prompts } from './parts/conversation.ts'
import type { SearchOutcome, ToolName, Turn, TurnEvent, Usage, WebSearchTool } from './turn.ts'
import type { Warning } from './warning.ts'
import type { SearchPlan } from './web-search.ts'

/** Wire dialects that upstreams speak. Callers speak them too. */
export type UpstreamDialectId = 'chat' | 'responses' | 'messages'

/** Wire dialects that callers speak. The id of a dialect that only callers speak goes here. */
export type DialectId = UpstreamDialectId

/** Request headers as Node gives them, names in lower case. */
export type CallerHeaders = Readonly<Record<string, string | readonly string[] | undefined>>

/**
 * A caller's body, checked. The dialect that made it is the only one that reads `body`: an instance of a class of its own,
 * which it knows by `instanceof` (`chatBodyOf` in `chat/wire.ts`).
 */
export interface CallerRequest<Body = unknown> {
  readonly model: string
  readonly stream: boolean
  /** The caller asked for token counts in the stream (`stream_options.include_usage`); other dialects always send them. */
  readonly wantsUsage: boolean
  /** An image is anywhere in the request, history and tool results included. */
  readonly hasImage: boolean
  /** Some message is from the assistant or a tool: this is not the first turn. */
  readonly hasAgentHistory: boolean
  /** The last message alone is from the user. */
  readonly endsWithUser: boolean
  /** The model is offered tools. */
  readonly hasTools: boolean
  /** The request is for a summary that takes the place of the history. */
  readonly isCompaction: boolean
  readonly prompts: Prompts
  /** What the caller names its conversation by, in a header or in its body; undefined where it does not. */
  readonly sessionId?: string | undefined
  readonly body: Body
}

/** Where a dialect keeps its conversation, and how it writes text there. Used only for requests with `hasImage`. */
export interface ConversationShape {
  readonly member: 'messages' | 'input'
  readonly textType: 'text' | 'input_text'
  readonly itemsOf: (request: CallerRequest) => readonly JsonObject[]
  /** The request with each item of its conversation mapped. */
  readonly mapItems: (request: CallerRequest, map: <Item extends JsonObject>(item: Item) => Item) => CallerRequest
}

/** How a request refers to stored replies, and whether its own reply is stored (`previous_response_id`, `store`). */
export interface ChainLink {
  readonly previousId: string | undefined
  /** Ids of `item_reference` items. */
  readonly references: readonly string[]
  /** The reply is to be kept: `store` is not false. */
  readonly keep: boolean
  /** The request's own input items, as a list. */
  readonly input: readonly JsonObject[]
}

export interface EncodeContext {
  /** The routed model; its `id` replaces the name the caller used. */
  readonly model: ModelTraits
  /** `chat.strict`: refuse with 400 what would otherwise be adapted or dropped with a warning. */
  readonly strict: boolean
  /** What upstream has refused of this model before, in the words of the dialect's own `recover`. */
  readonly learnedRefusals: ReadonlySet<string>
  /**
   * Whether a search that the model asks for can be run here, for an upstream that has no web search. Asked only of
   * requests that offer one. Absent: no.
   */
  readonly canSearch?: (() => boolean) | undefined
}

export interface EncodedRequest {
  /** The upstream body: JSON, UTF-8. */
  readonly body: Buffer
  /** Request headers of the dialect itself, e.g. `anthropic-beta`; names in lower case. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  readonly warnings: readonly Warning[]
  /** What the reply needs of the request. Only the upstream dialect that made it reads it (`ReplyNotes.upstream`). */
  readonly replyNotes?: unknown
}

/** A caller's body in the neutral model. */
export interface DecodedTurn {
  readonly turn: Turn
  /** What the caller sent that has no place in a Turn. */
  readonly warnings: readonly Warning[]
  /** What the reply needs of the request. Only the caller dialect that made it reads it (`ReplyNotes.caller`). */
  readonly replyNotes?: unknown
}

/** What one upstream takes of a Turn; `prepareTurn` fits the Turn to it. */
export interface TurnAccepts {
  /** Characters in a tool's name. */
  readonly toolName: number
  /** Characters in the id of a tool call. */
  readonly callId: number
  readonly customTools: boolean
  readonly webSearch: boolean
  /** It ends the answer at a stop text itself and says which one it was. */
  readonly stop: boolean
}

/** A tool as the caller knows it. */
export interface ToolIdentity extends ToolName {
  readonly kind: 'function' | 'custom'
}

/** What the reply side remembers of a translated request. */
export interface ReplyNotes {
  /** By the name upstream knows; holds only tools whose name or kind was changed. */
  readonly tools: ReadonlyMap<string, ToolIdentity>
  /** Stop texts the proxy watches for itself. */
  readonly stop: readonly string[]
  /** `DecodedTurn.replyNotes`. Undefined for a request that was passed, or that is a Turn of this process. */
  readonly caller?: unknown
  /** `EncodedRequest.replyNotes`. */
  readonly upstream?: unknown
  /** Calls of this function are web searches that are run here. */
  readonly search?: SearchPlan | undefined
}

/** Everything a reply needs that is not in the events, handed in so that output is reproducible. */
export interface ReplySeed {
  /** Unique among replies; makes up ids that upstream does not send. */
  readonly id: string
  /** Seconds since epoch, used when upstream sends none. */
  readonly createdSeconds: number
  /** The clock, in seconds since epoch: asked once, when an answer of a dialect that states it is complete. */
  readonly nowSeconds: () => number
  /** The routed model's id, used when upstream names no model. */
  readonly model: string
  /** The name the caller used. Messages callers get it back: Claude Code compares it. */
  readonly requestedModel: string
  /** The routed model, whose vendor and family opaque values carry. */
  readonly traits: ModelTraits
  /** As in the request, which a long stream must not keep in memory for it. */
  readonly wantsUsage: boolean
  readonly notes: ReplyNotes
  /** What upstream answers, where the answer may be paused and is then continued here. */
  readonly sent?: EncodedRequest | undefined
  /** Takes known credentials out of what upstream says of a failure. */
  readonly redact: (text: string) => string
}

/** A finished reply of the Responses API, for callers that refer to it later. */
export interface ReplyRecord {
  readonly id: string
  /** The whole response object. */
  readonly response: JsonObject
}

/**
 * What a reply with tool calls said of its reasoning, for callers that do not hand it back: the value belongs on the
 * assistant message that has one of the calls.
 */
export interface ReplyReasoning {
  /** As the caller knows them; one at least. */
  readonly callIds: readonly string[]
  /** As the caller was sent it. */
  readonly opaque: string
}

/** What both ways of answering share: events in, upstream's end noticed, usage watched. */
export interface Reply<Out> {
  /**
   * Takes one upstream event, returns what it adds to the reply.
   * @throws Fault `upstream_failed`, `upstream_status`, `upstream_unusable` when the event reports or amounts to a failure
   */
  readonly push: (event: SseEvent) => Out
  /** Upstream's own end mark was seen: later events do not matter. */
  readonly isDone: () => boolean
  /**
   * Asked when upstream has ended its reply. Undefined if the answer is complete, or if the caller continues it.
   * @throws Fault `upstream_truncated` when upstream had not finished
   */
  readonly continuation?: (() => Continuation | undefined) | undefined
  readonly usage: () => Usage | undefined
  /** Upstream events that said nothing that is known here and were left out, for the log. */
  readonly skipped: () => number
  /** Set once the reply is complete, in dialects that can refer to it. */
  readonly record?: (() => ReplyRecord | undefined) | undefined
  /** Set once the reply is complete, in dialects whose callers may leave reasoning out. */
  readonly reasoning?: (() => ReplyReasoning | undefined) | undefined
}

/** How an answer goes on whose upstream reply has ended before the answer has: it was paused, or it waits for searches. */
export interface Continuation {
  /** To be run before `next` is called. Empty if upstream paused the answer. */
  readonly searches: readonly SearchQuery[]
  /**
   * The request whose reply continues the answer: its events are pushed to the same `Reply`. Undefined if the answer ends
   * with the results of the searches. Called once.
   * @param outcomes of `searches`, in their order
   */
  readonly next: (outcomes: readonly SearchOutcome[], context: EncodeContext) => EncodedRequest | undefined
  /** Upstream refused that request: the answer ends where it is. */
  readonly refused: () => void
}

/** One web search that a model has asked for. */
export interface SearchQuery {
  readonly query: string
  /** As the caller offered it. */
  readonly tool: WebSearchTool
}

/** The streaming answer: SSE text in the caller's dialect, '' where an event adds nothing yet. */
export interface ReplyStream extends Reply<string> {
  /**
   * Upstream closed the stream, and there is no continuation: closes the reply.
   * @throws Fault `upstream_truncated` when upstream had not finished
   */
  readonly end: () => string
  /** Ends a started stream in place of `errorEvent`, where the event must agree with what was written before. */
  readonly fail?: ((error: ProxyError, requestId: string) => string) | undefined
}

/** The answer as events of the neutral model. */
export interface EventReply extends Reply<readonly TurnEvent[]> {
  /**
   * Upstream closed the stream, and there is no continuation. Nothing after a `stop`.
   * @throws Fault `upstream_truncated` when upstream had not finished
   */
  readonly end: () => readonly TurnEvent[]
}

/** The whole answer: a fold over the very events a streaming caller would have got. */
export interface ReplyFold extends Reply<void> {
  /**
   * Upstream closed the stream, and there is no continuation: the body as a JSON value.
   * @throws Fault `upstream_truncated` when upstream had not finished
   */
  readonly end: () => unknown
}

/** Reads one upstream reply. */
export interface TurnDecoder {
  /** @throws Fault as `Reply.push` */
  readonly push: (event: SseEvent) => readonly TurnEvent[]
  /**
   * Upstream closed the stream. Nothing after a `stop`.
   * @throws Fault `upstream_truncated` when upstream had not finished
   */
  readonly end: () => readonly TurnEvent[]
  readonly skipped: () => number
  /**
   * After a stop of `pause`: the request that has upstream go on. The decoder then reads its reply, as more of the same
   * answer: slots go on, usage is that of all replies. Undefined where there is nothing to go on from. Only in dialects
   * whose answers are paused.
   * @param sent the request that was answered
   */
  readonly continuation?: ((sent: EncodedRequest) => EncodedRequest | undefined) | undefined
}

/**
 * Writes one reply as SSE text. Its opening waits for the first event that says something, so that a failure before it is
 * a status the caller can act on.
 */
export interface TurnStream {
  readonly push: (event: TurnEvent) => string
  /** As `ReplyStream.fail`. */
  readonly fail?: ((error: ProxyError, requestId: string) => string) | undefined
  readonly record?: (() => ReplyRecord | undefined) | undefined
  readonly reasoning?: (() => ReplyReasoning | undefined) | undefined
}

/** Gathers one reply as a body: a fold over the events a `TurnStream` would have written. */
export interface TurnFold {
  readonly push: (event: TurnEvent) => void
  /** After `stop`. */
  readonly body: () => unknown
  readonly record?: (() => ReplyRecord | undefined) | undefined
  readonly reasoning?: (() => ReplyReasoning | undefined) | undefined
}

export type UpstreamRefusal = Extract<ProxyError, { kind: 'upstream_status' }>

/** A request that upstream refused, without what it refused. */
export interface Recovery {
  /** Undefined where only encoding it anew, with `learnedRefusal` in its context, helps: the reply is then read differently. */
  readonly request?: EncodedRequest | undefined
  /** Worth remembering for the model, for `EncodeContext.learnedRefusals`; undefined where it is about this request alone. */
  readonly learnedRefusal?: string | undefined
}
