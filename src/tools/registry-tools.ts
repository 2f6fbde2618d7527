import { z } from 'zod'
import type { Session } from './session.ts'
import { reportSandbox } from '../workspace/sandbox/create-sandbox.ts'
import { ToolError } from '../workspace/tool-error.ts'
import { defineTool } from './define-tool.ts'
import type { SessionInfo, Tool, ToolSource } from './tool.ts'

/** The registry handles this tool itself: it runs the named tool with the approval, signal and audit line of the call. */
export const callToolName = 'mcp.tools.call'

export const listToolName = 'mcp.tools.list'

export const callArguments = z.strictObject({
  name: z.string().describe('Name of the tool.'),
  args: z.record(z.string(), z.unknown()).default({}).describe('Its arguments.'),
})

export interface RegistryToolsDeps {
  readonly sessions: () => readonly Session[]
  readonly list: (session: Session) => readonly Tool[]
  readonly isReadOnly: (session: SessionInfo) => boolean
}

/** A session as callers see it. */
export interface SessionListing {
  readonly id: string
  readonly name: string
  readonly path: string
  /** Names of the tools. */
  readonly tools: readonly string[]
}

export function listSession(session: Session, list: RegistryToolsDeps['list']): SessionListing {
  const { id, name, folder } = session
  return { id, name, path: folder.root, tools: list(session).map((tool) => tool.name) }
}

const nothing = z.strictObject({})

/** Creates the tools that list tools, sessions and the policy. */
export function createRegistryTools({ sessions, list, isReadOnly }: RegistryToolsDeps): ToolSource {
  const tools: readonly Tool[] = [
    defineTool(nothing, {
      name: listToolName,
      description: 'Lists the tools of the workspace with their parameters.',
      effect: 'read',
      run: async (_args, { session: { id } }) => ({
        tools: sessions()
          .filter((session) => session.id === id)
          .flatMap(list)
          .map(({ name, description, parameters, effect }) => ({
            name,
            description,
            parameters,
            effect,
          })),
      }),
    }),
    defineTool(callArguments, {
      name: callToolName,
      description: 'Runs a tool of the workspace by its name.',
      effect: 'run',
      async run() {
        throw new ToolError({ kind: 'failed', detail: 'The registry runs this tool itself.' })
      },
    }),
    defineTool(nothing, {
      name: 'mcp.policy.get',
      description: 'Says which files may be written and which commands may be run.',
      effect: 'read',
      async run(_args, { session, folder }) {
        const [{ problem, ...policy }, state] = await Promise.all([session.policy.describe(), folder.sandbox.state()])
        return { readOnly: isReadOnly(session), ...policy, sandbox: reportSandbox(state), problem: problem ?? null }
      },
    }),
    defineTool(nothing, {
      name: 'mcp.session.list',
      description: 'Lists the open workspaces.',
      effect: 'read',
      run: async () => ({ sessions: sessions().map((session) => listSession(session, list)) }),
    }),
  ]
  return { tools: () => tools }
}
