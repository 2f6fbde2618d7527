import { expect } from 'vitest'
import { Fault } from '../../src/errors.ts'
import type { SseEvent } from '../../src/sse/decode.ts'
import type { ReplySeed, UpstreamDialect } from '../../src/translate/dialect.ts'
import { remembered } from './turns.ts'

/** So many deltas come before a stream takes notice of those that repeat others, as `event-template.ts` says. */
export const deltasBefore = 4

/** Whether reading the event parses the whole of it. An event that repeats another is read without. */
export function isParsed(data: string, read: () => void): boolean {
  const { parse } = JSON
  let isWhole = false
  JSON.parse = (text, reviver) => {
    isWhole ||= text === data
    return parse(text, reviver)
  }
  try {
    read()
  } finally {
    JSON.parse = parse
  }
  return isWhole
}

/** How many events of a stream were read as repeating others. */
export interface Repeated {
  readonly all: number
  /** Those whose text was changed. */
  readonly rendered: number
}

/**
 * Expects that after each event callers get the same of the stream as of one that is equal, but in which no event can be
 * seen to repeat another.
 */
export function expectReadAlike(upstream: UpstreamDialect, seed: ReplySeed, events: readonly SseEvent[]): Repeated {
  const fast = startReaders(upstream, seed)
  const slow = startReaders(upstream, seed)
  let all = 0
  let rendered = 0
  for (const [at, { event, data }] of events.entries()) {
    // White space at the end is no part of the JSON, and no template knows it.
    const other = data.startsWith('{') ? data + ' '.repeat(at + 1) : data
    let got: ReturnType<typeof push> | undefined
    let expected: ReturnType<typeof push> | undefined
    const isRead = isParsed(other, () => (expected = push(slow, { event, data: other })))
    const isRepeated = isRead && !isParsed(data, () => (got = push(fast, { event, data })))
    if (!isRead) got = push(fast, { event, data })
    expect(got).toEqual(expected)
    if (!isRepeated) continue
    all += 1
    if (typeof got?.sent === 'string' && !got.sent.includes(`data: ${data}\n`)) rendered += 1
  }
  expect(end(fast)).toEqual(end(slow))
  return { all, rendered }
}

type Readers = ReturnType<typeof startReaders>

/** The readers of an upstream's stream: one passes it on, one folds it, one translates it. */
function startReaders(upstream: UpstreamDialect, seed: ReplySeed) {
  return {
    stream: upstream.createStream(seed),
    fold: upstream.createFold(seed),
    decoder: upstream.createDecoder(seed),
  }
}

/** What one event adds for callers, and what the readers say of themselves after it. */
function push({ stream, fold, decoder }: Readers, event: SseEvent) {
  return {
    sent: withoutPadding(caught(() => stream.push(event))),
    folded: caught(() => fold.push(event)),
    decoded: caught(() => structuredClone(decoder.push(event))),
    done: [stream.isDone(), fold.isDone()],
    skipped: [stream.skipped(), fold.skipped(), decoder.skipped()],
    usage: [stream.usage(), fold.usage()],
  }
}

function end({ stream, fold, decoder }: Readers) {
  return {
    sent: withoutPadding(caught(() => stream.end())),
    body: caught(() => fold.end()),
    decoded: caught(() => decoder.end()),
    failed: withoutPadding(stream.fail?.({ kind: 'internal' }, 'req-1')),
    kept: [remembered(stream), remembered(fold)],
  }
}

function withoutPadding(text: unknown): unknown {
  return typeof text === 'string' ? text.replaceAll(/ +$/gm, '') : text
}

/** Only a Fault is an answer; any other exception is a bug and fails the test. */
function caught(run: () => unknown): unknown {
  try {
    return run()
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    return error.error
  }
}
