import type { SearchQuery } from '../dialect.ts'
import type { ModelTraits } from '../model-traits.ts'
import type { Citation, FoundPage, SearchOutcome, Turn, TurnEvent, Usage, WebSearchTool } from '../turn.ts'
import { responsesFieldNames } from './field-names.ts'

/** Read by the model that searches. Its answer goes to another model, which answers the user. */
const INSTRUCTIONS =
  'Search the web for what the user asks and report what the pages say: facts, figures, names and dates, as they stand ' +
  'there. Cite the page behind every statement. Do not ask back, and do not answer from memory.'

/** The request that has a GPT model search the web. Which other members the model takes is `encodeTurn`'s to know. */
export function searchTurn({ query, tool }: SearchQuery, { supports }: ModelTraits): Turn {
  const { blockedDomains = [] } = tool
  // Upstream has a filter for allowed domains alone; this is how a search engine is told, and the results are looked at.
  const words = [query, ...blockedDomains.map((domain) => `-site:${domain}`)].join(' ')
  const effort = supports.reasoningEffort?.includes('low') === true ? 'low' : undefined
  return {
    fieldNames: responsesFieldNames,
    items: [
      { type: 'message', role: 'system', parts: [{ type: 'text', text: INSTRUCTIONS }], path: '' },
      { type: 'message', role: 'user', parts: [{ type: 'text', text: words }], path: '' },
    ],
    tools: [{ ...tool, onlyThere: [] }],
    sampling: {},
    stop: [],
    ...(effort !== undefined && { reasoning: { effort, summary: 'none' } }),
  }
}

/** What the answer to a search came to. */
export interface SearchFold {
  readonly push: (events: readonly TurnEvent[]) => void
  /** The answer has come to its end. */
  readonly isDone: () => boolean
  readonly outcome: () => SearchOutcome
  readonly usage: () => Usage | undefined
}

export function createSearchFold(tool: WebSearchTool): SearchFold {
  /** By slot, in order. */
  const texts = new Map<number, { text: string; readonly citations: Citation[] }>()
  let usage: Usage | undefined
  let done = false
  const textAt = (slot: number) => {
    const known = texts.get(slot) ?? { text: '', citations: [] }
    texts.set(slot, known)
    return known
  }
  return {
    push(events) {
      for (const event of events) {
        if (event.type === 'text.delta') textAt(event.slot).text += event.text
        else if (event.type === 'citation') textAt(event.slot).citations.push(event.citation)
        else if (event.type === 'usage') usage = event.usage
        else if (event.type === 'stop') done = true
      }
    },
    isDone: () => done,
    outcome() {
      const pages = new Map<string, FoundPage>()
      for (const each of texts.values()) cutByPage(each.text, each.citations, tool, pages)
      return { pages: [...pages.values()], text: [...texts.values()].map(({ text }) => text).join('') }
    },
    usage: () => usage,
  }
}

/** Gives every page the text that ends in its citation; the last one also what comes behind. */
function cutByPage(
  text: string,
  citations: readonly Citation[],
  tool: WebSearchTool,
  pages: Map<string, FoundPage>,
): void {
  const allowed = citations.filter(({ url }) => isAllowed(url, tool))
  let from = 0
  allowed.forEach(({ url, title, end = text.length }, at) => {
    const until = at === allowed.length - 1 ? text.length : Math.max(from, end)
    const known = pages.get(url)
    pages.set(url, { url, title: title === '' ? url : title, text: (known?.text ?? '') + text.slice(from, until) })
    from = until
  })
}

/** Upstream filters too; what the caller was promised holds whether it does or not. */
function isAllowed(url: string, { allowedDomains = [], blockedDomains = [] }: WebSearchTool): boolean {
  if (!URL.canParse(url)) return false
  const { hostname, pathname, protocol } = new URL(url)
  if (protocol !== 'https:' && protocol !== 'http:') return false
  const isOf = (domain: string): boolean => {
    const [host = '', ...path] = domain.toLowerCase().split('/')
    const isHost = hostname === host || hostname.endsWith(`.${host}`)
    return isHost && pathname.toLowerCase().startsWith(['', ...path].join('/'))
  }
  return (allowedDomains.length === 0 || allowedDomains.some(isOf)) && !blockedDomains.some(isOf)
}
