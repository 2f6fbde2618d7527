import type { ProxyError } from '../errors.ts'
import type { SseEvent } from '../sse/decode.ts'
import type { ToolIdentity } from './engine/reply-effects.ts'
import type { ModelTraits } from './model-traits.ts'
import type { JsonObject } from '../json/json.ts'
import type { ReplyMemory } from './reply-memory.ts'
import type { CallerNotes, UpstreamNotes } from './reply-notes.ts'
import type { CallCheck } from './safeguards/call-check.ts'
import type { Turn, TurnEvent, Usage } from './turn.ts'
import type { UpstreamRequest } from './upstream-request.ts'
import type { Warning } from './warning.ts'
import type { FirstEvent } from '../upstream-errors/error-body.ts'

/** Wire dialects that upstreams speak. Callers speak them too. */
export type UpstreamDialectId = 'chat' | 'responses' | 'messages'

/** Wire dialects that callers speak. The id of a dialect that only callers speak goes here. */
export type DialectId = UpstreamDialectId

/** Request headers as Node gives them, names in lower case. */
export type CallerHeaders = Readonly<Record<string, string | readonly string[] | undefined>>

/** Beginnings of prompts, which distinguish conversations and turns. */
export interface Prompts {
  /** The beginning of the first prompt; '' if there is none. */
  readonly first: string
  /** The beginning of the last prompt. */
  readonly last: string
  /** Index of the last prompt among the messages, which a tool loop does not change; -1 if there is none. */
  readonly lastAt: number
}

/**
 * A caller's request, checked. Only the dialect that decoded it reads `body`, which is an instance of a class of that
 * dialect (`chatBodyOf` in `chat/wire.ts`). In a request of this process (`requestOfTurn`), `body` is the Turn.
 */
export interface CallerRequest<Body = unknown> {
  readonly model: string
  readonly stream: boolean
  /** An image is anywhere in the request, history and tool results included. */
  readonly hasImage: boolean
  /** A PDF or another file that is no text is anywhere in the request. */
  readonly hasDocument: boolean
  /** Some message is from the assistant or a tool: this is not the first turn. */
  readonly hasAgentHistory: boolean
  /** The last message is a prompt of a person. Tool results and system notes do not count. */
  readonly endsWithUser: boolean
  /** The tools that the request offers to the model, those of namespaces included. */
  readonly toolCount: number
  /** The request offers a web search that its upstream is to run. */
  readonly offersSearch: boolean
  /** The request asks for a summary that will replace the history. */
  readonly isCompaction: boolean
  readonly prompts: Prompts
  /** The caller's name for its conversation, from a header or the body. Undefined: the caller states none. */
  readonly sessionId?: string | undefined
  readonly body: Body
}

/**
 * Where a dialect has its conversation, and the type of a text part there. Used only for requests with images or documents.
 * An item has a `role` or a `type`, and its parts are in `content` or `output`. The types of parts with media are in
 * `engine/media/media-parts.ts`. Their bytes are base64 in `source.data`, of the type in `source.media_type`, or a `data:` URL
 * in `image_url`.
 */
export interface ConversationShape {
  readonly member: 'messages' | 'input'
  readonly textType: 'text' | 'input_text'
  readonly itemsOf: (request: CallerRequest) => readonly JsonObject[]
  /** Returns the request with each item of its conversation mapped. */
  readonly mapItems: (request: CallerRequest, map: <Item extends JsonObject>(item: Item) => Item) => CallerRequest
}

export interface EncodeContext {
  /** The routed model; its `id` replaces the name the caller used. */
  readonly model: ModelTraits
  /** `chat.strict`: refuse a request with 400 instead of dropping parts of it with a warning. */
  readonly strict: boolean
  /** What upstream has refused, for this model before or of this very request: keys of the dialect's own `recover`. */
  readonly learnedRefusals: ReadonlySet<string>
  /** Rules of the upstream beyond its dialect's. The ChatGPT backend takes fewer members and requires instructions. */
  readonly profile?: 'chatgpt' | undefined
}

