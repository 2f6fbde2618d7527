import type { ApprovalDecision } from '../api/run.ts'
import type { ApprovalRequest } from './agent-task.ts'
import type { IntendedFile } from '../workspace/patch/intended-files.ts'
import { protectionOf } from '../workspace/policy/protected-names.ts'
import type { Grants, LoopState, LoopStep } from './loop-state.ts'

/** Handles a tool's request for approval: the settings or an earlier grant decide it, or a person has to. */
export function wantApproval(state: LoopState, request: ApprovalRequest): LoopStep {
  const { mode } = state
  if (mode === 'chat' || state.stopping !== undefined) return settle(state, false)
  if (mode === 'plan' && (request.paths !== undefined || request.argv !== undefined)) return settle(state, false)
  if (request.widening === undefined && isGranted(state.grants, request)) return settle(state, true)
  if (request.widening !== undefined && state.grants.enclosed.has(commandKey(request))) return settle(state, false)
  // Without approvals, nobody has allowed to pass a closed gate, to read a secret, which the policy can name, to call a tool of
  // another program, or to leave the sandbox.
  if (!state.settings.requireApproval && request.plan === undefined) {
    const { reads, identity, widening, closed } = request
    return settle(
      state,
      [reads, identity, widening, closed].every((each) => each === undefined),
    )
  }
  const { approvalId, callId, tool, paths, files, reads, diff, argv, cwd, widening, notes, args, plan, closed } =
    request
  const shown = {
    ...(paths !== undefined && { paths }),
    ...(files !== undefined && { files }),
    ...(reads !== undefined && { reads }),
    ...(diff !== undefined && { diff }),
    ...(argv !== undefined && { argv }),
    ...(cwd !== undefined && { cwd }),
    ...(widening !== undefined && { widening }),
    ...(notes !== undefined && { notes }),
    ...(args !== undefined && { args }),
    ...(plan !== undefined && { plan }),
    ...(closed !== undefined && { closed: [...closed] }),
    decisions: decisionsFor(request),
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

export function decideApproval(state: LoopState, given: ApprovalDecision | 'expired'): LoopStep {
  const request = state.pending
  if (request === undefined) return { state, commands: [] }
  const decision = given === 'run' && !decisionsFor(request).includes('run') ? 'once' : given
  const { approvalId, callId, tool } = request
  // The command itself was allowed: who refuses more for it does not refuse the work. Who refuses a plan wants another one.
  const keepsCount = request.widening !== undefined || request.plan !== undefined
  const isAllowed = (decision === 'once' || decision === 'run') && state.stopping === undefined
  const decided: LoopState = {
    ...state,
    pending: undefined,
    grants: grantsAfter(decision, state.grants, request),
    refusals: keepsCount || decision === 'expired' ? state.refusals : decision === 'refuse' ? state.refusals + 1 : 0,
    mode: request.plan !== undefined && isAllowed ? 'agent' : state.mode,
  }
  const { commands } = settle(decided, isAllowed)
  return {
    state: decided,
    commands: [{ type: 'emit', event: { type: 'approval', approvalId, callId, tool, state: decision } }, ...commands],
  }
}

/** Returns what a person may decide. Protected files, leaving the sandbox, and a plan are asked for each time. */
export function decisionsFor({ paths = [], widening, plan }: ApprovalRequest): readonly ApprovalDecision[] {
  return widening !== undefined || plan !== undefined || paths.some(isProtected)
    ? ['once', 'refuse']
    : ['once', 'run', 'refuse']
}

function isProtected(path: string): boolean {
  return protectionOf(path) !== undefined
}

function settle(state: LoopState, isAllowed: boolean): LoopStep {
  return { state, commands: [{ type: 'settle_approval', isAllowed }] }
}

/** A grant covers no gate that was open when it was made: nobody has seen that one in a question. */
export function isGranted({ files, commands, tools }: Grants, request: ApprovalRequest): boolean {
  if (request.plan !== undefined) return false
  const { argv, paths, files: intended = [], closed = [] } = request
  const covers = (grants: Grants['files'], keys: readonly string[]): boolean => {
    const shown = new Set(keys.flatMap((key) => grants.get(key) ?? []))
    return keys.length > 0 && keys.every((key) => grants.has(key)) && closed.every((gate) => shown.has(gate))
  }
  if (argv !== undefined) return covers(commands, [commandKey(request)])
  if (paths === undefined) return covers(tools, [toolKey(request)])
  return covers(files, paths) && !paths.some(isProtected) && intended.every(isChangeOfText)
}

/** Returns whether a file keeps its name and its mode. Everything else is asked for, also for a file with a grant. */
function isChangeOfText({ change, executable }: IntendedFile): boolean {
  return (change === 'modified' || change === 'created') && executable === undefined
}

/** Remembers what a person has allowed beyond one call. */
export function addGrant(grants: Grants, request: ApprovalRequest): Grants {
  const { argv, paths, closed = [] } = request
  if (argv !== undefined) return { ...grants, commands: new Map(grants.commands).set(commandKey(request), closed) }
  if (paths === undefined) return { ...grants, tools: new Map(grants.tools).set(toolKey(request), closed) }
  return { ...grants, files: new Map([...grants.files, ...paths.map((path) => [path, closed] as const)]) }
}

function grantsAfter(decision: ApprovalDecision | 'expired', grants: Grants, request: ApprovalRequest): Grants {
  if (decision === 'run') return addGrant(grants, request)
  // An offer to leave the sandbox that was refused is not made again for the same command in this run.
  const isRefusedOffer = decision === 'refuse' && request.widening !== undefined
  return isRefusedOffer ? { ...grants, enclosed: new Set(grants.enclosed).add(commandKey(request)) } : grants
}

/**
 * A grant to read secrets covers those that were shown, and no others. A grant for a tool of another program covers that tool, and
 * ends when the run reads a secret.
 */
function toolKey({ tool, reads, identity, isAfterSecret = false }: ApprovalRequest): string {
  return JSON.stringify(reads === undefined ? [tool, identity, isAfterSecret] : [tool, reads])
}

function commandKey({ argv, cwd = '' }: ApprovalRequest): string {
  return JSON.stringify([cwd, argv])
}
