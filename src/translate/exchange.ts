import type {
  CallerRequest,
  Continuation,
  Dialect,
  EncodeContext,
  EncodedRequest,
  ReplyFold,
  ReplyNotes,
  ReplySeed,
  ReplyStream,
  TurnAccepts,
  TurnDecoder,
} from './dialect.ts'
import { limitImages } from './images.ts'
import { addUsage } from './messages/usage.ts'
import { pairCalls } from './prepare/pair-calls.ts'
import { prepareTurn } from './prepare/prepare-turn.ts'
import { createRestorer } from './restore/restore-events.ts'
import type { Turn, TurnEvent, TurnToolChoice, Usage } from './turn.ts'
import { refuseLosses, type Warning } from './warning.ts'
import { createSearchRounds, emulateSearch, describeSearches } from './web-search.ts'
import type { EmulatedTurn, SearchPlan, SearchRounds } from './web-search.ts'

/** One request on its way: what upstream is sent, and how its reply is read. */
export interface Exchange {
  readonly request: EncodedRequest
  readonly reader: ReplyReader
}

/** Makes the reply; holds nothing of the request but what the reply needs. */
export interface ReplyReader {
  readonly notes: ReplyNotes
  /** An answer that upstream pauses is continued here, for which the request is kept as long as the answer lasts. */
  readonly continuesPauses: boolean
  readonly createStream: (seed: ReplySeed) => ReplyStream
  readonly createFold: (seed: ReplySeed) => ReplyFold
}

const noNotes: ReplyNotes = {
  tools: new Map(),
  stop: [],
  hasFormat: false,
  hidesThinking: false,
  asksForThinking: true,
  echo: undefined,
}

/**
 * Encodes a caller's request for an upstream: untouched where both speak the same dialect and repairs are enough,
 * through the neutral Turn otherwise.
 * @throws Fault `invalid_request`
 */
export function openExchange(
  caller: Dialect,
  upstream: Dialect,
  asked: CallerRequest,
  context: EncodeContext,
): Exchange {
  const { request, warnings: imageWarnings } = limitImages(asked, caller.conversation, upstream.id, context) ?? {
    request: asked,
    warnings: [],
  }
  const passed = caller.id === upstream.id ? caller.passRequest(request, context) : undefined
  if (passed !== undefined) {
    const warnings = distinct([...imageWarnings, ...passed.warnings])
    if (context.strict) refuseLosses(warnings, caller.mandatory)
    const { createStream, createFold } = caller
    return {
      request: { ...passed, warnings },
      reader: {
        notes: { ...noNotes, echo: passed.echo, calls: passed.calls },
        continuesPauses: false,
        createStream,
        createFold,
      },
    }
  }
  const decoded = caller.decodeTurn(request, context)
  const accepts = upstream.accepts(context.lessons)
  const emulated = accepts.webSearch ? undefined : emulatedSearch(decoded.turn, context)
  const prepared = prepareTurn(emulated?.turn ?? withoutSearches(decoded.turn, accepts), accepts)
  const encoded = upstream.encodeTurn(prepared.turn, context)
  const warnings = distinct([
    ...imageWarnings,
    ...decoded.warnings,
    ...(emulated?.warnings ?? []),
    ...prepared.warnings,
    ...encoded.warnings,
  ])
  if (context.strict) refuseLosses(warnings, caller.mandatory)
  return {
    request: { ...encoded, warnings },
    reader: {
      notes: {
        tools: prepared.tools,
        stop: prepared.stop,
        hasFormat: decoded.turn.format !== undefined,
        hidesThinking: decoded.turn.reasoning?.summary === 'none',
        asksForThinking: isThinkingOn(decoded.turn.reasoning?.mode),
        echo: decoded.echo,
        calls: encoded.calls,
        search: emulated && createSearchPlan(emulated, prepared.turn, upstream),
      },
      continuesPauses: upstream.pauses === true,
      createStream: (seed) => createTranslatedStream(caller, upstream, seed),
      createFold: (seed) => createTranslatedFold(caller, upstream, seed),
    },
  }
}

