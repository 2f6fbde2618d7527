import { isFilled, isObject, type JsonObject, objectsOf } from '../../json/json.ts'
import type { SearchFailure, SearchOutcome } from '../turn.ts'
import type { WebSearchContent } from './wire.ts'

/** Prefix of the proxy's own `encrypted_content`. Callers return the value unread. */
const prefix = 'cpw1.'

/** Encodes the result of a search that the proxy ran. */
export function toResultContent(outcome: SearchOutcome): WebSearchContent {
  if ('failure' in outcome) return { type: 'web_search_tool_result_error', error_code: outcome.failure }
  return outcome.pages.map(({ url, title, text }) => ({
    type: 'web_search_result',
    url,
    title,
    encrypted_content: prefix + Buffer.from(text).toString('base64url'),
    page_age: null,
  }))
}

/** Decodes a search result in a caller's history. The pages of a search that Anthropic ran have no text. */
export function readResultContent(content: unknown): SearchOutcome {
  if (!Array.isArray(content)) {
    const code = isObject(content) ? content['error_code'] : undefined
    return { failure: failures.find((each) => each === code) ?? 'unavailable' }
  }
  const pages = objectsOf(content).flatMap(({ url, title, encrypted_content: sealed }) => {
    if (!isFilled(url)) return []
    const text = isFilled(sealed) && sealed.startsWith(prefix) ? sealed.slice(prefix.length) : ''
    return [{ url, title: isFilled(title) ? title : url, text: Buffer.from(text, 'base64url').toString('utf8') }]
  })
  return { pages, text: pages.map(({ text }) => text).join('') }
}

const failures: readonly SearchFailure[] = [
  'invalid_tool_input',
  'max_uses_exceeded',
  'query_too_long',
  'too_many_requests',
  'unavailable',
]

/**
 * Moves the result of each search after its call, which is Anthropic's order. If an upstream of another dialect ran the
 * search, the stream has the result after the text that cites its pages.
 */
export function orderSearchResults(message: JsonObject): JsonObject {
  const { content } = message
  if (!Array.isArray(content)) return message
  const blocks = objectsOf(content)
  const results = new Map(blocks.filter(isSearchResult).map((block) => [block['tool_use_id'], block]))
  if (results.size === 0) return message
  const placed = blocks.flatMap((block) => {
    if (isSearchResult(block)) return []
    const result = results.get(block['id'])
    return result === undefined ? [block] : [block, result]
  })
  return { ...message, content: placed }
}

function isSearchResult({ type }: JsonObject): boolean {
  return type === 'web_search_tool_result'
}
