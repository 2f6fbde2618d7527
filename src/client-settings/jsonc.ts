/** A value in a JSON text, by its place. Strict JSON, and also what opencode takes: comments, last commas. */
export interface JsoncValue {
  readonly start: number
  readonly end: number
  /** Of an object; undefined for anything else. */
  readonly members?: readonly JsoncMember[]
  /** Of an array; undefined for anything else. */
  readonly elements?: readonly JsoncValue[]
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
  return unlessUnreadable(() => {
    const start = skipBlank(text, text.startsWith('\uFEFF') ? 1 : 0)
    const value = readValue(text, start)
    return skipBlank(text, value.end) === text.length ? value : undefined
  })
}

/** Undefined for what is no JSON, and for what is too deep or too long for the stack. */
function unlessUnreadable<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof RangeError) return undefined
    throw error
  }
}

/** What the text says, as `JSON.parse` would tell it; undefined where it is none. */
export function readJsonc(text: string): unknown {
  const value = parseJsonc(text)
  return value && unlessUnreadable(() => toPlain(text, value))
}

function toPlain(text: string, { start, end, members, elements }: JsoncValue): unknown {
  if (elements !== undefined) return elements.map((element) => toPlain(text, element))
  // Of members with one key the last counts, as it does for `JSON.parse`.
  if (members !== undefined) return Object.fromEntries(members.map(({ key, value }) => [key, toPlain(text, value)]))
  return JSON.parse(text.slice(start, end))
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
  const elements: JsoncValue[] = []
  let at = skipBlank(text, start + 1)
  while (text[at] !== ']') {
    const element = readValue(text, at)
    elements.push(element)
    const next = skipBlank(text, element.end)
    if (text[next] !== ',' && text[next] !== ']') throw new SyntaxError('expected a comma')
    at = text[next] === ',' ? skipBlank(text, next + 1) : next
  }
  return { start, end: at + 1, elements }
}
