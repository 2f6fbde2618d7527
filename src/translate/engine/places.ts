import type { Warning } from '../warning.ts'

/** One number for each element of a changed list: the position that the element had before the change, -1 for a new element. */
export type Places = readonly number[]

/**
 * The places of elements by their identity. A changed element counts as the next one that is gone. Undefined if all stand where
 * they stood.
 */
export function placesOf(before: readonly unknown[], after: readonly unknown[]): Places | undefined {
  if (before.length === after.length && isMapped(before, after)) return undefined
  const positions = new Map(before.map((element, at) => [element, at]))
  const kept = new Set(after)
  let next = 0
  return after.map((element) => {
    const known = positions.get(element)
    if (known !== undefined) {
      next = Math.max(next, known + 1)
      return known
    }
    if (next >= before.length || kept.has(before[next])) return -1
    next += 1
    return next - 1
  })
}

/** Whether each element that is left stands where it stood. */
function isMapped(before: readonly unknown[], after: readonly unknown[]): boolean {
  let kept: ReadonlySet<unknown> | undefined
  return before.every((element, at) => {
    if (element === after[at]) return true
    kept ??= new Set(after)
    return !kept.has(element)
  })
}

/** The same elements without those at which `isKept` is false, with their places. */
export function keepPlaces<Element>(elements: readonly (Element | undefined)[]): {
  readonly kept: readonly Element[]
  readonly places: Places
} {
  const kept: Element[] = []
  const places: number[] = []
  for (const [at, element] of elements.entries()) {
    if (element === undefined) continue
    kept.push(element)
    places.push(at)
  }
  return { kept, places }
}

/** Names the element where the caller has it. The list alone for an element that the proxy added. */
export function toCallerPlaces(warning: Warning, places: ReadonlyMap<string, Places>): Warning {
  if (places.size === 0) return warning
  const [, member = '', position = '', inner = ''] = /^(\w+)\.(\d+)(.*)$/s.exec(warning.field) ?? []
  const known = places.get(member)
  if (known === undefined) return warning
  const at = known[Number(position)] ?? -1
  return { ...warning, field: at < 0 ? member : `${member}.${at}${inner}` }
}
