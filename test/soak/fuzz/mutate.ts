/** One change: what kind, where, and with what. Numbers only, so that a failing case shrinks to the changes that matter. */
export type Edit = readonly [kind: number, place: number, pick: number]

/** Words of the dialects: member names and short values, for changes that go further than nonsense does. */
export interface Vocabulary {
  readonly keys: readonly string[]
  readonly values: readonly string[]
}

interface Place {
  readonly parent: Record<string, unknown> | unknown[]
  readonly key: string
}

/** The JSON text after edits of what it says. */
export function mutateJson(json: string, edits: readonly Edit[], vocabulary: Vocabulary): string {
  const root: unknown[] = [JSON.parse(json)]
  for (const [kind, place, pick] of edits) {
    const places = placesOf(root)
    const at = places[place % places.length]
    const change = changes[kind % changes.length]
    if (at !== undefined) change?.(at, pick, { places, vocabulary })
  }
  return textOf(root[0]).replaceAll(deepMark, deep)
}

/** '' for what is nested too deeply to be written. */
function textOf(value: unknown): string {
  try {
    return JSON.stringify(value) ?? ''
  } catch {
    return ''
  }
}

/** A placeholder for a value that is nested too deeply for a recursive program. */
const deepMark = '"@deep"'
const deep = '['.repeat(20_000) + ']'.repeat(20_000)

/** Null for what is nested too deeply to be copied. */
function copyOf(value: unknown): unknown {
  try {
    return structuredClone(value)
  } catch {
    return null
  }
}

interface Surroundings {
  readonly places: readonly Place[]
  readonly vocabulary: Vocabulary
}

type Change = (at: Place, pick: number, around: Surroundings) => void

function placesOf(root: unknown[]): readonly Place[] {
  const places: Place[] = []
  const visit = (parent: Place['parent']): void => {
    for (const key of Object.keys(parent)) {
      places.push({ parent, key })
      const inner = get({ parent, key })
      if (typeof inner === 'object' && inner !== null && places.length < 3000) visit(inner as Place['parent'])
    }
  }
  visit(root)
  return places
}

function get({ parent, key }: Place): unknown {
  return Array.isArray(parent) ? parent[Number(key)] : parent[key]
}

function set({ parent, key }: Place, value: unknown): void {
  // Not by assignment: `__proto__` is a member like any other.
  Object.defineProperty(parent, key, { value, writable: true, enumerable: true, configurable: true })
}

function of<Item>(list: readonly Item[], pick: number): Item | undefined {
  return list[pick % list.length]
}

/** Each made anew, for later edits may go into it. */
const oddValues: readonly (() => unknown)[] = [
  () => null,
  () => true,
  () => false,
  () => 0,
  () => -1,
  () => 1,
  () => 1e308,
  () => 0.5,
  () => 9_007_199_254_740_992,
  () => '',
  () => ' ',
  () => 'null',
  () => 'NaN',
  () => '-0',
  () => '\ud800',
  () => 'a\udc00b',
  () => '\u0000',
  () => '__proto__',
  () => 'constructor',
  () => '\r\n\r\ndata: [DONE]\r\n\r\n',
  () => 'data:image/png;base64,AAAA',
  () => 'data:;base64',
  () => 'https://example.invalid/a.png',
  () => '{"a":1}',
  () => '{"a":',
  () => '[]',
  () => 'cpx1.e30',
  () => 'cps1.aGk',
  () => [],
  () => ({}),
  () => [null],
  () => [[]],
  () => [{}],
  () => ['', '', ''],
  () => ({ type: 'text', text: 'x' }),
  () => ({ toString: 1, length: -1 }),
  () => JSON.parse('{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}'),
]

function wordOrOdd(pick: number, vocabulary: Vocabulary): unknown {
  return pick % 2 === 0 ? of(oddValues, pick >> 1)?.() : of(vocabulary.values, pick >> 1)
}

