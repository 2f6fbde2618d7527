import type { JsonObject } from '../../../json/json.ts'
import type { Warning } from '../../warning.ts'
import { fitSchema, type SchemaTarget } from '../schema/fit-schema.ts'
import { renameKeys } from './property-names.ts'
import type { ReplyEffects } from '../reply-effects.ts'

/** Fits the parameters of the tools of one request. */
export interface ToolFitter {
  /**
   * Returns the same object if nothing changes.
   * @param field the caller's name for the parameters
   */
  readonly fit: (parameters: unknown, field: string) => JsonObject
  /** The arguments of an earlier call, with the new names of the properties of all tools. Call after `fit`. */
  readonly fitArguments: (text: string) => string
  /** Undefined if no property has a new name. */
  readonly effects: () => ReplyEffects | undefined
  /** One for all schemas that changed, and one for all that lost a keyword. Each names the first field. */
  readonly warnings: () => readonly Warning[]
}

export function createToolFitter(target: SchemaTarget): ToolFitter {
  const upstreamNames = new Map<string, string>()
  const callersNames = new Map<string, string>()
  const changed: string[] = []
  const losing: string[] = []
  const lostKeywords = new Set<string>()
  return {
    fit(parameters, field) {
      const { schema, lost, properties } = fitSchema(parameters, target)
      for (const [name, original] of properties) {
        callersNames.set(name, original)
        upstreamNames.set(original, name)
      }
      if (schema !== parameters && lost.length === 0) changed.push(field)
      if (lost.length > 0) losing.push(field)
      for (const keyword of lost) lostKeywords.add(keyword)
      return schema
    },
    fitArguments: (text) => (upstreamNames.size === 0 ? text : renameKeys(text, upstreamNames)),
    effects: () => (callersNames.size === 0 ? undefined : { properties: callersNames }),
    warnings: () => [
      ...toWarning('adapted', changed, 'fitted to the model; what it does not take is in the descriptions'),
      ...toWarning('schema_simplified', losing, `the model does not take ${[...lostKeywords].join(', ')}`),
    ],
  }
}

function toWarning(code: Warning['code'], [first, ...others]: readonly string[], detail: string): readonly Warning[] {
  if (first === undefined) return []
  return [{ code, field: first, detail: others.length === 0 ? detail : `${detail} (${others.length + 1} tools)` }]
}
