import { refuseValue } from '../parts/invalid.ts'
import type { JsonObject } from '../parts/is-object.ts'
import { isFilled, objectsOf } from '../parts/wire-json.ts'
import type { ToolName, TurnTool, TurnToolChoice } from '../turn.ts'
import type { ResponsesRequest } from './wire-request.ts'

/**
 * @param tools those of the request: a choice names a tool without saying in which namespace it is
 * @throws Fault `invalid_request` for a choice of what only its own upstream could run
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

/** Hosted tools among those allowed are not offered anyway, and are passed over where others are left. */
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
  refuseValue('tool_choice', 'only functions and custom tools can be chosen for this model', 'unsupported_value')
}

/** By name: the tool outside all namespaces, else the one tool that has it; null where several have. */
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

function identityOf({ name, namespace }: ToolName): ToolName {
  return { name, ...(namespace !== undefined && { namespace }) }
}

function isNamed(tool: TurnTool): tool is Extract<TurnTool, ToolName> {
  return tool.type === 'function' || tool.type === 'custom'
}
