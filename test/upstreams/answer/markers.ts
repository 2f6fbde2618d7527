import { parseScript } from './script.ts'
import { parseJson } from '../../../src/json/json.ts'

interface MarkerRow {
  readonly name: string
  /** Arguments shown after the name; '' for none. A question mark marks an optional one. */
  readonly argument: string
  readonly effect: string
}

/**
 * All markers and their behaviours. A marker in the last user message selects one. The help text and the parser read this table.
 * Markers combine: `[demo:long 500][demo:slow 20][demo:cut]`. They mean the same on every route that answers prompts.
 */
export const DEMO_MARKERS = [
  { name: 'help', argument: '', effect: 'answers with this list' },
  { name: 'echo', argument: '', effect: 'answers with the request body that the simulated Copilot received' },
  {
    name: 'tool',
    argument: 'NAME? JSON?',
    effect:
      'calls the tool NAME (default: the first one) with the arguments JSON (default: made from its schema), then ' +
      'answers with the result; repeat the marker for parallel calls',
  },
  {
    name: 'tools',
    argument: '',
    effect: 'calls the first two tools in parallel, or the only tool twice',
  },
  {
    name: 'script',
    argument: 'JSON',
    effect:
      'answers step by step, as an agent works: JSON is a list of {"text"?, "calls"?: [{"tool", "args"?, "raw"?}], ' +
      '"error"?: {"status", "models"?}, "cut"?, "forever"?}',
  },
  { name: 'search', argument: 'QUERY?', effect: 'searches the web, if the request has a web search tool (/responses)' },
  { name: 'reasoning', argument: '', effect: 'thinks before it answers' },
  { name: 'redacted', argument: '', effect: 'thinks without readable text: redacted_thinking on /v1/messages' },
  {
    name: 'replay',
    argument: '',
    effect: 'thinks, then refuses later requests of the conversation that do not return the reasoning',
  },
  { name: 'long', argument: 'WORDS', effect: 'answers with that number of words' },
  { name: 'slow', argument: 'MS', effect: 'waits that number of milliseconds before each event' },
  {
    name: 'length',
    argument: '',
    effect: 'stops in the middle of a text or a call, as if the output limit was reached',
  },
  { name: 'filter', argument: '', effect: 'stops in the middle, as if a content filter stopped it' },
  {
    name: 'refusal',
    argument: '',
    effect: 'refuses to answer: GPT models in the field refusal, other models in the text',
  },
  { name: 'whitespace', argument: '', effect: 'calls a tool with arguments that end in endless whitespace' },
  {
    name: 'error',
    argument: 'STATUS SECONDS|CODE?',
    effect:
      'fails with an HTTP error, with the body and headers of the real service; SECONDS sets retry-after; CODE sets ' +
      'the error code, such as free_quota_exceeded (402), user_global_rate_limited (429), policy (403) or ' +
      'editor-version (400)',
  },
  {
    name: 'overflow',
    argument: '',
    effect: 'refuses the prompt as too long, with the message of the model’s real backend',
  },
  { name: 'html', argument: '', effect: 'answers 200 with an HTML page, like an intercepting proxy' },
  {
    name: 'failed',
    argument: 'CODE? event?',
    effect: 'fails inside a 200 before any output; with "event", as a bare error event on /responses',
  },
  { name: 'error-mid', argument: 'CODE?', effect: 'fails in the middle of the stream' },
  {
    name: 'error-event',
    argument: 'CODE?',
    effect: 'fails in the middle of the stream, with a bare error event on /responses',
  },
  { name: 'cut', argument: '', effect: 'breaks the connection in the middle of the stream' },
  { name: 'eof', argument: '', effect: 'ends the stream in the middle, without a finish event' },
  { name: 'stall', argument: '', effect: 'sends half of the stream, then nothing' },
  { name: 'no-done', argument: '', effect: 'sends a complete answer without the final [DONE]' },
  { name: 'hang', argument: '', effect: 'sends response headers, then nothing' },
  { name: 'silent', argument: '', effect: 'sends no response at all' },
] as const satisfies readonly MarkerRow[]

export type MarkerName = (typeof DEMO_MARKERS)[number]['name']

/** One `[demo:tool NAME? JSON?]`. */
interface ToolMarker {
  /** '' for the first offered tool. */
  readonly name: string
  /** JSON text as written. */
  readonly given: string | undefined
}

export interface Markers {
  /** Arguments by marker; an empty list for a marker without arguments. The last of repeated markers counts. */
  readonly asked: ReadonlyMap<MarkerName, readonly string[]>
  /** Every `tool` marker, in order. */
  readonly tools: readonly ToolMarker[]
  /** Arguments of markers in `otherNames`. */
  readonly others: ReadonlyMap<string, readonly string[]>
  /** As written, e.g. `[demo:tol]`: an unknown name, a missing number or one out of range, or invalid JSON. */
  readonly unknown: readonly string[]
}

const OPENING = /\[demo:([^\s\]]+)/g

/** Highest number of a marker. It keeps a typing error from filling the memory. */
const MAX_NUMBER = 1_000_000

