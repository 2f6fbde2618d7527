/** A model as the settings of a client need it. */
export interface ClientModel {
  readonly id: string
  readonly provider: string
  /** For a caller of each API, the upstream API that serves it; the same one means nothing is translated. */
  readonly routes: Readonly<Record<string, string | null>>
  /** Tokens of a prompt; undefined: not known. */
  readonly contextTokens: number | undefined
  /** Tokens. */
  readonly outputTokens: number | undefined
  readonly vision: boolean
  /** False: it is known to call none. */
  readonly tools: boolean
  readonly thinks: boolean
}
