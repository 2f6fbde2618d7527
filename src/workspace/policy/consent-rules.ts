import { z } from 'zod'
import { joinCommand, quoteWord } from '../command-line.ts'

/**
 * What a person has allowed for good in one workspace. To the agent alone: changes of the text of one file, one command in one folder, or one
 * tool of a program as it was defined then. To all callers: what a policy file allows, as long as it has the same content.
 */
export const consentRule = z.union([
  z.strictObject({ edit: z.string().min(1) }),
  /** An argument vector and its folder, relative to the root; '' for the root. */
  z.strictObject({ run: z.array(z.string()).min(1), in: z.string() }),
  /** A tool, the program that has it, and the `Tool.identity` of both. */
  z.strictObject({ call: z.string().min(1), of: z.string(), identity: z.string().min(1) }),
  /** The path of a policy file, and the SHA-256 of the text that a person has seen. */
  z.strictObject({ trust: z.string().min(1), sha256: z.string().regex(/^[0-9a-f]{64}$/) }),
])
export type ConsentRule = z.infer<typeof consentRule>

/** Returns a rule as a person reads and writes it: one line, in which spaces within a name are quoted. */
export function ruleText(rule: ConsentRule): string {
  if ('edit' in rule) return `edit ${quoteWord(rule.edit)}`
  if ('trust' in rule) return `trust ${quoteWord(rule.trust)}`
  if ('call' in rule) return `call ${quoteWord(rule.call)} of ${quoteWord(rule.of)}`
  return `run ${joinCommand(rule.run)}${rule.in === '' ? '' : ` (in ${quoteWord(rule.in)})`}`
}

/** Returns whether rules grant everything that other rules grant. */
export function coverRules(granted: readonly ConsentRule[], wanted: readonly ConsentRule[]): boolean {
  const keys = new Set(granted.map(keyOf))
  return wanted.every((rule) => keys.has(keyOf(rule)))
}

/** Returns the rules of both lists, each once. Of a policy file, the last content counts. */
export function joinRules(known: readonly ConsentRule[], more: readonly ConsentRule[]): readonly ConsentRule[] {
  return [
    ...new Map(
      [...known, ...more].map((rule) => ['trust' in rule ? `trust ${rule.trust}` : keyOf(rule), rule]),
    ).values(),
  ]
}

function keyOf(rule: ConsentRule): string {
  return JSON.stringify(Object.entries(rule).toSorted(([one], [other]) => (one < other ? -1 : 1)))
}
