import type { ReplyEffects } from '../../../engine/reply-effects.ts'
import type { Warning, WarningCode } from '../../../warning.ts'
import type { MessagesRequest } from '../../wire.ts'
import type { Target } from './target.ts'

export interface Draft {
  /** Removed members are undefined; unchanged members are identical to the caller's. */
  readonly body: MessagesRequest
  /** Values of `anthropic-beta`. */
  readonly betas: readonly string[]
  /** The member of the caller's body that holds the conversation, if another dialect's. Absent: the body is the caller's. */
  readonly encodedFrom?: string
  /** Cache marks pay, and the caller may have set none. */
  readonly marksCache?: boolean
}

export interface Outcome {
  /** Top-level members to set; `undefined` removes one. */
  readonly patch?: Readonly<Partial<MessagesRequest>>
  readonly betas?: readonly string[]
  readonly effects?: ReplyEffects
  readonly warnings: readonly Warning[]
}

/** One difference between upstream and Anthropic's API, and the change that it needs. */
export interface Rule {
  readonly name: string
  /** `messages, x` is row x of docs/copilot-wire.md, "Messages requests". */
  readonly source: string
  /**
   * Returns `undefined` if there is nothing to change, which includes a draft that the rule has already changed. Never
   * changes its input.
   * @throws Fault `invalid_request`
   */
  readonly adapt: (draft: Draft, target: Target) => Outcome | undefined
}

/** Drops the date of a beta: `interleaved-thinking-2025-05-14` becomes `interleaved-thinking`. */
export function hasBeta({ betas }: Draft, name: string): boolean {
  return betas.some((beta) => isOfBeta(beta, name))
}

export function isOfBeta(beta: string, name: string): boolean {
  return beta.startsWith(`${name}-`)
}

/** Collects one warning for each kind of change in a conversation; the warning names the first field. */
export interface Notes {
  readonly add: (code: WarningCode, field: string, detail: string) => void
  readonly warnings: () => readonly Warning[]
}

export function createNotes(): Notes {
  const seen = new Map<
    string,
    { readonly code: WarningCode; readonly field: string; readonly detail: string; count: number }
  >()
  return {
    add(code, field, detail) {
      // Each message that loses its reasoning gets a warning.
      const key = code === 'thinking_dropped' ? `${detail} ${field}` : detail
      const note = seen.get(key)
      if (note === undefined) seen.set(key, { code, field, detail, count: 1 })
      else note.count += 1
    },
    warnings: () =>
      [...seen.values()].map(({ code, field, detail, count }) => ({
        code,
        field,
        detail: count === 1 ? detail : `${detail} (${count} places)`,
      })),
  }
}