/** Undefined where the caller offers no search, or none can be run here. */
function emulatedSearch(turn: Turn, { canSearch }: EncodeContext): EmulatedTurn | undefined {
  const tool = turn.tools.find(({ type }) => type === 'web_search')
  if (tool?.type !== 'web_search' || canSearch?.() !== true) return undefined
  // Codex asks by default for a search of what is stored (`external_web_access: false`); this one reads the live web.
  return tool.onlyThere.includes('external_web_access') ? undefined : emulateSearch(turn, tool)
}

function withoutSearches(turn: Turn, { webSearch }: TurnAccepts): Turn {
  const hasOutcome = turn.items.some((item) => item.type === 'web_search' && item.outcome !== undefined)
  return hasOutcome ? { ...turn, items: describeSearches(turn.items, webSearch) } : turn
}

/** Holds the Turn as long as the answer lasts: each search makes a request of it. In a function of its own: nothing else. */
function createSearchPlan({ name, tool }: EmulatedTurn, turn: Turn, upstream: Dialect): SearchPlan {
  return {
    name,
    tool,
    resume(said, isLast, context) {
      const toolChoice = isLast ? ({ type: 'none' } as const) : choiceAfterCall(turn.toolChoice)
      const paired = pairCalls([...turn.items, ...said], upstream.accepts(context.lessons).callId)
      return upstream.encodeTurn({ ...turn, toolChoice, items: paired.items }, context)
    },
  }
}

/** A call that was forced has been made: forced again, the model would never come to an answer. */
function choiceAfterCall(choice: TurnToolChoice | undefined): TurnToolChoice | undefined {
  if (choice?.type === 'required' || choice?.type === 'tool') return { type: 'auto' }
  return choice?.type === 'allowed' ? { ...choice, mode: 'auto' } : choice
}

function isThinkingOn(mode: NonNullable<Turn['reasoning']>['mode']): boolean {
  return mode !== undefined && mode !== 'disabled'
}

/** The same thing said once: two blocks of one message often share their fate. */
function distinct(warnings: readonly Warning[]): readonly Warning[] {
  if (warnings.length < 2) return warnings
  return [...new Map(warnings.map((warning) => [`${warning.code};${warning.field}`, warning])).values()]
}

function createTranslatedStream(caller: Dialect, upstream: Dialect, seed: ReplySeed): ReplyStream {
  const source = createSource(upstream, seed)
  const stream = caller.createTurnStream(seed)
  const { push, record, reasoning, fail } = stream
  const write = (events: readonly TurnEvent[]): string => {
    let text = ''
    for (const event of events) text += push(event)
    return text
  }
  return {
    push: (event) => write(source.read(event)),
    end: () => write(source.end()),
    ...source.watch,
    ...(record && { record }),
    ...(reasoning && { reasoning }),
    ...(fail && { fail }),
  }
}

function createTranslatedFold(caller: Dialect, upstream: Dialect, seed: ReplySeed): ReplyFold {
  const source = createSource(upstream, seed)
  const fold = caller.createTurnFold(seed)
  const { record, reasoning } = fold
  const add = (events: readonly TurnEvent[]): void => {
    for (const event of events) fold.push(event)
  }
  return {
    push: (event) => add(source.read(event)),
    end() {
      add(source.end())
      return fold.body()
    },
    ...source.watch,
    ...(record && { record }),
    ...(reasoning && { reasoning }),
  }
}

/** A paused answer is continued this often; one that is still not whole then ends where it is. */
const maxContinuations = 5

