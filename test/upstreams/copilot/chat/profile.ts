import type { Answer } from '../../answer/answer.ts'
import type { CatalogueRow } from '../catalogue.ts'
import type { Frames } from '../../answer/frames.ts'

/** Facts of a reply besides its answer. */
export interface ReplySeed {
  /** Number of the reply. Ids contain it. */
  readonly number: number
  readonly createdSeconds: number
  readonly model: string
  readonly promptTokens: number
  readonly row: CatalogueRow
  /** The request ended with a tool result. */
  readonly isAfterTool: boolean
}

/** Encodes an answer as the event stream of one model family, with its quirks. */
export type ChatProfile = (answer: Answer, seed: ReplySeed) => Frames
