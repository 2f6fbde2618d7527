import type {
  Dialect,
  CallerRequest,
  DecodedTurn,
  EncodeContext,
  EncodedRequest,
  ReplyFold,
  ReplyNotes,
  ReplySeed,
  ReplyStream,
  TurnAccepts,
  UpstreamDialect,
} from './dialect.ts'
import { mergeEffects, type ToolIdentity } from './engine/reply-effects.ts'
import { limitImages, limitImagesInTurn } from './engine/media/images.ts'
import { limitDocuments, limitDocumentsInTurn } from './engine/media/route-limits.ts'
import { prepareTurn } from './engine/tool-codec/prepare-turn.ts'
import { createTranslatedFold, createTranslatedStream } from './reply.ts'
import type { Turn } from './turn.ts'
import { distinct, refuseLosses } from './warning.ts'
import { describeSearches } from './web-search.ts'

/** One request in the upstream's dialect, and the reader of its reply. */
export interface TranslatedCall<Reader = ReplyReader> {
  readonly request: EncodedRequest
  readonly reader: Reader
}

/** Changes a decoded request before it is encoded. */
export type ChangeTurn = (decoded: DecodedTurn) => DecodedTurn

/** Everything that reading the reply needs. Holds nothing else of the request. */
export interface EventReader {
  readonly notes: ReplyNotes
}

/** Reads the reply for a caller, in the caller's dialect. */
export interface ReplyReader extends EventReader {
  readonly createStream: (seed: ReplySeed) => ReplyStream
  readonly createFold: (seed: ReplySeed) => ReplyFold
}

/**
 * Encodes a caller's request for an upstream: untouched if both speak the same dialect and repairs are enough, otherwise
 * through a `Turn`.
 * @param change of the Turn, for a request that goes through one
 * @throws Fault `invalid_request`
 */
export function translateCall(
  caller: Dialect,
  upstream: UpstreamDialect,
  asked: CallerRequest,
  context: EncodeContext,
  change?: ChangeTurn,
): TranslatedCall {
  const { request, warnings: ofMedia } = withoutMedia(asked, caller, upstream, context)
  const call =
    caller.id === upstream.id && change === undefined
      ? passedCall(upstream.passRequest(request, context), caller, upstream, request)
      : translatedCall(caller, upstream, callOfTurn(caller, upstream, request, context, change))
  const warnings = distinct([...ofMedia, ...call.request.warnings])
  if (context.strict) refuseLosses(warnings, caller.mandatory)
  return { ...call, request: { ...call.request, warnings } }
}

/** Leaves out what upstream does not take. A caller's dialect without an upstream's side leaves this to the Turn. */
function withoutMedia(asked: CallerRequest, caller: Dialect, { id }: UpstreamDialect, context: EncodeContext) {
  const conversation = caller.upstream?.conversation
  if (conversation === undefined) return { request: asked, warnings: [] }
  const documents = limitDocuments(asked, conversation, id, context)
  const images = limitImages(documents?.request ?? asked, conversation, id, context)
  return {
    request: images?.request ?? documents?.request ?? asked,
    warnings: [...(documents?.warnings ?? []), ...(images?.warnings ?? [])],
  }
}

function withoutMediaOfTurn({ turn, warnings }: DecodedTurn, { id }: UpstreamDialect, context: EncodeContext) {
  const documents = limitDocumentsInTurn(turn, id, context)
  const images = limitImagesInTurn(documents?.turn ?? turn, id, context)
  return {
    turn: images?.turn ?? documents?.turn ?? turn,
    warnings: [...(documents?.warnings ?? []), ...(images?.warnings ?? []), ...warnings],
  }
}

function callOfTurn(
  caller: Dialect,
  upstream: UpstreamDialect,
  asked: CallerRequest,
  context: EncodeContext,
  change: ChangeTurn = unchanged,
): TranslatedCall<EventReader> {
  const decoded = caller.decodeTurn(asked, context)
  const fitting = caller.upstream === undefined ? withoutMediaOfTurn(decoded, upstream, context) : decoded
  const { request, reader } = translateTurn(upstream, change(fitting), context)
  return { request, reader: { notes: { ...reader.notes, caller: caller.replyNotes?.(asked) } } }
}

const unchanged: ChangeTurn = (decoded) => decoded

function passedCall(
  request: EncodedRequest,
  caller: Dialect,
  upstream: UpstreamDialect,
  asked: CallerRequest,
): TranslatedCall {
  const effects = mergeEffects([request.effects])
  if (effects !== undefined) {
    const notes: ReplyNotes = { ...effects, caller: caller.replyNotes?.(asked), upstream: request.replyNotes }
    return translatedCall(caller, upstream, { request, reader: { notes } })
  }
  const { createStream, createFold } = upstream
  const notes: ReplyNotes = { tools: new Map(), stop: [], upstream: request.replyNotes }
  return { request, reader: { notes, createStream, createFold } }
}

/** A separate function, so that the closures of the reader hold nothing of the request. */
function translatedCall(
  caller: Dialect,
  upstream: UpstreamDialect,
  { request, reader }: TranslatedCall<EventReader>,
): TranslatedCall {
  return {
    request,
    reader: {
      ...reader,
      createStream: (seed) => createTranslatedStream(caller, upstream, seed),
      createFold: (seed) => createTranslatedFold(caller, upstream, seed),
    },
  }
}

/**
 * Encodes a `Turn` for an upstream.
 * @throws Fault `invalid_request`
 */
export function translateTurn(
  upstream: UpstreamDialect,
  { turn, warnings }: DecodedTurn,
  context: EncodeContext,
): TranslatedCall<EventReader> {
  const accepts = upstream.accepts(context.learnedRefusals)
  const prepared = prepareTurn(withoutSearches(turn, accepts), accepts)
  const encoded = upstream.encodeTurn(prepared.turn, context)
  return {
    request: {
      ...encoded,
      warnings: distinct([...warnings, ...prepared.warnings, ...encoded.warnings]),
    },
    reader: {
      notes: {
        tools: restoredTools(prepared.tools, encoded.effects?.tools),
        stop: [...prepared.stop, ...(encoded.effects?.stop ?? [])],
        properties: encoded.effects?.properties,
        upstream: encoded.replyNotes,
      },
    },
  }
}

/** @param ofRules tools that a rule named after `prepareTurn` had named them */
function restoredTools(
  prepared: ReplyNotes['tools'],
  ofRules: ReplyNotes['tools'] = new Map<string, ToolIdentity>(),
): ReplyNotes['tools'] {
  if (ofRules.size === 0) return prepared
  const named = [...ofRules].map(([name, tool]): [string, ToolIdentity] => [name, prepared.get(tool.name) ?? tool])
  return new Map([...prepared, ...named])
}

function withoutSearches(turn: Turn, { webSearch }: TurnAccepts): Turn {
  const hasOutcome = turn.items.some((item) => item.type === 'web_search' && item.outcome !== undefined)
  return hasOutcome ? { ...turn, items: describeSearches(turn.items, webSearch) } : turn
}
