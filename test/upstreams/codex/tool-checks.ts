import type { Outcome } from '../http/outcome.ts'
import type { ResponsesTool } from '../copilot/responses/request.ts'
import { objectOf } from '../../../src/json/json.ts'
import { badSchema, checkToolChoice as checkChoice, refuseTool } from '../copilot/responses/tool-checks.ts'
import { inJson, invalid, missing } from './refusals.ts'
import type { CodexCall, CodexSubject } from './request.ts'

const CHATGPT_TOOLS = ['function', 'custom', 'namespace', 'web_search', 'tool_search']

/** Tools that OpenAI runs. The key API accepts them, although the simulation runs none. */
const PUBLIC_TOOLS = [
  ...CHATGPT_TOOLS,
  'web_search_preview',
  'code_interpreter',
  'file_search',
  'image_generation',
  'mcp',
]
const HOSTED = new Set(['code_interpreter', 'file_search', 'image_generation', 'mcp'])

const ACCEPTED: Readonly<Record<CodexCall['api'], readonly string[]>> = {
  chatgpt: CHATGPT_TOOLS,
  'api-key': PUBLIC_TOOLS,
}

export function checkTools({ call: { api }, request: { tools = [] } }: CodexSubject): Outcome | undefined {
  for (const [at, tool] of tools.entries()) {
    const refusal = refuse(tool, `tools[${at}]`, api)
    if (refusal !== undefined) return refusal
  }
  return undefined
}

function refuse(tool: ResponsesTool, path: string, api: CodexCall['api']): Outcome | undefined {
  const accepted = ACCEPTED[api]
  if (accepted.includes(tool.type) && HOSTED.has(tool.type)) return undefined
  if (tool.type === 'tool_search') {
    return tool['execution'] === 'client' ? undefined : invalid(`'${path}.execution' must be 'client'.`, path)
  }
  // OpenAI's rules for the names and schemas of tools hold for every upstream of its API.
  return (
    inJson(refuseTool(tool, path, accepted) ?? refuseSchema(tool, path)) ??
    (api === 'chatgpt' ? refuseVague(tool, path) : undefined)
  )
}

/** Keywords that must not be at the top of a schema. */
const NOT_AT_TOP = ['oneOf', 'anyOf', 'allOf', 'enum', 'not']

function refuseSchema({ type, name, parameters, tools = [] }: ResponsesTool, path: string): Outcome | undefined {
  for (const [at, inner] of tools.entries()) {
    const refusal = refuseSchema(inner, `${path}.tools[${at}]`)
    if (refusal !== undefined) return refusal
  }
  if (type !== 'function' || parameters === undefined || parameters === null) return undefined
  const schema = objectOf(parameters)
  if (schema['type'] !== 'object') {
    const given = schema['type'] === undefined ? '"None"' : JSON.stringify(schema['type'])
    return badSchema(name, path, `schema must be a JSON Schema of 'type: "object"', got 'type: ${given}'.`)
  }
  if (NOT_AT_TOP.some((keyword) => keyword in schema)) {
    const reason = "schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level."
    return badSchema(name, path, reason)
  }
  return 'properties' in schema ? undefined : badSchema(name, path, 'In context=(), object schema missing properties.')
}

/** Refuses a function that does not state whether its schema is strict. */
function refuseVague({ type, strict, tools = [] }: ResponsesTool, path: string): Outcome | undefined {
  if (type === 'function' && strict === undefined) {
    return missing(`${path}.strict`)
  }
  for (const [at, inner] of tools.entries()) {
    const refusal = refuseVague(inner, `${path}.tools[${at}]`)
    if (refusal !== undefined) return refusal
  }
  return undefined
}

export function checkToolChoice(subject: CodexSubject): Outcome | undefined {
  return inJson(checkChoice(subject))
}
