import { objectsOf } from '../parts/wire-json.ts'
import type { LogProb, WireObject } from './wire-event.ts'

/** Token log probabilities as this dialect has them. Chat Completions has the same, where `bytes` can be null. */
export function toLogProbs(stated: readonly unknown[]): LogProb[] {
  const all: LogProb[] = []
  for (const { top_logprobs: top, ...entry } of objectsOf(stated)) {
    const token = toToken(entry)
    if (token === undefined) continue
    const top_logprobs = objectsOf(top).flatMap((one) => toToken(one) ?? [])
    all.push({ ...token, top_logprobs })
  }
  return all
}

function toToken({ token, logprob, bytes }: WireObject): Omit<LogProb, 'top_logprobs'> | undefined {
  if (typeof token !== 'string' || typeof logprob !== 'number') return undefined
  return { token, logprob, bytes: bytesOf(bytes) }
}

function bytesOf(bytes: unknown): number[] {
  return Array.isArray(bytes) ? bytes.filter((byte) => typeof byte === 'number') : []
}
