import { expect, test } from 'vitest'
import { startCountdown } from '../../../src/commands/login/prompts.ts'

/** A countdown whose clock the test moves. */
function countdown(
  screen: { readonly isTerminal: boolean; readonly columns?: number; readonly terminal?: string },
  endsAtMs = 65_000,
) {
  const written: string[] = []
  let nowMs = 0
  let ticks: (() => void) | undefined
  const { isTerminal, columns = 80, terminal = 'xterm' } = screen
  const stop = startCountdown(
    { isTerminal, columns, write: (text) => void written.push(text) },
    {
      endsAtMs,
      now: () => nowMs,
      terminal,
      line: (left) => `good for ${left}.`,
      every: (ms, tick) => {
        expect(ms).toBe(1000)
        ticks = tick
        return () => (ticks = undefined)
      },
    },
  )
  return {
    written,
    stop,
    isTicking: () => ticks !== undefined,
    pass: (ms: number) => {
      nowMs += ms
      ticks?.()
    },
  }
}

test('is one line that is rewritten, and gone when it is stopped', () => {
  const { written, stop, pass, isTicking } = countdown({ isTerminal: true })
  pass(5_000)
  pass(1_000)
  pass(70_000)
  expect(written).toEqual(['\rgood for 1:05.', '\rgood for 1:00.', '\rgood for 0:59.', '\rgood for 0:00.'])
  stop()
  expect(written.at(-1)).toBe(`\r${' '.repeat('good for 0:00.'.length + 2)}\r`)
  expect(isTicking()).toBe(false)
  stop()
  expect(written).toHaveLength(5)
})

test('overwrites a longer line completely, and has no escape codes', () => {
  const { written, pass } = countdown({ isTerminal: true }, 600_000)
  pass(1_000)
  pass(0)
  expect(written).toEqual(['\rgood for 10:00.', '\rgood for 9:59. ', '\rgood for 9:59.'])
})

test.each([
  ['is no terminal', { isTerminal: false }],
  ['cannot rewrite lines', { isTerminal: true, terminal: 'dumb' }],
  ['is too narrow', { isTerminal: true, columns: 14 }],
])('is one whole line, once, where the output %s', (_what, screen) => {
  const { written, stop, isTicking } = countdown(screen)
  expect(isTicking()).toBe(false)
  stop()
  expect(written).toEqual(['good for 1 minute.\n'])
})
