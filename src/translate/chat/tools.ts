import { checkLocation, checkLocationType } from '../engine/request/shared-checks.ts'
import { refuseType, refuseValue } from '../engine/request/invalid.ts'
import { isFilled, isObject, type JsonObject } from '../../json/json.ts'
import type { FunctionTool, Turn, TurnTool, TurnToolChoice, WebSearchTool } from '../turn.ts'
import type { ChatRequest } from './wire.ts'
import { cacheOf } from './parts.ts'

type ChatTool = NonNullable<ChatRequest['tools']>[number]

/**
 * @param request without the deprecated `functions`
 * @param toolCount number of tools from `tools`; the tools after them come from `functions`
 * @throws Fault `invalid_request`
 */
export function decodeTools(request: ChatRequest, toolCount: number): TurnTool[] {
  const tools = (request.tools ?? []).map((tool, at) =>
    decodeTool(tool, at < toolCount ? `tools.${at}` : `functions.${at - toolCount}`),
  )
  const search = decodeWebSearch(request['web_search_options'])
  return search === undefined ? tools : [...tools, search]
}

export function decodeTool(tool: ChatTool, path: string): TurnTool {
  const { type, function: called, custom } = tool
  if (type === 'function' && called) {
    const { name, description, parameters, strict } = called
    return {
      type,
      path,
      name,
      ...(isFilled(description) && { description }),
      ...(parameters && { parameters }),
      ...(typeof strict === 'boolean' && { strict }),
      // zod has kept keys that the schema does not name.
      ...cacheOf({ ...tool }),
    }
  }
  if (type === 'custom' && custom) {
    const { name } = custom
    const { description, format }: JsonObject = { ...custom }
    return {
      type,
      path,
      name,
      ...(isFilled(description) && { description }),
      ...(isObject(format) && { format: flatFormat(format) }),
    }
  }
  return { type: 'hosted', path, wireType: type }
}

export function encodeTool({ name, description, parameters, strict }: FunctionTool) {
  return {
    type: 'function',
    function: {
      name,
      ...(description !== undefined && { description }),
      ...(isObject(parameters) && { parameters }),
      ...(strict !== undefined && { strict }),
    },
  }
}

/** A grammar is one level deeper here than in the Responses API. Source: OpenAI API reference, 2026-11. */
function flatFormat(format: JsonObject): JsonObject {
  const { type, grammar } = format
  return type === 'grammar' && isObject(grammar) ? { type, ...grammar } : format
}

const SIZES: ReadonlySet<unknown> = new Set(['low', 'medium', 'high'])

/** Source: OpenAI API reference, chat completions, web_search_options, 2026-11. */
function decodeWebSearch(options: unknown): WebSearchTool | undefined {
  if (options === undefined || options === null) return undefined
  if (!isObject(options)) refuseType('web_search_options', 'an object', options)
  const { user_location: location, search_context_size: size, ...others } = options
  if (size !== undefined && size !== null && !SIZES.has(size)) {
    refuseValue('web_search_options.search_context_size', 'expected low, medium or high', 'invalid_value')
  }
  return {
    type: 'web_search',
    path: 'web_search_options',
    userLocation: decodeLocation(location),
    ...(isFilled(size) && { contextSize: size }),
    onlyThere: Object.keys(others),
  }
}

/** The members of a location are one level deeper here than in the Responses API. */
function decodeLocation(location: unknown): JsonObject | undefined {
  if (location === undefined || location === null) return undefined
  if (!isObject(location)) refuseType('web_search_options.user_location', 'an object', location)
  const { type, approximate } = location
  if (!isObject(approximate)) refuseType('web_search_options.user_location.approximate', 'an object', approximate)
  checkLocationType(type, 'web_search_options.user_location')
  checkLocation(approximate, 'web_search_options.user_location.approximate')
  return { type, ...approximate }
}

/** @throws Fault `invalid_request` for a choice of another kind */
export function decodeToolChoice(choice: ChatRequest['tool_choice']): TurnToolChoice | undefined {
  if (choice === undefined || choice === null) return undefined
  if (typeof choice === 'string') return { type: choice }
  const members: JsonObject = choice
  switch (choice.type) {
    case 'function':
    case 'custom':
      return { type: 'tool', name: nameIn(members, 'tool_choice') }
    case 'allowed_tools':
      return decodeAllowed(members['allowed_tools'])
    default:
      return refuseValue('tool_choice.type', 'expected one of function, custom, allowed_tools', 'unsupported_value')
  }
}

function decodeAllowed(allowed: unknown): TurnToolChoice {
  const path = 'tool_choice.allowed_tools'
  if (!isObject(allowed)) refuseType(path, 'an object with mode and tools', allowed)
  const { mode, tools } = allowed
  if (mode !== 'auto' && mode !== 'required') refuseValue(`${path}.mode`, 'expected auto or required', 'invalid_value')
  if (!Array.isArray(tools)) refuseType(`${path}.tools`, 'an array of tools', tools)
  return {
    type: 'allowed',
    mode,
    tools: tools.map((tool: unknown, at) => {
      if (!isObject(tool)) refuseType(`${path}.tools[${at}]`, 'an object that names a tool', tool)
      return { name: nameIn(tool, `${path}.tools[${at}]`) }
    }),
  }
}

/** `{"type":"function","function":{"name":…}}`, and the same with `custom`. */
function nameIn(members: JsonObject, path: string): string {
  const key = members['type'] === 'custom' ? 'custom' : 'function'
  const named = members[key]
  const name = isObject(named) ? named['name'] : undefined
  if (typeof name !== 'string') refuseType(`${path}.${key}.name`, 'a string', name)
  return name
}

export function encodeToolChoice({ toolChoice }: Turn): Partial<ChatRequest> {
  if (toolChoice === undefined) return {}
  switch (toolChoice.type) {
    case 'tool':
      return { tool_choice: { type: 'function', function: { name: toolChoice.name } } }
    case 'allowed':
      return { tool_choice: toolChoice.mode }
    default:
      return { tool_choice: toolChoice.type }
  }
}
