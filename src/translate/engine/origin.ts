/**
 * The place of an element in the caller's request. A symbol, so that spreading an element keeps it and serialising drops
 * it. Rules add, move and drop elements, so a position in a draft says nothing to the caller.
 */
const ORIGIN = Symbol('origin')

/**
 * Marks an element that an encoder has made, so that a warning about it can name the part of the caller's request that it was made
 * from. @param path of that part; '' for none
 */
export function withPath<Element extends object>(element: Element, path: string): Element {
  return path === '' ? element : { ...element, [ORIGIN]: path }
}

/**
 * The caller's name for an element of a draft, for warnings.
 * @param member the list of the draft that has the element, for example `messages`
 * @param at its position there, for an element without a mark
 * @param suffix the changed member below it, as `.content`; another dialect has no such member, so it is left out there
 */
export function fieldOf(element: unknown, member: string, at: number, suffix = ''): string {
  if (typeof element === 'object' && element !== null && ORIGIN in element) return String(element[ORIGIN])
  return `${member}.${at}${suffix}`
}
