import type { ApprovalDecision, IntendedFile } from '../api/run.ts'
import type { ApprovalRequest } from './agent-task.ts'
import { protectionOf } from '../workspace/policy/protected-names.ts'
import { coverRules, ruleText, type ConsentRule } from '../workspace/policy/consent-rules.ts'
import type { Grants, LoopCommand, LoopState, LoopStep } from './loop-state.ts'

/** Handles a tool's request for approval: the settings or an earlier grant decide it, or a person has to. */
export function wantApproval(state: LoopState, given: ApprovalRequest, stored?: readonly ConsentRule[]): LoopStep {
  // Whoever consented for good had their own messages in mind, and not what a program pushes.
  const consents = state.settings.initiator === 'user' ? stored : undefined
  const rules = consents === undefined ? [] : rulesOf(given)
  const request = rules.length === 0 ? given : { ...given, always: rules }
  const { mode } = state
  if (mode === 'chat' || state.stopping !== undefined) return settle(state, false)
  const isEffect = request.paths !== undefined || request.argv !== undefined || request.policy !== undefined
  if (mode === 'plan' && isEffect) return settle(state, false)
  if (!isOffer(request) && isGranted(state.grants, request)) return settle(state, true)
  if (isOffer(request) && state.grants.declined.has(offerKey(request))) return settle(state, false)
  // A policy is confirmed for good or not at all.
  if (request.policy !== undefined && request.always === undefined) return settle(state, false)
  // Without approvals, nobody has allowed to pass a closed gate, to read a secret, which the policy can name, to call a tool of
  // another program, or to leave the sandbox.
  if (!state.settings.requireApproval && request.plan === undefined) {
    const { reads, identity, widening, closed, policy } = request
    return settle(
      state,
      [reads, identity, widening, closed, policy].every((each) => each === undefined),
    )
  }
  // The rules are of a person, so they hold only where a person is asked.
  if (consents !== undefined && rules.length > 0 && coverRules(consents, rules)) return settle(state, true)
  const { approvalId, callId, tool, always, policy } = request
  const { paths, files, reads, diff, argv, cwd, widening, notes, args, plan, closed } = request
  const shown = {
    ...(paths !== undefined && { paths }),
    ...(files !== undefined && { files }),
    ...(reads !== undefined && { reads }),
    ...(diff !== undefined && { diff }),
    ...(policy !== undefined && { policy: { path: policy.path, text: policy.text } }),
    ...(argv !== undefined && { argv }),
    ...(cwd !== undefined && { cwd }),
    ...(widening !== undefined && { widening }),
    ...(notes !== undefined && { notes }),
    ...(args !== undefined && { args }),
    ...(plan !== undefined && { plan }),
    ...(closed !== undefined && { closed: [...closed] }),
    ...(always !== undefined && { always: always.map(ruleText) }),
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
  const offered = decisionsFor(request)
  const isOffered = given === 'expired' || offered.includes(given)
  const decision = isOffered ? given : offered.includes('once') ? 'once' : 'refuse'
  const { approvalId, callId, tool } = request
  const keepsCount = isOffer(request) || request.plan !== undefined
  const isAllowed = decision !== 'refuse' && decision !== 'expired' && state.stopping === undefined
  const remember: readonly LoopCommand[] =
    decision === 'always' && request.always !== undefined ? [{ type: 'remember', rules: request.always }] : []
  const decided: LoopState = {
    ...state,
    pending: undefined,
    grants: grantsAfter(decision, state.grants, request),
    // Who refuses more for a command than it has, or to confirm a policy, does not refuse the work. Who refuses a plan wants another one.
    refusals: keepsCount || decision === 'expired' ? state.refusals : decision === 'refuse' ? state.refusals + 1 : 0,
    mode: request.plan !== undefined && isAllowed ? 'agent' : state.mode,
  }
  const { commands } = settle(decided, isAllowed)
  return {
    state: decided,
    commands: [
      { type: 'emit', event: { type: 'approval', approvalId, callId, tool, state: decision } },
      ...remember,
      ...commands,
    ],
  }
}

/** Returns what a person may decide. Protected files, leaving the sandbox, and a plan are asked for each time. */
export function decisionsFor({
  paths = [],
  widening,
  always,
  policy,
  plan,
}: ApprovalRequest): readonly ApprovalDecision[] {
  if (policy !== undefined) return ['always', 'refuse']
  if (widening !== undefined || plan !== undefined || paths.some(isProtected)) return ['once', 'refuse']
  return always === undefined ? ['once', 'run', 'refuse'] : ['once', 'run', 'always', 'refuse']
}

/** Maximum number of files for which the decision `always` is offered. Nobody reads more rules. */
const maxFileRules = 20

/**
 * Returns the narrowest rules that would let exactly this call pass again. Returns none where a rule would allow more than a person
 * sees in the question: for protected files, for files that are removed, renamed, copied or get another mode, for a secret, for a
 * command beyond the sandbox, and for a tool of another program after the run has read a secret.
 */
function rulesOf(request: ApprovalRequest): readonly ConsentRule[] {
  const { argv, cwd = '', widening, paths, files = [], reads, tool, provider, identity = '', isAfterSecret } = request
  if (request.policy !== undefined) return [{ trust: request.policy.path, sha256: request.policy.sha256 }]
  if (widening !== undefined || reads !== undefined || request.plan !== undefined) return []
  if (argv !== undefined) return [{ run: [...argv], in: cwd }]
  if (paths !== undefined) {
    const isNarrow = paths.length <= maxFileRules && !paths.some(isProtected) && files.every(isChangeOfText)
    return isNarrow ? paths.map((edit) => ({ edit })) : []
  }
  if (provider === undefined || identity === '' || isAfterSecret === true) return []
  return [{ call: tool, of: provider, identity }]
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
  // An offer that was refused is not made again in this run.
  const isRefusedOffer = decision === 'refuse' && isOffer(request)
  return isRefusedOffer ? { ...grants, declined: new Set(grants.declined).add(offerKey(request)) } : grants
}

/**
 * A grant to read secrets covers those that were shown, and no others. A grant for a tool of another program covers that tool, and
 * ends when the run reads a secret.
 */
function toolKey({ tool, reads, identity, isAfterSecret = false }: ApprovalRequest): string {
  return JSON.stringify(reads === undefined ? [tool, identity, isAfterSecret] : [tool, reads])
}

/** Whether a person is offered more than the call itself: to let a command leave the sandbox, or to confirm a policy. */
function isOffer({ widening, policy }: ApprovalRequest): boolean {
  return widening !== undefined || policy !== undefined
}

function offerKey(request: ApprovalRequest): string {
  return request.policy === undefined ? commandKey(request) : `policy ${request.policy.sha256}`
}

function commandKey({ argv, cwd = '' }: ApprovalRequest): string {
  return JSON.stringify([cwd, argv])
}
