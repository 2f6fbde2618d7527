import { isObject, objectsOf } from '../../json/json.ts'
import type { Usage } from '../turn.ts'

/**
 * Reads `copilot_usage`, which Copilot adds beside a reply's usage. It counts the tokens written to the cache even in
 * dialects whose usage has no member for them. Source: docs/copilot-wire.md, "Credits".
 */
export function readCopilotUsage(value: unknown): Pick<Usage, 'nanoAiu' | 'cacheWriteTokens'> {
  if (!isObject(value)) return {}
  const { total_nano_aiu: total, token_details: details } = value
  let written = 0
  for (const { token_type: type, token_count: count } of objectsOf(details)) {
    if (type === 'cache_write' && typeof count === 'number') written += count
  }
  return { ...(written > 0 && { cacheWriteTokens: written }), ...(typeof total === 'number' && { nanoAiu: total }) }
}

/** The sum over two replies that make one answer. */
export function addUsage(first: Usage | undefined, second: Usage | undefined): Usage | undefined {
  if (first === undefined || second === undefined) return first ?? second
  const ofHour = addStated(first.cacheWrite1hTokens, second.cacheWrite1hTokens)
  return {
    inputTokens: first.inputTokens + second.inputTokens,
    cachedInputTokens: first.cachedInputTokens + second.cachedInputTokens,
    cacheWriteTokens: addStated(first.cacheWriteTokens, second.cacheWriteTokens),
    ...(ofHour !== undefined && { cacheWrite1hTokens: ofHour }),
    outputTokens: first.outputTokens + second.outputTokens,
    reasoningTokens: addStated(first.reasoningTokens, second.reasoningTokens),
    searches: addStated(first.searches, second.searches),
    nanoAiu: addStated(first.nanoAiu, second.nanoAiu),
  }
}

function addStated(first: number | undefined, second: number | undefined): number | undefined {
  return first === undefined || second === undefined ? (first ?? second) : first + second
}
