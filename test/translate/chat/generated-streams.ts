import { fc } from '../../fast-check.ts'
import { dataEvent } from './fixture-streams.ts'

/** What a generated answer says, whatever the quirks of the upstream that says it. */
export interface Answer {
  readonly text: readonly string[]
  readonly reasoning: readonly string[]
  readonly refusal: readonly string[]
  readonly calls: readonly GeneratedCall[]
}

interface GeneratedCall {
  readonly id: string
  readonly name: string
  readonly pieces: readonly string[]
}

/** The ways in which backends depart from the grammar, as docs/copilot-wire.md lists them under "Quirks". */
export interface Quirks {
  readonly filterChunk: boolean
  readonly envelope: 'whole' | 'no object' | 'none'
  readonly role: 'first' | 'always' | 'null' | 'never'
  readonly choiceIndex: 'present' | 'absent' | 'calls in choice 1'
  readonly reasonKey: 'always' | 'at the end'
  readonly reason: 'right' | 'stop' | 'none'
  readonly finishAlone: boolean
  readonly toolIndex: 'right' | 'gaps' | 'zero' | 'absent'
  readonly toolIdentity: 'first' | 'id always' | 'all always'
  readonly interleaved: boolean
  readonly usage: 'chunk' | 'every' | 'finish' | 'none'
  readonly mark: boolean
}

const piece = fc.string({ unit: 'binary', maxLength: 12 }).map((text) => text.replaceAll('\r', ''))
const pieces = fc.array(piece, { maxLength: 4 })
const argumentPieces = fc
  .tuple(
    fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 1 }), { maxKeys: 3 }),
    fc.array(fc.nat({ max: 60 }), { maxLength: 4 }),
  )
  .map(([value, cuts]) => cutText(JSON.stringify(value), cuts))

export const answers: fc.Arbitrary<Answer> = fc
  .record({
    text: pieces,
    reasoning: pieces,
    refusal: fc.oneof({ weight: 4, arbitrary: fc.constant([]) }, { weight: 1, arbitrary: pieces }),
    calls: fc.array(fc.record({ name: fc.constantFrom('read', 'write', 'run'), pieces: argumentPieces }), {
      maxLength: 4,
    }),
  })
  .map(({ text, reasoning, refusal, calls }) => ({
    text,
    reasoning,
    refusal,
    calls: calls.map(({ name, pieces: cuts }, at) => ({ id: `call_${at}`, name, pieces: cuts })),
  }))

export const quirks: fc.Arbitrary<Quirks> = fc.record({
  filterChunk: fc.boolean(),
  envelope: fc.constantFrom('whole', 'no object', 'none'),
  role: fc.constantFrom('first', 'always', 'null', 'never'),
  choiceIndex: fc.constantFrom('present', 'absent', 'calls in choice 1'),
  reasonKey: fc.constantFrom('always', 'at the end'),
  reason: fc.constantFrom('right', 'stop', 'none'),
  finishAlone: fc.boolean(),
  toolIndex: fc.constantFrom('right', 'gaps', 'zero', 'absent'),
  toolIdentity: fc.constantFrom('first', 'id always', 'all always'),
  interleaved: fc.boolean(),
  usage: fc.constantFrom('chunk', 'every', 'finish', 'none'),
  mark: fc.boolean(),
})

export const generatedUsage = { prompt_tokens: 20, completion_tokens: 7, total_tokens: 27 }

