const unit = '  '

/** Columns. */
const widest = 110

/** The value as a person would write it: what fits on one line stands on one line, but for the outermost. */
export function formatJson(value: unknown, indent = ''): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const inLine = oneLine(value)
  if (indent !== '' && inLine.length + indent.length <= widest) return inLine
  const inner = indent + unit
  if (Array.isArray(value))
    return block(
      '[',
      value.map((entry) => inner + formatJson(entry, inner)),
      `${indent}]`,
    )
  const members = Object.entries(value).map(
    ([key, entry]) => `${inner}${JSON.stringify(key)}: ${formatJson(entry, inner)}`,
  )
  return block('{', members, `${indent}}`)
}

function block(open: string, lines: readonly string[], close: string): string {
  return lines.length === 0 ? open + close.trimStart() : `${open}\n${lines.join(',\n')}\n${close}`
}

function oneLine(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(oneLine).join(', ')}]`
  const members = Object.entries(value).map(([key, entry]) => `${JSON.stringify(key)}: ${oneLine(entry)}`)
  return members.length === 0 ? '{}' : `{ ${members.join(', ')} }`
}
