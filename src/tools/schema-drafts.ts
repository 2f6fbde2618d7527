import { isObject, textOf } from '../json/json.ts'
import type { ParametersSchema } from './tool.ts'

/** Keywords whose value is a schema, a list of schemas, or an object of schemas. Source: JSON Schema, draft-04 to 2020-12. */
const withSchemas: ReadonlySet<string> = new Set(
  (
    'additionalItems additionalProperties contains contentSchema else if items not propertyNames then unevaluatedItems ' +
    'unevaluatedProperties allOf anyOf oneOf prefixItems'
  ).split(' '),
)
const withNamedSchemas: ReadonlySet<string> = new Set(
  '$defs definitions dependencies dependentSchemas patternProperties properties'.split(' '),
)

/** Keywords whose value may be null. */
const withAnyValue: ReadonlySet<string> = new Set(['const', 'default'])

/** Keywords that have a meaning beside `$ref` in drafts before 2019-09. */
const besideReference: ReadonlySet<string> = new Set([
  '$ref',
  '$defs',
  'definitions',
  'title',
  'description',
  'default',
])

interface Place {
  /** The address of the whole schema, which its references may name. */
  readonly address: string
  /** Whether the draft ignores keywords beside `$ref`. */
  readonly isOld: boolean
  readonly depth: number
}

/**
 * Translates a schema of draft-04 to 2019-09 to 2020-12, also one that does not name its draft. Treats null as absent.
 * @param maxDepth deeper parts stay as they are
 */
export function toCurrentDraft(schema: ParametersSchema, maxDepth: number): ParametersSchema {
  const { $schema: draft, $id, id } = schema
  const address = typeof $id === 'string' ? $id : textOf(id)
  const isOld = typeof draft === 'string' && /draft-0[3-7]/.test(draft)
  const place = { address: address.replace(/#$/, ''), isOld, depth: maxDepth }
  // References lead to this schema only, so that its own address has no use.
  const { $id: _address, ...translated } = translateSchema(schema, place)
  return translated
}

function translate(value: unknown, place: Place): unknown {
  if (place.depth < 0) return value
  if (Array.isArray(value)) return value.map((inner) => translate(inner, place))
  return isObject(value) ? translateSchema(value, place) : value
}

function translateSchema(given: ParametersSchema, place: Place): ParametersSchema {
  const inner = { ...place, depth: place.depth - 1 }
  const isReference = typeof given['$ref'] === 'string'
  const entries = Object.entries(given).flatMap(([key, value]): [string, unknown][] => {
    if (value === null && !withAnyValue.has(key)) return []
    if (key === '$schema' || (isReference && place.isOld && !besideReference.has(key))) return []
    if (withSchemas.has(key)) return [[key, translate(value, inner)]]
    if (!withNamedSchemas.has(key) || !isObject(value)) return [[key, value]]
    const named = Object.entries(value).filter(([, each]) => each !== null)
    return [[key, Object.fromEntries(named.map(([name, each]) => [name, translate(each, inner)]))]]
  })
  const schema: Record<string, unknown> = Object.fromEntries(entries)
  nameSchema(schema)
  if (isReference) schema['$ref'] = localReference(String(schema['$ref']), place.address)
  useExclusiveBound(schema, 'exclusiveMinimum', 'minimum')
  useExclusiveBound(schema, 'exclusiveMaximum', 'maximum')
  usePrefixItems(schema)
  // A keyword of OpenAPI, which ajv refuses without a type.
  if (schema['type'] === undefined) delete schema['nullable']
  return schema
}

/** Draft-04 has `id`. Until draft-07, an `id` or `$id` of a fragment is what 2020-12 calls an anchor. */
function nameSchema(schema: Record<string, unknown>): void {
  const name = schema['$id'] ?? schema['id']
  if (typeof schema['id'] === 'string') delete schema['id']
  if (typeof name !== 'string') return
  const [, anchor] = /#([A-Za-z_][\w.-]*)$/.exec(name) ?? []
  if (anchor === undefined) return
  schema['$anchor'] = anchor
  delete schema['$id']
}

function localReference(reference: string, address: string): string {
  if (address === '' || !reference.startsWith(address)) return reference
  const fragment = reference.slice(address.length)
  return fragment === '' ? '#' : fragment.startsWith('#') ? fragment : reference
}

/** Draft-04: `exclusiveMinimum: true` beside `minimum`. */
function useExclusiveBound(schema: Record<string, unknown>, exclusive: string, bound: string): void {
  if (typeof schema[exclusive] !== 'boolean') return
  const isExclusive = schema[exclusive] && schema[bound] !== undefined
  delete schema[exclusive]
  if (!isExclusive) return
  schema[exclusive] = schema[bound]
  delete schema[bound]
}

/** Until 2019-09, `items` may be a list, and `additionalItems` is the schema of what follows it. */
function usePrefixItems(schema: Record<string, unknown>): void {
  const { items, additionalItems } = schema
  delete schema['additionalItems']
  if (!Array.isArray(items)) return
  delete schema['items']
  if (items.length > 0) schema['prefixItems'] = items
  if (additionalItems !== undefined) schema['items'] = additionalItems
}
