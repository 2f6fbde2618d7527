import { frame } from './habits/habit.ts'

/** Frames for measuring: encoded once per server, the same bytes for every reply. */
export interface PreparedFrames {
  /** One reply of `count` text events (plus role, finish, usage and `[DONE]`), `perWrite` text events in one piece. */
  readonly pieces: (count: number, perWrite: number) => readonly Uint8Array[]
}

const BASE = {
  created: 1_750_000_000,
  id: 'chatcmpl-demo-prepared',
  model: 'demo-bench-demo',
  object: 'chat.completion.chunk',
  system_fingerprint: 'fp_demo',
}

function chunk(delta: unknown, finish: string | null = null): unknown {
  return { choices: [{ index: 0, delta, finish_reason: finish, logprobs: null }], ...BASE }
}

const OPENING = Buffer.from(frame(chunk({ content: '', role: 'assistant' })))
/** A text event of a length and shape that is usual for GPT; it needs no mending. */
const TEXT = Buffer.from(frame(chunk({ content: ' prepared' })))
const DONE = 'data: [DONE]\n\n'

export function createPreparedFrames(): PreparedFrames {
  const joined = new Map<number, Uint8Array>()

  const textFrames = (count: number): Uint8Array => {
    const known = joined.get(count)
    if (known !== undefined) return known
    const made = Buffer.concat(Array.from({ length: count }, () => TEXT))
    joined.set(count, made)
    return made
  }

  return {
    pieces: (count, perWrite) => {
      const group = Math.max(1, Math.min(perWrite, count))
      const whole = textFrames(group)
      const pieces: Uint8Array[] = [OPENING]
      for (let left = count; left > 0; left -= group) pieces.push(left >= group ? whole : textFrames(left))
      pieces.push(closing(count))
      return pieces
    },
  }
}

function closing(count: number): Uint8Array {
  const usage = { prompt_tokens: 10, completion_tokens: count, total_tokens: count + 10 }
  return Buffer.from(frame(chunk({}, 'stop')) + frame({ ...BASE, choices: [], usage }) + DONE)
}
