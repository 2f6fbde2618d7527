import { z } from 'zod'
import type { Body } from './body.ts'

/**
 * `chat`: one answer with the tools that only read. `agent`: steps with all tools. `plan`: steps with the tools that only read, until
 * a person accepts the plan; from then on as `agent`.
 */
export const runMode = z.enum(['chat', 'agent', 'plan'])
export type RunMode = Body<typeof runMode>

/** A `waiting` run waits for an approval. */
export const runState = z.enum(['queued', 'running', 'waiting', 'ended'])
export type RunState = Body<typeof runState>

export const runOutcome = z.enum([
  'completed',
  'max_steps',
  'max_minutes',
  'max_actions',
  'max_credits',
  'cancelled',
  'repeated_call',
  'refused',
  'failed',
  'interrupted',
])
export type RunOutcome = Body<typeof runOutcome>

export const runUsage = z.object({
  inputTokens: z.number(),
  outputTokens: z.number(),
  cachedInputTokens: z.number(),
  /** AI credits; absent if no answer stated any. */
  credits: z.number().optional(),
})
export type RunUsage = Body<typeof runUsage>

/** How full the context of the model is. */
export const contextUse = z.object({
  /** The last request and its answer, as upstream counted them. */
  tokens: z.number(),
  /** What the model reads at most. Absent if unknown. */
  limit: z.number().optional(),
  /** Whether `tokens` is an estimate, because upstream did not count. */
  isEstimated: z.boolean().optional(),
})
export type ContextUse = Body<typeof contextUse>

export const fileCount = z.object({
  path: z.string(),
  change: z.enum(['created', 'modified', 'deleted']),
  /** Added lines. */
  added: z.number(),
  /** Removed lines. */
  removed: z.number(),
})
export type FileCount = Body<typeof fileCount>

/** A step of the plan that a run has stated. */
export const planItem = z.object({
  text: z.string().min(1).max(500),
  state: z.enum(['pending', 'in_progress', 'completed']),
})
export type PlanItem = Body<typeof planItem>

const origin = z.enum(['user', 'provider'])

/** What a message says, without its answer. */
export const messageFacts = {
  text: z.string(),
  mode: runMode,
  origin,
  /** The provider that wrote the message. Absent for a message of the user. */
  provider: z.string().optional(),
  attachments: z.array(z.object({ name: z.string(), mediaType: z.string() })).optional(),
}

/** A message that the user sent while the run was in progress. */
export const joinedMessage = z.object({
  id: z.string(),
  text: z.string(),
  /** ISO 8601. */
  time: z.string(),
  attachments: messageFacts.attachments,
  /** The step whose request has it. Absent: no model has read it yet. */
  step: z.number().optional(),
})

export type JoinedMessage = Body<typeof joinedMessage>

/**
 * `run` also approves later calls of this run: changes of the text of the same files, the same argument vector in the same folder,
 * the same secret, or the same tool of the same program. `always` stores the rules that the approval shows, and approves what they
 * allow in all later runs of the workspace; only the owner decides so.
 */
export const approvalDecision = z.enum(['once', 'run', 'always', 'refuse'])
export type ApprovalDecision = Body<typeof approvalDecision>

/** A file of an intended change, as a person sees it before the change is made. */
const intendedFile = z.object({
  path: z.string(),
  change: z.enum(['created', 'modified', 'deleted', 'renamed', 'copied']),
  /** The old path of a renamed file, or the original of a copied one. */
  from: z.string().optional(),
  /** Whether the file becomes executable (true) or stops being executable (false). Absent if neither happens. */
  executable: z.boolean().optional(),
  /** Added lines. */
  added: z.number(),
  /** Removed lines. */
  removed: z.number(),
})
export type IntendedFile = Body<typeof intendedFile>

/** An approval of a run. Only a pending one states what a person approves. */
export const approvalFacts = {
  approvalId: z.string(),
  callId: z.string(),
  tool: z.string(),
  /** `expired`: the run ended before a person decided. */
  state: z.enum(['pending', ...approvalDecision.options, 'expired']),
  paths: z.array(z.string()).optional(),
  files: z.array(intendedFile).optional(),
  /** Paths of secrets that the call reads. */
  reads: z.array(z.string()).optional(),
  diff: z.string().optional(),
  argv: z.array(z.string()).optional(),
  /** The folder of the program, relative to the root. */
  cwd: z.string().optional(),
  /** What one command may do beyond the sandbox: reach public hosts, or everything. */
  widening: z.enum(['network', 'unsandboxed']).optional(),
  notes: z.array(z.string()).optional(),
  args: z.unknown().optional(),
  /** A policy file that grants nothing until a person has confirmed its text. */
  policy: z.object({ path: z.string(), text: z.string() }).optional(),
  /** Markdown: the plan that a run in the mode `plan` may carry out if a person accepts it. */
  plan: z.string().optional(),
  /** Sentences: the gates that are closed, which the call passes if it is allowed. */
  closed: z.array(z.string()).optional(),
  decisions: z.array(approvalDecision).optional(),
  /** The rules that the decision `always` stores. Absent where no rule would be narrow enough. */
  always: z.array(z.string()).optional(),
  /** Whether the diff or the arguments are shortened. */
  truncated: z.boolean().optional(),
}

