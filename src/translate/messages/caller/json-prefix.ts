/**
 * Reads the arguments of one call piece by piece and passes on only text that is, at every moment, the beginning of
 * one JSON object. Anthropic's client parses incomplete arguments and fails the reply on anything else
 * (@anthropic-ai/sdk 1.11.0, its partial JSON parser). Updated in place.
 */
export interface JsonPrefix {
  state: State
  /** Open objects (true) and arrays (false), outermost first. */
  readonly nesting: boolean[]
  /** The remainder of `true`, `false` or `null`. */
  literal: string
  /** Digits of `\uXXXX` still to come. */
  digits: number
  /** The string that is being read is a key. */
  isKey: boolean
}

/** The states of a number are named after the part of it that was read last. */
type State =
  | 'beforeObject'
  | 'beforeFirstKey'
  | 'beforeKey'
  | 'beforeColon'
  | 'beforeValue'
  | 'beforeFirstItem'
  | 'afterValue'
  | 'inString'
  | 'inEscape'
  | 'inUnicode'
  | 'inLiteral'
  | 'minus'
  | 'zero'
  | 'integer'
  | 'point'
  | 'fraction'
  | 'exponent'
  | 'exponentSign'
  | 'exponentDigits'
  /** The object is closed; nothing more is taken. */
  | 'complete'
  /** The text begins with something else than an object; nothing is taken. */
  | 'notObject'
  /** The last character cannot stand where it does; nothing more is taken. */
  | 'broken'

/** Arguments nest a handful of levels; the limit bounds the list in a stream of brackets. */
const maxDepth = 512

const SPACE = 32
const QUOTE = 34
const PLUS = 43
const COMMA = 44
const MINUS = 45
const POINT = 46
const ZERO = 48
const NINE = 57
const COLON = 58
const OPEN_BRACKET = 91
const BACKSLASH = 92
const CLOSE_BRACKET = 93
const LETTER_U = 117
const OPEN_BRACE = 123
const CLOSE_BRACE = 125

const literals: ReadonlyMap<number, string> = new Map(
  ['true', 'false', 'null'].map((word) => [word.charCodeAt(0), word]),
)
/** Characters that may follow a backslash, beside `u`. */
const escapable: ReadonlySet<number> = new Set(Array.from('"\\/bfnrt', (char) => char.charCodeAt(0)))

export function startJsonPrefix(): JsonPrefix {
  return { state: 'beforeObject', nesting: [], literal: '', digits: 0, isKey: false }
}

/**
 * Returns the part of the next piece that may be sent: without the space before the object and the text after it, and
 * with control characters in strings as escapes, which some models forget to write.
 */
export function takeJson(json: JsonPrefix, piece: string): string {
  if (isOver(json.state)) return ''
  let taken = ''
  let from = 0
  for (let at = 0; at < piece.length; at += 1) {
    const code = piece.charCodeAt(at)
    if (json.state === 'inString') {
      if (code >= SPACE && code !== QUOTE && code !== BACKSLASH) continue
      if (code < SPACE) {
        taken += piece.slice(from, at) + JSON.stringify(piece[at]).slice(1, -1)
        from = at + 1
        continue
      }
    }
    const before = json.state
    json.state = next(json, code)
    if (json.state === 'beforeObject') from = at + 1
    else if (isOver(json.state)) return taken + piece.slice(from, json.state === 'complete' ? at + 1 : at)
    else if (before === 'beforeObject') from = at
  }
  return taken + piece.slice(from)
}

function isOver(state: State): boolean {
  return state === 'complete' || state === 'notObject' || state === 'broken'
}

