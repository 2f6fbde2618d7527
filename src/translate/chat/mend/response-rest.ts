import type { WireChoice, WireToolCall } from '../wire-chunk.ts'
import type { MendState } from './mend-state.ts'
import type { ResponseEnd } from './response-end.ts'
import { contradiction, restOf } from './told.ts'
import { pieceKey, readEntry } from './tool-call.ts'
import type { ToolCall, ToolEntry } from './tool-call.ts'
import { isComplete } from './tool-calls.ts'

/** Stands for the choice of calls that only the response tells of: it counts them for itself. */
const responseChoice = -1

/**
 * What the whole answer says beyond what the chunks before it said, as choices of a chunk; none where they said it all.
 * @throws Fault `upstream_unusable` when the two are not the same answer
 */
export function restOfResponse({ told, calls, said }: MendState, end: ResponseEnd): WireChoice[] {
  const choices: WireChoice[] = []
  const fresh: WireToolCall[] = []
  for (const [position, wire] of end.calls.entries()) {
    const entry = readEntry(wire, responseChoice)
    const known = findTold(calls.seen, entry, position)
    const rest = known === undefined ? undefined : restOfCall(known, entry)
    if (known === undefined) fresh.push({ index: fresh.length, ...wire })
    else if (rest !== undefined) choices.push(toChoice(known.choice, { tool_calls: [rest] }))
  }
  const content = restOf(told.content, end.content)
  const refusal = restOf(told.refusal, end.refusal)
  const reasoning = told.reasoning ? '' : end.reasoning
  const delta = {
    ...(reasoning !== '' && { reasoning_text: reasoning }),
    ...(end.encryptedContent !== '' && { encrypted_content: end.encryptedContent }),
    ...(content !== '' && { content }),
    ...(refusal !== '' && { refusal }),
    ...(fresh.length > 0 && { tool_calls: fresh }),
  }
  // A response that was cut before it said anything is an answer too, an empty one.
  const isEmptyAnswer = !said && end.reason !== 'stop'
  if (Object.keys(delta).length > 0 || isEmptyAnswer) choices.push(toChoice(responseChoice, delta))
  return choices
}

function toChoice(index: number, delta: Record<string, unknown>): WireChoice {
  return { index, delta, finish_reason: null }
}

/** The call of the chunks that is meant. Some streams give it one id there and another here. */
function findTold(seen: readonly ToolCall[], { id, name, kind }: ToolEntry, position: number): ToolCall | undefined {
  const same = id === undefined ? undefined : seen.find((call) => call.upstreamId === id)
  const there = seen[position]
  return same ?? (there?.name === name && there.kind === kind ? there : undefined)
}

function restOfCall(known: ToolCall, { name, kind, piece }: ToolEntry): WireToolCall | undefined {
  const { arguments: received, upstreamIndex, upstreamId } = known
  if (!piece.startsWith(received)) {
    // The same arguments may be written with other spaces; half of them may not.
    if (kind === 'function' && received.trim() !== '' && isComplete(known)) return undefined
    throw contradiction()
  }
  const rest = piece.slice(received.length)
  if (rest === '' && known.index !== undefined) return undefined
  return { index: upstreamIndex ?? known.position, id: upstreamId, [kind]: { name, [pieceKey(kind)]: rest } }
}
