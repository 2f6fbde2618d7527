import { readCopilotUsage } from '../engine/usage.ts'
import { countOf, objectOf } from '../../json/json.ts'
import type { Usage } from '../turn.ts'
import type { ChatUsage } from './wire.ts'

/**
 * Upstream's counts, without those that it does not state. Source: docs/copilot-wire.md, quirk 13.
 * @param copilotUsage the stream's last value of that key
 */
export function decodeUsage(usage: Readonly<Record<string, unknown>>, copilotUsage?: unknown): Usage {
  const input = countOf(usage['prompt_tokens'])
  const output = countOf(usage['completion_tokens'])
  const { cached_tokens: cached, cache_write_tokens: written } = objectOf(usage['prompt_tokens_details'])
  const { reasoning_tokens: counted } = objectOf(usage['completion_tokens_details'])
  // Gemini has the count at the top level.
  const reasoning = counted ?? usage['reasoning_tokens']
  // Some backends do not count reasoning in `completion_tokens`: their total is more than the sum of the two.
  const reasoningCount = countOf(reasoning)
  const isSeparate = reasoningCount > 0 && usage['total_tokens'] === input + output + reasoningCount
  return {
    inputTokens: input,
    cachedInputTokens: countOf(cached),
    ...readCopilotUsage(copilotUsage),
    ...(typeof written === 'number' && { cacheWriteTokens: written }),
    outputTokens: isSeparate ? output + reasoningCount : output,
    ...(typeof reasoning === 'number' && { reasoningTokens: reasoning }),
  }
}

/** OpenAI's form; details only if known. */
export function encodeUsage(usage: Usage): ChatUsage {
  const { inputTokens, outputTokens, cachedInputTokens, cacheWriteTokens, reasoningTokens } = usage
  return {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
    prompt_tokens_details: {
      cached_tokens: cachedInputTokens,
      ...(cacheWriteTokens !== undefined && { cache_write_tokens: cacheWriteTokens }),
    },
    ...(reasoningTokens !== undefined && { completion_tokens_details: { reasoning_tokens: reasoningTokens } }),
  }
}
