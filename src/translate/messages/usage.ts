import { readCopilotUsage } from '../parts/copilot-usage.ts'
import { isObject } from '../parts/wire-json.ts'
import type { Usage } from '../turn.ts'
import type { DeltaUsage, StartUsage } from './wire-event.ts'

/** What a stream has said of its tokens so far, in Anthropic's counting. Updated in place. */
export interface UsageCounts {
  input: number | undefined
  cacheRead: number | undefined
  cacheWrite: number | undefined
  output: number | undefined
  thinking: number | undefined
  searches: number | undefined
  nanoAiu: number | undefined
}

export function startUsageCounts(): UsageCounts {
  return {
    input: undefined,
    cacheRead: undefined,
    cacheWrite: undefined,
    output: undefined,
    thinking: undefined,
    searches: undefined,
    nanoAiu: undefined,
  }
}

/**
 * Counts are totals of the message so far: a later one replaces an earlier one, and an absent one erases nothing.
 * @param copilotUsage what stands beside the usage in `message_delta`
 */
export function noteUsage(counts: UsageCounts, usage: unknown, copilotUsage?: unknown): void {
  counts.nanoAiu = readCopilotUsage(copilotUsage).nanoAiu ?? counts.nanoAiu
  if (!isObject(usage)) return
  const { output_tokens_details: details, server_tool_use: tools } = usage
  counts.input = toCount(usage['input_tokens']) ?? counts.input
  counts.cacheRead = toCount(usage['cache_read_input_tokens']) ?? counts.cacheRead
  counts.cacheWrite = toCount(usage['cache_creation_input_tokens']) ?? counts.cacheWrite
  counts.output = toCount(usage['output_tokens']) ?? counts.output
  if (isObject(details)) counts.thinking = toCount(details['thinking_tokens']) ?? counts.thinking
  if (isObject(tools)) counts.searches = toCount(tools['web_search_requests']) ?? counts.searches
}

/** Undefined where upstream stated neither what was read nor what was written. */
export function toUsage(counts: UsageCounts): Usage | undefined {
  const { input, cacheRead, cacheWrite, output, thinking, searches, nanoAiu } = counts
  if (input === undefined && output === undefined) return undefined
  return {
    // Anthropic counts what the cache took part in apart from the rest of the input.
    inputTokens: (input ?? 0) + (cacheRead ?? 0) + (cacheWrite ?? 0),
    cachedInputTokens: cacheRead ?? 0,
    cacheWriteTokens: cacheWrite,
    outputTokens: output ?? 0,
    reasoningTokens: thinking,
    searches,
    nanoAiu,
  }
}

/** What two replies that make one answer have cost together. */
export function addUsage(first: Usage | undefined, second: Usage | undefined): Usage | undefined {
  if (first === undefined || second === undefined) return first ?? second
  return {
    inputTokens: first.inputTokens + second.inputTokens,
    cachedInputTokens: first.cachedInputTokens + second.cachedInputTokens,
    cacheWriteTokens: addStated(first.cacheWriteTokens, second.cacheWriteTokens),
    outputTokens: first.outputTokens + second.outputTokens,
    reasoningTokens: addStated(first.reasoningTokens, second.reasoningTokens),
    searches: addStated(first.searches, second.searches),
    nanoAiu: addStated(first.nanoAiu, second.nanoAiu),
  }
}

function addStated(first: number | undefined, second: number | undefined): number | undefined {
  return first === undefined || second === undefined ? (first ?? second) : first + second
}

/** What `message_start` says: zeros where upstream has not counted yet; `message_delta` has the truth in the end. */
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

/** What `message_delta` says. @param searches web searches seen in the reply, for an upstream that does not count them */
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

/** Never below zero: backends disagree on whether the input they state has the cached part in it. */
function uncached({ inputTokens, cachedInputTokens, cacheWriteTokens = 0 }: Usage): number {
  return Math.max(0, inputTokens - cachedInputTokens - cacheWriteTokens)
}

function toCount(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined
}
