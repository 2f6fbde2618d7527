import type { UpstreamRefusal } from '../../dialect.ts'
import { clampEffort, isEffort } from '../../parts/effort.ts'
import { isObject, type JsonObject } from '../../parts/is-object.ts'
import { effortsLesson } from '../lessons.ts'
import { removeField } from '../remove-field.ts'
import { UNSUPPORTED_VALUE, withoutMember } from './members.ts'
import type { Outcome } from './outcome.ts'

export function isAboutEffort({ message, code, param }: UpstreamRefusal, body: JsonObject): boolean {
  if (code === 'invalid_reasoning_effort' || param === 'reasoning.effort') return true
  if (/reasoning[ ._]effort/i.test(message)) return true
  const effort = effortOf(body)
  return effort !== undefined && UNSUPPORTED_VALUE.exec(message)?.[1] === effort
}

function effortOf({ reasoning }: JsonObject): string | undefined {
  return isObject(reasoning) && typeof reasoning['effort'] === 'string' ? reasoning['effort'] : undefined
}

/** The levels upstream lists: `supported values:[low medium]`, `Supported values are: 'low' and 'medium'.` */
function listedEfforts(message: string): readonly string[] {
  const [, list = ''] = message.split(/supported values/i)
  return (list.match(/[a-z]+/g) ?? []).filter(isEffort)
}

export function withOtherEffort(body: JsonObject, message: string): Outcome | undefined {
  const effort = effortOf(body)
  const { reasoning } = body
  if (effort === undefined || !isObject(reasoning)) return undefined
  const listed = listedEfforts(message)
  if (listed.length === 0) {
    if (/does not support/i.test(message)) return withoutMember(body, 'reasoning.effort')
    return {
      body: removeField(body, 'reasoning.effort'),
      warnings: [{ code: 'refused_upstream', field: 'reasoning.effort' }],
    }
  }
  const nearest = isEffort(effort) ? clampEffort(effort, listed) : undefined
  const { effort: _effort, ...rest } = reasoning
  return {
    body: { ...body, reasoning: nearest === undefined || nearest === effort ? rest : { ...rest, effort: nearest } },
    lesson: effortsLesson(listed),
    warnings: [{ code: 'clamped', field: 'reasoning.effort' }],
  }
}
