import { z } from 'zod'
import { checkValue } from '../json/check-value.ts'
import { parseObject } from '../json/json.ts'

/** One entry of `actions`: the tool's name, and its arguments beside it. */
const action = z.looseObject({ tool: z.string().min(1) })

/** What a model without tool calls answers, as the protocol of copilot-anywhere has it. */
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
  /** `problem`: a sentence for the model. */
  | { readonly kind: 'invalid'; readonly problem: string }

/** Shown to the model with the rules and again when a reply cannot be used. */
export const jsonForms = `A step: {"actions":[{"tool":"readFiles","files":["src/a.ts"]}],"commentary":"Why, in at most 160 characters","done":false}
The end: {"finalSummary":"What you did, for the user","done":true}`

/** Of a commentary that is shown. Characters. */
const maxCommentary = 160

/** What is read to find the ends of objects, all tries together: a text full of braces has many. Characters. */
const maxScanned = 2_000_000

/**
 * Reads a reply of the JSON protocol out of a text: alone, in a code fence, or with prose around it. The first object that
 * is a valid reply counts. What follows it is ignored: it was written before the actions had results.
 */
export function parseJsonReply(text: string): JsonReply {
  let problem = 'It contains no complete JSON object of these forms.'
  for (const candidate of candidatesOf(text)) {
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

/** Undefined: an object for something else. */
function toReply({ actions, commentary, done, finalSummary }: z.infer<typeof reply>): JsonReply | undefined {
  // Actions have no results yet, so that a reply with some is never the end, whatever it says.
  if (actions && actions.length > 0) {
    return { kind: 'actions', actions: actions.map(toAction), commentary: shorten(commentary ?? '') }
  }
  if (finalSummary) return { kind: 'final', answer: finalSummary }
  if (done === true && commentary) return { kind: 'final', answer: commentary }
  if (done === true) return { kind: 'invalid', problem: 'A final reply needs a finalSummary.' }
  if (actions) return { kind: 'invalid', problem: 'A step that is not final needs at least one action.' }
  return undefined
}

/** Some models put the arguments into an object of their own. */
function toAction({ tool, ...args }: z.infer<typeof action>): JsonAction {
  const [[key, inner] = ['', undefined], ...others] = Object.entries(args)
  const isWrapped = others.length === 0 && (key === 'args' || key === 'arguments')
  const unwrapped = isWrapped ? z.record(z.string(), z.unknown()).safeParse(inner) : undefined
  return { tool, args: unwrapped?.success === true ? unwrapped.data : args }
}

/** One line. */
function shorten(commentary: string): string {
  const line = commentary.replaceAll(/\s+/g, ' ').trim()
  return line.length <= maxCommentary ? line : `${line.slice(0, maxCommentary - 1)}…`
}

/** The objects of a text that are JSON: those in code fences first, then all others, in order. None is inside another. */
function* candidatesOf(text: string): Generator<Readonly<Record<string, unknown>>> {
  let left = maxScanned
  for (const opening of [/```[\w-]*\s*\{/g, /\{/g]) {
    for (let match = opening.exec(text); match !== null && left > 0; match = opening.exec(text)) {
      const start = opening.lastIndex - 1
      const end = endOfObject(text, start, start + left)
      left -= (end < 0 ? text.length : end) - start
      const value = end < 0 ? undefined : parseObject(text.slice(start, end))
      if (value === undefined) continue
      opening.lastIndex = end
      yield value
    }
  }
}

/** Index after the object that begins at `start`; -1 if it does not end before `stop`. Braces inside strings do not count. */
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
