import { isBlank } from '../extras.ts'
import { isObject } from '../../parts/wire-json.ts'
import type { WireChunk, WireDelta } from '../wire-chunk.ts'
import { hasIdentity } from './mend-state.ts'
import type { MendState } from './mend-state.ts'
import { hasUsage, isAssistant } from './repair.ts'

const CR = 13

/**
 * The hot path: the delta of a chunk in the middle of an answer that is right as it is and, beside how much was said,
 * changes nothing of where we are. Each test mirrors a repair; whatever fails one goes the long way, which finds out
 * what is wrong. That no repair finds anything in a plain chunk is a property, tested as such.
 */
export function plainDelta(state: MendState, chunk: WireChunk): WireDelta | undefined {
  // Once something was said, the identity is settled and the role sent.
  if (!state.said || state.finish !== undefined || state.carried !== undefined || state.heldReturn) return undefined
  if (hasUsage(chunk) || !isBlank(chunk.copilot_usage) || hasError(chunk)) return undefined
  const { choices } = chunk
  if (!Array.isArray(choices) || choices.length !== 1) return undefined
  const choice: unknown = choices[0]
  if (!isObject(choice) || choice['index'] !== 0 || choice['finish_reason'] !== null) return undefined
  const delta = choice['delta']
  if (!isObject(delta) || delta['tool_calls'] !== undefined || !isAssistant(delta['role'])) return undefined
  // Last, for it costs most, and calls are told by then.
  return isPlainContent(delta['content']) && hasIdentity(state, chunk) ? delta : undefined
}

/** As openai's own client decides it: any value that is not falsy. */
export function hasError({ error }: WireChunk): boolean {
  return Boolean(error)
}

function isPlainContent(content: unknown): boolean {
  if (typeof content === 'string') return content.charCodeAt(content.length - 1) !== CR
  return content === undefined || content === null
}
