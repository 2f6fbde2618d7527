import { threadCpuUsage } from 'node:process'
import { createContext, Script } from 'node:vm'
import type { ErrorObject, ValidateFunction } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { ToolError } from '../workspace/tool-error.ts'
import type { ParametersSchema } from './tool.ts'

/** Maximum length of a tool's schema. Characters of JSON. */
const maxSchemaLength = 256 * 1024

/**
 * Limits the processor time of all patterns of a schema in one call, because some patterns take exponential time. A limit in
 * elapsed time would stop even simple patterns on a busy machine. Ms.
 */
const patternMs = 80

/** Minimum elapsed time of an attempt: on a busy machine, shorter ones would end before they get a processor. Ms. */
const leastMs = 20

/** The remaining time of the running check. Checks are synchronous, so one budget is enough. Ms. */
const budget = { leftMs: patternMs }

/** Schemas of this program, whose patterns are fast. */
const ownSchemas = new WeakSet<ParametersSchema>()

/** Exempts a schema of this program from the time limit for patterns. */
export function trustPatterns(schema: ParametersSchema): ParametersSchema {
  ownSchemas.add(schema)
  return schema
}

const validators = new WeakMap<ParametersSchema, ValidateFunction>()

/** Checks schemas themselves. Created once, because compiling the meta-schema takes longer than compiling a tool's schema. */
let metaSchema: Ajv2020 | undefined

/** `strict: false` ignores unknown keywords. Without `logger: false`, ajv would write to the console. */
const options = { strict: false, validateFormats: false, logger: false } as const

/** Returns whether a value is a JSON Schema (2020-12). Does not resolve its references. */
export function isSchema(value: ParametersSchema): boolean {
  metaSchema ??= new Ajv2020(options)
  return metaSchema.validateSchema(value) === true
}

/**
 * Checks arguments against a JSON Schema. The schema may be untrusted, so this fetches nothing and limits the time of patterns.
 * @throws ToolError `invalid_arguments`; `failed` for a schema that cannot be used
 */
export function checkArguments(schema: ParametersSchema, args: unknown): void {
  const validate = validators.get(schema) ?? compile(schema)
  validators.set(schema, validate)
  budget.leftMs = patternMs
  let isValid: boolean
  try {
    isValid = validate(args)
  } catch (cause) {
    throw new ToolError(
      { kind: 'invalid_arguments', path: '', detail: 'Checking the arguments took too long.' },
      { cause },
    )
  }
  if (!isValid) throw toToolError(validate.errors?.[0])
}

function compile(schema: ParametersSchema): ValidateFunction {
  try {
    const isOwn = ownSchemas.has(schema)
    // The program's own schemas need no check, which saves compiling the meta-schema.
    if (!isOwn && JSON.stringify(schema).length > maxSchemaLength) throw new Error('The schema is too large.')
    if (!isOwn && !isSchema(schema)) throw new Error('It is not a JSON Schema.')
    // Each schema needs its own instance: an instance refuses a second schema with the same `$id` and never frees a schema.
    const ajv = new Ajv2020({
      ...options,
      meta: false,
      validateSchema: false,
      // ajv's optimiser takes seconds for a thousand properties.
      code: {
        optimize: false,
        ...(!isOwn && { regExp: Object.assign(timedPattern, { code: 'timedPattern' }) }),
      },
    })
    // `uniqueItems` takes quadratic time, because it compares each element with every other one.
    ajv.removeKeyword('uniqueItems')
    // Without `loadSchema`, a `$ref` to another document is an error.
    return ajv.compile(schema)
  } catch (cause) {
    throw new ToolError({ kind: 'failed', detail: 'The tool has an invalid JSON Schema.' }, { cause })
  }
}

const sandbox = createContext(Object.create(null))