/** Upstream's events as the caller's encoder gets them. */
function createSource(upstream: Dialect, seed: ReplySeed) {
  const { notes, sent } = seed
  let decoder = upstream.createDecoder(seed)
  const searches = notes.search && createSearchRounds(notes.search)
  const restorer = createRestorer(notes)
  let usage: Usage | undefined
  /** Of the requests before this one, where the answer takes several that the decoder does not know of. */
  let spent: Usage | undefined
  let done = false
  /** The caller's stream has had its stop, e.g. at a stop text that is watched for here. */
  let hasStopped = false
  /** The one that is being answered, where its answer is continued here. */
  let request = sent
  let continuations = 0
  let skipped = 0
  /** The stop of a paused answer, which the caller sees only if that is not continued. */
  let pause: TurnEvent | undefined
  /** For the caller, with what comes next. */
  let pending: readonly TurnEvent[] = []

  /** Restores, and looks at what passes. */
  function through(events: readonly TurnEvent[]): readonly TurnEvent[] {
    const rest = searches === undefined ? events : searches.push(withTotals(events))
    if (searches?.isWaiting() === true) done = true
    const out = restorer === undefined ? rest : rest.flatMap(restorer.push)
    for (const event of out) {
      if (event.type === 'usage') usage = event.usage
      else if (event.type === 'stop') {
        done = true
        hasStopped = true
        if (event.reason !== 'pause' || request === undefined) continue
        pause = event
        hasStopped = false
        // A stop is the last event there is.
        return out.slice(0, -1)
      }
    }
    return out
  }

  /** Each request has a usage of its own; the caller is told of one answer. */
  function withTotals(events: readonly TurnEvent[]): readonly TurnEvent[] {
    const count = searches?.count() ?? 0
    return events.map((event) => {
      if (event.type !== 'usage') return event
      const total = addUsage(spent, event.usage) ?? event.usage
      return { type: 'usage', usage: count === 0 ? total : { ...total, searches: count } }
    })
  }

  function withPending(events: readonly TurnEvent[]): readonly TurnEvent[] {
    if (pending.length === 0) return events
    const out = [...pending, ...events]
    pending = []
    return out
  }

  function continuation(): Continuation | undefined {
    // Upstream may leave out its last event.
    if (!done) pending = [...pending, ...through(decoder.end())]
    return searches?.isWaiting() === true && !hasStopped ? continuationAfter(searches) : pauseContinuation()
  }

  function continuationAfter(rounds: SearchRounds): Continuation {
    return {
      searches: rounds.searches(),
      request(found, context) {
        const resumed = rounds.resume(found, context)
        // Before the stop, should that be among them.
        if (usage !== undefined && rounds.count() > 0) {
          usage = { ...usage, searches: rounds.count() }
          pending = [...pending, { type: 'usage', usage }]
        }
        pending = [...pending, ...resumed.events]
        if (resumed.request === undefined) return undefined
        spent = usage
        skipped += decoder.skipped()
        continuations += 1
        decoder = upstream.createDecoder({ ...seed, id: `${seed.id}r${continuations}` })
        done = false
        return resumed.request
      },
      refused() {
        done = true
        pending = [...pending, ...rounds.endAnswer()]
      },
    }
  }

  function pauseContinuation(): Continuation | undefined {
    const stop = pause
    if (stop === undefined || request === undefined) return undefined
    pause = undefined
    const next = continuations < maxContinuations ? decoder.continuation?.(request) : undefined
    const refused = (): void => {
      done = true
      pending = [...pending, stop]
    }
    if (next === undefined) {
      refused()
      return undefined
    }
    request = next
    continuations += 1
    done = false
    return { searches: [], request: () => next, refused }
  }

  return {
    read: (event: Parameters<TurnDecoder['push']>[0]) => (done ? [] : withPending(through(decoder.push(event)))),
    end: () => withPending(done ? [] : through(decoder.end())),
    watch: {
      isDone: () => done,
      usage: () => usage,
      skipped: () => skipped + decoder.skipped(),
      continuation,
    },
  }
}
