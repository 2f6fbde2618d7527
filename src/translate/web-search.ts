import { addToDraft, draftedItems, type DraftPart } from './fold-turn.ts'
import { createReplyJoiner } from './engine/reply/join-replies.ts'
import type { SearchQuery } from './search-request.ts'
import { isFilled, parseObject } from '../json/json.ts'
import type {
  Citation,
  FoundPage,
  FunctionTool,
  SearchFailure,
  SearchItem,
  SearchOutcome,
  Turn,
  TurnEvent,
  TurnItem,
  TurnTool,
  TurnToolChoice,
  Usage,
  WebSearchTool,
} from './turn.ts'
import type { Warning } from './warning.ts'

// Emulates web search for models without it. The model gets a function in place of the search tool. Another model of the
// same provider runs each search that the function asks for. The caller sees searches as if upstream had run them, and
// never the calls. This file decides what to search for and writes the results; `pipeline/web-search.ts` runs the model and
// the searches in turns.

/** Searches in one answer, for a request without `max_uses`. */
const defaultMaxUses = 8

/** Continuations of one answer; the last may call no tool. */
const maxContinuations = 10

/** Characters. A guess: Anthropic states no limit on a query. */
const maxQueryLength = 1000

export interface EmulatedTurn {
  readonly turn: Turn
  readonly tool: WebSearchTool
  /** Name of the function that replaces the tool. */
  readonly name: string
  readonly warnings: readonly Warning[]
}

/** Replaces the search tool of a Turn with a function. Undefined if the Turn offers no search that the proxy can run. */
export function emulateSearch(turn: Turn): EmulatedTurn | undefined {
  const tool = turn.tools.find((each) => each.type === 'web_search')
  // By default Codex asks for a search of stored pages (`external_web_access: false`). This search reads the live web.
  if (tool === undefined || tool.onlyThere.includes('external_web_access')) return undefined
  const taken = new Set(turn.tools.flatMap((each) => ('name' in each ? [each.name] : [])))
  let name = 'web_search'
  while (taken.has(name)) name += '_'
  const tools = turn.tools.flatMap((each): readonly TurnTool[] => {
    if (each.type !== 'web_search') return [each]
    return each === tool ? [searchFunction(name, tool)] : []
  })
  const items = turn.items.flatMap((item) => (item.type === 'web_search' ? toCall(item, name) : [item]))
  return { turn: { ...turn, tools, items }, tool, name, warnings: searchWarnings(tool) }
}

function searchFunction(name: string, { path, allowedDomains, blockedDomains }: WebSearchTool): FunctionTool {
  const limits = [
    ...(allowedDomains?.length ? [`Only pages of these domains are found: ${allowedDomains.join(', ')}.`] : []),
    ...(blockedDomains?.length ? [`Pages of these domains are left out: ${blockedDomains.join(', ')}.`] : []),
  ]
  return {
    type: 'function',
    name,
    description: ['Searches the web and returns what it found, with the addresses of the pages.', ...limits].join(' '),
    parameters: {
      type: 'object',
      properties: { query: { type: 'string', description: 'What to search for.' } },
      required: ['query'],
    },
    path,
  }
}

/** Members of the caller's dialect that an emulated search respects. */
const respected: ReadonlySet<string> = new Set(['max_uses', 'blocked_domains', 'filters.blocked_domains'])

function searchWarnings({ path, onlyThere }: WebSearchTool): readonly Warning[] {
  const dropped = onlyThere.filter((member) => !respected.has(member))
  return [
    { code: 'emulated', field: path, detail: 'a GPT model of the same account runs the web search' },
    ...dropped.map((member): Warning => {
      return {
        code: 'dropped',
        field: `${path}.${member}`,
        detail: 'the web search of copilot-proxy does not support this setting',
      }
    }),
  ]
}

/** Turns a search of an earlier answer back into a call with its result. A search without an outcome is unchanged. */
function toCall(item: SearchItem, name: string): readonly TurnItem[] {
  const { id, query, outcome, path } = item
  if (outcome === undefined) return [item]
  return [
    { type: 'tool_call', kind: 'function', id, name, arguments: JSON.stringify({ query }), path },
    resultItem(id, outcome, path),
  ]
}

/**
 * Writes searches of earlier answers as assistant messages, for a request without an emulated search.
 * @param canSearch upstream searches itself, so the texts that follow its own searches already hold their results
 */
export function describeSearches(items: readonly TurnItem[], canSearch: boolean): readonly TurnItem[] {
  return items.map((item): TurnItem => {
    if (item.type !== 'web_search' || item.outcome === undefined) return item
    if (canSearch && ('failure' in item.outcome || item.outcome.text === '')) return item
    const text = describeSearch(item.query, item.outcome)
    return { type: 'message', role: 'assistant', parts: [{ type: 'text', text }], path: item.path }
  })
}

