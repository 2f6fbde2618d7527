import { refusedFields } from '../lessons.ts'
import { always, type Rule } from './rule.ts'

/** Runs last: what is left out may have got its name from another rule. */
export const lessonRule: Rule = {
  name: 'what upstream refused before left out',
  source: 'parameters, refusals by name: the model has refused the parameter before, and will again',
  applies: always,
  adapt: (request, _target, lessons) => {
    const fields = refusedFields(lessons).filter((field) => request[field] !== undefined)
    if (fields.length === 0) return undefined
    return {
      patch: Object.fromEntries(fields.map((field) => [field, undefined])),
      notes: fields.map((field) => ({
        code: 'refused_upstream',
        field,
        action: 'left out, because upstream refused it before',
      })),
    }
  },
}
