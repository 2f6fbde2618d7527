import { readCopilotUsage } from '../parts/copilot-usage.ts'
import { countOf, isObject } from '../parts/wire-json.ts'
import type { Usage } from '../turn.ts'
import type { ChatUsage } from './completion.ts'

/**
 * Upstream's counts; what it does not state stays open. Source: docs/copilot-wire.md, quirk 13.
 * @param copilotUsage what the stream has said under that key
 */
export function decodeUsage(usage: Readonly<Record<string, unknown>>, copilotUsage?: unknown): Usage {
  const input = countOf(usage['prompt_tokens'])
  const output = countOf(usage['completion_tokens'])
  const { cached_tokens: cached, cache_write_tokens: written } = detailsOf(usage['prompt_tokens_details'])
  const { reasoning_tokens: counted } = detailsOf(usage['completion_tokens_details'])
  // Gemini has it at the top.
  const reasoning = counted ?? usage['reasoning_tokens']
  // Some backends leave the thoughts out of `completion_tokens`; the total then is more than the sum.
  const beside = countOf(reasoning)
  const isOnTop = beside > 0 && usage['total_tokens'] === input + output + beside
  return {
    inputTokens: input,
    cachedInputTokens: countOf(cached),
    ...readCopilotUsage(copilotUsage),
    ...(typeof written === 'number' && { cacheWriteTokens: written }),
    outputTokens: isOnTop ? output + beside : output,
    ...(typeof reasoning === 'number' && { reasoningTokens: reasoning }),
  }
}

/** As OpenAI counts; details only of what is known. */
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

function detailsOf(details: unknown): Readonly<Record<string, unknown>> {
  return isObject(details) ? details : {}
}
