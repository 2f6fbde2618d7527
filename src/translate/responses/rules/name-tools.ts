import { isFilled, isObject, type JsonObject, objectsOf } from '../../../json/json.ts'
import { wrapCustom, wrapInput } from '../../engine/tool-codec/custom-tools.ts'
import { fieldOf, withPath } from '../../engine/origin.ts'
import type { ToolIdentity } from '../../engine/reply-effects.ts'
import { createToolNames, keepLast, type ToolNames } from '../../engine/tool-codec/tool-names.ts'
import { isLegalName } from '../../engine/ids.ts'
import type { Warning } from '../../warning.ts'
import { itemTypeOf } from '../items/item.ts'
import { encodeFunction } from '../tools.ts'
import { NO_CUSTOM_TOOLS, NO_NAMESPACES } from './learned-refusals.ts'

/** Characters in the name of a tool. */
const LONGEST_TOOL_NAME = 64

interface NamedRequest {
  readonly value: JsonObject
  /** The caller's tools by the name that upstream knows. Undefined if upstream knows all of them as the caller does. */
  readonly tools?: ReadonlyMap<string, ToolIdentity> | undefined
}

/**
 * Gives tools names that upstream takes. For a model that refused namespaces or freeform tools, it also takes tools out of
 * their namespaces, or offers freeform tools as functions. Calls of the history and `tool_choice` follow. Keeps all other
 * members, and returns the same value if nothing changes.
 */
export function nameTools(value: JsonObject, learnedRefusals: ReadonlySet<string>, warnings: Warning[]): NamedRequest {
  const scope = {
    takesNamespaces: !learnedRefusals.has(NO_NAMESPACES),
    takesCustom: !learnedRefusals.has(NO_CUSTOM_TOOLS),
  }
  const { input, tool_choice: choice } = value
  const items: readonly unknown[] = Array.isArray(input) ? input : []
  const known = [...objectsOf(value['tools']), ...objectsOf(input).flatMap(({ tools }) => objectsOf(tools))]
  const callable = known.flatMap((tool) => identitiesOf(tool, scope))
  const names = createToolNames(callable, { longest: LONGEST_TOOL_NAME }, !scope.takesCustom)
  const naming: Naming = { ...scope, names, callable, warnings }
  const listed = fitTools(value['tools'], 'tools', naming)
  // Upstream takes no tools in the input without namespaces.
  const brought = scope.takesNamespaces ? [] : items.flatMap((item, at) => toolsOfItem(item, at, naming))
  const fitted = items.flatMap((item, at): readonly unknown[] => (isObject(item) ? fitItem(item, at, naming) : [item]))
  const chosen = isObject(choice) ? fitChoice(choice, naming) : choice
  const areToolsSame = areSame(value['tools'], listed) && brought.length === 0
  const areItemsSame = areSame(items, fitted)
  if (areToolsSame && areItemsSame && chosen === choice) return { value }
  const tools = [...(listed ?? []), ...brought]
  return {
    value: {
      ...value,
      ...(!areItemsSame && { input: fitted }),
      ...(!areToolsSame && {
        tools: keepLast(tools, callableName, (tool, at) => fieldOf(tool, 'tools', at), warnings),
      }),
      ...(isObject(choice) && { tool_choice: chosen }),
    },
    tools: names.identities,
  }
}

/** @param after undefined for a value that is no list */
function areSame(before: unknown, after: readonly unknown[] | undefined): boolean {
  if (after === undefined) return true
  return Array.isArray(before) && before.length === after.length && after.every((each, at) => each === before[at])
}

/** The forms of tools that upstream takes. */
interface Scope {
  readonly takesNamespaces: boolean
  readonly takesCustom: boolean
}

interface Naming extends Scope {
  readonly names: ToolNames
  readonly callable: readonly ToolIdentity[]
  readonly warnings: Warning[]
}

/** Names that are not strings pass, and upstream refuses them. */
function isLegal(name: unknown): boolean {
  return typeof name !== 'string' || isLegalName(name, LONGEST_TOOL_NAME)
}

/** Whether the tools of a namespace stay in it. */
function staysIn(namespace: unknown, { takesNamespaces }: Scope): boolean {
  return takesNamespaces && isLegal(namespace)
}

/** The tools that the model can call. Tools that stay in a namespace are known by their name alone. */
function identitiesOf({ type, name, tools }: JsonObject, scope: Scope, namespace?: string): readonly ToolIdentity[] {
  if (type === 'namespace' && isFilled(name)) {
    const outer = staysIn(name, scope) ? undefined : name
    return objectsOf(tools).flatMap((inner) => identitiesOf(inner, scope, outer))
  }
  if ((type !== 'function' && type !== 'custom') || !isFilled(name)) return []
  return [{ name, kind: type, ...(namespace !== undefined && { namespace }) }]
}

/** Undefined for a value that is no list. */
function fitTools(tools: unknown, path: string, naming: Naming): readonly unknown[] | undefined {
  if (!Array.isArray(tools)) return undefined
  return tools.flatMap((tool: unknown, at): readonly unknown[] =>
    isObject(tool) ? fitTool(tool, `${path}.${at}`, naming) : [tool],
  )
}

