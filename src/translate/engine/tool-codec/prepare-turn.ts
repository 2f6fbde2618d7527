import type { TurnAccepts } from '../../dialect.ts'
import { wrapCustom, wrapInput } from './custom-tools.ts'
import type { ToolIdentity } from '../reply-effects.ts'
import { createToolNames, keepLast, type ToolNames } from './tool-names.ts'
import { refuseValue, toFieldPath } from '../request/invalid.ts'
import type { HostedTool, ToolName, Turn, TurnItem, TurnTool, TurnToolChoice, WebSearchTool } from '../../turn.ts'
import type { Warning } from '../../warning.ts'

export interface PreparedTurn {
  readonly turn: Turn
  readonly warnings: readonly Warning[]
  /** Tools that have left their namespace or changed their kind, by their new name; the reply needs them. */
  readonly tools: ReadonlyMap<string, ToolIdentity>
  /** Stop sequences that upstream does not take; the reply is searched for them. */
  readonly stop: readonly string[]
}

/**
 * Fits a Turn to what its upstream accepts, in any pair of dialects. Rules fit the names of tools. Never changes its input.
 * @throws Fault `invalid_request` (`unsupported_tool`) for tools that only another upstream can run
 */
export function prepareTurn(turn: Turn, accepts: TurnAccepts): PreparedTurn {
  const warnings: Warning[] = []
  const offered = offeredTools(turn, accepts, warnings)
  const callable = offered.flatMap((tool) =>
    tool.type === 'function' || tool.type === 'custom' ? [{ ...identityOf(tool), kind: tool.type }] : [],
  )
  const names = createToolNames(callable, undefined, !accepts.customTools)
  const fitted = offered.map((tool) => fitTool(tool, names, accepts, warnings))
  const tools = keepLast(fitted, callableName, ({ path }) => path, warnings)
  const toolChoice = fitChoice(turn, tools, names)
  return {
    turn: {
      ...turn,
      items: turn.items.map((item) => fitItem(item, names, accepts)),
      tools: accepts.allowedTools ? tools : onlyAllowed(tools, toolChoice),
      toolChoice,
      stop: accepts.stop ? turn.stop : [],
    },
    warnings,
    tools: names.identities,
    stop: accepts.stop ? [] : turn.stop,
  }
}

/** The members of a tool or a call that name it. */
export function identityOf({ name, namespace }: ToolName): ToolName {
  return { name, ...(namespace !== undefined && { namespace }) }
}

/** Hosted tools that clients offer with every request, whether or not upstream has them. */
const OFTEN_OFFERED = /^(?:image_generation|tool_search|web_fetch|advisor|code_execution)/

function offeredTools(turn: Turn, accepts: TurnAccepts, warnings: Warning[]): readonly TurnTool[] {
  const callable = turn.tools.some(({ type }) => type === 'function' || type === 'custom')
  return turn.tools.filter((tool) => {
    if (tool.type === 'function' || tool.type === 'custom') return true
    if (tool.type === 'web_search' && accepts.webSearch) return true
    // An optional tool among others may be dropped. The only tool, or a tool that the model must call, may not.
    const detail = `${labelOf(tool)} is not available for this model`
    if (!callable || turn.toolChoice?.type === 'required' || !isOptional(tool)) {
      refuseValue(toFieldPath(tool.path), detail, 'unsupported_tool')
    }
    warnings.push({ code: 'dropped', field: tool.path, detail })
    return false
  })
}

function isOptional(tool: WebSearchTool | HostedTool): boolean {
  return tool.type === 'web_search' || isOfferedAnyway(tool.wireType)
}

/** @param wireType of a hosted tool */
export function isOfferedAnyway(wireType: string): boolean {
  return OFTEN_OFFERED.test(wireType)
}

function labelOf(tool: WebSearchTool | HostedTool): string {
  return tool.type === 'web_search' ? 'web search' : `the hosted tool ${tool.wireType.slice(0, 60)}`
}

function fitTool(tool: TurnTool, names: ToolNames, accepts: TurnAccepts, warnings: Warning[]): TurnTool {
  if (tool.type !== 'function' && tool.type !== 'custom') return tool
  const renamed = { ...tool, name: names.upstreamName(tool), namespace: undefined }
  if (renamed.type === 'function') return renamed
  return accepts.customTools ? renamed : wrapCustom(renamed, warnings)
}

function callableName(tool: TurnTool): string | undefined {
  return tool.type === 'function' || tool.type === 'custom' ? tool.name : undefined
}

function fitItem(item: TurnItem, names: ToolNames, accepts: TurnAccepts): TurnItem {
  if (item.type !== 'tool_call') return item
  const isWrapped = item.kind === 'custom' && !accepts.customTools
  const name = names.upstreamName(item)
  if (!isWrapped && name === item.name && item.namespace === undefined) return item
  return {
    ...item,
    name,
    namespace: undefined,
    ...(isWrapped && { kind: 'function', arguments: wrapInput(item.arguments) }),
  }
}

/** The search tool's name in Messages. */
const SEARCH = 'web_search'

function fitChoice(turn: Turn, tools: readonly TurnTool[], names: ToolNames): TurnToolChoice | undefined {
  const { toolChoice: choice, fieldNames } = turn
  if (choice === undefined || (tools.length === 0 && isOptionalChoice(choice))) {
    return undefined
  }
  const offered = new Set(tools.flatMap((tool) => ('name' in tool ? [tool.name] : [])))
  const fit = (tool: ToolName): ToolName => {
    const name = names.upstreamName(tool)
    if (!offered.has(name)) refuseValue(fieldNames.toolChoice, 'the request has no tool of this name', 'invalid_value')
    return { name }
  }
  switch (choice.type) {
    case 'auto':
    case 'none':
    case 'validated':
      return choice
    case 'required':
      if (tools.length === 0)
        refuseValue(fieldNames.toolChoice, 'a tool is required, but the request has no tools', 'invalid_value')
      return choice
    case 'tool':
      // Upstream's own search has no name that a choice could mention.
      if (choice.name === SEARCH && !offered.has(SEARCH) && tools.some(({ type }) => type === 'web_search')) {
        return { type: tools.length === 1 ? 'required' : 'auto' }
      }
      return { type: 'tool', ...fit(choice) }
    case 'allowed':
      return { ...choice, tools: choice.tools.map(fit) }
  }
}

function onlyAllowed(tools: readonly TurnTool[], choice: TurnToolChoice | undefined): readonly TurnTool[] {
  if (choice?.type !== 'allowed') return tools
  const allowed = new Set(choice.tools.map(({ name }) => name))
  return tools.filter((tool) => 'name' in tool && allowed.has(tool.name))
}

/** Whether the model may answer without a call. */
function isOptionalChoice({ type }: TurnToolChoice): boolean {
  return type === 'auto' || type === 'none' || type === 'validated'
}