export function describeSearch(query: string, outcome: SearchOutcome): string {
  return `[Web search: ${query}]\n${describeOutcome(outcome)}`
}

function resultItem(callId: string, outcome: SearchOutcome, path: string): TurnItem {
  return { type: 'tool_result', callId, content: describeOutcome(outcome), isError: 'failure' in outcome, path }
}

/** The result as the model reads it. A later request must write it the same, or the prompt cache is lost. */
function describeOutcome(outcome: SearchOutcome): string {
  if ('failure' in outcome) return `The web search failed: ${outcome.failure}.`
  const { pages, text } = outcome
  if (pages.length === 0) return text.trim() === '' ? 'The web search found nothing.' : text
  const texts = pages.map((page) => page.text).join('')
  const list = pages.map(({ title, url }) => `- ${title}: ${url}`).join('\n')
  return `${texts.trim()}\n\nPages found. Cite those you use as markdown links, [title](address):\n${list}`.trimStart()
}

interface SearchCall {
  readonly slot: number
  readonly id: string
  readonly query: string
  /** Why the search is not run. */
  readonly failure: SearchFailure | undefined
}

/**
 * The rounds of one answer: in each, the model answers the Turn and may call for searches. Makes the events of all rounds
 * those of one answer.
 */
export interface SearchRounds {
  /** Turns the model's events into the caller's: removes calls of the search function and the stop that follows them. */
  readonly push: (events: readonly TurnEvent[]) => readonly TurnEvent[]
  /** Whether the model has stopped to get the results of searches. */
  readonly isWaiting: () => boolean
  /** The searches to run now. */
  readonly searches: () => readonly SearchQuery[]
  /**
   * @param results of `searches`, in order
   * @returns the events for the caller, and the Turn of the next round unless the answer ends here
   */
  readonly resume: (results: readonly SearchOutcome[]) => {
    readonly events: readonly TurnEvent[]
    readonly turn: Turn | undefined
  }
  /** The events that end the answer if upstream refuses the next round. */
  readonly endAnswer: () => readonly TurnEvent[]
  /** Usage of all rounds, with the number of successful searches. */
  readonly usage: () => Usage | undefined
}

const nothing: readonly TurnEvent[] = []

