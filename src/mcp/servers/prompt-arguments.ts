interface Declared {
  readonly name: string
}

/** A word, or words in quotes. */
const words = /(?:[^\s"']|"[^"]*"|'[^']*')+|\S+/g

/**
 * Reads what a person types after the name of a prompt: `name=value` for an argument that the prompt declares, and else values in
 * the order of the arguments. The last argument gets all words that are left, so that a prompt with one argument needs no quotes.
 */
export function argumentsOf(text: string, declared: readonly Declared[]): Readonly<Record<string, string>> {
  const values = new Map<string, string>()
  const names = new Set(declared.map(({ name }) => name))
  const free: { readonly start: number; readonly value: string }[] = []
  for (const { 0: word, index } of text.matchAll(words)) {
    const [, name = '', value = ''] = /^([^=]+)=([^]*)$/.exec(word) ?? []
    if (names.has(name) && !values.has(name)) values.set(name, unquoted(value))
    else free.push({ start: index, value: word })
  }
  const open = [...names].filter((name) => !values.has(name))
  const isWhole = values.size === 0
  for (const [at, name] of open.entries()) {
    const word = free[at]
    if (word === undefined) break
    const isLast = at === open.length - 1 && free.length > open.length
    // Several words keep the spaces between them.
    const rest = isWhole
      ? text.slice(word.start).trim()
      : free
          .slice(at)
          .map(({ value }) => value)
          .join(' ')
    values.set(name, isLast ? rest : unquoted(word.value))
  }
  return Object.fromEntries(values)
}

function unquoted(word: string): string {
  return word.replaceAll(/"([^"]*)"|'([^']*)'/g, (_, double?: string, single?: string) => double ?? single ?? '')
}
