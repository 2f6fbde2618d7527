import type { Usage } from '../turn.ts'
import { isObject, objectsOf } from './wire-json.ts'

/**
 * What `copilot_usage` states beside a reply's usage. Tokens that were written to the cache are in its details also where
 * the usage itself has no member for them. Source: docs/copilot-wire.md, "Credits".
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
