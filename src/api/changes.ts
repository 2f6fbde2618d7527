import { z } from 'zod'
import type { Body } from './body.ts'
import { fileCount, runMode } from './run.ts'

const changedFile = fileCount.pick({ path: true, change: true })

/** A change that a tool has made in the files of a workspace. */
const changeEntry = z.object({
  id: z.string(),
  /** ISO 8601. */
  time: z.string(),
  /** The run whose agent made the change. Absent: another caller, or a person who undid something. */
  runId: z.string().optional(),
  files: z.array(changedFile),
  /** The changes that this one has undone, the newest first. */
  undoes: z.array(z.string()).optional(),
  /** The change that has undone this one. */
  undoneBy: z.string().optional(),
})
export type ChangeEntry = Body<typeof changeEntry>

/** `GET /sessions/{id}/changes`: those that the caller may see, oldest first. */
export const changeList = z.object({
  changes: z.array(changeEntry),
  /** What these changes have done together to each file, without files that are as they were. Absent with `diff=false`. */
  files: z.array(fileCount.extend({ diff: z.string() })).optional(),
  /** Diffs are left out, because they are too long or their texts are no longer stored. */
  truncated: z.boolean().optional(),
})
export type ChangeList = Body<typeof changeList>

/** `POST /changes/{id}/undo` and `POST /runs/{id}/undo`. The body may be empty. */
export const undoInput = z.strictObject({
  /** Only describes what would come back. */
  dryRun: z.boolean().optional(),
})

/** The answer of `POST /changes/{id}/undo` and `POST /runs/{id}/undo`. */
export const undoReport = z.object({
  sessionId: z.string(),
  /** The undo as a change that can be undone too. Absent with `dryRun`. */
  id: z.string().optional(),
  /** The changes that are undone, the newest first. */
  undoes: z.array(z.string()),
  /** What happens to each file. */
  files: z.array(changedFile),
  /** Only with `dryRun`. */
  diff: z.string().optional(),
  /** The diff is shortened. */
  truncated: z.boolean().optional(),
})
export type UndoReport = Body<typeof undoReport>

/** `POST /sessions/{id}/conversations/{conversationId}/rewind`. */
export const rewindInput = z.strictObject({
  /** The conversation ends before this message. */
  messageId: z.string(),
  /** `false`: files stay as they are. Default: true */
  files: z.boolean().optional(),
  /** Only describes what would come back. */
  dryRun: z.boolean().optional(),
})

export const rewindReport = z.object({
  sessionId: z.string(),
  conversationId: z.string(),
  /** Ids of the messages that leave the conversation, oldest first. */
  messages: z.array(z.string()),
  /** What the first of them says. */
  text: z.string(),
  mode: runMode,
  /** The changes of files that are taken back. Absent if there are none. */
  undo: undoReport.omit({ sessionId: true }).optional(),
})
export type RewindReport = Body<typeof rewindReport>
