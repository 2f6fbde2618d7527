import { isObject, type JsonObject } from '../../../json/json.ts'
import { describe, holderOf, mapNested, without, type SchemaNotes } from './keywords.ts'

/** The value that a reference such as `#/$defs/Node` names. Undefined for a reference to nothing or to another document. */
export function resolveReference(root: JsonObject, reference: string): unknown {
  const segments = segmentsOf(reference)
  if (segments === undefined) return undefined
  let value: unknown = root
  for (const segment of segments) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, segment)) return undefined
    value = Reflect.get(value, segment)
  }
  return value
}

/** RFC 6901, section 6: a JSON pointer as URI fragment. */
function segmentsOf(reference: string): readonly string[] | undefined {
  if (reference === '#') return []
  if (!reference.startsWith('#/')) return undefined
  const segments = reference.slice(2).split('/')
  return segments.map((segment) => decoded(segment).replaceAll('~1', '/').replaceAll('~0', '~'))
}

function decoded(segment: string): string {
  if (!segment.includes('%')) return segment
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}

/** Moves references to nothing into descriptions. An anchor inside the schema is something. */
export function withoutDanglingReferences(root: JsonObject, notes: SchemaNotes): JsonObject {
  const anchors = new Set<unknown>()
  const look = (schema: unknown): unknown => {
    if (!isObject(schema)) return schema
    const { $anchor, $dynamicAnchor } = schema
    if ($anchor !== undefined) anchors.add($anchor)
    if ($dynamicAnchor !== undefined) anchors.add($dynamicAnchor)
    return mapNested(schema, look)
  }
  look(root)
  const fit = (schema: unknown): unknown => {
    if (!isObject(schema)) return schema
    const { $ref } = schema
    const isDangling =
      typeof $ref === 'string' && resolveReference(root, $ref) === undefined && !anchors.has($ref.slice(1))
    return mapNested(isDangling ? describe(without(schema, onlyRef), [['$ref', $ref]], notes) : schema, fit)
  }
  const fitted = fit(root)
  return isObject(fitted) ? fitted : root
}

const onlyRef: ReadonlySet<string> = new Set(['$ref'])

/**
 * Rewrites a reference for a schema whose `definitions` are now `$defs`. A property or definition that is called
 * `definitions` keeps its name.
 * @param renamed names of the root's definitions that changed, because `$defs` has the same name for another schema
 */
export function toDefsReference(reference: string, renamed: ReadonlyMap<string, string>): string {
  if (!reference.startsWith('#/')) return reference
  let place: 'schema' | 'list' | 'map' | undefined = 'schema'
  const segments = reference.slice(2).split('/')
  const rewritten = segments.map((segment, at) => {
    if (place === 'list' || place === 'map') {
      const isRootDefinition = at === 1 && segments[0] === 'definitions'
      place = 'schema'
      return (isRootDefinition && renamed.get(segment)) || segment
    }
    const holder = place === undefined ? undefined : holderOf(segment)
    const isDefinitions = place === 'schema' && segment === 'definitions'
    place = holder
    return isDefinitions ? '$defs' : segment
  })
  return `#/${rewritten.join('/')}`
}
