import { withPath } from '../../engine/origin.ts'
import { refuseValue, toFieldPath } from '../../parts/invalid.ts'
import { isObject, type JsonObject } from '../../../json/json.ts'
import { isStrictSchema } from '../../parts/json-schema.ts'
import type { FunctionTool, Turn, TurnTool, TurnToolChoice, WebSearchTool } from '../../turn.ts'
import type { Warning } from '../../warning.ts'
import { hostOf } from '../../search-request.ts'

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

function encodeFunction(
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