/** Letters that have the same meaning after a backslash in JavaScript without `u` as in other dialects of patterns. */
const plainEscapes = /^(?:[^\\]|\\(?:[^a-zA-Z]|[bBdDfnrsStvwW]|x[\da-fA-F]{2}|u[\da-fA-F]{4}))*$/
/** What JavaScript without `u` takes for other characters than dialects that have it. */
const otherMeanings = /\[\[:|\{,\d/

/**
 * Returns undefined for a pattern of another dialect. Without the pattern, a wrong value reaches the program of the tool, which
 * checks it; a pattern that is read wrongly would refuse right values.
 */
function readPattern(source: string, flags: string): RegExp | undefined {
  const hasPlainMeaning = plainEscapes.test(source) && !otherMeanings.test(source)
  for (const tried of hasPlainMeaning ? [flags, flags.replace('u', '')] : [flags]) {
    try {
      return new RegExp(source, tried)
    } catch {
      // The next flags may allow it.
    }
  }
  return undefined
}

/** Creates a pattern whose search stops when the time of the check is over. Ajv identifies patterns by `toString`. */
function timedPattern(source: string, flags: string) {
  const pattern = readPattern(source, flags)
  if (pattern === undefined) return { toString: () => source, test: () => true }
  const search = new Script(`(${String(pattern)}).test(text)`)
  return {
    toString: () => String(pattern),
    test(text: string): boolean {
      sandbox['text'] = text
      try {
        for (;;) {
          if (budget.leftMs < 1) throw new Error('the time for patterns is over')
          const found = spend(() =>
            search.runInContext(sandbox, { timeout: Math.ceil(Math.max(budget.leftMs, leastMs)) }),
          )
          if (found !== undefined) return found === true
        }
      } finally {
        sandbox['text'] = ''
      }
    },
  }
}

/** Returns undefined if `search` was stopped. That depends on elapsed time, so processor time may remain for another attempt. */
function spend(search: () => unknown): unknown {
  const before = threadCpuUsage()
  try {
    return search()
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT')) throw error
    return undefined
  } finally {
    const { user, system } = threadCpuUsage(before)
    budget.leftMs -= (user + system) / 1000
  }
}

function toToolError(error: ErrorObject | undefined): ToolError {
  const place = (error?.instancePath ?? '')
    .split('/')
    .slice(1)
    .map((segment) => segment.replaceAll('~1', '/').replaceAll('~0', '~'))
  const { key, detail } = describe(error)
  const path = [...place, ...(key === undefined ? [] : [key])].join('.')
  return new ToolError({ kind: 'invalid_arguments', path, detail })
}

function describe(error: ErrorObject | undefined): { readonly key?: string; readonly detail: string } {
  const named = (name: string): string | undefined => {
    const value: unknown = error?.params[name]
    return typeof value === 'string' ? value : undefined
  }
  if (error?.keyword === 'required')
    return { key: named('missingProperty') ?? '', detail: 'This argument is required.' }
  if (error?.keyword === 'additionalProperties') {
    return { key: named('additionalProperty') ?? '', detail: 'Unknown argument.' }
  }
  return { detail: `The value ${wordKeyword(error)}.` }
}

/** Words an error with articles, unlike ajv's messages. */
function wordKeyword(error: ErrorObject | undefined): string {
  const limit: unknown = error?.params['limit']
  switch (error?.keyword) {
    case 'type': {
      const types = String(error.params['type']).split(',')
      return `must be ${types.map((type) => typeNames[type] ?? type).join(' or ')}`
    }
    case 'enum': {
      const values: unknown = error.params['allowedValues']
      return `must be ${Array.isArray(values) ? values.map((value) => JSON.stringify(value)).join(' or ') : 'an allowed value'}`
    }
    case 'const':
      return `must be ${JSON.stringify(error.params['allowedValue'])}`
    case 'minimum':
      return `must be at least ${String(limit)}`
    case 'maximum':
      return `must be at most ${String(limit)}`
    case 'minLength':
    case 'minItems':
      return limit === 1 ? 'must not be empty' : `must have at least ${String(limit)} ${lengthUnits[error.keyword]}`
    case 'maxLength':
    case 'maxItems':
      return `must have at most ${String(limit)} ${lengthUnits[error.keyword]}`
    default:
      return error?.message ?? 'is invalid'
  }
}

const typeNames: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  integer: 'a whole number',
  boolean: 'true or false',
  array: 'an array',
  object: 'an object',
}

const lengthUnits = {
  minLength: 'characters',
  maxLength: 'characters',
  minItems: 'elements',
  maxItems: 'elements',
} as const
