import { parseObject, parseWrittenObject } from '../json/json.ts'
import type { ToolCallItem, TurnItem, TurnStop } from '../translate/turn.ts'
import { parseJsonReply } from './json-protocol.ts'
import type { Answer, Call } from './loop-state.ts'
import { correction, emptyCorrection } from './prompts.ts'

type Reading =
  | { readonly kind: 'calls'; readonly calls: readonly Call[]; readonly commentary: string }
  /** `isCut`: the answer ended with a reason of `cutStops`. */
  | { readonly kind: 'final'; readonly text: string; readonly isCut: boolean }
  /** `correction` asks the model for another answer. `reason` states why the run ends if that one is unusable too. */
  | { readonly kind: 'unusable'; readonly correction: string; readonly reason: string }

/** Interprets an answer. @param isNative whether its calls are native; otherwise its text is JSON */
export function readAnswer(answer: Answer, step: number, isNative: boolean): Reading {
  return isNative ? readNative(answer) : readJson(answer, step)
}

function readNative({ items, text, stop }: Answer): Reading {
  const isCut = cutStops.has(stop)
  const calls = items.filter((item) => item.type === 'tool_call').map((item) => toCall(item, isCut))
  // `createFragments` has emitted the text before the calls already.
  if (calls.length > 0) return { kind: 'calls', calls, commentary: '' }
  if (text.trim() === '') return { kind: 'unusable', correction: emptyCorrection, reason: emptyReason(stop) }
  return { kind: 'final', text, isCut }
}

/** An answer that ended for these reasons may be incomplete, also within the arguments of its last call. */
const cutStops: ReadonlySet<TurnStop> = new Set(['max_tokens', 'context_full', 'content_filter'])

function emptyReason(stop: TurnStop): string {
  return stop === 'content_filter'
    ? 'A content filter stopped the answer of the model.'
    : 'The model gave an empty answer twice.'
}

function toCall({ id, name, arguments: text }: ToolCallItem, isCut: boolean): Call {
  const args = parseWrittenObject(text)
  const problem = isCut
    ? 'The answer was cut off at the output limit, so that none of its calls was run. Make smaller calls.'
    : args === undefined
      ? 'The arguments are not a JSON object. Nothing was run.'
      : undefined
  return { id, name, args: args ?? text, problem }
}

/** Repairs the JSON of arguments for the history: a dialect whose calls have objects would send them as a text. */
export function withReadableArguments(item: TurnItem): TurnItem {
  if (item.type !== 'tool_call' || parseObject(item.arguments) !== undefined) return item
  const args = parseWrittenObject(item.arguments)
  return args === undefined ? item : { ...item, arguments: JSON.stringify(args) }
}

function readJson({ text }: Answer, step: number): Reading {
  const reply = parseJsonReply(text)
  switch (reply.kind) {
    case 'invalid': {
      const reason = `The model twice gave an answer that cannot be used. ${reply.problem}`
      return { kind: 'unusable', correction: correction(reply.problem), reason }
    }
    case 'final':
      return { kind: 'final', text: reply.answer, isCut: false }
    case 'actions': {
      const calls = reply.actions.map(({ tool, args }, at): Call => ({
        id: `step-${step}-${at + 1}`,
        name: tool,
        args,
        problem: undefined,
      }))
      return { kind: 'calls', calls, commentary: reply.commentary }
    }
  }
}
