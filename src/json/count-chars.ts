/**
 * About the length of the value as JSON text, without writing it: texts and names count in full, and any other value
 * counts as four characters. Long texts cost nothing, and deep values do not overflow the stack.
 */
export function countChars(value: unknown): number {
  let chars = 0
  const open: unknown[] = [value]
  while (open.length > 0) {
    const next = open.pop()
    if (typeof next === 'string') chars += next.length + 2
    else if (Array.isArray(next)) {
      chars += 2
      for (const element of next) open.push(element)
    } else if (typeof next === 'object' && next !== null) {
      chars += 2
      for (const [name, member] of Object.entries(next)) {
        chars += name.length + 4
        open.push(member)
      }
    } else chars += 4
  }
  return chars
}
