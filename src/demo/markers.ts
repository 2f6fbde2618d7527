import { parseScript } from './script.ts'
import { parseJson } from '../json/json.ts'

interface MarkerRow {
  readonly name: string
  /** Arguments shown after the name; '' for none. A question mark marks an optional one. */
  readonly argument: string
  readonly effect: string
}

/** All markers. A marker in the last user message selects a behaviour, in every dialect. Markers combine. */
const rows = [
  { name: 'help', argument: '', effect: 'answers with this list' },
  { name: 'echo', argument: '', effect: 'answers with the request body that the simulated provider received' },
  {
    name: 'tool',
    argument: 'NAME? JSON?',
    effect:
      'calls the tool NAME (default: the first one) with the arguments JSON (default: made from its schema), then ' +
      'answers with the result; repeat the marker for parallel calls',
  },
  { name: 'tools', argument: '', effect: 'calls the first two tools in parallel, or the only tool twice' },
  {
    name: 'script',
    argument: 'JSON|fix-test',
    effect:
      'answers step by step, as an agent works: JSON is a list of {"text"?, "calls"?: [{"tool", "args"?, "raw"?}], ' +
      '"error"?: {"status", "models"?}, "cut"?, "forever"?}; fix-test is the example of docs/agent.md',
  },
  { name: 'search', argument: 'QUERY?', effect: 'searches the web, if the model has a web search tool' },
  { name: 'reasoning', argument: '', effect: 'thinks before it answers' },
  { name: 'auto', argument: 'MODEL', effect: 'makes the model auto choose MODEL' },
  { name: 'long', argument: 'WORDS', effect: 'answers with that number of words' },
  { name: 'slow', argument: 'MS', effect: 'waits that number of milliseconds before each event' },
  { name: 'length', argument: '', effect: 'stops in the middle of a text or a call, as at the output limit' },
  { name: 'filter', argument: '', effect: 'stops in the middle, as if a content filter stopped it' },
  { name: 'refusal', argument: '', effect: 'refuses to answer' },
  {
    name: 'error',
    argument: 'STATUS SECONDS|CODE?',
    effect:
      'fails with an HTTP error; SECONDS sets retry-after; CODE selects an error, such as free_quota_exceeded (402), ' +
      'user_global_rate_limited (429), policy (403) or editor-version (400)',
  },
  { name: 'overflow', argument: '', effect: 'refuses the prompt as too long' },
  { name: 'error-mid', argument: 'CODE?', effect: 'fails in the middle of the answer' },
  { name: 'cut', argument: '', effect: 'breaks the connection in the middle of the answer' },
  { name: 'stall', argument: '', effect: 'sends half of the answer, then nothing' },
] as const satisfies readonly MarkerRow[]

export type MarkerName = (typeof rows)[number]['name']

/** One `[demo:tool NAME? JSON?]`; the name is '' for the first offered tool. */
export interface ToolMarker {
  readonly name: string
  readonly json: string | undefined
}

export interface Markers {
  /** Arguments by marker. The last of repeated markers counts. */
  readonly asked: ReadonlyMap<MarkerName, readonly string[]>
  readonly tools: readonly ToolMarker[]
  /** As written, e.g. `[demo:tol]`: an unknown name, a number that is missing or out of range, or invalid JSON. */
  readonly unknown: readonly string[]
}

export function parseMarkers(text: string): Markers {
  const asked = new Map<MarkerName, readonly string[]>()
  const tools: ToolMarker[] = []
  const unknown: string[] = []
  let read = 0
  for (const opening of text.matchAll(/\[demo:([^\s\]]+)/g)) {
    if (opening.index < read) continue
    const name = rows.find((row) => row.name === opening[1])?.name
    const from = opening.index + opening[0].length
    const found = (name === 'tool' || name === 'script' ? jsonArguments(text, from) : undefined) ?? words(text, from)
    if (found === undefined) continue
    read = found.end
    if (name === undefined || !isAcceptable(name, found.given)) {
      unknown.push(text.slice(opening.index, found.end))
      continue
    }
    asked.set(name, found.given)
    if (name === 'tool') tools.push({ name: found.given[0] ?? '', json: found.given[1] })
  }
  return { asked, tools, unknown }
}

/** The marker's first argument as a number up to a million; `fallback` if the marker is absent. */
export function markerNumber({ asked }: Markers, name: MarkerName, fallback: number): number {
  const [word] = asked.get(name) ?? []
  return isNumber(word) ? Math.min(Number(word), 1_000_000) : fallback
}

export function isNumber(word: string | undefined): word is string {
  return word !== undefined && /^\d+$/.test(word)
}

/** The table as lines of text. */
export function describeMarkers(): string {
  return rows
    .map(({ name, argument, effect }) => `[demo:${argument === '' ? name : `${name} ${argument}`}] ${effect}`)
    .join('\n')
}

/** The arguments of a marker, and the index after its closing bracket. */
interface Arguments {
  readonly given: readonly string[]
  readonly end: number
}

function words(text: string, from: number): Arguments | undefined {
  const end = text.indexOf(']', from)
  const given = text.slice(from, end)
  if (end < 0 || given.includes('\n')) return undefined
  return { given: given.split(/\s+/).filter((word) => word !== ''), end: end + 1 }
}

/** Longest JSON argument. It bounds the time to read a text with many opening brackets. Characters. */
const longestJson = 100_000

/** Reads an optional name and a JSON object, list or string. Brackets inside the JSON do not end the marker. */
function jsonArguments(text: string, from: number): Arguments | undefined {
  const head = /^[ \t]+(?:([^\s\][{"]+)[ \t]+)?(?=[{["])/.exec(text.slice(from, from + longestJson))
  if (head === null) return undefined
  const start = from + head[0].length
  const stop = endOfJson(text, start)
  const end = text.indexOf(']', stop)
  if (stop < 0 || end < 0 || text.slice(stop, end).trim() !== '') return undefined
  return { given: [head[1] ?? '', text.slice(start, stop)], end: end + 1 }
}

/** Index after the object, list or string that begins at `start`; -1 if it does not end. Reads brackets and quotes only. */
function endOfJson(text: string, start: number): number {
  let depth = 0
  let isInText = false
  const stop = Math.min(text.length, start + longestJson)
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

function isAcceptable(name: MarkerName, [first, second]: readonly string[]): boolean {
  if (name === 'tool') return second === undefined || parseJson(second) !== undefined
  if (name === 'script') return parseScript(second ?? first ?? '') !== undefined
  if (name === 'long' || name === 'slow') return isNumber(first)
  return name !== 'error' || (isNumber(first) && Number(first) >= 400 && Number(first) <= 599)
}
