import type { Conversation } from './conversation.ts'
import { parseMarkers } from './markers.ts'
import { parseScript } from './script.ts'
import type { ScriptStep } from './script.ts'

/**
 * The start of data in a prompt: results of an agent's tools, a record to summarise, or the conversation whose calls are checked. The
 * prompt forbids to obey such data.
 */
const data = /^(?:\[data-\w+ begin: |<(?:rules|conversation|surroundings|calls)>\n)/

/**
 * The current step of the conversation's script. It advances with each answer of the model after the script. Undefined
 * without a script, and after its last step.
 */
export function scriptStep({ history }: Conversation): ScriptStep | undefined {
  const at = history.findLastIndex(
    (each) => each.by === 'user' && 'text' in each && each.text.includes('[demo:script') && !data.test(each.text),
  )
  const prompt = history[at]
  if (prompt?.by !== 'user' || !('text' in prompt)) return undefined
  const steps = parseScript(parseMarkers(prompt.text).asked.get('script')?.at(-1) ?? '')
  // One answer may have several entries: thinking, text, calls.
  const answers = history.slice(at + 1).filter(({ by }, index, all) => by === 'assistant' && all[index - 1]?.by !== by)
  const last = steps?.at(-1)
  return steps?.[answers.length] ?? (last?.forever === true ? last : undefined)
}
