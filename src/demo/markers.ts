interface MarkerRow {
  readonly name: string
  /** Shown after the name, '' for none; a question mark means that it can be left out. */
  readonly argument: string
  readonly effect: string
}

/**
 * Every behaviour that a marker in the last user message asks for. README, help text and parser read this table.
 * Markers combine: `[demo:long 500][demo:slow 20][demo:cut]`.
 */
export const DEMO_MARKERS = [
  { name: 'help', argument: '', effect: 'answers with this table' },
  { name: 'echo', argument: '', effect: 'answers with the request body as the simulated Copilot received it' },
  {
    name: 'tool',
    argument: 'NAME?',
    effect:
      'calls the first offered tool, or the named one, with arguments made from its schema; answers with the result once it is sent back',
  },
  {
    name: 'tools',
    argument: '',
    effect: 'two parallel calls, of the first two offered tools or twice of the only one',
  },
  { name: 'reasoning', argument: '', effect: 'thinks before it answers, in the fields of that model family' },
  { name: 'long', argument: 'WORDS', effect: 'answers with that many words' },
  { name: 'slow', argument: 'MS', effect: 'waits that long before each event' },
  { name: 'length', argument: '', effect: 'stops in the middle with finish_reason "length"' },
  { name: 'filter', argument: '', effect: 'stops in the middle with finish_reason "content_filter"' },
  { name: 'refusal', argument: '', effect: 'refuses: GPT in the refusal field, other families in text' },
  { name: 'whitespace', argument: '', effect: 'a tool call whose arguments run away into endless whitespace' },
  { name: 'error', argument: 'STATUS', effect: 'an HTTP error with the body and headers the real service sends' },
  { name: 'html', argument: '', effect: 'a 200 with an HTML page, as an intercepting proxy sends' },
  { name: 'error-mid', argument: '', effect: 'an error event in the middle of the stream' },
  { name: 'cut', argument: '', effect: 'the connection breaks in the middle of the stream' },
  { name: 'eof', argument: '', effect: 'the stream ends in the middle without a finish_reason' },
  { name: 'no-done', argument: '', effect: 'a complete answer without the final [DONE]' },
  { name: 'hang', argument: '', effect: 'response headers, then silence' },
  { name: 'silent', argument: '', effect: 'no response at all' },
  {
    name: 'frames',
    argument: 'N PER-WRITE?',
    effect: 'N prepared text events, PER-WRITE of them in one write; made for measuring',
  },
] as const satisfies readonly MarkerRow[]

export type MarkerName = (typeof DEMO_MARKERS)[number]['name']

export interface Markers {
  /** Arguments by marker; an empty list where there were none. A repeated marker: the last one counts. */
  readonly asked: ReadonlyMap<MarkerName, readonly string[]>
  /** As written, e.g. `[demo:tol]`: unknown name, or a number missing or out of range. */
  readonly unknown: readonly string[]
}

const PATTERN = /\[demo:([^\s\]]+)([^\]\n]*)\]/g

/** Highest value a marker's number may have, so that a typing error does not fill the memory. */
const MAX_NUMBER = 1_000_000

const NO_MARKERS: Markers = { asked: new Map(), unknown: [] }

export function parseMarkers(text: string): Markers {
  if (!text.includes('[demo:')) return NO_MARKERS
  const asked = new Map<MarkerName, readonly string[]>()
  const unknown: string[] = []
  for (const [whole, name = '', rest = ''] of text.matchAll(PATTERN)) {
    const row = DEMO_MARKERS.find((candidate) => candidate.name === name)
    const given = rest.split(/\s+/).filter((word) => word !== '')
    if (row === undefined || !isAcceptable(row.name, given[0])) unknown.push(whole)
    else asked.set(row.name, given)
  }
  return { asked, unknown }
}

/** The number given to a marker, `fallback` where the marker or that argument is absent. */
export function markerNumber(markers: Markers, name: MarkerName, fallback: number, position = 0): number {
  const word = markers.asked.get(name)?.[position]
  return isNumber(word) ? Math.min(Number(word), MAX_NUMBER) : fallback
}

/** The table as lines of text, for the answer to `[demo:help]`. */
export function describeMarkers(): string {
  return DEMO_MARKERS.map(
    ({ name, argument, effect }) => `[demo:${argument === '' ? name : `${name} ${argument}`}] ${effect}`,
  ).join('\n')
}

/** The numbers that markers need; more than `most` is allowed where it is bounded later. */
const NUMBERS: ReadonlyMap<MarkerName, { readonly least: number; readonly most: number }> = new Map([
  ['long', { least: 1, most: Infinity }],
  ['slow', { least: 0, most: Infinity }],
  ['error', { least: 400, most: 599 }],
  ['frames', { least: 1, most: Infinity }],
])

function isAcceptable(name: MarkerName, word: string | undefined): boolean {
  const range = NUMBERS.get(name)
  return range === undefined || (isNumber(word) && Number(word) >= range.least && Number(word) <= range.most)
}

function isNumber(word: string | undefined): word is string {
  return word !== undefined && /^\d+$/.test(word)
}
