import { z } from 'zod'
import type { Body } from './body.ts'
import { approvalDecision, runMode } from './run.ts'

/*
 * The bodies that callers send to the daemon's own routes.
 */

/** Characters. */
const maxText = 1024 * 1024
const maxAttachments = 20

const attachment = z.union(
  [
    z.strictObject({ name: z.string().max(300), mediaType: z.string().max(100), text: z.string() }),
    z.strictObject({
      name: z.string().max(300),
      mediaType: z
        .string()
        .regex(/^image\/(?:png|jpeg|gif|webp)$/, 'must be image/png, image/jpeg, image/gif or image/webp'),
      base64: z.base64(),
    }),
  ],
  'must be {name, mediaType, text} or, for an image, {name, mediaType, base64}',
)
export type Attachment = Body<typeof attachment>

/** `read`: the editor of the caller tells the texts of files. `write`: it takes texts too. */
const editorAbility = z.enum(['read', 'write'])
export type EditorAbility = z.infer<typeof editorAbility>

/** `POST /message`. */
export const messageInput = z.strictObject({
  text: z.string().trim().min(1).max(maxText),
  /** An id or a name; absent: the only session. */
  sessionId: z.string().optional(),
  /** Absent: the caller's conversation that was used last, or a new one. */
  conversationId: z.string().optional(),
  /** `true`: a run of its own, also while another run of the conversation is in progress. */
  queue: z.boolean().optional(),
  mode: runMode.optional(),
  model: z.string().trim().min(1).max(300).optional(),
  maxSteps: z.int().min(1).optional(),
  /** AI credits. */
  maxCredits: z.number().positive().optional(),
  attachments: z.array(attachment).max(maxAttachments).optional(),
  /** The caller answers the events `editor` of the run. Its tools then read and change the unsaved texts of an editor. */
  editor: editorAbility.optional(),
})
export type MessageInput = Body<typeof messageInput>

/** The answer of `POST /message`: the id of the message, and of its run unless `runId` names the run that it joined. */
export const acceptedMessage = z.object({
  id: z.string(),
  sessionId: z.string(),
  conversationId: z.string(),
  runId: z.string().optional(),
})
export type AcceptedMessage = Body<typeof acceptedMessage>

/** Characters. */
const maxTitle = 200

/** `POST /sessions/{id}/conversations`. */
export const newConversationInput = z
  .strictObject({
    /** The conversation whose messages the new one begins with. */
    forkOf: z.string().optional(),
    /** Its last message that the new one has. Absent: all of them. */
    until: z.string().optional(),
  })
  .refine(({ forkOf, until }) => until === undefined || forkOf !== undefined, {
    path: ['until'],
    error: 'needs forkOf, the id of the conversation that has the message',
  })
export type NewConversationInput = Body<typeof newConversationInput>

/** `PATCH /sessions/{id}/conversations/{conversationId}`. */
export const conversationInput = z.strictObject({ title: z.string().trim().min(1).max(maxTitle) })

/** `POST /approvals/{id}`. */
export const decisionInput = z.strictObject({ decision: approvalDecision })

/** `POST /runs/{id}/editor`: the answer to an event `editor`. `ok: false`: the editor does not have the file, or has failed. */
export const editorInput = z.strictObject({
  requestId: z.string(),
  ok: z.boolean(),
  /** The answer to `read`. */
  text: z.string().max(maxText).optional(),
})

/** A code or token with less than 256 bits is refused. */
const secret = z.string().regex(/^[\w-]{43,128}$/)

/** `POST /page/codes`. */
export const codeInput = z.strictObject({ code: secret })

/** `POST /page/tokens`. */
export const tokenInput = z.strictObject({ code: secret, token: secret })
