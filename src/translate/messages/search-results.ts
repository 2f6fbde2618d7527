import { isObject, type JsonObject } from '../parts/is-object.ts'
import type { WebSearchResult } from './wire-event.ts'

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

function isSearchResult(block: unknown): boolean {
  return isObject(block) && block['type'] === 'web_search_tool_result'
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