const NO_MARKERS: Markers = { asked: new Map(), tools: [], others: new Map(), unknown: [] }

/** @param otherNames markers in addition to the table */
export function parseMarkers(text: string, otherNames: readonly string[] = []): Markers {
  if (!text.includes('[demo:')) return NO_MARKERS
  const asked = new Map<MarkerName, readonly string[]>()
  const tools: ToolMarker[] = []
  const others = new Map<string, readonly string[]>()
  const unknown: string[] = []
  let read = 0
  for (const opening of text.matchAll(OPENING)) {
    if (opening.index < read) continue
    const [, name = ''] = opening
    const row = DEMO_MARKERS.find((candidate) => candidate.name === name)
    const from = opening.index + opening[0].length
    const takesJson = row?.name === 'tool' || row?.name === 'script'
    const { given, end } = (takesJson ? withJson(text, from) : undefined) ?? plainArguments(text, from)
    if (end < 0) continue
    read = end
    if (otherNames.includes(name)) {
      others.set(name, given)
      continue
    }
    if (row === undefined || !isAcceptable(row.name, given)) {
      unknown.push(text.slice(opening.index, end))
      continue
    }
    asked.set(row.name, given)
    if (row.name === 'tool') tools.push({ name: given[0] ?? '', given: given[1] })
  }
  return { asked, tools, others, unknown }
}

/** The marker's number; `fallback` if the marker or this argument is absent. */
export function markerNumber(markers: Markers, name: MarkerName, fallback: number, position = 0): number {
  return numberOf(markers.asked.get(name)?.[position], fallback)
}

/** Parses a number up to `MAX_NUMBER`; `fallback` for any other word. */
export function numberOf(word: string | undefined, fallback: number): number {
  return isNumber(word) ? Math.min(Number(word), MAX_NUMBER) : fallback
}

/** The table as lines of text, for the answer to `[demo:help]`. */
export function describeMarkers(): string {
  return DEMO_MARKERS.map(
    ({ name, argument, effect }) => `[demo:${argument === '' ? name : `${name} ${argument}`}] ${effect}`,
  ).join('\n')
}

/** Arguments of a marker, and the index after its closing bracket; -1 if the bracket is missing. */
interface MarkerEnd {
  readonly given: readonly string[]
  readonly end: number
}

const TO_BRACKET = /[^\]\n]*\]/y

function plainArguments(text: string, from: number): MarkerEnd {
  TO_BRACKET.lastIndex = from
  const remainder = TO_BRACKET.exec(text)?.[0]
  if (remainder === undefined) return { given: [], end: -1 }
  return {
    given: remainder
      .slice(0, -1)
      .split(/\s+/)
      .filter((word) => word !== ''),
    end: from + remainder.length,
  }
}

const TO_JSON = /[ \t]+(?:([^\s\][{"]+)[ \t]+)?(?=[{["])/y
const BRACKET = /[ \t]*\]/y

/** Reads an optional name and a JSON object, list or string. Brackets inside the JSON do not end the marker. */
function withJson(text: string, from: number): MarkerEnd | undefined {
  TO_JSON.lastIndex = from
  const head = TO_JSON.exec(text)
  if (head === null) return undefined
  const start = from + head[0].length
  const end = endOfJson(text, start)
  if (end < 0) return undefined
  BRACKET.lastIndex = end
  const bracket = BRACKET.exec(text)
  if (bracket === null) return undefined
  return { given: [head[1] ?? '', text.slice(start, end)], end: end + bracket[0].length }
}

/** Longest JSON argument. Bounds the time to parse a text with many opening brackets. Characters. */
const LONGEST_JSON = 100_000

/** Index after the object, list or string that begins at `start`; -1 if it does not end. Reads brackets and quotes only. */
function endOfJson(text: string, start: number): number {
  let depth = 0
  let isInText = false
  const stop = Math.min(text.length, start + LONGEST_JSON)
  for (let at = start; at < stop; at += 1) {
    const character = text[at]
    if (isInText) {
      if (character === '\\') at += 1
      else if (character === '"') isInText = false
    } else if (character === '"') isInText = true
    else if (character === '{' || character === '[') depth += 1
    else if (character === '}' || character === ']') depth -= 1
    if (depth <= 0 && !isInText) return at + 1
  }
  return -1
}

/** Lower and upper limit of a marker's number. `numberOf` bounds those without an upper limit. */
const NUMBERS = new Map<MarkerName, readonly [least: number, most: number]>([
  ['long', [1, Infinity]],
  ['slow', [0, Infinity]],
  ['error', [400, 599]],
])

function isAcceptable(name: MarkerName, [word, second]: readonly string[]): boolean {
  if (name === 'tool') return second === undefined || parseJson(second) !== undefined
  if (name === 'script') return parseScript(second ?? word ?? '') !== undefined
  const range = NUMBERS.get(name)
  if (range === undefined) return true
  return isNumber(word) && Number(word) >= range[0] && Number(word) <= range[1]
}

function isNumber(word: string | undefined): word is string {
  return word !== undefined && /^\d+$/.test(word)
}
