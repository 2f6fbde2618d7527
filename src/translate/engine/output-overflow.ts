import { isObject, type JsonObject } from '../../json/json.ts'
import { outputOverflowOf } from '../../upstream-errors/full-context.ts'
import type { RefusalRow } from '../learned-refusals.ts'

/** Anthropic's smallest thinking budget. Source: Anthropic API reference, extended thinking, 2026-11. */
const MIN_BUDGET = 1024

/** Repeats a request whose prompt fits, but not together with its output limit, with the output that is left. */
export const outputOverflowRow: RefusalRow = {
  name: 'prompt and output limit together',
  source: 'Anthropic API reference, errors, 2026-11; OpenAI, maximum context length',
  pattern: /max_tokens|completion/,
  remedy: (_match, { refusal, body }) => {
    const left = outputOverflowOf(refusal.message)
    const member = ['max_tokens', 'max_completion_tokens'].find((name) => typeof body[name] === 'number')
    if (left === undefined || member === undefined || Number(body[member]) <= left) return undefined
    const thinking = fitThinking(body['thinking'], left)
    if (thinking === 'too large') return undefined
    const detail = `the prompt leaves ${left} tokens of the context window`
    return {
      edit: (sent: JsonObject) => ({ ...sent, [member]: left, ...(thinking !== undefined && { thinking }) }),
      warnings: [{ code: 'clamped', field: member, detail }],
    }
  },
}

/** A thinking budget must be below the output limit. */
function fitThinking(thinking: unknown, left: number): unknown {
  if (!isObject(thinking) || typeof thinking['budget_tokens'] !== 'number') return thinking
  if (thinking['budget_tokens'] < left) return thinking
  return left > MIN_BUDGET ? { ...thinking, budget_tokens: left - 1 } : 'too large'
}