export interface EncodedRequest extends UpstreamRequest {
  /** Becomes `ReplyNotes.upstream`. */
  readonly replyNotes?: UpstreamNotes | undefined
  /**
   * Encodes a request that continues an answer again, after upstream refused it. Absent for the first request of an answer.
   * @throws Fault `invalid_request`
   */
  readonly encodeAgain?: ((context: EncodeContext) => EncodedRequest) | undefined
}

/** A caller's request in the neutral model. */
export interface DecodedTurn {
  readonly turn: Turn
  /** One for each part of the request that a Turn cannot hold. */
  readonly warnings: readonly Warning[]
}

/** The limits and features of an upstream. `prepareTurn` fits a Turn to them. */
export interface TurnAccepts {
  readonly customTools: boolean
  readonly webSearch: boolean
  /** A choice may name several tools. Otherwise only those are offered. */
  readonly allowedTools?: boolean
  /** Upstream ends the answer at a stop sequence and reports which one. */
  readonly stop: boolean
}

/** Facts about a request that its reply needs. */
export interface ReplyNotes {
  /** Tools whose name or kind was changed for upstream, by upstream name. */
  readonly tools: ReadonlyMap<string, ToolIdentity>
  /** Stop sequences that the proxy looks for, because upstream does not. */
  readonly stop: readonly string[]
  /** The caller's names of properties in the arguments of calls, by the names that upstream knows. */
  readonly properties?: ReadonlyMap<string, string> | undefined
  /** Undefined if the reply is forwarded as upstream sends it, and for a Turn of this process. */
  readonly caller?: CallerNotes | undefined
  readonly upstream?: UpstreamNotes | undefined
}

/**
 * The values besides the events that reading and writing a reply needs. The caller passes them, so that the output is
 * reproducible.
 */
export interface ReplySeed {
  /**
   * Random, because ids that upstream does not send are derived from it, and an id opens a stored response. Never the id of
   * the request, which others may know.
   */
  readonly id: string
  /** Seconds since epoch, for a reply in which upstream states no time. */
  readonly createdSeconds: number
  /** The current time in seconds since epoch. Called once, for a dialect that states when the answer was complete. */
  readonly nowSeconds: () => number
  /** The routed model's id, for a reply in which upstream names no model. */
  readonly model: string
  /** The model name that the caller used. Messages callers get it back, because Claude Code compares it. */
  readonly requestedModel: string
  /** The routed model. Opaque values carry its vendor and family. */
  readonly traits: ModelTraits
  readonly notes: ReplyNotes
  /** Removes known credentials from upstream's error messages. */
  readonly redact: (text: string) => string
}

/** Turns the events of upstream into one answer. */
export interface Reply<Out, End> {
  /**
   * Takes one upstream event. Returns what the event adds to the answer.
   * @throws Fault `upstream_failed`, `upstream_status`, `upstream_unusable` if the event reports a failure or is unusable
   */
  readonly push: (event: SseEvent) => Out
  /** Upstream has sent its end mark; later events are ignored. */
  readonly isDone: () => boolean
  /**
   * Call when upstream has ended its reply. Undefined if the answer is complete, or if the caller continues it.
   * @throws Fault `upstream_truncated` if upstream had not finished
   */
  readonly continuation?: (() => Continuation | undefined) | undefined
  /**
   * Call when upstream has closed the stream and there is no continuation.
   * @throws Fault `upstream_truncated` if upstream had not finished
   */
  readonly end: () => End
  readonly usage: () => Usage | undefined
  /** The number of upstream events of unknown types, for the log. */
  readonly skipped: () => number
  /** Call after `end`. Keeps what later requests refer to or leave out, in dialects with such requests. */
  readonly remember?: ((memory: ReplyMemory) => void) | undefined
}

