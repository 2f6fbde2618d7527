import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8'

/** The V8 that runs this program, as far as its memory can be told anything. */
export interface Engine {
  /** Takes effect when V8 next asks for them. */
  readonly setFlags: (flags: string) => void
  /** The size of the space in which new objects are made, both halves; Infinity where V8 has none of that name. Bytes. */
  readonly nurseryBytes: () => number
}

export const v8Engine: Engine = {
  setFlags: setFlagsFromString,
  nurseryBytes: () =>
    getHeapSpaceStatistics().find((space) => space.space_name === 'new_space')?.space_size ?? Infinity,
}
