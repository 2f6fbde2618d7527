import { existsSync, readFileSync } from 'node:fs'
import { Ajv } from 'ajv'
import type { ErrorObject } from 'ajv'

/**
 * The public schemas, which are not part of the repository: they are read where they lie, in a folder beside it.
 * OpenAI's own document, and that of Open Responses.
 */
const folder = new URL('../../../shared/reference/specs/', import.meta.url)
const files = { openai: 'openai.subset.json', openresponses: 'openresponses.json' } as const
type SpecId = keyof typeof files

/** The one event whose schema is not called like the others in both documents. */
const errorEvents = { openai: 'ResponseErrorEvent', openresponses: 'ErrorStreamingEvent' } as const

export const hasSpecs = Object.values(files).every((file) => existsSync(new URL(file, folder)))
/** For the title of a test that needs them. */
export const skipNote = hasSpecs ? '' : ' (skipped: the public schemas are not beside this repository)'

/** A place in a value and what is wrong with it there, numbers of list entries left out: `/choices/#/delta`. */
export interface Violation {
  readonly path: string
  readonly message: string
}

export interface Spec {
  /** Every way in which the value is not what the named schema describes; [] where it is. */
  readonly violations: (schema: string, value: unknown) => readonly Violation[]
  /** The schema of a streaming event; undefined where the document has no such event. */
  readonly eventSchema: (type: string) => string | undefined
}

type Json = Readonly<Record<string, unknown>>

const prefix = '#/components/schemas/'

export function openSpec(id: SpecId): Spec {
  const document: unknown = JSON.parse(readFileSync(new URL(files[id], folder), 'utf8'))
  const schemas = objectAt(objectAt(asObject(document), 'components'), 'schemas')
  const ajv = new Ajv({ strict: false, validateFormats: false, allErrors: true, inlineRefs: false })
  ajv.addSchema({ $id: id, components: { schemas: plain(schemas, schemas) } })
  return {
    violations(schema, value) {
      const validate = ajv.getSchema(`${id}${prefix}${schema}`)
      if (validate === undefined) throw new Error(`there is no schema ${schema}`)
      if (validate(value) === true) return []
      return placed(validate.errors ?? [])
    },
    eventSchema: (type) =>
      Object.keys(schemas).find(
        (name) =>
          name.startsWith('Response') &&
          name.endsWith('Event') &&
          typesOf(objectAt(schemas, name), schemas).includes(type),
      ) ?? (type === 'error' ? errorEvents[id] : undefined),
  }
}

/**
 * A schema as JSON Schema has it, OpenAPI 3.0's `nullable` included. Choices become conditions where they can, so that
 * the report is about the one that was meant and not about all others: something or null, objects of different `type`.
 */
function plain(node: unknown, schemas: Json): unknown {
  if (Array.isArray(node)) return node.map((each) => plain(each, schemas))
  if (!isObject(node)) return node
  const { nullable, discriminator: _, oneOf, anyOf, ...rest } = node
  const choices = oneOf ?? anyOf
  const own = Object.fromEntries(Object.entries(rest).map(([key, value]) => [key, plain(value, schemas)]))
  if (!Array.isArray(choices)) return nullable === true ? orNull(own) : own
  const some = choices.filter((choice) => !isNull(choice))
  const schema = { allOf: [own, oneOrMore(some, oneOf ? 'oneOf' : 'anyOf', schemas)] }
  return nullable === true || some.length < choices.length ? orNull(schema) : schema
}

function oneOrMore(choices: readonly unknown[], keyword: 'oneOf' | 'anyOf', schemas: Json): Json {
  const [first, ...others] = choices
  if (others.length === 0) return first === undefined ? { type: 'null' } : asObject(plain(first, schemas))
  return byType(choices, schemas) ?? { [keyword]: plain(choices, schemas) }
}

function isNull(schema: unknown): boolean {
  return isObject(schema) && schema['type'] === 'null'
}

function orNull(schema: Json): Json {
  return { if: { type: 'null' }, else: schema }
}

function byType(choices: readonly unknown[], schemas: Json): Json | undefined {
  const types = choices.map((choice) => typesOf(resolve(choice, schemas), schemas))
  const all = types.flat()
  if (types.some((each) => each.length === 0) || new Set(all).size < all.length) return undefined
  return {
    type: 'object',
    required: ['type'],
    properties: { type: { enum: all } },
    allOf: choices.map((choice, at) => ({
      if: { properties: { type: { enum: types[at] } } },
      // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
      then: plain(choice, schemas),
    })),
  }
}

/** The words an object's `type` may be; [] where the schema does not say. */
function typesOf(schema: Json, schemas: Json): readonly unknown[] {
  const { properties, allOf } = schema
  const type = isObject(properties) ? properties['type'] : undefined
  if (isObject(type) && Array.isArray(type['enum'])) return type['enum']
  return Array.isArray(allOf) ? allOf.flatMap((part) => typesOf(resolve(part, schemas), schemas)) : []
}

function resolve(schema: unknown, schemas: Json): Json {
  const found = asObject(schema)
  const { $ref } = found
  return typeof $ref === 'string' ? objectAt(schemas, $ref.slice(prefix.length)) : found
}

/** What ajv reports, each thing once. */
export function placed(errors: readonly ErrorObject[]): readonly Violation[] {
  const found = errors
    // Says only that something below it is wrong.
    .filter(({ keyword }) => keyword !== 'if')
    .map(({ instancePath, message = '' }) => ({ path: instancePath.replaceAll(/\/\d+(?=\/|$)/g, '/#'), message }))
  return [...new Map(found.map((each) => [`${each.path} ${each.message}`, each])).values()]
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function asObject(value: unknown): Json {
  if (!isObject(value)) throw new TypeError('the document is not what it was expected to be')
  return value
}

function objectAt(parent: Json, key: string): Json {
  return asObject(parent[key])
}
