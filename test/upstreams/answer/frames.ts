import type { Answer } from './answer.ts'

/** Complete SSE frames, blank line included. */
export interface Frames {
  /** Frames of `content` before any output; default 0. */
  readonly leadCount?: number
  /** Everything before the answer is complete. A broken stream ends within these frames. */
  readonly content: readonly string[]
  /** Finish reason, usage and later frames, without `[DONE]`. */
  readonly closing: readonly string[]
  /** Encodes a failure inside a stream, as this family or route reports it (docs/copilot-wire.md, quirk 16). */
  readonly error: (failure: StreamFailure) => string
}

/** A failure that a marker asked for. */
export interface StreamFailure {
  /** Frames sent before it. */
  readonly sent: number
  /** The code to report. Undefined: the usual code. */
  readonly code: string | undefined
  /** Sends a bare error event, on routes that have two forms. */
  readonly isBare: boolean
}

export const FAILURE_MESSAGE = 'The simulated upstream failed in the middle of the stream.'

/** The failure as an event of a chat stream. */
export function midStreamError({ code = 'server_error' }: StreamFailure): unknown {
  return { error: { code, message: FAILURE_MESSAGE } }
}

/** The reasoning that the caller may read. */
export function readable({ reasoning, isRedacted }: Answer): readonly string[] {
  return isRedacted ? [] : reasoning
}

export function frame(value: unknown): string {
  return `data: ${JSON.stringify(value)}\n\n`
}

/** An event with an `event:` line that repeats its type, as Anthropic and OpenAI's `/responses` write it. */
export function namedFrame(event: { readonly type: string; readonly [member: string]: unknown }): string {
  return `event: ${event.type}\n${frame(event)}`
}

const TEXT_FIELD = '@@demo-text@@'

/**
 * Returns a frame maker for events that differ in one text only. It encodes the other members once, so that an event is
 * cheap enough for measuring a proxy. `build` must put its argument in exactly one string value.
 */
export function frameTemplate<Event>(
  build: (text: string) => Event,
  encode: (event: Event) => string = frame,
): (text: string) => string {
  const [before = '', after = ''] = encode(build(TEXT_FIELD)).split(JSON.stringify(TEXT_FIELD))
  return (text) => before + JSON.stringify(text) + after
}

/** Cuts arguments into fragments, as families that stream arguments do. */
export function fragments(text: string): readonly string[] {
  return text.match(/[\s\S]{1,12}/gu) ?? []
}

/** Counts each piece of text as one token, and four characters of a call as one token. */
export function outputTokens({ text, refusal, calls }: Answer): number {
  const callCharacters = calls.reduce((sum, call) => sum + call.name.length + call.arguments.length, 0)
  return text.length + refusal.length + Math.ceil(callCharacters / 4)
}

/**
 * Returns simulated ciphertext: as long as real ciphertext, and unique for each reply. The chat route does not check replayed
 * values.
 */
export function opaque(number: number): string {
  return Buffer.from(`demo-opaque-${number}-`.repeat(4)).toString('base64')
}
