import { readdirSync } from 'node:fs'
import { basename } from 'node:path'

/**
 * Parses JSON for a golden. A number whose digits JSON.parse would change, as `1.0` or one of 64 bits, becomes a text with those
 * digits: `number 1.0`.
 */
export function parseExactly(text: string): unknown {
  const kept = text.replaceAll(/"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g, (token) =>
    token.startsWith('"') || String(Number(token)) === token ? token : JSON.stringify(`number ${token}`),
  )
  return JSON.parse(kept)
}

/** Whether JSON.parse and JSON.stringify would give the text back in another form, apart from white space between tokens. */
export function isVerbatim(text: string): boolean {
  return JSON.stringify(parseExactly(text)) !== text.replaceAll(/("(?:[^"\\]|\\.)*")|\s+/g, '$1')
}

export interface Changes {
  /** New values by path: `messages.0.content`. */
  readonly changed?: Readonly<Record<string, unknown>>
  /** Paths that exist before only. */
  readonly removed?: readonly string[]
}

/** The difference between two JSON values. Arrays of different lengths are one value. */
export function changesBetween(original: unknown, result: unknown): Changes {
  const changed: Record<string, unknown> = {}
  const removed: string[] = []
  const compare = (path: readonly string[], old: unknown, now: unknown): void => {
    if (JSON.stringify(old) === JSON.stringify(now)) return
    const [olds, nows] = [membersOf(old), membersOf(now)]
    const areAlike = Array.isArray(old) === Array.isArray(now) && (!Array.isArray(now) || olds?.size === nows?.size)
    if (olds === undefined || nows === undefined || !areAlike) {
      changed[path.join('.')] = now
      return
    }
    const found = (): number => Object.keys(changed).length + removed.length
    const before = found()
    for (const [key, value] of nows) compare([...path, key], olds.get(key), value)
    for (const key of olds.keys()) if (!nows.has(key)) removed.push([...path, key].join('.'))
    if (found() === before) changed[[...path, '(order)'].join('.')] = [...nows.keys()]
  }
  compare([], original, result)
  return { ...(Object.keys(changed).length > 0 && { changed }), ...(removed.length > 0 && { removed }) }
}

function membersOf(value: unknown): ReadonlyMap<string, unknown> | undefined {
  return typeof value === 'object' && value !== null ? new Map(Object.entries(value)) : undefined
}

/** Groups by equal JSON, in the order of first mention. */
export function groupEqual<Value>(results: readonly (readonly [string, Value])[]) {
  const groups = new Map<string, { readonly names: string[]; readonly value: Value }>()
  for (const [name, value] of results) {
    const key = JSON.stringify(value)
    const group = groups.get(key) ?? { names: [], value }
    group.names.push(name)
    groups.set(key, group)
  }
  return [...groups.values()]
}

/** Characters. */
const lineWidth = 120

/** The files below a folder of test/golden, as `chat-messages/pi.json`. */
export function goldenFiles(folder: string): readonly string[] {
  const files = readdirSync(new URL(`../../golden/${folder}`, import.meta.url), {
    recursive: true,
    withFileTypes: true,
  })
  return files
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => `${basename(parentPath)}/${name}`)
    .toSorted()
}

/** Indented JSON, with each value that fits on its line. */
export function printed(value: unknown): string {
  return `${print(value, '', 0)}\n`
}

/** @param used characters of the line before the value */
function print(value: unknown, indent: string, used: number): string {
  const line = spaced(value)
  const members = membersOf(value)
  if (members === undefined || members.size === 0 || used + line.length < lineWidth) return line
  const isList = Array.isArray(value)
  const inner = `${indent}  `
  const lines = [...members].map(([key, member]) => {
    const name = isList ? '' : `${JSON.stringify(key)}: `
    return `${inner}${name}${print(member, inner, inner.length + name.length)}`
  })
  const [open, close] = isList ? ['[', ']'] : ['{', '}']
  return `${open}\n${lines.join(',\n')}\n${indent}${close}`
}

/** JSON on one line, with spaces. */
function spaced(value: unknown): string {
  const members = membersOf(value)
  if (members === undefined) return JSON.stringify(value)
  if (Array.isArray(value)) return `[${[...members.values()].map(spaced).join(', ')}]`
  if (members.size === 0) return '{}'
  return `{ ${[...members].map(([key, member]) => `${JSON.stringify(key)}: ${spaced(member)}`).join(', ')} }`
}
