import type { Target } from './adapt/target.ts'

export interface WireSampling {
  readonly temperature?: number | undefined
  readonly top_p?: number | undefined
  readonly top_k?: number | undefined
}

export interface FitSampling {
  readonly sampling: WireSampling
  readonly dropped: readonly { readonly name: keyof WireSampling; readonly reason: string }[]
  readonly isTemperatureClamped: boolean
}

/** `temperature` and `top_p` of 1 ask for what happens anyway. */
const DEFAULT = 1

/** What the model takes of the caller's sampling. Source: docs/copilot-wire.md, "messages, sampling". */
export function fitSampling(asked: WireSampling, target: Target, thinks: boolean): FitSampling {
  const { temperature, top_p: topP, top_k: topK } = asked
  const dropped: { readonly name: keyof WireSampling; readonly reason: string }[] = []
  const drop = (name: keyof WireSampling, reason: string): void => {
    if (asked[name] !== undefined && (asked[name] !== DEFAULT || name === 'top_k')) dropped.push({ name, reason })
  }
  if (!target.takesSampling || thinks) {
    const reason = target.takesSampling
      ? 'not supported together with thinking'
      : `not supported by ${target.traits.id}`
    for (const name of ['temperature', 'top_p', 'top_k'] as const) drop(name, reason)
    return { sampling: {}, dropped, isTemperatureClamped: false }
  }
  // Of two the one that asks for something stays.
  const usesTopP = topP !== undefined && (temperature === undefined || (temperature === DEFAULT && topP !== DEFAULT))
  if (!usesTopP) drop('top_p', 'not supported together with temperature')
  const clamped = temperature === undefined || usesTopP ? undefined : Math.min(temperature, 1)
  return {
    sampling: {
      ...(clamped !== undefined && { temperature: clamped }),
      ...(usesTopP && { top_p: topP }),
      ...(topK !== undefined && { top_k: topK }),
    },
    dropped,
    isTemperatureClamped: clamped !== undefined && clamped !== temperature,
  }
}