/** Continues an answer that upstream has paused. */
interface Continuation {
  /** The request whose reply continues the answer: its events go to the same `Reply`. */
  readonly request: EncodedRequest
  /** Call if upstream refuses that request: the answer then ends as it is. */
  readonly refused: () => void
}

/** A streaming answer: SSE text in the caller's dialect; '' for an event that adds nothing yet. */
export interface ReplyStream extends Reply<string, string> {
  /** Ends a started stream, in place of `errorEvent`, if the error event must agree with the events before it. */
  readonly fail?: ((error: ProxyError, requestId: string) => string) | undefined
}

/** The answer as events of the neutral model. `end` returns nothing after a `stop`. */
export type EventReply = Reply<readonly TurnEvent[], readonly TurnEvent[]>

/** The whole answer as a JSON value: a fold over the events that a streaming caller would get. */
export type ReplyFold = Reply<void, unknown>

/** Reads one upstream reply. */
export interface TurnDecoder {
  /** @throws Fault as `Reply.push` */
  readonly push: (event: SseEvent) => readonly TurnEvent[]
  /**
   * Call when upstream has closed the stream. Returns nothing after a `stop`.
   * @throws Fault `upstream_truncated` if upstream had not finished
   */
  readonly end: () => readonly TurnEvent[]
  readonly skipped: () => number
  /**
   * Call after a stop of `pause`. Returns the request that makes upstream continue; undefined if there is nothing to
   * continue. Absent if upstream does not pause, or if the caller continues the answer itself.
   */
  readonly continuation?: (() => EncodedRequest | undefined) | undefined
}

/**
 * Writes one reply as SSE text. Writes nothing before the first event with content, so that a failure before it can be a
 * status.
 */
export interface TurnStream extends Pick<ReplyStream, 'fail' | 'remember'> {
  readonly push: (event: TurnEvent) => string
}

/** Collects one reply as a body: a fold over the events that a `TurnStream` would write. */
export interface TurnFold extends Pick<ReplyFold, 'remember'> {
  readonly push: (event: TurnEvent) => void
  /** Call after `stop`. */
  readonly body: () => unknown
}

export type UpstreamRefusal = Extract<ProxyError, { kind: 'upstream_status' }>

/** What a refusal says about requests to the model. */
export interface Recovery {
  /** Keys for `EncodeContext.learnedRefusals` of this request, which may then be accepted, and of later ones. */
  readonly learned?: readonly string[]
  /** Keys for this request alone. */
  readonly passing?: readonly string[]
  /**
   * The refusal names a member and not a value, so it may be about this request alone: later requests get `learned` only after a
   * second refusal.
   */
  readonly fromSecondRefusal?: boolean
  /** Told to the caller if the rules tell nothing about what they leave out. */
  readonly warnings?: readonly Warning[]
}

/**
 * The upstream's side of a wire dialect: encodes a `Turn` into a request, normalises the stream that answers it and
 * decodes that into `TurnEvent`s. Pure: no clock, no network, no logger, no random.
 */
export interface UpstreamDialect {
  readonly id: UpstreamDialectId
  /** Path below the upstream base URL. */
  readonly path: string

  /** @param learned the learned refusals of `EncodeContext`: a model may accept less than its dialect allows */
  readonly accepts: (learned: ReadonlySet<string>) => TurnAccepts
  /** @throws Fault `invalid_request` for what can neither be carried over nor left out */
  readonly encodeTurn: (turn: Turn, context: EncodeContext) => EncodedRequest
  readonly createDecoder: (seed: ReplySeed) => TurnDecoder
  /** Judges each event until the first that is no prelude. Lets an executor answer a failure inside a 200 with a status. */
  readonly judgeFirstEvent?: ((event: SseEvent) => FirstEvent) | undefined

