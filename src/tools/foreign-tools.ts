import { isSchema } from './check-arguments.ts'
import type { ParametersSchema } from './tool.ts'

/** Compiling a schema takes up to 0.3 ms for each of its objects. */
const schemaLimits = { characters: 64 * 1024, objects: 500, depth: 64 } as const

/** What a model sees of a name: tools whose names differ only in this cannot be told apart. */
export function modelName(name: string): string {
  return name.replace(/^mcp\./, '').replaceAll('.', '_')
}

/** Of all schemas of a list, which is read at once: 60 ms. */
const maxListObjects = 5000

/** What the schemas of a list have cost so far. */
export interface SchemaCost {
  objects: number
}

/**
 * A schema of an object that can be checked in a short time, or why there is none.
 * @param total of the list of the schema, if the list comes in one message
 */
export function readSchema(given: ParametersSchema, total: SchemaCost = { objects: 0 }): ParametersSchema | string {
  if (given['type'] !== undefined && given['type'] !== 'object') return 'the type must be "object"'
  // Many schemas name an older version of JSON Schema and work all the same.
  const { $schema: _version, ...others } = given
  const schema = { ...others, type: 'object' }
  const cost = { objects: 0 }
  const problem = findProblem(schema, cost, 0)
  if (problem !== undefined) return problem
  total.objects += cost.objects
  if (total.objects > maxListObjects) return `all schemas together have more than ${maxListObjects} objects and arrays`
  if (JSON.stringify(schema).length > schemaLimits.characters) {
    return `it has more than ${schemaLimits.characters} characters`
  }
  return isSchema(schema) ? schema : 'it is not a valid JSON Schema'
}

function findProblem(value: unknown, cost: { objects: number }, depth: number): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  cost.objects += 1
  if (depth > schemaLimits.depth) return `it has more than ${schemaLimits.depth} levels`
  if (cost.objects > schemaLimits.objects) return `it has more than ${schemaLimits.objects} objects and arrays`
  for (const [key, inner] of Object.entries(value)) {
    const isReference = key === '$ref' || key === '$dynamicRef'
    if (isReference && typeof inner === 'string' && !inner.startsWith('#')) {
      return 'a reference may lead to a part of the same schema only ("#/…")'
    }
    const problem = findProblem(inner, cost, depth + 1)
    if (problem !== undefined) return problem
  }
  return undefined
}
