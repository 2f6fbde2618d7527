import type { Turn, TurnField } from '../turn.ts'
import type { Warning } from '../warning.ts'

/** The caller's field that each member of a draft comes from, by the path of the member. */
type CallerFields = ReadonlyMap<string, string>

/** @param fields of the Turn, by the path of the member that an encoder writes for them */
export function callerFields({ fieldNames }: Turn, fields: Readonly<Record<string, TurnField>>): CallerFields {
  return new Map(Object.entries(fields).map(([member, field]) => [member, fieldNames[field]]))
}

/**
 * Names the caller's fields in warnings about an encoded draft. Warnings about another spelling are left out: the
 * encoder chose it, and the caller cannot change it.
 */
export function toCallerFields(warnings: readonly Warning[], fields: CallerFields): Warning[] {
  const callersField = (member: string): string => {
    const steps = member.split('.')
    for (let length = steps.length; length > 0; length -= 1) {
      const name = fields.get(steps.slice(0, length).join('.'))
      if (name !== undefined) return [name, ...steps.slice(length)].join('.')
    }
    return member
  }
  return warnings
    .filter(({ code }) => code !== 'adapted')
    .map(({ code, field, detail }) => ({ code, field: callersField(field), detail }))
}
