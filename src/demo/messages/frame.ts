/** An event as Anthropic writes it, its name on a line of its own. */
export function namedFrame(value: unknown): string {
  const name = typeof value === 'object' && value !== null && 'type' in value ? String(value.type) : ''
  return `event: ${name}\ndata: ${JSON.stringify(value)}\n\n`
}

/** The same without its name. */
export function bareFrame(value: unknown): string {
  return `data: ${JSON.stringify(value)}\n\n`
}
