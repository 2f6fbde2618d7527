import type { UpstreamRefusal } from '../../dialect.ts'
import { isObject, type JsonObject } from '../../parts/is-object.ts'
import { itemTypeOf } from '../item-types.ts'
import type { Outcome } from './outcome.ts'

/** What upstream or a client noted about a turn: nothing that was said. */
const optionalItems: ReadonlySet<string> = new Set([
  'reasoning',
  'web_search_call',
  'image_generation_call',
  'file_search_call',
  'code_interpreter_call',
  'configuration_update',
])

/** `input[33].action.type`, in `param` or in the message. */
export function inputPath(message: string): string | undefined {
  return /input\[\d{1,7}\][\w.[\]]{0,200}/.exec(message)?.[0]
}

export function withoutItemKind(body: JsonObject, { message, param }: UpstreamRefusal): Outcome | undefined {
  const path = param?.startsWith('input[') === true ? param : inputPath(message)
  const at = /^input\[(\d{1,7})\]/.exec(path ?? '')?.[1]
  const { input } = body
  if (at === undefined || !Array.isArray(input)) return undefined
  const named: unknown = input[Number(at)]
  const type = isObject(named) ? itemTypeOf(named) : undefined
  if (type === undefined || !optionalItems.has(type)) return undefined
  const kept = input.filter((item: unknown) => !isObject(item) || itemTypeOf(item) !== type)
  return { body: { ...body, input: kept }, warnings: [{ code: 'refused_upstream', field: `input[].${type}` }] }
}
