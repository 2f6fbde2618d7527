import { isObject, type JsonObject } from '../parts/is-object.ts'
import { isFilled, objectsOf } from '../parts/wire-json.ts'
import type { SearchFailure, SearchOutcome } from '../turn.ts'
import type { WebSearchContent, WebSearchResult } from './wire-event.ts'

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
 * A message whose searches have as results the pages that the text behind them quotes. In a stream a search is written
 * before that text is known, so there its results stay empty.
 */
export function fillSearchResults(message: JsonObject): JsonObject {
  const { content } = message
  if (!Array.isArray(content) || !content.some(isSearchResult)) return message
  /** Of the last search so far: grows as its quotes are met. */
  let pages = new Map<string, WebSearchResult>()
  const searches = new Map<unknown, typeof pages>()
  for (const block of content) {
    if (isSearchResult(block)) {
      pages = new Map()
      searches.set(block, pages)
    }
    for (const citation of citationsOf(block)) notePage(pages, citation)
  }
  return { ...message, content: content.map((block) => withResults(block, searches.get(block))) }
}

function withResults(block: unknown, pages: ReadonlyMap<string, WebSearchResult> | undefined): unknown {
  return pages === undefined || !isObject(block) ? block : { ...block, content: [...pages.values()] }
}

/** Results that are there already are those of a search that was run here. */
function isSearchResult(block: unknown): boolean {
  if (!isObject(block) || block['type'] !== 'web_search_tool_result') return false
  return Array.isArray(block['content']) && block['content'].length === 0
}

function citationsOf(block: unknown): readonly unknown[] {
  const citations = isObject(block) ? block['citations'] : undefined
  return Array.isArray(citations) ? citations : []
}

function notePage(pages: Map<string, WebSearchResult>, citation: unknown): void {
  if (!isObject(citation)) return
  const { url, title } = citation
  if (typeof url !== 'string' || pages.has(url)) return
  pages.set(url, {
    type: 'web_search_result',
    url,
    title: typeof title === 'string' ? title : '',
    encrypted_content: '',
    page_age: null,
  })
}
