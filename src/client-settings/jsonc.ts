/** A value in a JSON text, by its place. Strict JSON, and also what opencode and Claude Code take: comments, last commas. */
export interface JsoncValue {
  readonly start: number
  readonly end: number
  /** Of an object; undefined for anything else. */
  readonly members?: readonly JsoncMember[]
}

export interface JsoncMember {
  readonly key: string
  readonly start: number
  readonly value: JsoncValue
  /** Where a comma follows: the place behind it. */
  readonly afterComma: number | undefined
}

/** The value that is the text; undefined where it is none. */
export function parseJsonc(text: string): JsoncValue | undefined {
  try {
    const start = skipBlank(text, text.startsWith('\uFEFF') ? 1 : 0)
    const value = readValue(text, start)
    return skipBlank(text, value.end) === text.length ? value : undefined
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}

/** Past white space and comments. */
function skipBlank(text: string, start: number): number {
  const blank = /(?:\s|\/\/[^\r\n]*|\/\*[^]*?\*\/)*/y
  blank.lastIndex = start
  blank.test(text)
  return blank.lastIndex
}

function readValue(text: string, start: number): JsoncValue {
  if (text[start] === '{') return readObject(text, start)
  if (text[start] === '[') return readArray(text, start)
  const scalar = /"(?:[^"\\]|\\.)*"|[-+\w.]+/y
  scalar.lastIndex = start
  const [token] = scalar.exec(text) ?? []
  if (token === undefined) throw new SyntaxError('expected a value')
  JSON.parse(token)
  return { start, end: start + token.length }
}

function readObject(text: string, start: number): JsoncValue {
  const members: JsoncMember[] = []
  let at = skipBlank(text, start + 1)
  while (text[at] !== '}') {
    const keyToken = readValue(text, at)
    const key: unknown = JSON.parse(text.slice(keyToken.start, keyToken.end))
    const colon = skipBlank(text, keyToken.end)
    if (typeof key !== 'string' || text[colon] !== ':') throw new SyntaxError('expected a member')
    const value = readValue(text, skipBlank(text, colon + 1))
    const next = skipBlank(text, value.end)
    const afterComma = text[next] === ',' ? next + 1 : undefined
    members.push({ key, start: keyToken.start, value, afterComma })
    if (afterComma === undefined && text[next] !== '}') throw new SyntaxError('expected a comma')
    at = skipBlank(text, afterComma ?? next)
  }
  return { start, end: at + 1, members }
}

function readArray(text: string, start: number): JsoncValue {
  let at = skipBlank(text, start + 1)
  while (text[at] !== ']') {
    const next = skipBlank(text, readValue(text, at).end)
    if (text[next] !== ',' && text[next] !== ']') throw new SyntaxError('expected a comma')
    at = text[next] === ',' ? skipBlank(text, next + 1) : next
  }
  return { start, end: at + 1 }
}
