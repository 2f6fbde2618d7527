import type { FragmentEvent } from '../agent/agent-event.ts'

/** Pieces of an answer within this time become one event. Ms. */
const gatherMs = 10

/** Maximum length of gathered pieces. Characters. */
const maxGathered = 8 * 1024

export interface GatherDeps {
  readonly note: (event: FragmentEvent) => void
  /** As in KnownSecrets. */
  readonly beginsAt: (text: string) => number
  /** Returns a function that cancels the timer. Must not keep the process alive. */
  readonly setTimer: (run: () => void, delayMs: number) => () => void
}

export interface GatheredText {
  readonly add: (piece: FragmentEvent) => void
  /** Notes all that is held: something else comes next. */
  readonly release: () => void
}

/**
 * Gathers the pieces of an answer. An end that may be the beginning of a credential is held until more is known, because a
 * credential is redacted as a whole.
 */
export function gatherText({ note, beginsAt, setTimer }: GatherDeps): GatheredText {
  let held: FragmentEvent | undefined
  let endTimer: (() => void) | undefined

  function noteUpTo(endOf: (text: string) => number): void {
    endTimer?.()
    endTimer = undefined
    if (held === undefined) return
    const given = held
    const end = endOf(given.text)
    held = end === given.text.length ? undefined : { ...given, text: given.text.slice(end) }
    if (end > 0) note({ ...given, text: given.text.slice(0, end) })
  }

  function release(): void {
    noteUpTo((text) => text.length)
  }

  return {
    add(piece) {
      const continues = held?.kind === piece.kind && held.step === piece.step && held.model === piece.model
      if (!continues) release()
      const text = (held?.text ?? '') + piece.text
      held = { ...piece, text }
      if (piece.kind === 'commentary' || text.length > maxGathered) noteUpTo(beginsAt)
      else endTimer ??= setTimer(() => noteUpTo(beginsAt), gatherMs)
    },
    release,
  }
}
