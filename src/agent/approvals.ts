import type { ApprovalDecision } from './agent-event.ts'
import type { ApprovalRequest } from './agent-task.ts'
import type { Grants, LoopState, LoopStep } from './loop-state.ts'

/** Handles a tool's request for approval: the settings or an earlier grant decide it, or a person has to. */
export function wantApproval(state: LoopState, request: ApprovalRequest): LoopStep {
  const { mode, requireApproval } = state.settings
  if (mode === 'chat' || state.stopping !== undefined) return settle(state, false)
  if (isGranted(state.grants, request)) return settle(state, true)
  // Without approvals, nobody has allowed a secret: the policy can name it.
  if (!requireApproval) return settle(state, request.reads === undefined)
  const { approvalId, callId, tool, paths, diff, argv, cwd, args } = request
  const shown = {
    ...(paths !== undefined && { paths }),
    ...(diff !== undefined && { diff }),
    ...(argv !== undefined && { argv }),
    ...(cwd !== undefined && { cwd }),
    ...(args !== undefined && { args }),
  }
  return {
    state: { ...state, pending: request },
    commands: [
      // A client may answer as soon as it sees the event, so the question must be registered before.
      { type: 'ask_person', request },
      { type: 'emit', event: { type: 'approval', approvalId, callId, tool, state: 'pending', ...shown } },
    ],
  }
}

export function decideApproval(state: LoopState, decision: ApprovalDecision | 'expired'): LoopStep {
  const request = state.pending
  if (request === undefined) return { state, commands: [] }
  const { approvalId, callId, tool } = request
  const isAllowed = (decision === 'once' || decision === 'run') && state.stopping === undefined
  const decided: LoopState = {
    ...state,
    pending: undefined,
    grants: decision === 'run' ? addGrant(state.grants, request) : state.grants,
    refusals: decision === 'refuse' ? state.refusals + 1 : decision === 'expired' ? state.refusals : 0,
  }
  const { commands } = settle(decided, isAllowed)
  return {
    state: decided,
    commands: [{ type: 'emit', event: { type: 'approval', approvalId, callId, tool, state: decision } }, ...commands],
  }
}

function settle(state: LoopState, isAllowed: boolean): LoopStep {
  return { state, commands: [{ type: 'settle_approval', isAllowed }] }
}

function isGranted({ writes, commands, tools }: Grants, request: ApprovalRequest): boolean {
  if (request.argv !== undefined) return commands.has(commandKey(request))
  if (request.paths !== undefined) return writes
  return tools.has(toolKey(request))
}

function addGrant(grants: Grants, request: ApprovalRequest): Grants {
  if (request.argv !== undefined) return { ...grants, commands: new Set(grants.commands).add(commandKey(request)) }
  if (request.paths !== undefined) return { ...grants, writes: true }
  return { ...grants, tools: new Set(grants.tools).add(toolKey(request)) }
}

/** A grant to read secrets covers those that were shown, and no others. */
function toolKey({ tool, reads }: ApprovalRequest): string {
  return reads === undefined ? tool : JSON.stringify([tool, reads])
}

function commandKey({ argv, cwd = '' }: ApprovalRequest): string {
  return JSON.stringify([cwd, argv])
}
