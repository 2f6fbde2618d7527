import { z } from 'zod'
import { checkValue } from '../json/check-value.ts'
import { parseWrittenObject } from '../json/json.ts'

/** One entry of `actions`. The arguments of the tool are fields of the same object. */
const action = z.looseObject({ tool: z.string().min(1) })

/** The answer of a model without tool calls in the JSON protocol of copilot-anywhere. */
const reply = z.looseObject({
  actions: z.array(action).nullish(),
  commentary: z.string().nullish(),
  done: z.boolean().nullish(),
  finalSummary: z.string().nullish(),
})

interface JsonAction {
  readonly tool: string
  readonly args: Readonly<Record<string, unknown>>
}

export type JsonReply =
  | { readonly kind: 'actions'; readonly actions: readonly JsonAction[]; readonly commentary: string }
  | { readonly kind: 'final'; readonly answer: string }
  /** `problem` is a sentence for the model. */
  | { readonly kind: 'invalid'; readonly problem: string }

/** The system prompt and each request for a correction contain this text. */
export const jsonForms = `A step: {"actions":[{"tool":"readFiles","files":["src/a.ts"]}],"commentary":"Why, in at most 160 characters","done":false}
The end: {"finalSummary":"What you did, for the user","done":true}`

/** Maximum length of a commentary. Characters. */
const maxCommentary = 160

/** Limits the search for ends of objects, summed over all tries: each brace of a text begins a try. Characters. */
const maxScanned = 2_000_000

/**
 * Finds a reply of the JSON protocol in a text: alone, in a code fence, or between prose. Returns the first valid reply.
 * Ignores what follows it, because the model wrote that before it had the results of the actions.
 */
export function parseJsonReply(text: string): JsonReply {
  let problem = 'It contains no complete JSON object of these forms.'
  for (const candidate of candidatesOf(withoutReasoning(text))) {
    const checked = checkValue(reply, candidate)
    if (!checked.ok) {
      const { path, detail } = checked.problem
      problem = `It does not have the form: ${path.join('.')} ${detail}.`
      continue
    }
    const known = toReply(checked.value)
    if (known === undefined) continue
    if (known.kind !== 'invalid') return known
    ;({ problem } = known)
  }
  return { kind: 'invalid', problem }
}

/** Returns undefined for an object that has none of the fields of a reply. */
function toReply({ actions, commentary, done, finalSummary }: z.infer<typeof reply>): JsonReply | undefined {
  // The model has not seen the results of these actions, so a reply with actions is never final, even with `done`.
  if (actions && actions.length > 0) {
    return { kind: 'actions', actions: actions.map(toAction), commentary: shorten(commentary ?? '') }
  }
  if (finalSummary) return { kind: 'final', answer: finalSummary }
  if (done === true && commentary) return { kind: 'final', answer: commentary }
  if (done === true) return { kind: 'invalid', problem: 'A final reply needs a finalSummary.' }
  if (actions) return { kind: 'invalid', problem: 'A step that is not final needs at least one action.' }
  return undefined
}

/** Some models put the arguments into an object `args` or `arguments`. */
function toAction({ tool, ...args }: z.infer<typeof action>): JsonAction {
  const [[key, inner] = ['', undefined], ...others] = Object.entries(args)
  const isWrapped = others.length === 0 && (key === 'args' || key === 'arguments')
  const unwrapped = isWrapped ? z.record(z.string(), z.unknown()).safeParse(inner) : undefined
  return { tool, args: unwrapped?.success === true ? unwrapped.data : args }
}

/** Returns one line of at most `maxCommentary` characters. */
function shorten(commentary: string): string {
  const line = commentary.replaceAll(/\s+/g, ' ').trim()
  return line.length <= maxCommentary ? line : `${line.slice(0, maxCommentary - 1)}…`
}

/** Yields the JSON objects of a text, without objects inside them: first those at the start of code fences, then all. */
function* candidatesOf(text: string): Generator<Readonly<Record<string, unknown>>> {
  let left = maxScanned
  for (const opening of [/```[\w-]*\s*\{/g, /\{/g]) {
    for (let match = opening.exec(text); match !== null && left > 0; match = opening.exec(text)) {
      const start = opening.lastIndex - 1
      const end = endOfObject(text, start, start + left)
      left -= (end < 0 ? text.length : end) - start
      const value = end < 0 ? undefined : parseWrittenObject(text.slice(start, end))
      if (value === undefined) continue
      opening.lastIndex = end
      yield value
    }
  }
}

const word = '(?:think(?:ing)?|thoughts?|reason(?:ing)?)'
const inTags = `(?:\\w+:)?(?:${word}|reflection|analysis|scratchpad|inner_monologue)`

/** A brace, or a mark with which models begin or end their reasoning in a text, e.g. `<think>`, `[/THINK]`, `<|end_of_thought|>`. */
const mark = new RegExp(
  [
    String.raw`\{`,
    `<(?<tagEnd>/)?${inTags}(?:\\s[^<>]*)?>`,
    `\\[(?<bracketEnd>/)?${word}\\]`,
    `◁(?<triangleEnd>/)?${word}▷`,
    `<\\|(?<pipeEnd>/|end_of_|end_)?(?:begin_of_|begin_|start_)?${word}\\|>`,
    String.raw`<\|channel\|>(?:analysis|thought)`,
    String.raw`(?<channelEnd><\|end\|>|<\|channel\|>final|<channel\|>)`,
  ].join('|'),
  'gi',
)

/**
 * Returns the parts of a text that stand outside reasoning. The mark before the reasoning may be missing, because the template of
 * the model has it. Marks inside an object are part of its texts.
 */
function withoutReasoning(text: string): string {
  let left = maxScanned
  let answer = ''
  let from = 0
  let isReasoning = false
  mark.lastIndex = 0
  for (let match = mark.exec(text); match !== null; match = mark.exec(text)) {
    if (match[0] === '{') {
      if (isReasoning || left <= 0) continue
      const end = endOfObject(text, match.index, match.index + left)
      left -= (end < 0 ? text.length : end) - match.index
      if (end >= 0) mark.lastIndex = end
    } else if (Object.values(match.groups ?? {}).some((group) => group !== undefined)) {
      if (!isReasoning) answer = ''
      from = mark.lastIndex
      isReasoning = false
    } else if (!isReasoning) {
      answer += text.slice(from, match.index)
      isReasoning = true
    }
  }
  return isReasoning ? answer : answer + text.slice(from)
}

/** Returns the index after the object that begins at `start`, or -1 if it does not end before `stop`. Skips strings. */
function endOfObject(text: string, start: number, stop: number): number {
  let depth = 0
  let isInString = false
  for (let at = start; at < text.length && at < stop; at += 1) {
    const character = text[at]
    if (isInString) {
      if (character === '\\') at += 1
      else if (character === '"') isInString = false
    } else if (character === '"') isInString = true
    else if (character === '{') depth += 1
    else if (character === '}') {
      depth -= 1
      if (depth === 0) return at + 1
    }
  }
  return -1
}