function next(json: JsonPrefix, code: number): State {
  switch (json.state) {
    case 'inString':
      if (code === BACKSLASH) return 'inEscape'
      return json.isKey ? 'beforeColon' : 'afterValue'
    case 'inEscape':
      json.digits = 4
      if (code === LETTER_U) return 'inUnicode'
      return escapable.has(code) ? 'inString' : 'broken'
    case 'inUnicode':
      json.digits -= 1
      if (!isHexDigit(code)) return 'broken'
      return json.digits === 0 ? 'inString' : 'inUnicode'
    case 'inLiteral':
      if (code !== json.literal.charCodeAt(0)) return 'broken'
      json.literal = json.literal.slice(1)
      return json.literal === '' ? 'afterValue' : 'inLiteral'
    case 'minus':
      return firstDigit(code) ?? 'broken'
    case 'zero':
      return pointOrExponent(code) ?? afterValue(json, code)
    case 'integer':
      return isDigit(code) ? 'integer' : (pointOrExponent(code) ?? afterValue(json, code))
    case 'point':
      return isDigit(code) ? 'fraction' : 'broken'
    case 'fraction':
      if (isDigit(code)) return 'fraction'
      return isExponent(code) ? 'exponent' : afterValue(json, code)
    case 'exponent':
      if (code === PLUS || code === MINUS) return 'exponentSign'
      return isDigit(code) ? 'exponentDigits' : 'broken'
    case 'exponentSign':
      return isDigit(code) ? 'exponentDigits' : 'broken'
    case 'exponentDigits':
      return isDigit(code) ? 'exponentDigits' : afterValue(json, code)
    case 'afterValue':
      return afterValue(json, code)
    case 'complete':
    case 'notObject':
    case 'broken':
      return json.state
    default:
      return isSpace(code) ? json.state : begin(json, json.state, code)
  }
}

function begin(
  json: JsonPrefix,
  state: 'beforeObject' | 'beforeFirstKey' | 'beforeKey' | 'beforeColon' | 'beforeValue' | 'beforeFirstItem',
  code: number,
): State {
  switch (state) {
    case 'beforeObject':
      return code === OPEN_BRACE ? open(json, true) : 'notObject'
    case 'beforeFirstKey':
      return code === CLOSE_BRACE ? close(json) : beginKey(json, code)
    case 'beforeKey':
      return beginKey(json, code)
    case 'beforeColon':
      return code === COLON ? 'beforeValue' : 'broken'
    case 'beforeFirstItem':
      return code === CLOSE_BRACKET ? close(json) : beginValue(json, code)
    case 'beforeValue':
      return beginValue(json, code)
  }
}

function beginKey(json: JsonPrefix, code: number): State {
  json.isKey = true
  return code === QUOTE ? 'inString' : 'broken'
}

function beginValue(json: JsonPrefix, code: number): State {
  switch (code) {
    case QUOTE:
      json.isKey = false
      return 'inString'
    case OPEN_BRACE:
      return open(json, true)
    case OPEN_BRACKET:
      return open(json, false)
    case MINUS:
      return 'minus'
    default: {
      const literal = literals.get(code)
      if (literal === undefined) return firstDigit(code) ?? 'broken'
      json.literal = literal.slice(1)
      return 'inLiteral'
    }
  }
}

function afterValue(json: JsonPrefix, code: number): State {
  if (isSpace(code)) return 'afterValue'
  const inObject = json.nesting.at(-1) === true
  if (code === COMMA) return inObject ? 'beforeKey' : 'beforeValue'
  return code === (inObject ? CLOSE_BRACE : CLOSE_BRACKET) ? close(json) : 'broken'
}

function open(json: JsonPrefix, isObject: boolean): State {
  if (json.nesting.length === maxDepth) return 'broken'
  json.nesting.push(isObject)
  return isObject ? 'beforeFirstKey' : 'beforeFirstItem'
}

function close(json: JsonPrefix): State {
  json.nesting.pop()
  return json.nesting.length === 0 ? 'complete' : 'afterValue'
}

function firstDigit(code: number): State | undefined {
  if (!isDigit(code)) return undefined
  return code === ZERO ? 'zero' : 'integer'
}

function pointOrExponent(code: number): State | undefined {
  if (code === POINT) return 'point'
  return isExponent(code) ? 'exponent' : undefined
}

function isExponent(code: number): boolean {
  return code === 69 || code === 101
}

function isDigit(code: number): boolean {
  return code >= ZERO && code <= NINE
}

function isHexDigit(code: number): boolean {
  const lower = code | 32
  return isDigit(code) || (lower >= 97 && lower <= 102)
}

function isSpace(code: number): boolean {
  return code === SPACE || code === 9 || code === 10 || code === 13
}
