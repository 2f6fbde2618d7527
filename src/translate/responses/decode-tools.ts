import { isObject, type JsonObject } from '../parts/is-object.ts'
import { isFilled } from '../parts/wire-json.ts'
import type { CustomTool, FunctionTool, TurnTool, WebSearchTool } from '../turn.ts'
import type { Warning, WarningCode } from '../warning.ts'
import { isWebSearchType } from './check-tools.ts'

/**
 * A list of tools, those of a namespace among the others and with its name. Looked at without trust: lists come from
 * stored replies too.
 *
 * @param path where the list stands, with dots
 */
export function decodeTools(tools: unknown, path: string, warnings: Warning[]): readonly TurnTool[] {
  if (!Array.isArray(tools)) return []
  return tools.flatMap((tool: unknown, at) => (isObject(tool) ? decodeTool(tool, `${path}.${at}`, warnings) : []))
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
      return [{ type: 'hosted', wireType: type, path }]
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
  const common = {
    name,
    path,
    ...(namespace !== undefined && { namespace }),
    ...(isFilled(tool['description']) && { description: tool['description'] }),
  }
  return [type === 'function' ? decodeFunction(tool, common) : decodeCustom(tool, common)]
}

/**
 * Members that no other dialect has. A tool to be loaded later is simply there from the start; who else may call it, or
 * that it answers later, cannot be said. `output_schema` only describes, and nobody misses it.
 */
const LOST: readonly (readonly [string, WarningCode])[] = [
  ['defer_loading', 'adapted'],
  ['allowed_callers', 'dropped'],
  ['async', 'dropped'],
]

type Common = Pick<FunctionTool, 'name' | 'namespace' | 'description' | 'path'>

function decodeFunction({ parameters, strict }: JsonObject, common: Common): FunctionTool {
  return {
    type: 'function',
    ...common,
    ...(parameters !== undefined && parameters !== null && { parameters }),
    ...(typeof strict === 'boolean' && { strict }),
  }
}

function decodeCustom({ format }: JsonObject, common: Common): CustomTool {
  return { type: 'custom', ...common, ...(isObject(format) && { format }) }
}

/** Members of a search that a Turn has, or whose stated value is the default. */
const SEARCH_DEFAULTS: ReadonlyMap<string, unknown> = new Map<string, unknown>([['external_web_access', true]])

function decodeSearch(tool: JsonObject, path: string): WebSearchTool {
  const { type: _type, filters, user_location: userLocation, search_context_size: size, ...rest } = tool
  const { allowed_domains: allowed, ...filtersLeft } = isObject(filters) ? filters : {}
  const { blocked_domains: blocked } = filtersLeft
  const domains = Array.isArray(allowed) ? allowed.filter(isFilled) : []
  const unknown = [
    ...Object.entries(rest),
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