const changes: readonly Change[] = [
  (at, pick) => set(at, of(oddValues, pick)?.()),
  (at, pick, { vocabulary }) => set(at, of(vocabulary.values, pick)),
  ({ parent, key }) => {
    if (Array.isArray(parent)) parent.splice(Number(key), 1)
    else delete parent[key]
  },
  (at, pick, { vocabulary, places }) => {
    const inner = get(at)
    const into = typeof inner === 'object' && inner !== null ? (inner as Place['parent']) : at.parent
    const value = pick % 3 === 0 ? copyOf(get(of(places, pick) ?? at)) : wordOrOdd(pick >> 2, vocabulary)
    if (Array.isArray(into)) into.push(value)
    else set({ parent: into, key: of(vocabulary.keys, pick) ?? '' }, value)
  },
  (at, pick, { places }) => set(at, copyOf(get(of(places, pick) ?? at))),
  ({ parent, key }, pick) => {
    if (!Array.isArray(parent)) return
    const copy: unknown = copyOf(parent[Number(key)])
    parent.splice(pick % (parent.length + 1), 0, copy)
  },
  ({ parent, key }, pick) => {
    if (Array.isArray(parent)) parent.splice(pick % parent.length, 0, ...parent.splice(Number(key), 1))
  },
  (at, pick, { vocabulary }) =>
    set(at, pick % 2 === 0 ? [get(at)] : { type: of(vocabulary.values, pick), content: get(at), text: get(at) }),
  (at) => {
    const inner = get(at)
    if (typeof inner === 'object' && inner !== null) set(at, Object.values(inner)[0] ?? null)
  },
  (at, pick) => {
    const text = get(at)
    if (typeof text === 'string') set(at, text.slice(pick % (text.length + 1)) + text.slice(0, pick % 7))
  },
  (at, pick, { vocabulary }) => {
    if (Array.isArray(at.parent)) return
    const value = get(at)
    delete at.parent[at.key]
    set({ parent: at.parent, key: of(vocabulary.keys, pick) ?? '' }, value)
  },
  (at, pick) => {
    // Rarely: these cost more than all the others.
    if (pick % 64 === 0) set(at, 'x\n"\u{1f600}'.repeat(2000))
    else if (pick % 64 === 1) set(at, '@deep')
    else if (pick % 64 === 2) set(at, Array.from({ length: 300 }, () => copyOf(get(at))).slice(0, sizeOf(get(at))))
    else set(at, of(oddValues, pick)?.())
  },
]

/** How many copies of a value are not too much. */
function sizeOf(value: unknown): number {
  return Math.floor(30_000 / (1 + textOf(value).length))
}

/** The text after edits of its characters. */
export function mutateText(text: string, edits: readonly Edit[]): string {
  let edited = text
  for (const [kind, place, pick] of edits) {
    const at = place % (edited.length + 1)
    const until = at + (pick % 5)
    switch (kind % 5) {
      case 0:
        edited = edited.slice(0, at)
        break
      case 1:
        edited = edited.slice(0, at) + edited.slice(until)
        break
      case 2:
        edited = edited.slice(0, at) + (of(pieces, pick) ?? '') + edited.slice(at)
        break
      case 3:
        edited = edited.slice(0, at) + edited.slice(at, at + 200) + edited.slice(at)
        break
      default:
        edited = edited.slice(0, at) + (of(pieces, pick) ?? '') + edited.slice(until)
    }
  }
  return edited
}

const pieces = [
  '"',
  '\\',
  '{',
  '}',
  '[',
  ']',
  ',',
  ':',
  '\\ud800',
  '\\u0000',
  '\u0000',
  '\ufeff',
  '\u2028',
  '\n',
  '\r',
  '\t',
  '-',
  '1e999',
  '0',
  'null',
  'true',
  '"__proto__":{},',
  '"model":"a",',
  '"type":"b",',
  ' ',
]
