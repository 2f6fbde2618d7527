import { withPath } from '../engine/origin.ts'
import { refuseValue, toFieldPath } from '../engine/request/invalid.ts'
import { isStrictSchema } from '../engine/schema/json-schema.ts'
import { hostOf } from '../search-request.ts'
import { isFilled, isObject, type JsonObject, objectsOf, objectOf } from '../../json/json.ts'
import type { FunctionTool, ToolName, Turn, TurnTool, TurnToolChoice, WebSearchTool } from '../turn.ts'
import type { Warning, WarningCode } from '../warning.ts'
import { withoutEncrypted } from './agent-messages.ts'
import { type ResponsesRequest, isWebSearchType } from './wire.ts'
import { decodeToolSearch } from './tool-search.ts'
import { identityOf } from '../engine/tool-codec/prepare-turn.ts'

/**
 * Decodes a list of tools, including the tools of its namespaces. Lists of stored replies come here too, so no member
 * counts as checked.
 *
 * @param path of the list, with dots
 */
export function decodeTools(tools: unknown, path: string, warnings: Warning[]): readonly TurnTool[] {
  if (!Array.isArray(tools)) return []
  return tools.flatMap((tool: unknown, at) => (isObject(tool) ? decodeTool(tool, `${path}.${at}`, warnings) : []))
}

/**
 * Encodes `tools`, `tool_choice` and `parallel_tool_calls`.
 *
 * @throws Fault `invalid_request` for hosted tools
 */
export function encodeTools({ tools, toolChoice, parallelToolCalls }: Turn, warnings: Warning[]): JsonObject {
  if (tools.length === 0) return {}
  const states = parallelToolCalls !== undefined && toolChoice?.type !== 'none'
  return {
    tools: tools.map((tool) => withPath(encodeTool(tool, warnings), tool.path)),
    ...(toolChoice !== undefined && { tool_choice: encodeChoice(toolChoice, tools) }),
    ...(states && { parallel_tool_calls: parallelToolCalls }),
  }
}

function decodeTool(tool: JsonObject, path: string, warnings: Warning[]): readonly TurnTool[] {
  const { type, name, tools } = tool
  if (typeof type !== 'string') return []
  if (isWebSearchType(type)) return [decodeSearch(tool, path)]
  switch (type) {
    case 'function':
    case 'custom':
      return decodeNamed(tool, undefined, path, warnings)
    case 'namespace': {
      if (!Array.isArray(tools) || !isFilled(name)) return []
      return tools.flatMap((inner: unknown, at) =>
        isObject(inner) ? decodeNamed(inner, name, `${path}.tools.${at}`, warnings) : [],
      )
    }
    default:
      return [decodeToolSearch(tool, path) ?? { type: 'hosted', wireType: type, path }]
  }
}

function encodeTool(tool: TurnTool, warnings: Warning[]): JsonObject {
  switch (tool.type) {
    case 'function':
      return encodeFunction(tool, warnings)
    case 'custom': {
      const { name, description, format } = tool
      return {
        type: 'custom',
        name,
        ...(description !== undefined && { description }),
        ...(format !== undefined && { format }),
      }
    }
    case 'web_search':
      return encodeSearch(tool, warnings)
    case 'hosted':
      return refuseValue(toFieldPath(tool.path), 'the tool is not available for this model', 'unsupported_tool')
  }
}

function decodeNamed(
  tool: JsonObject,
  namespace: string | undefined,
  path: string,
  warnings: Warning[],
): readonly TurnTool[] {
  const { type, name } = tool
  if (!isFilled(name)) return []
  if (type !== 'function' && type !== 'custom') {
    return typeof type === 'string' ? [{ type: 'hosted', wireType: type, path }] : []
  }
  for (const [member, code] of LOST) {
    if (tool[member]) warnings.push({ code, field: `${path}.${member}` })
  }
  const { description, format, parameters, strict } = tool
  const common = {
    name,
    path,
    ...(namespace !== undefined && { namespace }),
    ...(isFilled(description) && { description }),
  }
  if (type === 'custom') return [{ type, ...common, ...(isObject(format) && { format }) }]
  return [
    {
      type,
      ...common,
      ...(parameters !== undefined && parameters !== null && { parameters: withoutEncrypted(parameters) }),
      ...(typeof strict === 'boolean' && { strict }),
    },
  ]
}

/**
 * Members that a Turn cannot hold. A deferred tool is offered from the start. `output_schema` is only a description, so
 * dropping it gives no warning.
 */
const LOST: readonly (readonly [string, WarningCode])[] = [
  ['defer_loading', 'adapted'],
  ['allowed_callers', 'dropped'],
  ['async', 'dropped'],
]

export function encodeFunction(
  { name, description, parameters, strict, path }: FunctionTool,
  warnings: Warning[],
): JsonObject {
  const schema = isObject(parameters) ? parameters : { type: 'object', properties: {} }
  const isStrict = strict === true && isStrictSchema(schema)
  if (strict === true && !isStrict) {
    warnings.push({ code: 'dropped', field: `${path}.strict`, detail: 'the schema does not fit strict mode' })
  }
  return {
    type: 'function',
    name,
    ...(description !== undefined && { description }),
    // Always stated, because the default differs between the endpoints of the API.
    strict: isStrict,
    parameters: schema,
  }
}

/** Members of a search tool, with their default values. */
const SEARCH_DEFAULTS: ReadonlyMap<string, unknown> = new Map<string, unknown>([['external_web_access', true]])

