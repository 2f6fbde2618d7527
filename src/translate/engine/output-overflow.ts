import { isObject, type JsonObject } from '../../json/json.ts'
import { outputOverflowOf } from '../../upstream-errors/full-context.ts'
import type { EncodeContext } from '../dialect.ts'
import { learnedValues, type RefusalRow } from './learned-refusals.ts'
import type { Rule } from './apply-rules.ts'

/** Anthropic's smallest thinking budget. Source: Anthropic API reference, extended thinking, 2026-11. */
const MIN_BUDGET = 1024

const SOURCE = 'Anthropic API reference, errors, 2026-11; OpenAI API reference, maximum context length'

/** The prompt fits, but not together with the output limit. */
export const outputOverflowRow: RefusalRow = {
  name: 'prompt and output limit together',
  source: SOURCE,
  pattern: /max_tokens|completion/,
  finding: (_match, { refusal }) => {
    const left = outputOverflowOf(refusal.message)
    return left === undefined ? undefined : { passing: [`output-left:${left}`] }
  },
}

/** Repeats the request with the output that the prompt leaves. Runs after the rules that rename the limit and fit thinking. */
export function outputLeftRule<Body extends JsonObject, Target extends Pick<EncodeContext, 'learnedRefusals'>>(): Rule<
  Body,
  Target
> {
  return {
    name: 'no more output than the prompt leaves',
    source: SOURCE,
    adapt: ({ body }, { learnedRefusals }) => {
      const left = Number(learnedValues(learnedRefusals, 'output-left').at(-1))
      const member = ['max_tokens', 'max_completion_tokens'].find((name) => Number(body[name]) > left)
      const thinking = fitThinking(body['thinking'], left)
      if (member === undefined || thinking === 'too large') return undefined
      const detail = `the prompt leaves ${left} tokens of the context window`
      return {
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- both members are in the body with values of these types
        patch: { [member]: left, ...(thinking !== undefined && { thinking }) } as Partial<Body>,
        warnings: [{ code: 'clamped', field: member, detail }],
      }
    },
  }
}

/** A thinking budget must be below the output limit. */
function fitThinking(thinking: unknown, left: number): unknown {
  if (!isObject(thinking) || typeof thinking['budget_tokens'] !== 'number') return thinking
  if (thinking['budget_tokens'] < left) return thinking
  return left > MIN_BUDGET ? { ...thinking, budget_tokens: left - 1 } : 'too large'
}