function fitTool(tool: JsonObject, path: string, naming: Naming, namespace?: string): readonly JsonObject[] {
  const { type, name, tools } = tool
  if (type === 'namespace' && isFilled(name) && Array.isArray(tools)) {
    const outer = staysIn(name, naming) ? undefined : name
    const inner = objectsOf(tools).flatMap((each, at) => fitTool(each, `${path}.tools.${at}`, naming, outer))
    if (outer !== undefined) return inner.map((each, at) => withPath(each, `${path}.tools.${at}`))
    return [areSame(tools, inner) ? tool : { ...tool, tools: inner }]
  }
  if ((type !== 'function' && type !== 'custom') || !isFilled(name)) return [tool]
  const given = naming.names.upstreamName({ name, ...(namespace !== undefined && { namespace }) })
  if (type === 'custom' && !naming.takesCustom) return [wrapTool(tool, given, path, naming.warnings)]
  return [given === name ? tool : { ...tool, name: given }]
}

function wrapTool(tool: JsonObject, name: string, path: string, warnings: Warning[]): JsonObject {
  const { description, format, ...members } = tool
  const wrapped = wrapCustom(
    { type: 'custom', name, path, ...(isFilled(description) && { description }), ...(isObject(format) && { format }) },
    warnings,
  )
  return { ...members, ...encodeFunction(wrapped, warnings) }
}

function callableName(tool: unknown): unknown {
  return isObject(tool) && (tool['type'] === 'function' || tool['type'] === 'custom') ? tool['name'] : undefined
}

function toolsOfItem(item: unknown, at: number, naming: Naming): readonly unknown[] {
  if (!isObject(item) || itemTypeOf(item) !== 'additional_tools') return []
  return objectsOf(item['tools']).flatMap((tool, index) => {
    const path = `input.${at}.tools.${index}`
    const fitted = fitTool(tool, path, naming)
    return tool['type'] === 'namespace' ? fitted : fitted.map((each) => withPath(each, path))
  })
}

function fitItem(item: JsonObject, at: number, naming: Naming): readonly JsonObject[] {
  switch (itemTypeOf(item)) {
    case 'function_call':
    case 'custom_tool_call':
      return [fitCall(item, naming)]
    case 'custom_tool_call_output':
      return [naming.takesCustom ? item : { ...item, type: 'function_call_output' }]
    case 'additional_tools':
    case 'tool_search_output': {
      if (itemTypeOf(item) === 'additional_tools' && !naming.takesNamespaces) return []
      const { tools } = item
      const fitted = fitTools(tools, `input.${at}.tools`, naming)
      return [areSame(tools, fitted) ? item : { ...item, tools: fitted }]
    }
    default:
      return [item]
  }
}

function fitCall(item: JsonObject, naming: Naming): JsonObject {
  const { namespace, ...members } = item
  const { name } = item
  if (!isFilled(name)) return item
  const isFlat = isFilled(namespace) && !staysIn(namespace, naming)
  const given = naming.names.upstreamName({ name, ...(isFlat && { namespace }) })
  const named = given === name && !isFlat ? item : { ...(isFlat ? members : item), name: given }
  if (named['type'] !== 'custom_tool_call' || naming.takesCustom) return named
  const { input, ...others } = named
  return { ...others, type: 'function_call', arguments: wrapInput(input) }
}

/** A namespace that is no longer offered becomes its tools. */
function fitChoice(choice: JsonObject, naming: Naming): JsonObject {
  const { type, tools } = choice
  if (type !== 'allowed_tools' || !Array.isArray(tools)) return fitMention(choice, naming)
  const fitted = tools.flatMap((mention: unknown): readonly unknown[] => {
    if (!isObject(mention)) return [mention]
    if (mention['type'] !== 'namespace' || staysIn(mention['name'], naming)) return [fitMention(mention, naming)]
    const inner = naming.callable.filter(({ namespace }) => namespace === mention['name'])
    return inner.map(({ kind, ...tool }) => fitMention({ type: kind, ...tool }, naming))
  })
  return areSame(tools, fitted) ? choice : { ...choice, tools: fitted }
}

function fitMention(mention: JsonObject, naming: Naming): JsonObject {
  const { type, name, namespace, ...members } = mention
  if ((type !== 'function' && type !== 'custom') || !isFilled(name)) return mention
  const isStated = isFilled(namespace)
  if (isStated && staysIn(namespace, naming)) {
    const inside = naming.names.upstreamName({ name })
    return inside === name ? mention : { ...mention, name: inside }
  }
  // A choice may name a tool without its namespace.
  const same = naming.callable.filter((tool) => tool.name === name)
  const outer = isStated
    ? namespace
    : same.every((tool) => tool.namespace !== undefined)
      ? same[0]?.namespace
      : undefined
  const given = naming.names.upstreamName({ name, ...(outer !== undefined && { namespace: outer }) })
  const kind = type === 'custom' && naming.takesCustom ? type : 'function'
  return given === name && kind === type && !isStated ? mention : { ...members, type: kind, name: given }
}