function decodeSearch(tool: JsonObject, path: string): WebSearchTool {
  const { type: _type, filters, user_location: userLocation, search_context_size: size, ...members } = tool
  const { allowed_domains: allowed, ...filtersLeft } = objectOf(filters)
  const { blocked_domains: blocked } = filtersLeft
  const domains = Array.isArray(allowed) ? allowed.filter(isFilled) : []
  const unknown = [
    ...Object.entries(members),
    ...Object.entries(filtersLeft).map(([key, value]) => [`filters.${key}`, value] as const),
  ]
  return {
    type: 'web_search',
    ...(domains.length > 0 && { allowedDomains: domains }),
    ...(Array.isArray(blocked) && { blockedDomains: blocked.filter(isFilled) }),
    ...(isObject(userLocation) && { userLocation }),
    ...(isFilled(size) && { contextSize: size }),
    onlyThere: unknown.flatMap(([key, value]) =>
      value === null || (SEARCH_DEFAULTS.has(key) && SEARCH_DEFAULTS.get(key) === value) ? [] : [key],
    ),
    path,
  }
}

function encodeSearch(
  { allowedDomains, userLocation, contextSize, onlyThere, path }: WebSearchTool,
  warnings: Warning[],
): JsonObject {
  for (const member of onlyThere) {
    warnings.push({
      code: 'dropped',
      field: `${path}.${member}`,
      detail: 'this model’s web search does not support this setting',
    })
  }
  // OpenAI's filter does not support paths.
  const hosts = allowedDomains?.map(hostOf)
  if (allowedDomains?.some((domain) => domain.includes('/'))) {
    const detail = 'this model’s web search accepts whole domains only'
    warnings.push({ code: 'adapted', field: `${path}.allowed_domains`, detail })
  }
  return {
    type: 'web_search',
    ...(hosts !== undefined && { filters: { allowed_domains: [...new Set(hosts)] } }),
    ...(userLocation !== undefined && { user_location: userLocation }),
    ...(contextSize !== undefined && { search_context_size: contextSize }),
  }
}

/**
 * @param tools of the request: a choice may name a tool without its namespace
 * @throws Fault `invalid_request` for a choice of a hosted tool
 */
export function decodeToolChoice(
  choice: ResponsesRequest['tool_choice'],
  tools: readonly TurnTool[],
): TurnToolChoice | undefined {
  if (choice === undefined || choice === null) return undefined
  if (typeof choice === 'string') return { type: choice }
  const named = tools.filter(isNamed).map(identityOf)
  if (choice.type === 'allowed_tools') return decodeAllowed(choice, named)
  const name = nameOf(choice, indexOf(named))
  return name === undefined ? refuseHosted() : { type: 'tool', ...name }
}

function encodeChoice(choice: TurnToolChoice, tools: readonly TurnTool[]): unknown {
  const custom = new Set(tools.flatMap((tool) => (tool.type === 'custom' ? [tool.name] : [])))
  const mention = (name: string): JsonObject => ({ type: custom.has(name) ? 'custom' : 'function', name })
  switch (choice.type) {
    case 'auto':
    case 'none':
    case 'required':
      return choice.type
    case 'validated':
      return 'auto'
    case 'tool':
      return mention(choice.name)
    case 'allowed':
      return { type: 'allowed_tools', mode: choice.mode, tools: choice.tools.map(({ name }) => mention(name)) }
  }
}

/** Hosted tools are not offered, so they are skipped if other allowed tools remain. */
function decodeAllowed(choice: JsonObject, named: readonly ToolName[]): TurnToolChoice {
  const mode = choice['mode'] === 'required' ? 'required' : 'auto'
  const entries = objectsOf(choice['tools'])
  const index = indexOf(named)
  const namespaces = new Set(entries.flatMap(({ type, name }) => (type === 'namespace' ? [name] : [])))
  const tools = [
    ...entries.flatMap((entry) => nameOf(entry, index) ?? []),
    ...named.filter(({ namespace }) => namespace !== undefined && namespaces.has(namespace)),
  ]
  if (tools.length > 0) return { type: 'allowed', mode, tools }
  return mode === 'required' ? refuseHosted() : { type: 'none' }
}

function refuseHosted(): never {
  refuseValue('tool_choice', 'this model supports tool_choice for functions and custom tools only', 'unsupported_value')
}

/**
 * Finds a tool by name: the tool outside all namespaces, otherwise the only tool of that name; null if several have it.
 */
function indexOf(named: readonly ToolName[]): ReadonlyMap<string, ToolName | null> {
  const index = new Map<string, ToolName | null>()
  for (const tool of named) {
    if (tool.namespace === undefined) index.set(tool.name, tool)
    else if (!index.has(tool.name)) index.set(tool.name, tool)
    else if (index.get(tool.name)?.namespace !== undefined) index.set(tool.name, null)
  }
  return index
}

function nameOf(
  { type, name, namespace }: JsonObject,
  index: ReadonlyMap<string, ToolName | null>,
): ToolName | undefined {
  if ((type !== 'function' && type !== 'custom') || !isFilled(name)) return undefined
  return isFilled(namespace) ? { name, namespace } : (index.get(name) ?? { name })
}

function isNamed(tool: TurnTool): tool is Extract<TurnTool, ToolName> {
  return tool.type === 'function' || tool.type === 'custom'
}
