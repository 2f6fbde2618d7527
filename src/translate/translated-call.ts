import type {
  CallerDialect,
  CallerRequest,
  DecodedTurn,
  EncodeContext,
  EncodedRequest,
  ReplyFold,
  ReplyNotes,
  ReplySeed,
  ReplyStream,
  SearchPlan,
  TurnAccepts,
  UpstreamDialect,
} from './dialect.ts'
import { mergeEffects, type ToolIdentity } from './engine/reply-effects.ts'
import { limitImages } from './images.ts'
import { limitDocuments } from './route-limits.ts'
import { prepareTurn } from './fit/prepare-turn.ts'
import { createTranslatedFold, createTranslatedStream } from './reply.ts'
import type { Turn, TurnToolChoice } from './turn.ts'
import { distinct, refuseLosses } from './warning.ts'
import { describeSearches, emulateSearch } from './web-search.ts'
import type { EmulatedTurn } from './web-search.ts'

/** One request in the upstream's dialect, and the reader of its reply. */
export interface TranslatedCall<Reader = ReplyReader> {
  readonly request: EncodedRequest
  readonly reader: Reader
}

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
 * @throws Fault `invalid_request`
 */
export function translateCall(
  caller: CallerDialect,
  upstream: UpstreamDialect,
  asked: CallerRequest,
  context: EncodeContext,
): TranslatedCall {
  const documents = limitDocuments(asked, caller.conversation, upstream.id, context)
  const images = limitImages(documents?.request ?? asked, caller.conversation, upstream.id, context)
  const request = images?.request ?? documents?.request ?? asked
  const passed = caller.id === upstream.id ? upstream.passRequest(request, context) : undefined
  const call = passed
    ? passedCall(passed, caller, upstream, request, context)
    : translatedCall(caller, upstream, translateTurn(upstream, caller.decodeTurn(request, context), context))
  const warnings = distinct([...(documents?.warnings ?? []), ...(images?.warnings ?? []), ...call.request.warnings])
  if (context.strict) refuseLosses(warnings, caller.mandatory)
  return { ...call, request: { ...call.request, warnings } }
}

function passedCall(
  request: EncodedRequest,
  caller: CallerDialect,
  upstream: UpstreamDialect,
  asked: CallerRequest,
  context: EncodeContext,
): TranslatedCall {
  const effects = mergeEffects([request.effects])
  if (effects !== undefined) {
    const { replyNotes } = caller.decodeTurn(asked, context)
    const notes: ReplyNotes = { ...effects, caller: replyNotes, upstream: request.replyNotes }
    return translatedCall(caller, upstream, { request, reader: { notes } })
  }
  const { createStream, createFold } = upstream
  const notes: ReplyNotes = { tools: new Map(), stop: [], upstream: request.replyNotes }
  return { request, reader: { notes, createStream, createFold } }
}

/** A separate function, so that the closures of the reader hold nothing of the request. */
function translatedCall(
  caller: CallerDialect,
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
  { turn, warnings, replyNotes }: DecodedTurn,
  context: EncodeContext,
): TranslatedCall<EventReader> {
  const accepts = upstream.accepts(context.learnedRefusals)
  const emulated = accepts.webSearch ? undefined : emulatedSearch(turn, context)
  const prepared = prepareTurn(emulated?.turn ?? withoutSearches(turn, accepts), accepts)
  const encoded = upstream.encodeTurn(prepared.turn, context)
  return {
    request: {
      ...encoded,
      warnings: distinct([...warnings, ...(emulated?.warnings ?? []), ...prepared.warnings, ...encoded.warnings]),
    },
    reader: {
      notes: {
        tools: restoredTools(prepared.tools, encoded.effects?.tools),
        stop: [...prepared.stop, ...(encoded.effects?.stop ?? [])],
        properties: encoded.effects?.properties,
        caller: replyNotes,
        upstream: encoded.replyNotes,
        search: emulated && createSearchPlan(emulated, prepared.turn, upstream),
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

/** Undefined if the caller offers no search, or the proxy can run none. */
function emulatedSearch(turn: Turn, { canSearch }: EncodeContext): EmulatedTurn | undefined {
  const tool = turn.tools.find(({ type }) => type === 'web_search')
  if (tool?.type !== 'web_search' || canSearch?.() !== true) return undefined
  // By default Codex asks for a search of stored pages (`external_web_access: false`). This search reads the live web.
  return tool.onlyThere.includes('external_web_access') ? undefined : emulateSearch(turn, tool)
}

function withoutSearches(turn: Turn, { webSearch }: TurnAccepts): Turn {
  const hasOutcome = turn.items.some((item) => item.type === 'web_search' && item.outcome !== undefined)
  return hasOutcome ? { ...turn, items: describeSearches(turn.items, webSearch) } : turn
}

/**
 * The plan holds the Turn until the answer ends, because each round of searches needs a request made from it. A
 * separate function, so that its closure holds nothing else.
 */
function createSearchPlan({ name, tool }: EmulatedTurn, turn: Turn, upstream: UpstreamDialect): SearchPlan {
  return {
    name,
    tool,
    resume(said, isLast, context) {
      const toolChoice = isLast ? ({ type: 'none' } as const) : choiceAfterCall(turn.toolChoice)
      const resumed = { ...turn, toolChoice, items: [...turn.items, ...said] }
      const encodeAgain = (again: EncodeContext): EncodedRequest => upstream.encodeTurn(resumed, again)
      return { ...encodeAgain(context), encodeAgain }
    },
  }
}

/** After a forced call, lets the model choose: forced again, it would never write an answer. */
function choiceAfterCall(choice: TurnToolChoice | undefined): TurnToolChoice | undefined {
  if (choice?.type === 'required' || choice?.type === 'tool') return { type: 'auto' }
  return choice?.type === 'allowed' ? { ...choice, mode: 'auto' } : choice
}
