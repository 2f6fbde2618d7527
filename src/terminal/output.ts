import type { Style } from './style.ts'

/** One of the two output streams, as the commands see it. */
export interface Output {
  /** Writes the text as it is; a closed reader is not an error. */
  readonly write: (text: string) => void
  /** Whether the reader is known to have left; noticed by a write only. */
  readonly isClosed?: () => boolean
  /** Whether all that was written has left this process, and not for the null device, where nobody finds it. */
  readonly isDelivered?: () => Promise<boolean>
  /** Characters per line; Infinity where nobody reads on a screen, so that files and pipes get whole lines. */
  readonly columns: number
  /** A person sees it as it is written. */
  readonly isTerminal: boolean
  readonly hasColors: boolean
  readonly style: Style
}

/** The same output, which takes something out of all text first. */
export function redacted(output: Output, redact: (text: string) => string): Output {
  return { ...output, write: (text) => output.write(redact(text)) }
}
