import type { Draft as EngineDraft, Outcome as EngineOutcome, Rule as EngineRule } from '../../engine/apply-rules.ts'
import type { Warning, WarningCode } from '../../warning.ts'
import type { MessagesRequest } from '../wire.ts'
import { sentBetas } from '../sent-request.ts'
import type { Target } from './target.ts'

export type Draft = EngineDraft<MessagesRequest>
export type Outcome = EngineOutcome<MessagesRequest>

/** `messages, x` in a source is row x of docs/copilot-wire.md, "Messages requests". */
export type Rule = EngineRule<MessagesRequest, Target>

/** Drops the date of a beta: `interleaved-thinking-2025-05-14` becomes `interleaved-thinking`. */
export function hasBeta({ headers }: Draft, name: string): boolean {
  return sentBetas(headers).some((beta) => isOfBeta(beta, name))
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
