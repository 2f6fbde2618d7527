/** Upstream's headers as a caller may have them: an upstream may reflect a credential in any of its values. */
export function redactValues(
  headers: Readonly<Record<string, string>>,
  redact: (text: string) => string,
): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, redact(value)]))
}
