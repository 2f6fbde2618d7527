/** Upstream's headers as a caller may have them: an upstream may reflect a credential in any of its values. */
export function redactValues(
  headers: Readonly<Record<string, string>>,
  redact: (text: string) => string,
): Readonly<Record<string, string>> {
  // All at once, for there is hardly ever anything. A line break, because no value has one.
  const values = Object.values(headers).join('\n')
  if (redact(values) === values) return headers
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, redact(value)]))
}
