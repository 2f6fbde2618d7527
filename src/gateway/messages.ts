import { z } from 'zod'
import { checkValue } from '../json/check-value.ts'
import { isObject, parseCallerJson, type JsonObject } from '../json/json.ts'

// The messages of the provider interface, core profile (protocol version 2). Pure: text to messages, messages to text.
// The protocol document is test/fixtures/gateway/provider-interface-core-profile.md.

export const protocolVersion = 2

const megabyte = 1024 * 1024

/** Maximum sizes of a result and of any other message. Bytes of UTF-8. */
const maxResultBytes = 5 * megabyte
export const maxMessageBytes = 2 * megabyte

/** Maximum length of names, streams and reasons, which people read. Characters. */
const maxNameLength = 200

const name = z
  .string()
  .min(1, 'must not be empty')
  .max(maxNameLength, `must have at most ${maxNameLength} characters`)
  .regex(/^[^\p{Cc}\u2028\u2029]*$/u, 'must have no control characters')

// Each schema is loose, because the document demands that unknown fields are ignored.

const auth = z.looseObject({ type: z.literal('auth'), token: z.string() })

const hello = z.looseObject({
  type: z.literal('hello'),
  name,
  /** The state machine compares it, so that any other value is a version mismatch and not a malformed message. */
  protocolVersion: z.unknown().optional(),
  session: z.string(),
  tools: z.array(z.unknown()).optional(),
})

const result = z
  .looseObject({
    type: z.literal('tool.result'),
    id: z.string(),
    data: z.unknown().optional(),
    error: z.string().optional(),
    errorCode: z.string().optional(),
  })
  .refine((message) => Object.hasOwn(message, 'data') !== (message.error !== undefined), {
    error: 'needs exactly one of "data" and "error"',
  })

const push = z.looseObject({
  type: z.literal('push'),
  level: z.enum(['keep', 'surface', 'inject']),
  event: z.string().min(1, 'must not be empty'),
  stream: name.optional(),
  sessionId: z.string().optional(),
  metadata: z.record(z.string(), z.unknown()).optional(),
})
export type PushLevel = z.infer<typeof push>['level']

const toolsUpdate = z.looseObject({
  type: z.literal('tools.update'),
  tools: z.array(z.unknown()),
  sessionId: z.string().optional(),
})

const goodbye = z.looseObject({ type: z.literal('goodbye'), reason: z.string().optional() })

const providerMessages = {
  auth,
  hello,
  'tool.result': result,
  push,
  'tools.update': toolsUpdate,
  goodbye,
} as const

type ProviderType = keyof typeof providerMessages
type ProviderMessage = z.infer<(typeof providerMessages)[ProviderType]>
export type Hello = z.infer<typeof hello>
export type Push = z.infer<typeof push>
export type ToolsUpdate = z.infer<typeof toolsUpdate>
export type Result = z.infer<typeof result>

export type ErrorCode =
  | 'AUTH_FAILED'
  | 'UNSUPPORTED_VERSION'
  | 'INVALID_SESSION'
  | 'TOOL_CONFLICT'
  | 'PAYLOAD_TOO_LARGE'
  | 'RATE_LIMITED'
  | 'INVALID_JSON'
  | 'UNKNOWN_TYPE'

/** The gateway closes the connection after an error with one of these codes. */
export const fatalCodes: ReadonlySet<ErrorCode> = new Set(['AUTH_FAILED', 'UNSUPPORTED_VERSION'])

export interface ActiveSession {
  readonly id: string
  readonly label: string
  /** Path of the workspace. */
  readonly cwd: string
}

export type CancelReason = 'timeout' | 'cancelled'

export type GatewayMessage =
  | { readonly type: 'sessions'; readonly active: readonly ActiveSession[] }
  | {
      readonly type: 'hello.ack'
      readonly protocolVersion: number
      readonly providerId: string
      readonly sessionId: string
    }
  | {
      readonly type: 'tool.call'
      readonly id: string
      readonly sessionId: string
      readonly tool: string
      readonly args: unknown
    }
  | { readonly type: 'tool.cancel'; readonly id: string; readonly sessionId: string; readonly reason: CancelReason }
  | { readonly type: 'session.lifecycle'; readonly sessionId: string; readonly state: 'started' | 'idle' }
  | {
      readonly type: 'session.lifecycle'
      readonly sessionId: string
      readonly state: 'shutdown.pending'
      /** Ms. */
      readonly deadline: number
    }
  | {
      readonly type: 'error'
      readonly code: ErrorCode
      readonly message: string
      readonly replyTo?: string | undefined
      readonly providerId?: string | undefined
      readonly sessionId?: string | undefined
    }

/** @throws TypeError, RangeError for arguments that JSON cannot represent */
export function encodeMessage(message: GatewayMessage): string {
  return JSON.stringify(message)
}

/** The reason why the gateway refuses a message. */
export interface Problem {
  readonly ok: false
  readonly code: 'PAYLOAD_TOO_LARGE' | 'INVALID_JSON' | 'UNKNOWN_TYPE'
  readonly detail: string
  /** The `type` field of the message, if it is readable. */
  readonly type?: string | undefined
  /** The id of the call, if the message is a result with a readable id. */
  readonly id?: string | undefined
  /** Whether the message may be the result of any call: it is malformed, too large, or a result without a readable id. */
  readonly isAmbiguous: boolean
}

export type Decoded = { readonly ok: true; readonly message: ProviderMessage } | Problem

export function decodeMessage(text: string): Decoded {
  const sizeBytes = Buffer.byteLength(text)
  if (sizeBytes > maxResultBytes) return tooLarge()
  const parsed = parseCallerJson(text)
  if (!parsed.ok) return malformed(`The message cannot be read: ${parsed.problem}.`)
  const envelope = parsed.value
  if (!isObject(envelope) || !isEnvelope(envelope)) return malformed('The message must be a JSON object with a "type".')
  const { type } = envelope
  if (type !== 'tool.result' && sizeBytes > maxMessageBytes) return tooLarge(type)
  if (!isProviderType(type)) {
    const detail = `Unknown message type ${JSON.stringify(type.slice(0, maxNameLength))}.`
    return { ok: false, code: 'UNKNOWN_TYPE', detail, type, isAmbiguous: false }
  }
  const checked = checkValue(providerMessages[type], envelope)
  if (checked.ok) return { ok: true, message: checked.value }
  const path = checked.problem.path.join('.')
  const detail = `${type}: ${path === '' ? 'the message' : `field "${path}"`} ${checked.problem.detail}.`
  const id = type === 'tool.result' && typeof envelope['id'] === 'string' ? envelope['id'] : undefined
  return { ok: false, code: 'INVALID_JSON', detail, type, id, isAmbiguous: type === 'tool.result' && id === undefined }
}

type Envelope = JsonObject & { readonly type: string }

function isEnvelope(value: JsonObject): value is Envelope {
  return typeof value['type'] === 'string'
}

function isProviderType(type: string): type is ProviderType {
  return Object.hasOwn(providerMessages, type)
}

function malformed(detail: string): Problem {
  return { ok: false, code: 'INVALID_JSON', detail, isAmbiguous: true }
}

/** @param type undefined for a message above all limits, which is not parsed */
export function tooLarge(type?: string): Problem {
  const detail =
    type === undefined
      ? `The limit is ${maxResultBytes} bytes for a tool.result and ${maxMessageBytes} bytes for other messages.`
      : `The limit is ${maxMessageBytes} bytes.`
  return { ok: false, code: 'PAYLOAD_TOO_LARGE', detail, type, isAmbiguous: true }
}