/** `ok` or the kind of failure. */
const toolOutcome = z.enum([
  'ok',
  'invalid_arguments',
  'denied',
  'conflict',
  'too_large',
  'timed_out',
  'approval_refused',
  'cancelled',
  'failed',
])
export type ToolOutcome = Body<typeof toolOutcome>

/** How a call of a tool ended. */
const toolCallEnd = z.object({
  outcome: toolOutcome,
  /** One line. */
  message: z.string(),
  /** The result as a person sees it. */
  result: z.string().optional(),
  /** Whether `result` or the text that the model got is shortened. */
  truncated: z.boolean().optional(),
  /** How long the call took, without the time in which a person decided. */
  durationMs: z.number(),
})

export const toolEnd = toolCallEnd.shape

/** A call of a tool in the record of its run: without an end while it runs. */
export const recordedCall = z.object({
  callId: z.string(),
  tool: z.string(),
  args: z.unknown().optional(),
  ...toolCallEnd.partial().shape,
})

/** A file with instructions of the repository, AGENTS.md or CLAUDE.md, in the context of a run. */
export const instructionFile = z.object({
  path: z.string(),
  /** Of the text that the model gets. */
  sha256: z.string(),
  /** Compared with the newest earlier run of the session that used the file. */
  state: z.enum(['new', 'unchanged', 'changed']),
  /** The file is longer than its part in the context. */
  truncated: z.boolean().optional(),
})
export type InstructionFile = Body<typeof instructionFile>

/** An approval in the record of its run. */
export const recordedApproval = z.object(approvalFacts)
export type RecordedApproval = Body<typeof recordedApproval>

/** `GET /runs/{id}`. */
export const runReport = z.object({
  id: z.string(),
  sessionId: z.string(),
  conversationId: z.string(),
  ...messageFacts,
  joined: z.array(joinedMessage).optional(),
  state: runState,
  /** Number of the last step, even if it has no calls. */
  step: z.number(),
  model: z.string().optional(),
  /** This and the next three: only of an ended run. */
  outcome: runOutcome.optional(),
  reason: z.string().optional(),
  summary: z.string().optional(),
  answer: z.string().optional(),
  startedAt: z.string(),
  endedAt: z.string().optional(),
  steps: z.array(
    z.object({
      step: z.number(),
      /** The commentaries of the model and the notices of the run. */
      texts: z.array(z.object({ kind: z.enum(['commentary', 'notice']), text: z.string() })),
      calls: z.array(recordedCall),
    }),
  ),
  approvals: z.array(recordedApproval),
  /** Absent if the run used none. */
  instructions: z.array(instructionFile).optional(),
  /** Absent if the run has stated none. */
  plan: z.array(planItem).optional(),
  files: z.array(fileCount.extend({ diff: z.string() })),
  /** Ids of the changes, oldest first, for `POST /changes/{id}/undo`. */
  changes: z.array(z.string()),
  /** Requests to models. */
  requests: z.number(),
  usage: runUsage,
  context: contextUse.optional(),
})
export type RunReport = Body<typeof runReport>

/** `POST /runs/{id}/cancel`. */
export const cancelledRun = z.object({ id: z.string(), state: runState })
export type CancelledRun = Body<typeof cancelledRun>

/** `POST /approvals/{id}`. */
export const decidedApproval = z.object({ approvalId: z.string(), state: approvalDecision })
export type DecidedApproval = Body<typeof decidedApproval>

/** `POST /runs/{id}/editor`. */
export const editorReceipt = z.object({ requestId: z.string() })
export type EditorReceipt = Body<typeof editorReceipt>

/** A run in `GET /sessions` that has not ended. */
export const openRun = z.object({
  id: z.string(),
  conversationId: z.string(),
  mode: runMode,
  step: z.number(),
  state: runState,
  startedAt: z.string(),
})
export type OpenRun = Body<typeof openRun>

/** A message in `GET /sessions/{id}/messages`, with the end of its run if it has ended. */
export const messageEntry = z.object({
  id: z.string(),
  conversationId: z.string(),
  ...messageFacts,
  joined: z.array(joinedMessage).optional(),
  model: z.string().optional(),
  /** ISO 8601. */
  time: z.string(),
  state: runState,
  outcome: runOutcome.optional(),
  reason: z.string().optional(),
  answer: z.string().optional(),
  summary: z.string().optional(),
  steps: z.number().optional(),
  requests: z.number().optional(),
  files: z.array(fileCount).optional(),
  usage: runUsage.optional(),
  context: contextUse.optional(),
})
export type MessageEntry = Body<typeof messageEntry>
