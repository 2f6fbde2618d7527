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
  TurnDecoder,
} from './dialect.ts'
import { limitImages } from './images.ts'
import { prepareTurn } from './prepare/prepare-turn.ts'
import { createRestorer } from './restore/restore-events.ts'
import type { Turn, TurnEvent, Usage } from './turn.ts'
import { refuseLosses, type Warning } from './warning.ts'

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
  const prepared = prepareTurn(decoded.turn, upstream.accepts(context.lessons))
  const encoded = upstream.encodeTurn(prepared.turn, context)
  const warnings = distinct([...imageWarnings, ...decoded.warnings, ...prepared.warnings, ...encoded.warnings])
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
      },
      continuesPauses: upstream.pauses === true,
      createStream: (seed) => createTranslatedStream(caller, upstream, seed),
      createFold: (seed) => createTranslatedFold(caller, upstream, seed),
    },
  }
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
  const source = createSource(upstream.createDecoder(seed), seed)
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
  const source = createSource(upstream.createDecoder(seed), seed)
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
const mostContinuations = 5

/** Upstream's events as the caller's encoder gets them. */
function createSource(decoder: TurnDecoder, { notes, sent }: ReplySeed) {
  const restorer = createRestorer(notes)
  let usage: Usage | undefined
  let done = false
  /** The one that is being answered, where its answer is continued here. */
  let request = sent
  let continuations = 0
  /** The stop of a paused answer, which the caller sees only if that is not continued. */
  let pause: TurnEvent | undefined
  /** For the caller, with what comes next. */
  let pending: readonly TurnEvent[] = []

  /** Restores, and looks at what passes. */
  function through(events: readonly TurnEvent[]): readonly TurnEvent[] {
    const out = restorer === undefined ? events : events.flatMap(restorer.push)
    for (const event of out) {
      if (event.type === 'usage') usage = event.usage
      else if (event.type === 'stop') {
        done = true
        if (event.reason !== 'pause' || request === undefined) continue
        pause = event
        // A stop is the last event there is.
        return out.slice(0, -1)
      }
    }
    return out
  }

  function withPending(events: readonly TurnEvent[]): readonly TurnEvent[] {
    if (pending.length === 0) return events
    const out = [...pending, ...events]
    pending = []
    return out
  }

  function continuation(): Continuation | undefined {
    // Upstream may leave out its last event.
    if (!done) pending = through(decoder.end())
    const stop = pause
    if (stop === undefined || request === undefined) return undefined
    pause = undefined
    const next = continuations < mostContinuations ? decoder.continuation?.(request) : undefined
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
    return { request: next, refused }
  }

  return {
    read: (event: Parameters<TurnDecoder['push']>[0]) => (done ? [] : withPending(through(decoder.push(event)))),
    end: () => withPending(done ? [] : through(decoder.end())),
    watch: { isDone: () => done, usage: () => usage, skipped: decoder.skipped, continuation },
  }
}
