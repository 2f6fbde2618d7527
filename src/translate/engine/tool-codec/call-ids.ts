import { shortName } from '../ids.ts'

/** The ids of calls that an upstream takes. */
export interface IdForm {
  /** Only letters, digits, `_` and `-`. */
  readonly isPlain: boolean
  /** Characters. Absent: any number. */
  readonly longest?: number
}

/**
 * Gives each call an id of its own. A legal id that is still free stays. The id depends only on earlier calls, so that
 * every request of a session gets the same ones, which keeps prompt caches valid.
 */
export function createIdSource({ isPlain, longest = Infinity }: IdForm): (original: string) => string {
  const uses = new Map<string, number>()
  const taken = new Set<string>()
  return (original) => {
    const filled = original === '' ? 'call' : original
    const base = isPlain || filled.length > longest ? shortName(filled, longest) : filled
    const numbered = (use: number): string => `${base.slice(0, longest - `__${use}`.length)}__${use}`
    let use = (uses.get(base) ?? 0) + 1
    let id = use === 1 ? base : numbered(use)
    while (taken.has(id)) {
      use += 1
      id = numbered(use)
    }
    uses.set(base, use)
    taken.add(id)
    return id
  }
}

/** Gives results the new ids of their calls. Calls of one turn may share an id; their results come in the same order. */
export interface RenamedTurn {
  readonly call: (original: string, id: string) => void
  /** Undefined for a result whose call is not in this turn. */
  readonly result: (original: string) => string | undefined
}

export function startTurn(): RenamedTurn {
  const open = new Map<string, { readonly ids: string[]; next: number }>()
  return {
    call(original, id) {
      const known = open.get(original)
      if (known === undefined) open.set(original, { ids: [id], next: 0 })
      else known.ids.push(id)
    },
    result(original) {
      const known = open.get(original)
      if (known === undefined) return undefined
      // A cursor, because `shift` moves all other elements.
      const id = known.ids[known.next]
      known.next += 1
      return id
    },
  }
}
