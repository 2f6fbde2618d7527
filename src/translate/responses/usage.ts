import { readCopilotUsage } from '../engine/usage.ts'
import { countOf, isObject, objectOf } from '../../json/json.ts'
import type { Usage } from '../turn.ts'
import type { ResponseUsage, WireEvent, WireObject } from './wire.ts'

/**
 * Converts upstream's counts; undefined if it states none.
 * @param copilotUsage of the final event, as `copilotUsageOf` finds it
 */
export function toUsage(usage: unknown, copilotUsage?: unknown): Usage | undefined {
  if (!isObject(usage)) return undefined
  const input = objectOf(usage['input_tokens_details'])
  const output = objectOf(usage['output_tokens_details'])
  const cacheWrite = input['cache_write_tokens']
  const reasoning = output['reasoning_tokens']
  return {
    inputTokens: countOf(usage['input_tokens']),
    cachedInputTokens: countOf(input['cached_tokens']),
    ...readCopilotUsage(copilotUsage),
    ...(typeof cacheWrite === 'number' && { cacheWriteTokens: cacheWrite }),
    outputTokens: countOf(usage['output_tokens']),
    ...(typeof reasoning === 'number' && { reasoningTokens: reasoning }),
  }
}

/** `copilot_usage` is beside the response or in it (docs/copilot-wire.md, "Credits"). */
export function copilotUsageOf({ copilot_usage: beside, response }: WireEvent): unknown {
  return beside ?? (isObject(response) ? response['copilot_usage'] : undefined)
}

/** Clients read both details objects without a check, so both are always present. */
export function toResponseUsage(usage: Usage): ResponseUsage {
  const { inputTokens, cachedInputTokens, cacheWriteTokens = 0, outputTokens, reasoningTokens = 0 } = usage
  return {
    input_tokens: inputTokens,
    input_tokens_details: { cached_tokens: cachedInputTokens, cache_write_tokens: cacheWriteTokens },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: reasoningTokens },
    total_tokens: inputTokens + outputTokens,
  }
}

/** Adds the members that clients demand and upstream left out. Returns whether any was missing. */
export function completeUsage(usage: WireObject): boolean {
  const whole = toResponseUsage({ inputTokens: 0, cachedInputTokens: 0, outputTokens: 0, ...toUsage(usage) })
  let changed = false
  for (const [key, value] of Object.entries(whole)) {
    if (typeof usage[key] === typeof value && usage[key] !== null) continue
    usage[key] = value
    changed = true
  }
  return changed
}
