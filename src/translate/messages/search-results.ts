import { isObject, type JsonObject } from '../parts/is-object.ts'
import { isFilled, objectsOf } from '../parts/wire-json.ts'
import type { SearchFailure, SearchOutcome } from '../turn.ts'
import type { WebSearchContent } from './wire-event.ts'

/** What stands in `encrypted_content`: callers return it as it came, and only whoever runs the search reads it. */
const prefix = 'cpw1.'

/** What a search that was run here found, as a caller gets it. */
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

/** The same from a caller's history; of a search that Anthropic has run, the pages without their text. */
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
 * A message with the result of each search right behind its call, as Anthropic orders them. In a stream the result of a
 * search that another dialect's upstream ran comes behind the text that cites its pages.
 */
export function placeSearchResults(message: JsonObject): JsonObject {
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
