import { z } from 'zod'
import type { Body } from './body.ts'
import {
  approvalFacts,
  contextUse,
  fileCount,
  instructionFile,
  messageFacts,
  planItem,
  runOutcome,
  runUsage,
  toolEnd,
} from './run.ts'

/*
 * The events of `GET /events`. `type` is the event's name, the other fields are its data.
 */

/** Fields of all events but `gap`. */
const sent = {
  sessionId: z.string(),
  /** ISO 8601. */
  time: z.string(),
}

/** Fields of all events of a run. */
const ofRun = {
  ...sent,
  /** The id of the message and its run. */
  id: z.string(),
  /** Absent in events from before there were conversations. */
  conversationId: z.string().optional(),
  /** A text is shortened, or the arguments are left out. */
  truncated: z.boolean().optional(),
}

/**
 * A message arrived: the first event of its run, or, with `runId`, a message that joined a run. If that run ends before a model
 * reads the message, a second event with the same id begins a run of its own. `model` is the one that the message names.
 */
const inboundEvent = z.object({
  type: z.literal('inbound'),
  ...ofRun,
  ...messageFacts,
  runId: z.string().optional(),
  model: z.string().optional(),
})

/**
 * A piece of text. `commentary`: what the model says before it acts. `step`: the header of a step, e.g. "Step 2 of 30".
 * `notice`: a message of the run itself, e.g. that another model took over.
 */
const fragmentEvent = z.object({
  type: z.literal('fragment'),
  ...ofRun,
  kind: z.enum(['answer', 'thinking', 'commentary', 'step', 'notice']),
  text: z.string(),
  step: z.number().optional(),
  model: z.string().optional(),
})

/** From here on, the context of the run has this file. */
const instructionsEvent = z.object({ type: z.literal('instructions'), ...ofRun, ...instructionFile.shape })

/** What the run has used so far. Sent after each answer of a model. */
const usageEvent = z.object({
  type: z.literal('usage'),
  ...ofRun,
  requests: z.number(),
  usage: runUsage,
  context: contextUse.optional(),
})
export type UsageEvent = Body<typeof usageEvent>

/** The older part of the conversation left the context of the run, because it was too long for the model. */
const compactionEvent = z.object({
  type: z.literal('compaction'),
  ...ofRun,
  step: z.number(),
  /** Whether a summary stands in place of what was dropped. */
  isSummarised: z.boolean(),
  /** Messages of the user and of the model. */
  messages: z.number(),
  /** Calls of tools, with their results. */
  calls: z.number(),
  /** An estimate. */
  tokens: z.number(),
})

const ofTool = {
  type: z.literal('tool'),
  ...ofRun,
  callId: z.string(),
  /** The bus method, e.g. `mcp.fs.read`. */
  tool: z.string(),
  /** Counted from 1. 0: what the message mentions, before the first step. */
  step: z.number(),
}

const toolEvent = z.discriminatedUnion('state', [
  z.object({ ...ofTool, state: z.literal('started'), args: z.unknown() }),
  z.object({
    ...ofTool,
    state: z.literal('progress'),
    text: z.string(),
    stream: z.enum(['stdout', 'stderr']).optional(),
  }),
  z.object({ ...ofTool, state: z.literal('ended'), ...toolEnd }),
])
export type ToolEvent = Body<typeof toolEvent>

const approvalEvent = z.object({ type: z.literal('approval'), ...ofRun, ...approvalFacts })
export type ApprovalEvent = Body<typeof approvalEvent>

/** A tool has changed files. */
const diffEvent = z.object({
  type: z.literal('diff'),
  ...ofRun,
  callId: z.string(),
  /** Id of the journal entry, for `mcp.edit.undo`; '' for a change without a journal entry. */
  patchId: z.string(),
  diff: z.string(),
  files: z.array(fileCount),
})

/** A run has stated its plan, which replaces the one before. */
const planEvent = z.object({ type: z.literal('plan'), ...ofRun, items: z.array(planItem) })

/**
 * Asks the caller whose message began the run, if the message says `editor`, about a file that may be open there. The answer is
 * `POST /runs/{id}/editor`, within two seconds, or ten for a `write`.
 */
const editorEvent = z.object({
  type: z.literal('editor'),
  ...ofRun,
  requestId: z.string(),
  /** `read`: the text of the file in the editor is wanted. `write`: the editor has to take over the text on disk. */
  action: z.enum(['read', 'write']),
  /** Relative to the root. */
  path: z.string(),
  /** With `write`: SHA-256 of the file on disk, in hex. */
  sha256: z.string().optional(),
})
export type EditorEvent = Body<typeof editorEvent>

/** The last event of every run. */
const doneEvent = z.object({
  type: z.literal('done'),
  ...ofRun,
  outcome: runOutcome,
  reason: z.string(),
  summary: z.string(),
  answer: z.string(),
  model: z.string().optional(),
  steps: z.number(),
  requests: z.number(),
  files: z.array(fileCount),
  usage: runUsage,
  context: contextUse.optional(),
})
export type DoneEvent = Body<typeof doneEvent>

/** A text that a provider has sent for people to see. */
const pushEvent = z.object({
  type: z.literal('push'),
  ...sent,
  provider: z.string(),
  stream: z.string(),
  level: z.enum(['surface', 'inject']),
  text: z.string(),
  metadata: z.record(z.string(), z.unknown()).optional(),
})

/** `started`: a run has begun. `idle`: the last run in progress has ended. */
const lifecycleEvent = z.object({
  type: z.literal('lifecycle'),
  ...sent,
  state: z.enum(['added', 'removed', 'started', 'idle', 'shutdown']),
  /** Name of the session. */
  name: z.string().optional(),
})

/** A failure outside of a run, e.g. a full disk. */
const errorEvent = z.object({ type: z.literal('error'), ...sent, code: z.string(), message: z.string() })

/** The daemon no longer has the events with the ids from `from` to `to`. */
const gapEvent = z.object({ type: z.literal('gap'), from: z.number(), to: z.number() })

/** An event of `GET /events`, with its name as `type`. */
export const daemonEvent = z.discriminatedUnion('type', [
  inboundEvent,
  fragmentEvent,
  instructionsEvent,
  usageEvent,
  compactionEvent,
  toolEvent,
  approvalEvent,
  diffEvent,
  planEvent,
  editorEvent,
  doneEvent,
  pushEvent,
  lifecycleEvent,
  errorEvent,
  gapEvent,
])
export type DaemonEvent = Body<typeof daemonEvent>
