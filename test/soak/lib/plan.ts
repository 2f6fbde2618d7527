import { pick, seededRandom } from './seeded.ts'

/** What upstream does to a reply, besides answering. */
export const faults = ['none', 'reset-first', 'reset-mid', 'cut-mid', 'error-mid', 'status-500', 'silent'] as const
export type PlannedFault = (typeof faults)[number]

/** What the simulated upstream is to answer. It travels in the prompt, so that both ends know every byte of the answer. */
export interface Plan {
  /** Of the answer's text; no two requests have the same. */
  readonly seed: number
  /** Text events. */
  readonly events: number
  /** Characters in each. */
  readonly size: number
  /** Pause before each event. Ms. */
  readonly gapMs: number
  /** A tool call follows the text. */
  readonly call: boolean
  readonly fault: PlannedFault
  /** Each event says when upstream wrote it, in place of its seeded text. */
  readonly stamped: boolean
}

export const quietPlan: Plan = {
  seed: 0,
  events: 3,
  size: 24,
  gapMs: 0,
  call: false,
  fault: 'none',
  stamped: false,
}

export function toPrompt(plan: Plan): string {
  const { seed, events, size, gapMs, call, fault, stamped } = plan
  return `soak?${seed},${events},${size},${gapMs},${Number(call)},${faults.indexOf(fault)},${Number(stamped)};`
}

/** The plan in a request body, whatever its dialect. */
export function planOf(body: string): Plan | undefined {
  const found = /soak\?(\d+),(\d+),(\d+),(\d+),([01]),(\d),([01]);/.exec(body)
  if (found === null) return undefined
  const [seed = 0, events = 0, size = 0, gapMs = 0, call = 0, fault = 0, stamped = 0] = found.slice(1).map(Number)
  return { seed, events, size, gapMs, call: call === 1, fault: faults[fault] ?? 'none', stamped: stamped === 1 }
}

/** Text that a careless proxy would break: several bytes a character, JSON's and SSE's own marks. */
const words = [
  'plain',
  'words ',
  'größe ',
  '漢字',
  '👩‍👩‍👧',
  '"quoted" ',
  'back\\slash ',
  'line\nfeed ',
  '\n\ndata: [DONE]\n\n',
  'event: x\n',
  '{"a":1}',
  '\t',
  '\u2028',
  ' ',
] as const

/** The text of an answer, one piece an event. */
export function textPieces({ seed, events, size }: Plan): readonly string[] {
  const random = seededRandom(seed)
  return Array.from({ length: events }, () => {
    let piece = ''
    while (piece.length < size) piece += pick(random, words)
    return piece
  })
}

/** The arguments of the answer's tool call. */
export function callArguments({ seed }: Plan): string {
  const random = seededRandom(seed + 1)
  return JSON.stringify({ seed, path: pick(random, words), depth: { list: [random(), pick(random, words)] } })
}

/**
 * When upstream wrote the last stamped event in the text: a monotonic clock that all processes of a machine share. Ns.
 * The last one, because the end of a Responses stream repeats what was said before.
 */
export function stampOf(text: string): bigint | undefined {
  const found = /^@(\d+);/.exec(text.slice(text.lastIndexOf('@')))?.[1]
  return found === undefined ? undefined : BigInt(found)
}
