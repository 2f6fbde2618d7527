import type { ModelTraits } from './model-traits.ts'
import type { Citation, FoundPage, SearchOutcome, Turn, TurnEvent, TurnItem, WebSearchTool } from './turn.ts'
import { createTurn, userMessage } from './turn-request.ts'

/** A web search that a model asks for. */
export interface SearchQuery {
  readonly query: string
  /** The tool as the caller offered it. */
  readonly tool: WebSearchTool
}

/** Instructions for the model that searches. Another model reads its answer and answers the user. */
const INSTRUCTIONS =
  'Search the web for what the user asks and report what the pages say: facts, figures, names and dates, exactly as the ' +
  'pages state them. Cite the page for every statement. Do not ask back, and do not answer from memory.'

/** Returns the request that makes a GPT model search the web. */
export function searchTurn({ query, tool }: SearchQuery, { supports }: ModelTraits): Turn {
  const { blockedDomains = [] } = tool
  // Upstream's filter has only allowed domains. Search engines understand `-site:`, and `isAllowed` checks the results.
  const prompt = [query, ...blockedDomains.map((domain) => `-site:${domain.replace(/\*.*/, '')}`)].join(' ')
  const effort = supports.reasoningEffort?.includes('low') === true ? 'low' : undefined
  const system: TurnItem = { type: 'message', role: 'system', parts: [{ type: 'text', text: INSTRUCTIONS }], path: '' }
  return createTurn([system, userMessage(prompt)], {
    tools: [{ ...tool, onlyThere: [] }],
    ...(effort !== undefined && { reasoning: { effort, summary: 'none' } }),
  })
}

export function createSearchFold(tool: WebSearchTool) {
  /** By slot, in order. */
  const texts = new Map<number, { text: string; readonly citations: Citation[] }>()
  const textAt = (slot: number) => {
    const known = texts.get(slot) ?? { text: '', citations: [] }
    texts.set(slot, known)
    return known
  }
  return {
    push(events: readonly TurnEvent[]): void {
      for (const event of events) {
        if (event.type === 'text.delta') textAt(event.slot).text += event.text
        else if (event.type === 'citation') textAt(event.slot).citations.push(event.citation)
      }
    },
    outcome(): SearchOutcome {
      const pages = new Map<string, FoundPage>()
      for (const each of texts.values()) cutByPage(each.text, each.citations, tool, pages)
      const isCited = [...texts.values()].some(({ citations }) => citations.length > 0)
      // Withholds an answer that cites only pages of other domains.
      const text = isCited && pages.size === 0 ? '' : [...texts.values()].map((each) => each.text).join('')
      return { pages: [...pages.values()], text }
    },
  }
}

/** Gives each page the text that ends in its citation, and the last page the remaining text too. */
function cutByPage(
  text: string,
  citations: readonly Citation[],
  tool: WebSearchTool,
  pages: Map<string, FoundPage>,
): void {
  const cited = citations.filter(({ url }) => isWebPage(url))
  let from = 0
  cited.forEach(({ url, title, end = text.length }, at) => {
    const until = at === cited.length - 1 ? text.length : Math.max(from, end)
    const cut = text.slice(from, until)
    from = until
    if (!isAllowed(url, tool)) return
    pages.set(url, { url, title: title === '' ? url : title, text: (pages.get(url)?.text ?? '') + cut })
  })
}

function isWebPage(url: string): boolean {
  return URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)
}

/** OpenAI's filter does not support paths. */
export function hostOf(domain: string): string {
  return domain.toLowerCase().split('/')[0] ?? ''
}

/** Applies the caller's filter whether or not upstream has applied it. */
function isAllowed(url: string, { allowedDomains = [], blockedDomains = [] }: WebSearchTool): boolean {
  const { hostname, pathname } = new URL(url)
  const isOf = (domain: string): boolean => {
    const host = hostOf(domain)
    const isHost = hostname === host || hostname.endsWith(`.${host}`)
    // One wildcard may stand in the path. Source: Anthropic documentation, web search tool, 2026-11.
    const [start = '', after = ''] = domain.toLowerCase().slice(host.length).split('*')
    const path = pathname.toLowerCase()
    return isHost && path.startsWith(start) && path.includes(after, start.length)
  }
  return (allowedDomains.length === 0 || allowedDomains.some(isOf)) && !blockedDomains.some(isOf)
}