  // For callers of the same dialect.
  readonly conversation: ConversationShape
  /**
   * The body of a caller's request, with every byte kept that needs no change.
   * @throws Fault `invalid_request`
   */
  readonly passRequest: (request: CallerRequest, context: EncodeContext) => EncodedRequest
  readonly createStream: (seed: ReplySeed) => ReplyStream
  readonly createFold: (seed: ReplySeed) => ReplyFold

  /**
   * What the refusal of `sent` may mean, the likeliest first. The first whose keys change the encoded request counts; if none
   * does, the refusal is the answer. Never called for 402, 429 or 5xx, and for 413 only if the request has images.
   */
  readonly recover: (sent: EncodedRequest, refusal: UpstreamRefusal, context: EncodeContext) => readonly Recovery[]
}

/** What `decodeRequest` gets besides the text of a body. */
export interface Received {
  /** The UTF-8 that the text was decoded from, so that a large body is not encoded again. */
  readonly bytes?: Buffer | undefined
  /** Default: none. */
  readonly headers?: CallerHeaders | undefined
  /** Default: those of the configuration. */
  readonly settings?: DialectSettings | undefined
}

/** The sections of the configuration that dialects read. */
export interface DialectSettings {
  readonly chat: ChatSettings
}

interface ChatSettings {
  readonly historyWindow: number
  readonly reasoningContent: 'auto' | 'always'
}

/**
 * A wire dialect. It decodes the requests of callers into a `Turn` and encodes `TurnEvent`s into their replies. Pure: no
 * clock, no network, no logger, no random.
 */
export interface Dialect {
  readonly id: DialectId
  /** SSE text that keeps a silent stream open and that clients ignore. */
  readonly heartbeat: string
  /** Fields that every request must have. A warning about one of them is no reason to refuse under `chat.strict`. */
  readonly mandatory?: ReadonlySet<string> | undefined
  /**
   * Checks a caller's body.
   * @throws Fault `malformed_body`, `invalid_request`
   */
  readonly decodeRequest: (text: string, received?: Received) => CallerRequest
  /**
   * Adds the parts of earlier replies that the request refers to or leaves out. Returns the same object if there are none.
   * @param strict `chat.strict`: adds only what the request refers to
   * @throws Fault `invalid_request` for a reference to something that is not kept
   */
  readonly recall?: ((request: CallerRequest, memory: ReplyMemory, strict: boolean) => CallerRequest) | undefined
  /**
   * The verdicts that the request wants on the tool calls of its answer; undefined if it wants none.
   * @param isSubagent another agent wrote what stands in the user's place
   * @throws Fault `invalid_request` for a check that cannot be made
   */
  readonly callCheckOf?: ((request: CallerRequest, isSubagent: boolean) => CallCheck | undefined) | undefined
  /** @throws Fault `invalid_request` for what can neither be carried over nor left out */
  readonly decodeTurn: (request: CallerRequest, context: EncodeContext) => DecodedTurn
  /** Becomes `ReplyNotes.caller`. Absent: a reply needs no facts about its request. */
  readonly replyNotes?: ((request: CallerRequest) => CallerNotes) | undefined

  readonly createTurnStream: (seed: ReplySeed) => TurnStream
  readonly createTurnFold: (seed: ReplySeed) => TurnFold

  /** HTTP status of an error that is reported before the first byte. */
  readonly errorStatus: (error: ProxyError) => number
  /**
   * The error envelope of a reply that has not started.
   * @param nowMs ms since epoch
   */
  readonly errorBody: (error: ProxyError, requestId: string, nowMs: number) => unknown
  /** SSE text of the error event that ends a started stream. */
  readonly errorEvent: (error: ProxyError, requestId: string) => string

  /** The upstream's side. A dialect that only callers speak has none. */
  readonly upstream?: UpstreamDialect | undefined
}

/** A dialect that upstreams speak too. */
export interface TwoSidedDialect extends Dialect {
  readonly upstream: UpstreamDialect
}
