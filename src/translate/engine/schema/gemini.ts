import { isObject, type JsonObject } from '../../../json/json.ts'
import {
  describe,
  isEmptySchema,
  isObjectOrNull,
  mapNested,
  textsOf,
  without,
  type Removed,
  type SchemaNotes,
} from './keywords.ts'
import { moveIntoBranches, type CopyBudget } from './branches.ts'

/**
 * The rules for Gemini, after the common ones. Source: GitHub's Copilot CLI 1.0.102 (docs/copilot-wire.md, "Tool
 * schemas"). Beyond the CLI: values of `enum` are texts of a text, and `required` names properties only; Copilot's Gemini
 * is reported to refuse others.
 */
export function fitForGemini(root: JsonObject, notes: SchemaNotes, budget: CopyBudget): JsonObject {
  const fit = (schema: unknown): unknown => {
    if (!isObject(schema)) return schema
    if (!needsRules(schema)) return mapNested(schema, fit)
    const removed: Removed[] = []
    const typed = Array.isArray(schema['anyOf'])
      ? moveIntoBranches(schema, removed, budget)
      : withOneType(schema, removed)
    const fitted = withNamedRequired(withTextEnum(typed, removed), removed)
    return mapNested(describe(fitted, removed, notes), fit)
  }
  const fitted = fit(root)
  return isObject(fitted) ? fitted : root
}

function needsRules({ type, enum: values, required, anyOf }: JsonObject): boolean {
  return Array.isArray(type) || values !== undefined || required !== undefined || anyOf !== undefined
}

const INNER: ReadonlySet<string> = new Set(['properties', 'required', 'additionalProperties'])
const INNER_AND_TYPE: ReadonlySet<string> = new Set([...INNER, 'type', 'items'])

/** An object or null becomes two alternatives. Of another list of types the first remains that is not null. */
function withOneType(schema: JsonObject, removed: Removed[]): JsonObject {
  const types = textsOf(schema['type'])
  if (types === undefined) return schema
  if (isObjectOrNull(types)) {
    const inner = Object.entries(schema).filter(([keyword]) => INNER.has(keyword))
    if (!isEmptySchema(schema['items'])) removed.push(['items', schema['items']])
    const branches = [{ type: 'object', ...Object.fromEntries(inner) }, { type: 'null' }]
    return { ...without(schema, INNER_AND_TYPE), anyOf: branches }
  }
  const { properties, items } = schema
  const hasProperties = isObject(properties) && Object.keys(properties).length > 0
  // The first, unless properties would be lost with it.
  const type = hasProperties && types.includes('object') ? 'object' : (types.find((name) => name !== 'null') ?? 'null')
  if (types.length > 1) removed.push(['type', types])
  if (type === 'array' || items === undefined || !types.includes('array')) return { ...schema, type }
  if (!isEmptySchema(items)) removed.push(['items', items])
  return { ...without(schema, onlyItems), type }
}

const onlyItems: ReadonlySet<string> = new Set(['items'])
const onlyEnum: ReadonlySet<string> = new Set(['enum'])
const onlyRequired: ReadonlySet<string> = new Set(['required'])

const COMBINING = ['anyOf', 'oneOf', 'allOf', '$ref'] as const

function isCombining(schema: JsonObject): boolean {
  return COMBINING.some((keyword) => schema[keyword] !== undefined)
}

function withTextEnum(schema: JsonObject, removed: Removed[]): JsonObject {
  const { enum: values, type, items } = schema
  if (!Array.isArray(values)) return schema
  if (type === 'array' && isObject(items)) {
    const fits =
      items['enum'] === undefined && !isCombining(items) && values.every((value) => typeof value !== 'object')
    if (fits) return { ...without(schema, onlyEnum), items: { ...items, enum: values } }
  }
  const texts = values.filter((value: unknown) => typeof value === 'string')
  const isOfText = type === 'string' || (type === undefined && !isCombining(schema) && texts.length > 0)
  if (isOfText && texts.length === values.length) return type === 'string' ? schema : { ...schema, type: 'string' }
  removed.push(['enum', values])
  const isNullable = texts.length > 0 && values.every((value: unknown) => typeof value === 'string' || value === null)
  return isOfText && isNullable ? { ...schema, type: 'string', enum: texts } : without(schema, onlyEnum)
}

function withNamedRequired(schema: JsonObject, removed: Removed[]): JsonObject {
  const { properties } = schema
  const required = textsOf(schema['required'])
  if (required === undefined || required.length === 0) return schema
  const named = isObject(properties) ? required.filter((name) => Object.hasOwn(properties, name)) : []
  if (named.length === required.length) return schema
  const names = new Set(named)
  removed.push(['required', required.filter((name) => !names.has(name))])
  return named.length > 0 ? { ...schema, required: named } : without(schema, onlyRequired)
}
