import { longContextMarks } from '../models/names.ts'

/** A model as the settings of a client need it. */
export interface ClientModel {
  /** Taken by a shell without quotes: the long context tier of a model ends in `-long-context`. */
  readonly id: string
  readonly provider: string
  /** For a caller of each API, the upstream API that serves it; the same one means nothing is translated. */
  readonly routes: Readonly<Record<string, string | null>>
  /** Tokens of a prompt; undefined: not known. */
  readonly contextTokens: number | undefined
  /** Which of the model's two tiers `contextTokens` is of; undefined: it has one only. */
  readonly contextTier?: 'default' | 'long' | undefined
  /** Credits per million tokens, of that tier; undefined: not stated. */
  readonly prices?: ClientPrices | undefined
  /** Tokens. */
  readonly outputTokens: number | undefined
  readonly vision: boolean
  /** False: it is known to call none. */
  readonly tools: boolean
  readonly thinks: boolean
}

interface ClientPrices {
  readonly input: number | null
  readonly output: number | null
  readonly cache_read: number | null
  readonly cache_write: number | null
}

const [bracketMark, wordMark] = longContextMarks

export function shellSafeId(id: string): string {
  return id.endsWith(bracketMark) ? id.slice(0, -bracketMark.length) + wordMark : id
}

/** The id as Claude Code wants it: it goes by this mark for the size of the window. */
export function bracketId({ id, contextTier }: ClientModel): string {
  return contextTier === 'long' && id.endsWith(wordMark) ? id.slice(0, -wordMark.length) + bracketMark : id
}
