import type { Session } from '../tools/session.ts'
import type { ParametersSchema, Tool, Tools } from '../tools/tool.ts'
import type { FunctionTool } from '../translate/turn.ts'
import { fileActions, type FileAction } from './file-actions.ts'

/** The tools of a session under the names that a model uses. */
export interface ToolSet {
  /** The definitions for native tool calls. */
  readonly offered: readonly FunctionTool[]
  /** The tools that the JSON protocol offers besides listFiles, readFiles, createFile and editFile. */
  readonly described: readonly {
    readonly name: string
    readonly description: string
    readonly parameters: ParametersSchema
  }[]
  /** Finds a tool by its offered name, its name in copilot-anywhere, or its bus method. */
  readonly find: (name: string) => Tool | FileAction | undefined
}

/**
 * Tools that a model does not get: each request lists the tools already, and `mcp.tools.call` would bypass the checks of
 * `agent.allowed-roots` on the arguments of the tool that it calls.
 */
const hidden: ReadonlySet<string> = new Set(['mcp.tools.list', 'mcp.tools.call', 'mcp.session.list'])

/** The actions that native tool calls offer too, because some models write incorrect unified diffs. */
const offeredActions: ReadonlySet<string> = new Set(['createFile', 'editFile'])

/** Upstreams refuse longer names. Characters. */
const maxNameLength = 64

export function createToolSet(tools: Tools, session: Session, mode: 'chat' | 'agent'): ToolSet {
  const listed = tools
    .list(session)
    .filter(({ name, effect }) => !hidden.has(name) && (mode === 'agent' || effect === 'read'))
  const busNames = new Set(listed.map(({ name }) => name))
  const actions = fileActions.filter(({ tool }) => busNames.has(tool))
  const byName = new Map<string, Tool | FileAction>(actions.map((action) => [action.name, action]))
  const named: { readonly name: string; readonly tool: Tool }[] = []
  for (const tool of listed) {
    const name = uniqueName(modelName(tool.name), byName)
    byName.set(name, tool)
    named.push({ name, tool })
  }
  const described = named.map(({ name, tool: { description, parameters } }) => ({ name, description, parameters }))
  return {
    offered: [...described, ...actions.filter(({ name }) => offeredActions.has(name))].map(
      ({ name, description, parameters }) => ({ type: 'function', name, description, parameters, path: '' }),
    ),
    described: described.filter(({ name }) => name !== 'fs_read' && name !== 'fs_list'),
    find: (name) => byName.get(name) ?? listed.find((tool) => tool.name === name),
  }
}

/** Returns the part after `mcp.`, with `_` for each character that upstreams refuse in a name. */
function modelName(busName: string): string {
  return busName
    .replace(/^mcp\./, '')
    .replaceAll(/[^a-zA-Z0-9_-]/g, '_')
    .slice(0, maxNameLength)
}

function uniqueName(name: string, taken: ReadonlyMap<string, unknown>): string {
  let unique = name
  for (let number = 2; taken.has(unique); number += 1) {
    const suffix = `_${number}`
    unique = name.slice(0, maxNameLength - suffix.length) + suffix
  }
  return unique
}
