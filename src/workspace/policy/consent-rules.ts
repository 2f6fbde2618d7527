import { z } from 'zod'
import { quoteWord } from '../command-line.ts'

/**
 * What a person has allowed the agent for good in one workspace: changes of the text of one file, one command in one folder, or one
 * tool of a program as it was defined then.
 */
export const consentRule = z.union([
  z.strictObject({ edit: z.string().min(1) }),
  /** An argument vector and its folder, relative to the root; '' for the root. */
  z.strictObject({ run: z.array(z.string()).min(1), in: z.string() }),
  /** A tool, the program that has it, and the `Tool.identity` of both. */
  z.strictObject({ call: z.string().min(1), of: z.string(), identity: z.string().min(1) }),
])
export type ConsentRule = z.infer<typeof consentRule>

/** Returns a rule as a person reads and writes it: one line, in which spaces within a name are quoted. */
export function ruleText(rule: ConsentRule): string {
  if ('edit' in rule) return `edit ${quoteWord(rule.edit)}`
  if ('call' in rule) return `call ${quoteWord(rule.call)} of ${quoteWord(rule.of)}`
  return `run ${rule.run.map(quoteWord).join(' ')}${rule.in === '' ? '' : ` (in ${quoteWord(rule.in)})`}`
}

/** Returns whether rules grant everything that other rules grant. */
export function coverRules(granted: readonly ConsentRule[], wanted: readonly ConsentRule[]): boolean {
  const keys = new Set(granted.map(keyOf))
  return wanted.every((rule) => keys.has(keyOf(rule)))
}

/** Returns the rules of both lists, each once. */
export function joinRules(known: readonly ConsentRule[], more: readonly ConsentRule[]): readonly ConsentRule[] {
  return [...new Map([...known, ...more].map((rule) => [keyOf(rule), rule])).values()]
}

function keyOf(rule: ConsentRule): string {
  return JSON.stringify(Object.entries(rule).toSorted(([one], [other]) => (one < other ? -1 : 1)))
}
