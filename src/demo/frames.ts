import type { Answer } from './answer.ts'

/** Complete SSE frames, blank line included. */
export interface Frames {
  /** Frames of `content` before any output; default 0. */
  readonly leadCount?: number
  /** Everything before the answer is finished; a broken stream stops in here. */
  readonly content: readonly string[]
  /** Finish reason, usage and what follows, without `[DONE]`. */
  readonly closing: readonly string[]
  /** How this family or route reports a failure inside a stream (docs/copilot-wire.md, quirk 16). */
  readonly error: (failure: StreamFailure) => string
}

/** A failure that a marker asked for. */
export interface StreamFailure {
  /** Frames sent before it. */
  readonly sent: number
  /** The code to report; undefined = the usual one. */
  readonly code: string | undefined
  /** As a bare error event, where the route has two ways. */
  readonly isBare: boolean
}

export const FAILURE_MESSAGE = 'The simulated upstream failed in the middle of the stream.'

/** The failure as an event of a chat stream. */
export function midStreamError({ code = 'server_error' }: StreamFailure): unknown {
  return { error: { code, message: FAILURE_MESSAGE } }
}

/** The reasoning that may be shown. */
export function readable({ reasoning, isRedacted }: Answer): readonly string[] {
  return isRedacted ? [] : reasoning
}

export function frame(value: unknown): string {
  return `data: ${JSON.stringify(value)}\n\n`
}

/** An event with its type as its name on a line of its own, as Anthropic and OpenAI's `/responses` write it. */
export function namedFrame(event: { readonly type: string; readonly [member: string]: unknown }): string {
  return `event: ${event.type}\n${frame(event)}`
}

const TEXT_FIELD = '@@demo-text@@'

/**
 * A frame maker for events that differ in one text only: the rest is encoded once, which keeps the cost of an event
 * low enough to measure a proxy with it. `build` must put its argument in exactly one string value.
 */
export function frameTemplate<Event>(
  build: (text: string) => Event,
  encode: (event: Event) => string = frame,
): (text: string) => string {
  const [before = '', after = ''] = encode(build(TEXT_FIELD)).split(JSON.stringify(TEXT_FIELD))
  return (text) => before + JSON.stringify(text) + after
}

/** Arguments in fragments, as the families that stream them do. */
export function fragments(text: string): readonly string[] {
  return text.match(/[\s\S]{1,12}/gu) ?? []
}

/** One token a piece; calls count their characters. */
export function outputTokens({ text, refusal, calls }: Answer): number {
  const callCharacters = calls.reduce((sum, call) => sum + call.name.length + call.arguments.length, 0)
  return text.length + refusal.length + Math.ceil(callCharacters / 4)
}

/** Not real ciphertext: long enough to be unwieldy and unique to the reply. Chat does not check what comes back. */
export function opaque(number: number): string {
  return Buffer.from(`demo-opaque-${number}-`.repeat(4)).toString('base64')
}
