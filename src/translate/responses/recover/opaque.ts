import { isObject, type JsonObject } from '../../parts/is-object.ts'
import { objectsOf } from '../../parts/wire-json.ts'
import type { Warning } from '../../warning.ts'
import { itemTypeOf } from '../item-types.ts'
import { NO_ENCRYPTED_CONTENT, NO_ITEM_IDS } from '../lessons.ts'
import type { Outcome } from './outcome.ts'

export function withoutItemIds(body: JsonObject): Outcome | undefined {
  const items = objectsOf(body['input'])
  const kept = items
    .filter((item) => itemTypeOf(item) !== 'item_reference')
    .map((item) => {
      if (!Object.hasOwn(item, 'id')) return item
      const { id: _id, ...rest } = item
      return rest
    })
  if (kept.length === items.length && kept.every((item, at) => item === items[at])) return undefined
  return { body: { ...body, input: kept }, lesson: NO_ITEM_IDS }
}

const compactions: ReadonlySet<string | undefined> = new Set(['compaction', 'compaction_summary'])

export function withoutOpaque(body: JsonObject): Outcome | undefined {
  const items = objectsOf(body['input'])
  const warnings: Warning[] = []
  const lose = (code: Warning['code'], detail: string): void => {
    if (!warnings.some((warning) => warning.code === code)) warnings.push({ code, field: 'encrypted_content', detail })
  }
  const kept = items.flatMap((item) => {
    const type = itemTypeOf(item)
    if (type === 'reasoning') {
      lose('thinking_dropped', 'upstream could not read the reasoning of earlier turns')
      return []
    }
    if (compactions.has(type)) {
      lose('compaction_dropped', 'upstream could not read the compacted history')
      return []
    }
    const output = item['output']
    if (!Array.isArray(output) || !output.some(isEncryptedPart)) return [item]
    lose('refused_upstream', 'upstream could not read the output of a tool')
    return [{ ...item, output: output.filter((part) => !isEncryptedPart(part)) }]
  })
  return warnings.length === 0 ? undefined : { body: { ...body, input: kept }, warnings }
}

function isEncryptedPart(part: unknown): boolean {
  return isObject(part) && Object.hasOwn(part, 'encrypted_content')
}

export function withoutInclude(body: JsonObject): Outcome | undefined {
  const include: unknown = body['include']
  if (!Array.isArray(include) || !include.includes('reasoning.encrypted_content')) return undefined
  const kept = include.filter((value) => value !== 'reasoning.encrypted_content')
  const { include: _include, ...rest } = body
  return { body: kept.length === 0 ? rest : { ...body, include: kept }, lesson: NO_ENCRYPTED_CONTENT }
}
