import type { EncodeContext as AnyContext } from '../../dialect.ts'

/** Differences of an upstream from OpenAI's API. */
export interface ResponsesSettings {
  /** The ChatGPT backend accepts fewer members than the API and always requires instructions. */
  readonly profile?: 'chatgpt' | undefined
  /**
   * `codex.responses-lite`: `auto` sends the lite form to a model of the ChatGPT backend that refused the usual one.
   * Absent: `never`.
   */
  readonly lite?: 'auto' | 'never' | undefined
}

export interface EncodeContext extends AnyContext, ResponsesSettings {}
