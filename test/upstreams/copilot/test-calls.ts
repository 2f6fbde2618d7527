import type { AutoSession } from './auto.ts'
import { answerChat } from './chat/route.ts'
import { DEFAULT_PACE } from '../inference.ts'
import type { InferenceCall } from '../inference.ts'
import { answerCountTokens, answerMessages } from './messages/route.ts'
import type { Outcome } from '../http/outcome.ts'
import { answerResponses } from './responses/route.ts'
import { createCopilotChecks } from './checks.ts'
import { MODELS } from './models.ts'
import { DEFAULT_COPILOT_SETTINGS } from './settings.ts'

export type Body = Readonly<Record<string, unknown>>

/** Parts of a call that a test replaces. */
export interface CallChange extends Partial<InferenceCall> {
  readonly hasVisionHeader?: boolean
  /** Values of `anthropic-beta`. */
  readonly betas?: readonly string[]
}

/** A call of a route without a server, the same every time. */
function callOf(body: Body, { hasVisionHeader, betas, ...change }: CallChange = {}): InferenceCall {
  const headers: Readonly<Record<string, string>> = {
    'x-github-api-version': '2026-06-01',
    ...(hasVisionHeader === true && { 'copilot-vision-request': 'true' }),
    ...(betas !== undefined && { 'anthropic-beta': betas.join(',') }),
  }
  return {
    bodyText: JSON.stringify(body),
    header: (name) => headers[name],
    number: 1,
    nowMs: Date.UTC(2026, 10, 20),
    pace: DEFAULT_PACE,
    models: MODELS,
    ...change,
  }
}

const checks = createCopilotChecks({
  settings: () => DEFAULT_COPILOT_SETTINGS,
  autoSessions: new Map<string, AutoSession>(),
  now: () => Date.UTC(2026, 10, 20),
})

export function chat(body: Body, change: CallChange = {}): Outcome {
  return answerChat(
    callOf({ model: 'gpt-4.1', stream: true, messages: [{ role: 'user', content: 'Hi' }], ...body }, change),
    checks.chat,
  )
}

export function responses(body: Body, change: CallChange = {}): Outcome {
  return answerResponses(callOf({ model: 'gpt-5.4', stream: true, input: 'Hi', ...body }, change), checks.responses)
}

export function messages(body: Body, change: CallChange = {}): Outcome {
  const base = {
    model: 'claude-sonnet-4.5',
    stream: true,
    max_tokens: 4096,
    messages: [{ role: 'user', content: 'Hi' }],
  }
  return answerMessages(callOf({ ...base, ...body }, change), checks.messages)
}

export function count(body: Body, change: CallChange = {}): Outcome {
  const base = { model: 'claude-sonnet-4.5', messages: [{ role: 'user', content: 'Hi' }] }
  return answerCountTokens(callOf({ ...base, ...body }, change), checks.messages)
}

/** A stream as text; fails where the outcome is none. */
export function textOf(outcome: Outcome): string {
  if (outcome.kind !== 'stream') throw new Error(`not a stream: ${JSON.stringify(outcome)}`)
  return outcome.pieces.map((piece) => (typeof piece === 'string' ? piece : Buffer.from(piece).toString())).join('')
}

/** An event of a stream over `/responses` or `/v1/messages`, as far as tests look into it. */
export interface Event {
  readonly type: string
  readonly sequence_number?: number
  readonly item_id?: string
  readonly index?: number
  readonly output_index?: number
  readonly delta?: unknown
  readonly item?: OutputItem
  readonly response?: Response
  readonly message?: Body
  readonly content_block?: Body
  readonly [member: string]: unknown
}

export interface OutputItem extends Body {
  readonly type: string
  readonly id?: string
  readonly encrypted_content?: string
}

interface Response extends Body {
  readonly status: string
  readonly output: readonly OutputItem[]
}

/** The JSON events of a stream, each once; `[DONE]` is left out. */
export function eventsOf(outcome: Outcome): readonly Event[] {
  return textOf(outcome)
    .split('\n')
    .filter((line) => line.startsWith('data: {'))
    .map((line): Event => JSON.parse(line.slice('data: '.length)))
}

/** Status and body of a reply in one piece. */
export function refusalOf(outcome: Outcome): { readonly status: number; readonly body: unknown } {
  if (outcome.kind !== 'whole') throw new Error(`not a whole reply: ${outcome.kind}`)
  const body = String(outcome.body)
  return { status: outcome.status, body: body.startsWith('{') ? JSON.parse(body) : body }
}

/** The message of an error, whatever its envelope. */
export function messageOf(outcome: Outcome): string {
  const { body } = refusalOf(outcome)
  if (typeof body !== 'object' || body === null) return String(body)
  const error: unknown = 'error' in body ? body.error : body
  return typeof error === 'object' && error !== null && 'message' in error ? String(error.message) : ''
}
