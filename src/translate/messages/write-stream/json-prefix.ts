/**
 * Reads the arguments of one call piece by piece. The text that it passes on is always the beginning of one JSON
 * object. Anthropic's client parses incomplete arguments and fails the reply on anything else (@anthropic-ai/sdk
 * 1.11.0, its partial JSON parser). Updated in place.
 */
export interface JsonPrefix {
  /**
   * The parser's state: the next expected token, the token that is being read, or the reason for ignoring more text.
   */
  state:
    | 'object'
    | 'firstKey'
    | 'key'
    | 'colon'
    | 'firstItem'
    | 'value'
    | 'afterValue'
    | 'inString'
    | 'inEscape'
    | 'inScalar'
    /** The object is closed. */
    | 'complete'
    /** The text begins with something else than an object. */
    | 'notObject'
    /** The last character is invalid at its position. */
    | 'broken'
  /** Open objects (true) and arrays (false), outermost first. */
  readonly nesting: boolean[]
  /** The escape, number or literal that is being read. */
  token: string
  /** The string that is being read is a key. */
  isKey: boolean
}
type State = JsonPrefix['state']

/** Arguments nest a few levels deep. The limit bounds the list in a stream of brackets. */
const MAX_DEPTH = 512

const SPACE = 32
const QUOTE = 34
const BACKSLASH = 92

const ESCAPE = /^\\(?:["\\/bfnrt]|u[\dA-Fa-f]{4})$/
const ESCAPE_START = /^\\u[\dA-Fa-f]{0,3}$/
const SCALAR = /^(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[Ee][+-]?\d+)?)$/
const NUMBER_START = /^-?(?:(?:0|[1-9]\d*)(?:\.\d*|(?:\.\d+)?[Ee][+-]?\d*)?)?$/

export function startJsonPrefix(): JsonPrefix {
  return { state: 'object', nesting: [], token: '', isKey: false }
}

/**
 * Returns the part of the next piece that may be sent. It drops the space before the object and the text after it, and
 * escapes control characters in strings, which some models send unescaped.
 */
export function takeJson(json: JsonPrefix, piece: string): string {
  if (isOver(json.state)) return ''
  let taken = ''
  let from = 0
  for (let at = 0; at < piece.length; at += 1) {
    if (json.state === 'inString') {
      const code = piece.charCodeAt(at)
      if (code >= SPACE && code !== QUOTE && code !== BACKSLASH) continue
      if (code < SPACE) {
        taken += piece.slice(from, at) + JSON.stringify(piece[at]).slice(1, -1)
        from = at + 1
        continue
      }
    }
    const before = json.state
    json.state = next(json, piece.charAt(at))
    if (json.state === 'object') from = at + 1
    else if (isOver(json.state)) return taken + piece.slice(from, json.state === 'complete' ? at + 1 : at)
    else if (before === 'object') from = at
  }
  return taken + piece.slice(from)
}

function isOver(state: State): boolean {
  return state === 'complete' || state === 'notObject' || state === 'broken'
}

function next(json: JsonPrefix, char: string): State {
  switch (json.state) {
    case 'inString':
      if (char === '\\') return beginToken(json, 'inEscape', char)
      return json.isKey ? 'colon' : 'afterValue'
    case 'inEscape':
      json.token += char
      if (ESCAPE.test(json.token)) return 'inString'
      return ESCAPE_START.test(json.token) ? 'inEscape' : 'broken'
    case 'inScalar':
      if (/[^\w.+-]/.test(char)) return SCALAR.test(json.token) ? afterValue(json, char) : 'broken'
      // After two digits, more digits change no state, so the token stays short.
      if (!/\d\d$/.test(json.token) || !/\d/.test(char)) json.token += char
      return isScalarStart(json.token) ? 'inScalar' : 'broken'
    case 'afterValue':
      return afterValue(json, char)
    default:
      return isSpace(char) ? json.state : begin(json, char)
  }
}

function begin(json: JsonPrefix, char: string): State {
  const { state } = json
  switch (state) {
    case 'object':
      return char === '{' ? open(json, true) : 'notObject'
    case 'colon':
      return char === ':' ? 'value' : 'broken'
    case 'firstKey':
    case 'key':
      if (state === 'firstKey' && char === '}') return close(json)
      json.isKey = true
      return char === '"' ? 'inString' : 'broken'
    default:
      if (state === 'firstItem' && char === ']') return close(json)
      if (char === '{' || char === '[') return open(json, char === '{')
      json.isKey = false
      if (char === '"') return 'inString'
      return isScalarStart(char) ? beginToken(json, 'inScalar', char) : 'broken'
  }
}

function beginToken(json: JsonPrefix, state: State, char: string): State {
  json.token = char
  return state
}

function isScalarStart(token: string): boolean {
  return NUMBER_START.test(token) || ['true', 'false', 'null'].some((literal) => literal.startsWith(token))
}

function afterValue(json: JsonPrefix, char: string): State {
  if (isSpace(char)) return 'afterValue'
  const inObject = json.nesting.at(-1) === true
  if (char === ',') return inObject ? 'key' : 'value'
  return char === (inObject ? '}' : ']') ? close(json) : 'broken'
}

function open(json: JsonPrefix, isObject: boolean): State {
  if (json.nesting.length === MAX_DEPTH) return 'broken'
  json.nesting.push(isObject)
  return isObject ? 'firstKey' : 'firstItem'
}

function close(json: JsonPrefix): State {
  json.nesting.pop()
  return json.nesting.length === 0 ? 'complete' : 'afterValue'
}

function isSpace(char: string): boolean {
  return char === ' ' || char === '\t' || char === '\n' || char === '\r'
}
