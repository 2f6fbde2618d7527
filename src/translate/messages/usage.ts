import { readCopilotUsage } from '../engine/usage.ts'
import { isObject } from '../../json/json.ts'
import type { Usage } from '../turn.ts'
import type { DeltaUsage, StartUsage } from './wire.ts'

/** Tokens of a stream so far, as Anthropic counts. Updated in place. */
export interface UsageCounts {
  input?: number | undefined
  cacheRead?: number | undefined
  cacheWrite?: number | undefined
  cacheWrite1h?: number | undefined
  output?: number | undefined
  thinking?: number | undefined
  searches?: number | undefined
  nanoAiu?: number | undefined
}

/**
 * Counts are totals of the message so far: a later one replaces an earlier one, and an absent one changes nothing.
 * @param copilotUsage `message_delta.copilot_usage`
 */
export function noteUsage(counts: UsageCounts, usage: unknown, copilotUsage?: unknown): void {
  counts.nanoAiu = readCopilotUsage(copilotUsage).nanoAiu ?? counts.nanoAiu
  if (!isObject(usage)) return
  const { output_tokens_details: details, server_tool_use: tools, cache_creation: written } = usage
  counts.input = toCount(usage['input_tokens']) ?? counts.input
  counts.cacheRead = toCount(usage['cache_read_input_tokens']) ?? counts.cacheRead
  counts.cacheWrite = toCount(usage['cache_creation_input_tokens']) ?? counts.cacheWrite
  if (isObject(written)) counts.cacheWrite1h = toCount(written['ephemeral_1h_input_tokens']) ?? counts.cacheWrite1h
  counts.output = toCount(usage['output_tokens']) ?? counts.output
  if (isObject(details)) counts.thinking = toCount(details['thinking_tokens']) ?? counts.thinking
  if (isObject(tools)) counts.searches = toCount(tools['web_search_requests']) ?? counts.searches
}

/** Undefined if upstream stated neither input nor output tokens. */
export function toUsage(counts: UsageCounts): Usage | undefined {
  const { input, cacheRead, cacheWrite, cacheWrite1h, output, thinking, searches, nanoAiu } = counts
  if (input === undefined && output === undefined) return undefined
  return {
    // Anthropic counts cached tokens apart from other input.
    inputTokens: (input ?? 0) + (cacheRead ?? 0) + (cacheWrite ?? 0),
    cachedInputTokens: cacheRead ?? 0,
    cacheWriteTokens: cacheWrite,
    ...(cacheWrite1h && { cacheWrite1hTokens: cacheWrite1h }),
    outputTokens: output ?? 0,
    reasoningTokens: thinking,
    searches,
    nanoAiu,
  }
}

/** The usage of `message_start`. Counts that upstream states only at the end are zero. */
export function toStartUsage(usage: Usage | undefined): StartUsage {
  return {
    input_tokens: usage === undefined ? 0 : uncached(usage),
    cache_read_input_tokens: usage?.cachedInputTokens ?? 0,
    cache_creation_input_tokens: usage?.cacheWriteTokens ?? 0,
    cache_creation: null,
    output_tokens: usage?.outputTokens ?? 0,
    output_tokens_details: null,
    server_tool_use: null,
    service_tier: null,
    speed: null,
    inference_geo: null,
  }
}

/** The usage of `message_delta`. @param searches web searches seen in the reply, for an upstream that does not count them */
export function toDeltaUsage(usage: Usage | undefined, searches: number): DeltaUsage {
  const requests = usage?.searches ?? searches
  return {
    input_tokens: usage === undefined ? null : uncached(usage),
    cache_read_input_tokens: usage?.cachedInputTokens ?? null,
    cache_creation_input_tokens: usage === undefined ? null : (usage.cacheWriteTokens ?? 0),
    output_tokens: usage?.outputTokens ?? 0,
    output_tokens_details: usage?.reasoningTokens === undefined ? null : { thinking_tokens: usage.reasoningTokens },
    server_tool_use: requests === 0 ? null : { web_search_requests: requests, web_fetch_requests: 0 },
  }
}

/** Never below zero: backends disagree on whether input tokens include cached ones. */
function uncached({ inputTokens, cachedInputTokens, cacheWriteTokens = 0 }: Usage): number {
  return Math.max(0, inputTokens - cachedInputTokens - cacheWriteTokens)
}

function toCount(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined
}
