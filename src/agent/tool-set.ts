import type { RunMode } from '../api/run.ts'
import { maxForModels, nameForModels, namesOf } from '../tools/model-names.ts'
import { promptToolName } from '../tools/offer-names.ts'
import { planToolName } from '../tools/plan-tools.ts'
import type { Session } from '../tools/session.ts'
import type { ParametersSchema, Tool, Tools } from '../tools/tool.ts'
import type { FunctionTool } from '../translate/turn.ts'
import { fileActions, type FileAction } from './file-actions.ts'
import { planTool, type PlanTool } from './plan-mode.ts'

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
  /**
   * Finds a tool by its offered name, its name in copilot-anywhere, or its bus method. In the mode `plan` it also finds tools that are
   * not offered, so that a call of one is refused as a change before the plan, and not as a tool that does not exist.
   */
  readonly find: (name: string) => FoundTool | undefined
}

export type FoundTool = Tool | FileAction | PlanTool

/**
 * Tools that a model does not get: each request lists the tools already, `mcp.tools.call` would bypass the checks of
 * `agent.allowed-roots` on the arguments of the tool that it calls, and prompts are for people to choose.
 */
const hidden: ReadonlySet<string> = new Set(['mcp.tools.list', 'mcp.tools.call', 'mcp.session.list', promptToolName])

/** The actions that native tool calls offer too, because some models write incorrect unified diffs. */
const offeredActions: ReadonlySet<string> = new Set(['createFile', 'editFile'])

export function createToolSet(tools: Tools, session: Session, mode: RunMode): ToolSet {
  const names = namesOf(session, 'models', maxForModels)
  for (const { name } of fileActions) names.take(`action ${name}`, name)
  if (mode === 'plan') names.take(planTool.tool, planTool.name)
  // A chat names all tools too, so that a tool has the same name in a chat and in a run of the agent.
  const named = Array.from(nameForModels(tools.list(session), names), ([name, tool]) => ({ name, tool })).filter(
    ({ tool }) => !hidden.has(tool.name) && (mode !== 'chat' || runsInChat(tool)),
  )
  const busNames = new Set(named.map(({ tool }) => tool.name))
  const actions = fileActions.filter(({ tool }) => busNames.has(tool))
  const submission = mode === 'plan' ? [planTool] : []
  const byName = new Map<string, FoundTool>([
    ...actions.map((action) => [action.name, action] as const),
    ...named.map(({ name, tool }) => [name, tool] as const),
    ...submission.flatMap((tool) => [[tool.name, tool] as const, [tool.tool, tool] as const]),
  ])
  const described = [
    ...named
      .filter(({ tool }) => mode !== 'plan' || tool.effect === 'read')
      .map(({ name, tool: { description, parameters } }) => ({ name, description, parameters })),
    ...submission,
  ]
  const changing = mode === 'plan' ? [] : actions.filter(({ name }) => offeredActions.has(name))
  return {
    offered: [...described, ...changing].map(({ name, description, parameters }) => ({
      type: 'function',
      name,
      description,
      parameters,
      path: '',
    })),
    described: described.filter(({ name }) => name !== 'fs_read' && name !== 'fs_list'),
    find: (name) => byName.get(name) ?? named.find(({ tool }) => tool.name === name)?.tool,
  }
}

/** A chat cannot ask a person, so it has only tools that read and that run unasked. It has no work to plan. */
function runsInChat({ name, effect, provider, asks = 'always' }: Tool): boolean {
  return name !== planToolName && effect === 'read' && (provider === undefined || asks !== 'always')
}
