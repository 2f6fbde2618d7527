import { isObject } from '../../../../src/json/json.ts'
import { limitsOf } from '../models.ts'
import { openaiFailure } from '../failures.ts'
import type { InferenceSubject } from '../../inference.ts'
import type { Outcome } from '../../http/outcome.ts'
import { clientTools } from './request.ts'
import type { ResponsesRequest, ResponsesTool } from './request.ts'
import { invalidValue, refuseName } from './refusals.ts'

type Subject = InferenceSubject<ResponsesRequest>

const OLD_TOOLS = ['function', 'web_search', 'web_search_preview']
const CHOICES = ['none', 'auto', 'required']
// GitHub's CLI sends `tool_search` to GPT from 5.4 on (official-clients, "Bodies").
const TOOLS = [...OLD_TOOLS, 'custom', 'namespace', 'tool_search']

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
    const refusal = refuseTool(tool, `tools[${at}]`, accepted)
    if (refusal !== undefined) return refusal
  }
  return undefined
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
  if (tool.type.startsWith('web_search') || tool.type === 'tool_search') return undefined
  return refuseName(tool.name, `${path}.name`) ?? (tool.type === 'function' ? refuseOpen(tool, path) : undefined)
}

/** The rows of reported refusals judge the rest of a schema. */
function refuseOpen({ name, parameters, strict }: ResponsesTool, path: string): Outcome | undefined {
  return strict === true && isObject(parameters) && parameters['additionalProperties'] !== false
    ? badSchema(name, path, "In context=(), 'additionalProperties' is required to be supplied and to be false.")
    : undefined
}

/** OpenAI's own refusal of a schema. */
export function badSchema(name: string | undefined, path: string, reason: string): Outcome {
  return openaiFailure({
    message: `Invalid schema for function '${name}': ${reason}`,
    code: 'invalid_function_parameters',
    param: `${path}.parameters`,
  })
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