export function createSearchRounds({ turn, tool, name }: EmulatedTurn): SearchRounds {
  const joiner = createReplyJoiner()
  const maxUses = tool.maxUses ?? defaultMaxUses
  /** Parts of this round, by the caller's slot. */
  let drafts = new Map<number, DraftPart>()
  /** The answer so far, for continuations. */
  let answered: readonly TurnItem[] = []
  const pages = new Map<string, FoundPage>()
  let waiting: readonly SearchCall[] = []
  let stop: Extract<TurnEvent, { type: 'stop' }> | undefined
  let uses = 0
  let succeeded = 0
  let rounds = 0

  function take(event: TurnEvent): readonly TurnEvent[] {
    switch (event.type) {
      case 'start':
        return [event]
      case 'usage':
        return [{ type: 'usage', usage: withSearches(event.usage) }]
      case 'stop':
        return takeStop(event)
      default:
        return takePart(event)
    }
  }

  function takePart(event: Exclude<TurnEvent, { type: 'start' | 'usage' | 'stop' }>): readonly TurnEvent[] {
    const { slot } = event
    addToDraft(drafts, event)
    const draft = drafts.get(slot)
    if (draft !== undefined && isSearch(draft)) return nothing
    if (event.type === 'part.close' && draft?.type === 'text') return [...cite(slot, draft.text), event]
    return [event]
  }

  function isSearch(draft: DraftPart): boolean {
    return draft.type === 'call' && draft.kind === 'function' && draft.name === name
  }

  function takeStop(event: Extract<TurnEvent, { type: 'stop' }>): readonly TurnEvent[] {
    const calls = searchCalls()
    // Other stops may cut a call short. OpenAI's models end a forced call with `stop`.
    if (calls.length === 0 || (event.reason !== 'tool_calls' && event.reason !== 'end')) return [event]
    stop = event
    waiting = calls
    return calls.map(({ slot, id, query }) => ({ type: 'search.open', slot, id, query }))
  }

  function searchCalls(): readonly SearchCall[] {
    return [...drafts].flatMap(([slot, draft]): readonly SearchCall[] => {
      if (draft.type !== 'call' || !isSearch(draft)) return []
      const query = parseObject(draft.text)?.['query']
      if (!isFilled(query) || query.trim() === '')
        return [{ slot, id: draft.id, query: '', failure: 'invalid_tool_input' }]
      if (query.length > maxQueryLength) return [{ slot, id: draft.id, query, failure: 'query_too_long' }]
      uses += 1
      return [{ slot, id: draft.id, query, failure: uses > maxUses ? 'max_uses_exceeded' : undefined }]
    })
  }

  function withSearches(counts: Usage): Usage {
    return succeeded === 0 ? counts : { ...counts, searches: succeeded }
  }

  function usage(): Usage | undefined {
    const counts = joiner.usage()
    return counts && withSearches(counts)
  }

  function cite(slot: number, text: string): readonly TurnEvent[] {
    if (pages.size === 0) return nothing
    return citationsIn(text, pages).map((citation) => ({ type: 'citation', slot, citation }))
  }

  function itemsOfRound(outcomes: ReadonlyMap<string, SearchOutcome>): readonly TurnItem[] {
    return [...draftedItems(drafts), ...[...outcomes].map(([id, outcome]) => resultItem(id, outcome, ''))]
  }

  function end(reason?: 'end'): readonly TurnEvent[] {
    const last = stop
    stop = undefined
    if (last === undefined) return nothing
    return [reason === undefined ? last : { type: 'stop', reason }]
  }

  return {
    push: (events) => joiner.push(events).flatMap(take),
    isWaiting: () => waiting.length > 0,
    searches: () => waiting.flatMap(({ query, failure }) => (failure === undefined ? [{ query, tool }] : [])),
    resume(results) {
      const queue = [...results]
      const outcomes = new Map<string, SearchOutcome>()
      const found = waiting.flatMap(({ slot, id, query, failure }): readonly TurnEvent[] => {
        const outcome = failure === undefined ? (queue.shift() ?? { failure: 'unavailable' }) : { failure }
        outcomes.set(id, outcome)
        if (!('failure' in outcome)) {
          succeeded += 1
          for (const page of outcome.pages) pages.set(page.url, page)
        }
        return [
          { type: 'search.result', slot, id, query, outcome },
          { type: 'part.close', slot },
        ]
      })
      const hasCallersCalls = [...drafts.values()].some((draft) => draft.type === 'call' && !isSearch(draft))
      waiting = []
      const counts = succeeded > 0 ? usage() : undefined
      const events: readonly TurnEvent[] = counts === undefined ? found : [{ type: 'usage', usage: counts }, ...found]
      // The caller must answer its own calls first; its next request returns the searches too.
      if (hasCallersCalls) return { events: [...events, ...end()], turn: undefined }
      if (rounds === maxContinuations) return { events: [...events, ...end('end')], turn: undefined }
      rounds += 1
      answered = [...answered, ...itemsOfRound(outcomes)]
      drafts = new Map()
      joiner.next()
      const toolChoice = rounds === maxContinuations ? noCall : choiceAfterCall(turn.toolChoice)
      return { events, turn: { ...turn, toolChoice, items: [...turn.items, ...answered] } }
    },
    endAnswer: () => end('end'),
    usage,
  }
}

const noCall: TurnToolChoice = { type: 'none' }

/** After a forced call, lets the model choose: forced again, it would never write an answer. */
function choiceAfterCall(choice: TurnToolChoice | undefined): TurnToolChoice | undefined {
  if (choice?.type === 'required' || choice?.type === 'tool') return { type: 'auto' }
  return choice?.type === 'allowed' ? { ...choice, mode: 'auto' } : choice
}

/** A mention of a page: a markdown link or a bare address. */
const MENTION = /\[[^[\]\n]{0,300}\]\((https?:\/\/[^\s()]*(?:\([^\s()]*\)[^\s()]*)*)\)|https?:\/\/[^\s<>"')\]]+/g

function citationsIn(text: string, pages: ReadonlyMap<string, FoundPage>): readonly Citation[] {
  return [...text.matchAll(MENTION)].flatMap((match): readonly Citation[] => {
    const [mention, linked] = match
    const address = linked ?? mention
    const page = pages.get(address) ?? pages.get(address.replace(/[.,;:!?]+$/, ''))
    if (page === undefined) return []
    const { url, title } = page
    const end = match.index + mention.length - (address.length - url.length)
    return [
      {
        url,
        title,
        start: match.index,
        end: linked === undefined ? end : match.index + mention.length,
        quote: quoteOf(page),
      },
    ]
  })
}

/** Characters that Anthropic quotes of a page. Source: Anthropic documentation, web search tool, 2026-11. */
const maxQuoteLength = 150

function quoteOf({ text }: FoundPage): string | undefined {
  const quote = text
    .replace(/^[\s.,;:]+/, '')
    .slice(0, maxQuoteLength)
    .trimEnd()
  return quote === '' ? undefined : quote
}
