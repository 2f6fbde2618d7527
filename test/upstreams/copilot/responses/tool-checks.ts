import { limitsOf } from '../models.ts'
import { openaiFailure } from '../../../../src/demo/failures.ts'
import type { InferenceSubject } from '../../../../src/demo/inference.ts'
import type { Outcome } from '../../../../src/demo/outcome.ts'
import { clientTools } from '../../../../src/demo/responses/request.ts'
import type { ResponsesRequest, ResponsesTool } from '../../../../src/demo/responses/request.ts'
import { emptyString, invalidValue, missing, refuseName } from './refusals.ts'

type Subject = InferenceSubject<ResponsesRequest>

const OLD_TOOLS = ['function', 'web_search', 'web_search_preview']
const CHOICES = ['none', 'auto', 'required']
const TOOLS = [...OLD_TOOLS, 'custom', 'namespace']

export function checkTools({ request: { tools = [] }, model }: Subject): Outcome | undefined {
  if (tools.length > limitsOf(model).mostTools) {
    return openaiFailure({
      message: `Invalid 'tools': array too long. Expected an array with maximum length ${limitsOf(model).mostTools}, but got an array with length ${tools.length} instead.`,
      code: 'array_above_max_length',
      param: 'tools',
    })
  }
  const accepted = limitsOf(model).isOlder ? OLD_TOOLS : TOOLS
  for (const [at, tool] of tools.entries()) {
    const refusal = refuseTool(tool, `tools[${at}]`, accepted) ?? refuseUndescribed(tool, `tools[${at}]`)
    if (refusal !== undefined) return refusal
  }
  return undefined
}

/** Refuses a namespace without a description, which other upstreams accept. */
export function refuseUndescribed({ type, description }: ResponsesTool, path: string): Outcome | undefined {
  const param = `${path}.description`
  if (type !== 'namespace' || (typeof description === 'string' && description !== '')) return undefined
  return description === '' ? emptyString(param) : missing(param)
}

export function refuseTool(tool: ResponsesTool, path: string, accepted: readonly string[]): Outcome | undefined {
  if (tool.type === 'image_generation') {
    return openaiFailure({
      message: 'The requested tool image_generation is not supported.',
      code: 'unsupported_value',
      param: 'tools',
    })
  }
  if (!accepted.includes(tool.type)) return invalidValue(tool.type, `${path}.type`, accepted)
  if (tool.type === 'namespace') {
    for (const [at, inner] of (tool.tools ?? []).entries()) {
      const refusal = refuseTool(inner, `${path}.tools[${at}]`, ['function', 'custom'])
      if (refusal !== undefined) return refusal
    }
  }
  if (tool.type.startsWith('web_search')) return undefined
  return refuseName(tool.name, `${path}.name`) ?? (tool.type === 'function' ? refuseSchema(tool, path) : undefined)
}

/** Keywords that must not be at the top of a schema. */
const NOT_AT_TOP = ['oneOf', 'anyOf', 'allOf', 'enum', 'not']

function refuseSchema({ name, parameters, strict }: ResponsesTool, path: string): Outcome | undefined {
  if (parameters === undefined || parameters === null) return undefined
  const schema = isObject(parameters) ? parameters : {}
  const refuse = (reason: string): Outcome =>
    openaiFailure({
      message: `Invalid schema for function '${name}': ${reason}`,
      code: 'invalid_function_parameters',
      param: `${path}.parameters`,
    })
  if (schema['type'] !== 'object') {
    const type = schema['type'] === undefined ? '"None"' : JSON.stringify(schema['type'])
    return refuse(`schema must be a JSON Schema of 'type: "object"', got 'type: ${type}'.`)
  }
  if (NOT_AT_TOP.some((keyword) => keyword in schema)) {
    return refuse("schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level.")
  }
  if (!('properties' in schema)) return refuse('In context=(), object schema missing properties.')
  return strict === true && schema['additionalProperties'] !== false
    ? refuse("In context=(), 'additionalProperties' is required to be supplied and to be false.")
    : undefined
}

export function checkToolChoice({ request }: Pick<Subject, 'request'>): Outcome | undefined {
  const { tool_choice: choice = 'auto', tools = [] } = request
  if (tools.length === 0) {
    return choice === 'required' || typeof choice === 'object'
      ? openaiFailure({
          message: `Tool choice '${typeof choice === 'object' ? choice.type : choice}' must be specified with 'tools' parameter.`,
          code: 'invalid_value',
          param: 'tool_choice',
        })
      : undefined
  }
  if (typeof choice === 'string') {
    return CHOICES.includes(choice) ? undefined : invalidValue(choice, 'tool_choice', CHOICES)
  }
  if (choice.name === undefined) return undefined
  return clientTools(request).some(({ name }) => name === choice.name)
    ? undefined
    : openaiFailure({
        message: `Tool choice '${choice.name}' not found in 'tools' parameter.`,
        code: 'invalid_value',
        param: 'tool_choice',
      })
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
