/** Longer texts are computed each time, because those of others could fill the memory. Characters. */
const longestKept = 100

/**
 * Keeps the results of a pure function for the first `mostKept` short texts. For texts of which few occur, such as the names
 * of headers and log fields.
 */
export function rememberResults<Result extends {} | null>(
  compute: (text: string) => Result,
  mostKept = 1000,
): (text: string) => Result {
  const results = new Map<string, Result>()
  return (text) => {
    const known = results.get(text)
    if (known !== undefined) return known
    const result = compute(text)
    if (results.size < mostKept && text.length <= longestKept) results.set(text, result)
    return result
  }
}
