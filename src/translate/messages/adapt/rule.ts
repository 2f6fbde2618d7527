import type { Warning } from '../../warning.ts'
import type { MessagesRequest } from '../wire-request.ts'
import type { Target } from './target.ts'

/** A request on its way to upstream. */
export interface Draft {
  /** Members that were removed are undefined; those no rule touched are the caller's very values. */
  readonly body: MessagesRequest
  /** Values of `anthropic-beta`. */
  readonly betas: readonly string[]
}

export interface Outcome {
  /** Top-level members to set; `undefined` removes one. */
  readonly patch?: Readonly<Partial<MessagesRequest>>
  readonly betas?: readonly string[]
  readonly warnings: readonly Warning[]
}

/** One habit of upstream's and what is done about it. */
export interface Rule {
  readonly name: string
  /** Where the fact comes from. `messages, x` is row x of docs/copilot-wire.md, "Messages requests". */
  readonly source: string
  /**
   * Never changes its input. `undefined`: nothing to do. A rule that is run again on its own work does nothing.
   * @throws Fault `invalid_request`
   */
  readonly adapt: (draft: Draft, target: Target) => Outcome | undefined
}

/** `interleaved-thinking-2025-05-14` is of the beta `interleaved-thinking`, whatever its date. */
export function hasBeta({ betas }: Draft, name: string): boolean {
  return betas.some((beta) => isOfBeta(beta, name))
}

export function isOfBeta(beta: string, name: string): boolean {
  return beta.startsWith(`${name}-`)
}
