import type { Style } from './style.ts'

/** One of the two output streams, as the commands see it. */
export interface Output {
  /** Writes the text as it is; a closed reader is not an error. */
  readonly write: (text: string) => void
  /** Characters per line; Infinity where nobody reads on a screen, so that files and pipes get whole lines. */
  readonly columns: number
  /** A person sees it as it is written. */
  readonly isTerminal: boolean
  readonly hasColors: boolean
  readonly style: Style
}