/** The answer on the wire. Always one that a client can read without a guess: interleaved calls carry an id or an index. */
export function toWire(answer: Answer, quirk: Quirks): string {
  const deltas: { delta: Record<string, unknown>; choice: number }[] = [
    ...answer.reasoning.map((reasoning_text) => ({ delta: { reasoning_text }, choice: 0 })),
    ...answer.text.map((content) => ({ delta: { content }, choice: 0 })),
    ...answer.refusal.map((refusal) => ({ delta: { refusal }, choice: 0 })),
    ...callDeltas(answer.calls, quirk).map((entry) => ({
      delta: { content: null, tool_calls: [entry] },
      choice: quirk.choiceIndex === 'calls in choice 1' ? 1 : 0,
    })),
  ]
  if (deltas.length === 0 || quirk.finishAlone) deltas.push({ delta: {}, choice: 0 })
  const chunks: unknown[] = []
  if (quirk.filterChunk)
    chunks.push({ choices: [], created: 0, id: '', model: '', object: '', prompt_filter_results: [] })
  for (const [at, { delta, choice }] of deltas.entries()) {
    const isLast = at === deltas.length - 1
    const reason = isLast ? reasonOf(answer, quirk) : null
    chunks.push({
      choices: [
        {
          ...(quirk.choiceIndex !== 'absent' && { index: choice }),
          delta: { ...roleOf(quirk, at), ...delta },
          ...((quirk.reasonKey === 'always' || reason !== null) && { finish_reason: reason }),
        },
      ],
      ...envelopeOf(quirk),
      ...(quirk.usage === 'every' && { usage: isLast ? generatedUsage : { ...generatedUsage, completion_tokens: 0 } }),
      ...(quirk.usage === 'finish' && isLast && { usage: generatedUsage }),
    })
  }
  if (quirk.usage === 'chunk') chunks.push({ choices: [], ...envelopeOf(quirk), usage: generatedUsage })
  // Without a reason the mark is the only sign of an end.
  if (quirk.mark || quirk.reason === 'none') chunks.push('[DONE]')
  return chunks.map(dataEvent).join('')
}

function reasonOf({ calls }: Answer, { reason }: Quirks): string | null {
  if (reason === 'none') return null
  return reason === 'right' && calls.length > 0 ? 'tool_calls' : 'stop'
}

function roleOf({ role }: Quirks, at: number): { role?: string | null } {
  switch (role) {
    case 'never':
      return {}
    case 'null':
      return { role: null }
    case 'always':
      return { role: 'assistant' }
    case 'first':
      return at === 0 ? { role: 'assistant' } : {}
  }
}

function envelopeOf({ envelope }: Quirks): Record<string, unknown> {
  if (envelope === 'none') return {}
  const known = { id: 'chatcmpl-generated', created: 1_764_940_861, model: 'gpt-generated' }
  return envelope === 'whole' ? { ...known, object: 'chat.completion.chunk' } : known
}

function callDeltas(calls: readonly GeneratedCall[], quirk: Quirks): Record<string, unknown>[] {
  const canInterleave =
    quirk.interleaved && (quirk.toolIdentity !== 'first' || quirk.toolIndex === 'right' || quirk.toolIndex === 'gaps')
  const perCall = calls.map((call, at) =>
    call.pieces.map((piece_, nth) => ({
      ...indexOf(quirk, at),
      ...((nth === 0 || quirk.toolIdentity !== 'first') && { id: call.id }),
      ...((nth === 0 || quirk.toolIdentity === 'all always') && { type: 'function' }),
      function: {
        ...((nth === 0 || quirk.toolIdentity === 'all always') && { name: call.name }),
        arguments: piece_,
      },
    })),
  )
  return canInterleave ? inTurns(perCall) : perCall.flat()
}

function indexOf({ toolIndex }: Quirks, at: number): { index?: number } {
  switch (toolIndex) {
    case 'absent':
      return {}
    case 'zero':
      return { index: 0 }
    case 'gaps':
      return { index: at * 3 + 1 }
    case 'right':
      return { index: at }
  }
}

function inTurns<Item>(lists: readonly (readonly Item[])[]): Item[] {
  const longest = Math.max(0, ...lists.map((list) => list.length))
  return Array.from({ length: longest }, (_, nth) => lists.flatMap((list) => list.slice(nth, nth + 1))).flat()
}

function cutText(text: string, cuts: readonly number[]): string[] {
  const at = cuts.map((cut) => Math.min(cut, text.length)).toSorted((a, b) => a - b)
  return [0, ...at].map((start, i) => text.slice(start, at[i]))
}
