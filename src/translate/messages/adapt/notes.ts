import type { Warning, WarningCode } from '../../warning.ts'

/** Gathers what happened in many places of a conversation: one warning for each kind of thing, which names the first. */
export interface Notes {
  readonly add: (code: WarningCode, field: string, detail: string) => void
  readonly warnings: () => readonly Warning[]
}

export function createNotes(): Notes {
  const seen = new Map<
    string,
    { readonly code: WarningCode; readonly field: string; readonly detail: string; places: number }
  >()
  return {
    add(code, field, detail) {
      // Each message that loses its reasoning is named.
      const key = code === 'thinking_dropped' ? `${detail} ${field}` : detail
      const known = seen.get(key)
      if (known === undefined) seen.set(key, { code, field, detail, places: 1 })
      else known.places += 1
    },
    warnings: () =>
      [...seen.values()].map(({ code, field, detail, places }) => ({
        code,
        field,
        detail: places === 1 ? detail : `${detail} (${places} places)`,
      })),
  }
}
