import type { Output } from '../../terminal/output.ts'

export interface CountdownOptions {
  /** Ms since epoch. */
  readonly endsAtMs: number
  /** Ms since epoch. */
  readonly now: () => number
  /** The line, by how much is left: `14:59` where it is rewritten, `15 minutes` where it is written once. */
  readonly line: (left: string) => string
  /** `TERM`. */
  readonly terminal: string | undefined
  /** Calls `tick` again and again; returns what ends it. */
  readonly every?: (ms: number, tick: () => void) => () => void
}

/**
 * A line that says how much time is left: on a terminal rewritten every second until it is stopped, elsewhere written
 * once. It is rewritten without escape codes, so that it needs nothing of a terminal but the carriage return.
 * @returns stops it and takes the rewritten line away; may be called twice
 */
export function startCountdown(
  output: Pick<Output, 'columns' | 'isTerminal' | 'write'>,
  { endsAtMs, now, line, terminal, every = everyMs }: CountdownOptions,
): () => void {
  const secondsLeft = (): number => Math.max(0, Math.ceil((endsAtMs - now()) / 1000))
  let width = line(clock(secondsLeft())).length
  // A line that wraps cannot be rewritten.
  if (!output.isTerminal || terminal === 'dumb' || width >= output.columns) {
    const minutes = Math.max(1, Math.round(secondsLeft() / 60))
    output.write(`${line(minutes === 1 ? '1 minute' : `${minutes} minutes`)}\n`)
    return () => {}
  }
  const show = (): void => {
    const text = line(clock(secondsLeft()))
    output.write(`\r${text.padEnd(width)}`)
    width = text.length
  }
  show()
  const stopTicking = every(1000, show)
  let isStopped = false
  return () => {
    if (isStopped) return
    isStopped = true
    stopTicking()
    // The terminal may have echoed a ^C behind it.
    output.write(`\r${' '.repeat(Math.min(width + 2, output.columns - 1))}\r`)
  }
}

/** `14:59`, `0:07`. */
function clock(seconds: number): string {
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`
}

function everyMs(ms: number, tick: () => void): () => void {
  const timer = setInterval(tick, ms)
  timer.unref()
  return () => clearInterval(timer)
}
