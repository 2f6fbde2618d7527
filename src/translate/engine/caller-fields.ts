import type { Turn, TurnField } from '../turn.ts'
import type { Warning } from '../warning.ts'

/** The field of a Turn that each member of a draft comes from, by the path of the member. */
export type FieldsByMember = ReadonlyMap<string, TurnField>

/**
 * Names the caller's fields in warnings about an encoded draft. Warnings about another spelling are left out: the
 * encoder chose it, and the caller cannot change it.
 */
export function toCallerFields(warnings: readonly Warning[], { fieldNames }: Turn, fields: FieldsByMember): Warning[] {
  const callersField = (member: string): string => {
    const steps = member.split('.')
    for (let length = steps.length; length > 0; length -= 1) {
      const name = fields.get(steps.slice(0, length).join('.'))
      if (name !== undefined) return [fieldNames[name], ...steps.slice(length)].join('.')
    }
    return member
  }
  return warnings
    .filter(({ code }) => code !== 'adapted')
    .map(({ code, field, detail }) => ({ code, field: callersField(field), detail }))
}
