import { isObject, type JsonObject } from '../../../json/json.ts'
import { describe, isEmptySchema, mapNested, sortedJson, type Removed, type SchemaNotes } from './keywords.ts'
import { toDefsReference } from './references.ts'

const ALWAYS: ReadonlySet<string> = new Set('type title description enum const anyOf allOf $ref $defs'.split(' '))
const OF_OBJECT: ReadonlySet<string> = new Set(['properties', 'required', 'additionalProperties'])

/**
 * The rules for `/v1/messages`, after the common ones. Source: GitHub's Copilot CLI 1.0.102 (docs/copilot-wire.md, "Tool
 * schemas"), but definitions stay: the CLI describes them and leaves their references dangling.
 */
export function fitForMessages(root: JsonObject, notes: SchemaNotes): JsonObject {
  const renamed = newNames(root)
  const fit = (schema: unknown): unknown => {
    if (!isObject(schema)) return schema
    return mapNested(fitKeywords(withDefs(schema, schema === root ? renamed : noNames, renamed), notes), fit)
  }
  const fitted = fit(root)
  return isObject(fitted) ? fitted : root
}

function fitKeywords(schema: JsonObject, notes: SchemaNotes): JsonObject {
  const { type } = schema
  const isKept = (keyword: string): boolean =>
    ALWAYS.has(keyword) || (type === 'object' && OF_OBJECT.has(keyword)) || (type === 'array' && keyword === 'items')
  const keywords = Object.keys(schema)
  if (keywords.every(isKept)) return schema
  const kept: { [keyword: string]: unknown } = {}
  const removed: Removed[] = []
  for (const keyword of keywords) {
    const value = schema[keyword]
    if (keyword === '__proto__') continue
    if (isKept(keyword)) kept[keyword] = value
    else if (keyword === 'oneOf' && schema['anyOf'] === undefined) kept['anyOf'] = value
    // Items of any kind say nothing.
    else if (keyword !== 'items' || !isEmptySchema(value)) removed.push([keyword, value])
  }
  return describe(
    kept,
    removed.toSorted(([a], [b]) => (a < b ? -1 : 1)),
    notes,
  )
}

const noNames: ReadonlyMap<string, string> = new Map()

/** @param names new names of the schema's own definitions */
function withDefs(
  schema: JsonObject,
  names: ReadonlyMap<string, string>,
  renamed: ReadonlyMap<string, string>,
): JsonObject {
  const { definitions, $defs, $ref } = schema
  const reference = typeof $ref === 'string' && $ref.includes('definitions') ? toDefsReference($ref, renamed) : $ref
  if (!isObject(definitions) && reference === $ref) return schema
  const members = Object.entries(schema).flatMap(([keyword, value]): [string, unknown][] => {
    if (keyword === '$ref') return [[keyword, reference]]
    return isObject(definitions) && (keyword === 'definitions' || keyword === '$defs') ? [] : [[keyword, value]]
  })
  if (isObject(definitions)) {
    const moved = Object.entries(definitions).map(([name, value]) => [names.get(name) ?? name, value])
    members.push(['$defs', { ...Object.fromEntries(moved), ...(isObject($defs) && $defs) }])
  }
  return Object.fromEntries(members)
}

/** New names for definitions of the root whose name `$defs` has for another schema. */
function newNames({ definitions, $defs }: JsonObject): ReadonlyMap<string, string> {
  if (!isObject(definitions) || !isObject($defs)) return noNames
  const names = new Map<string, string>()
  for (const name of Object.keys(definitions)) {
    if (!Object.hasOwn($defs, name) || sortedJson($defs[name]) === sortedJson(definitions[name])) continue
    let free = `${name}_definition`
    while (Object.hasOwn($defs, free) || Object.hasOwn(definitions, free)) free += '_'
    names.set(name, free)
  }
  return names
}
