import { isObject, type JsonObject } from '../../../../json/json.ts'
import { fieldOf } from '../../../engine/origin.ts'
import { refuseTooManyTools } from '../../../parts/shared-checks.ts'
import { withTools, counted, type Outcome } from '../../request-changes.ts'
import type { ChatRequest } from '../../wire.ts'
import type { Rule } from './rule.ts'

/** Runs before `functions` become tools, so that the refusal names the caller's own field. */
export const toolLimitRule: Rule = {
  name: 'too many tools refused',
  source: 'parameters, tools',
  adapt: ({ tools, functions }, { traits }) => {
    const toolCount = tools?.length ?? 0
    const field = toolCount > 0 ? 'tools' : 'functions'
    refuseTooManyTools(toolCount + (functions?.length ?? 0), field, traits)
    return undefined
  },
}

/** Runs before the other rules for tools, so that they see what was `functions`. */
export const legacyFunctionsRule: Rule = {
  name: 'functions as tools',
  source: 'OpenAI API reference, chat completions: functions and function_call are deprecated in favour of tools',
  adapt: withTools,
}

export const geminiSchemaRule: Rule = {
  name: 'tool schemas without keywords Gemini refuses',
  source: 'parameters, tools',
  applies: ({ family }) => family.kind === 'gemini',
  adapt: stripToolSchemas,
}

function stripToolSchemas(request: ChatRequest): Outcome | undefined {
  const keywords = new Set<string>()
  const touched: string[] = []
  let loosened: string | undefined
  const tools = request.tools?.map((tool, at) => {
    const definition = tool.function
    if (!definition?.parameters) return tool
    const { schema, removed, loosened: isLooser } = stripSchema(definition.parameters)
    if (removed.length === 0) return tool
    const field = fieldOf(tool, 'tools', at, '.function.parameters')
    touched.push(field)
    for (const keyword of removed) keywords.add(keyword)
    if (isLooser) loosened ??= field
    return { ...tool, function: { ...definition, parameters: schema } }
  })
  const field = loosened ?? touched[0]
  if (field === undefined) return undefined
  const code = loosened === undefined ? 'adapted' : 'schema_simplified'
  const detail = `Gemini does not support ${[...keywords].join(', ')}; ${counted('dropped', touched.length)}`
  return { patch: { tools }, warnings: [{ code, field, detail }] }
}

/** Keywords Gemini refuses (docs/copilot-wire.md, "Parameters by model"), and whether one constrains values. */
const REFUSED: Readonly<Record<string, boolean>> = {
  $schema: false,
  $comment: false,
  enumDescriptions: false,
  additionalProperties: true,
  propertyNames: true,
}

/** Keywords whose value is a schema or a list of schemas. */
const SCHEMA_KEYWORDS = new Set('items prefixItems contains anyOf oneOf allOf not if then else'.split(' '))
/** Keywords whose value maps names, which are not keywords, to schemas. */
const MAP_KEYWORDS = new Set(['properties', 'patternProperties', 'dependentSchemas', '$defs', 'definitions'])

/**
 * A copy of a tool's parameters without the keywords Gemini refuses; `const` becomes an `enum` of one. Values that are no
 * schema (`default`, `enum`, `examples`) and unknown keywords stay. `loosened` if a removed keyword constrained values, so
 * that the model may call with more than the schema allowed.
 */
export function stripSchema(parameters: JsonObject) {
  const removed = new Set<string>()
  let loosened = false

  const strip = (schema: unknown): unknown => {
    if (Array.isArray(schema)) return schema.map(strip)
    return isObject(schema) ? stripObject(schema) : schema
  }
  const stripObject = (schema: JsonObject): JsonObject =>
    Object.fromEntries(
      Object.entries(schema).flatMap(([keyword, value]): [string, unknown][] => {
        const constrains = Object.hasOwn(REFUSED, keyword) ? REFUSED[keyword] : undefined
        if (constrains !== undefined) {
          removed.add(keyword)
          // `additionalProperties: true` allows what its absence allows.
          loosened ||= constrains && value !== true
          return []
        }
        if (keyword === 'const') {
          removed.add(keyword)
          return [['enum', [value]]]
        }
        if (keyword === 'enum' && Object.hasOwn(schema, 'const')) return []
        if (SCHEMA_KEYWORDS.has(keyword)) return [[keyword, strip(value)]]
        if (MAP_KEYWORDS.has(keyword) && isObject(value)) {
          return [[keyword, Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, strip(inner)]))]]
        }
        return [[keyword, value]]
      }),
    )

  return { schema: stripObject(parameters), removed: [...removed], loosened }
}
