import type { Turn } from '../turn.ts'
import type { Warning } from '../warning.ts'
import type { FieldTable } from './fields.ts'

/** The caller's field that each member of a draft comes from, by the path of the member. Undefined: the encoder's own. */
export type CallerFields = ReadonlyMap<string, string | undefined>

/** @param table of the dialect of the draft */
export function callerFields({ fieldNames }: Turn, { fields, read, composed }: FieldTable): Map<string, string> {
  return new Map([...fields, ...read, ...composed].map(({ member, setting }) => [member, fieldNames[setting]]))
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
    .filter(({ code, field }) => code !== 'adapted' && !(fields.has(field) && fields.get(field) === undefined))
    .map(({ code, field, detail }) => ({ code, field: callersField(field), detail }))
}

/** The member of the caller's body that holds the conversation: `messages`, `input`. */
export function conversationOf({ items }: Turn): string {
  return items.find(({ path }) => path !== '')?.path.split('.', 1)[0] ?? ''
}
