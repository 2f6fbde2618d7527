import type { EncodeContext, EncodedRequest, SearchQuery } from './dialect.ts'
import { isFilled, parseObject } from './parts/wire-json.ts'
import type {
  Citation,
  FoundPage,
  FunctionTool,
  SearchItem,
  SearchOutcome,
  Turn,
  TurnEvent,
  TurnItem,
  TurnTool,
  WebSearchTool,
} from './turn.ts'
import type { Warning } from './warning.ts'

// Web search for models that have none. The search tool is offered as a function; each call of it is held back from the
// caller, answered with a search that another model of the same provider runs, and emitted as a search of upstream's own.
// This file says what is to be searched for and what becomes of the results; `http/web-search.ts` runs the searches.

/** Searches in one answer whose request states no `max_uses`. */
const defaultMaxUses = 8

/** Continuations of one answer; the last one may call no tool. */
const maxContinuations = 10

/** Characters of a query. Anthropic states no limit; a query of this length is not one. */
const maxQueryLength = 1000

/** What an emulated search needs while the answer is made. */
export interface SearchPlan {
  /** The function the model calls, by the name upstream knows. */
  readonly name: string
  readonly tool: WebSearchTool
  /**
   * The request that continues the answer.
   * @param said of the answer so far: what the model said and what its searches found
   * @param isLast the model may call no tool any more
   */
  readonly resume: (said: readonly TurnItem[], isLast: boolean, context: EncodeContext) => EncodedRequest
}

export interface EmulatedTurn {
  readonly turn: Turn
  readonly tool: WebSearchTool
  /** Of the function that stands for the tool. */
  readonly name: string
  readonly warnings: readonly Warning[]
}

/**
 * The Turn with a function in place of its search tool.
 * @param tool of the Turn; others of its kind go
 */
export function emulateSearch(turn: Turn, tool: WebSearchTool): EmulatedTurn {
  const taken = new Set(turn.tools.flatMap((each) => ('name' in each ? [each.name] : [])))
  let name = 'web_search'
  while (taken.has(name)) name += '_'
  const tools = turn.tools.flatMap((each): readonly TurnTool[] => {
    if (each.type !== 'web_search') return [each]
    return each === tool ? [searchFunction(name, tool)] : []
  })
  const items = turn.items.flatMap((item) => (item.type === 'web_search' ? callOf(item, name) : [item]))
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

/** Members that only the caller's dialect has and that hold all the same. */
const honoured: ReadonlySet<string> = new Set(['max_uses', 'blocked_domains', 'filters.blocked_domains'])

function searchWarnings({ path, onlyThere }: WebSearchTool): readonly Warning[] {
  const dropped = onlyThere.filter((member) => !honoured.has(member))
  return [
    { code: 'emulated', field: path, detail: 'web search is run by a GPT model of the same account' },
    ...dropped.map((member): Warning => {
      return { code: 'dropped', field: `${path}.${member}`, detail: 'an emulated web search has no such setting' }
    }),
  ]
}

/** A search of an earlier answer as the call that led to it. One whose results nobody kept stays what it is. */
function callOf(item: SearchItem, name: string): readonly TurnItem[] {
  const { id, query, outcome, path } = item
  if (outcome === undefined) return [item]
  return [
    { type: 'tool_call', kind: 'function', id, name, arguments: JSON.stringify({ query }), path },
    resultItem(id, outcome, path),
  ]
}

/**
 * Searches of earlier answers as words of the assistant, for a request that offers no emulated search.
 * @param searches whether upstream searches itself: then what its own searches found is in the texts behind them
 */
export function describeSearches(items: readonly TurnItem[], searches: boolean): readonly TurnItem[] {
  return items.map((item): TurnItem => {
    if (item.type !== 'web_search' || item.outcome === undefined) return item
    if (searches && ('failure' in item.outcome || item.outcome.text === '')) return item
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

/** What the model reads. The same when the caller sends the search back, so that the prompt's prefix stays as it was. */
function describeOutcome(outcome: SearchOutcome): string {
  if ('failure' in outcome) return `The web search failed: ${outcome.failure}.`
  const { pages, text } = outcome
  if (pages.length === 0) return text.trim() === '' ? 'The web search found nothing.' : text
  const said = pages.map((page) => page.text).join('')
  const list = pages.map(({ title, url }) => `- ${title}: ${url}`).join('\n')
  return `${said.trim()}\n\nPages found. Cite those you use as markdown links, [title](address):\n${list}`.trimStart()
}

// The reply.

type Draft =
  | { readonly type: 'text'; text: string }
  | { readonly type: 'thought'; text: string; opaque: Extract<TurnEvent, { type: 'think.sign' }>['opaque'] | undefined }
  | {
      readonly type: 'call'
      readonly id: string
      readonly name: string
      readonly kind: 'function' | 'custom'
      readonly isSearch: boolean
      text: string
    }

interface SearchCall {
  readonly slot: number
  readonly id: string
  readonly query: string
  /** The search is not run. */
  readonly failure: Extract<SearchOutcome, { readonly failure: unknown }>['failure'] | undefined
}

/** The searches of one answer. */
export interface SearchRounds {
  /** Takes events of upstream's, returns those for the caller: without calls of the search, and without a stop behind them. */
  readonly push: (events: readonly TurnEvent[]) => readonly TurnEvent[]
  /** Upstream has stopped for results of searches. */
  readonly isWaiting: () => boolean
  /** The searches it waits for that are to be run. */
  readonly searches: () => readonly SearchQuery[]
  /**
   * @param found by those searches, in their order
   * @returns the events for the caller, and the request for the continuation; none where the answer ends here
   */
  readonly resume: (found: readonly SearchOutcome[], context: EncodeContext) => Resumed
  /** The events that end the answer where upstream refuses the continuation. */
  readonly endAnswer: () => readonly TurnEvent[]
  /** Searches that were run and did not fail. */
  readonly count: () => number
}

interface Resumed {
  readonly events: readonly TurnEvent[]
  readonly request: EncodedRequest | undefined
}

const nothing: readonly TurnEvent[] = []

export function createSearchRounds({ name, tool, resume }: SearchPlan): SearchRounds {
  const maxUses = tool.maxUses ?? defaultMaxUses
  /** Of this round, by slot as the caller knows it. */
  let drafts = new Map<number, Draft>()
  /** The answer so far, as a continuation sends it back. */
  let said: readonly TurnItem[] = []
  const pages = new Map<string, FoundPage>()
  let waiting: readonly SearchCall[] = []
  let stop: Extract<TurnEvent, { type: 'stop' }> | undefined
  let started = false
  let uses = 0
  let succeeded = 0
  let rounds = 0
  /** Slots of this round begin here. */
  let base = 0
  let next = 0

  function take(event: TurnEvent): readonly TurnEvent[] {
    switch (event.type) {
      case 'start':
        if (started) return nothing
        started = true
        return [event]
      case 'usage':
        return [event]
      case 'stop':
        return takeStop(event)
      default:
        return takePart(base === 0 ? event : { ...event, slot: base + event.slot })
    }
  }

  function takePart(event: Exclude<TurnEvent, { type: 'start' | 'usage' | 'stop' }>): readonly TurnEvent[] {
    const { slot } = event
    next = Math.max(next, slot + 1)
    const draft = drafts.get(slot)
    switch (event.type) {
      case 'text.delta':
      case 'refusal.delta':
        if (draft?.type === 'text') draft.text += event.text
        else drafts.set(slot, { type: 'text', text: event.text })
        return [event]
      case 'think.delta':
        if (draft?.type === 'thought') draft.text += event.text
        else drafts.set(slot, { type: 'thought', text: event.text, opaque: undefined })
        return [event]
      case 'think.sign':
        if (draft?.type === 'thought') draft.opaque = event.opaque
        else drafts.set(slot, { type: 'thought', text: '', opaque: event.opaque })
        return [event]
      case 'tool.open': {
        const isSearch = event.name === name && event.kind === 'function'
        drafts.set(slot, { type: 'call', id: event.id, name: event.name, kind: event.kind, isSearch, text: '' })
        return isSearch ? nothing : [event]
      }
      case 'tool.args':
        if (draft?.type !== 'call') return [event]
        draft.text += event.text
        return draft.isSearch ? nothing : [event]
      case 'part.close':
        if (draft?.type === 'call' && draft.isSearch) return nothing
        return draft?.type === 'text' ? [...cite(slot, draft.text), event] : [event]
      case 'citation':
      case 'search':
      case 'search.open':
      case 'search.result':
        return [event]
    }
  }

  function takeStop(event: Extract<TurnEvent, { type: 'stop' }>): readonly TurnEvent[] {
    const calls = searchCalls()
    // A call that was cut short is no call. OpenAI's models end a call they were forced to make with `stop`.
    if (calls.length === 0 || (event.reason !== 'tool_calls' && event.reason !== 'end')) return [event]
    stop = event
    waiting = calls
    return calls.map(({ slot, id, query }) => ({ type: 'search.open', slot, id, query }))
  }

  function searchCalls(): readonly SearchCall[] {
    return [...drafts].flatMap(([slot, draft]): readonly SearchCall[] => {
      if (draft.type !== 'call' || !draft.isSearch) return []
      const query = parseObject(draft.text)?.['query']
      if (!isFilled(query) || query.trim() === '')
        return [{ slot, id: draft.id, query: '', failure: 'invalid_tool_input' }]
      if (query.length > maxQueryLength) return [{ slot, id: draft.id, query, failure: 'query_too_long' }]
      uses += 1
      return [{ slot, id: draft.id, query, failure: uses > maxUses ? 'max_uses_exceeded' : undefined }]
    })
  }

  /** Where a text names a page that was found. */
  function cite(slot: number, text: string): readonly TurnEvent[] {
    if (pages.size === 0) return nothing
    return citationsIn(text, pages).map((citation) => ({ type: 'citation', slot, citation }))
  }

  function itemsOfRound(outcomes: ReadonlyMap<string, SearchOutcome>): readonly TurnItem[] {
    const inOrder = [...drafts].toSorted(([a], [b]) => a - b).map(([, draft]) => draft)
    const path = ''
    return [
      ...inOrder.flatMap((draft): readonly TurnItem[] => {
        switch (draft.type) {
          case 'text':
            if (draft.text.trim() === '') return []
            return [{ type: 'message', role: 'assistant', parts: [{ type: 'text', text: draft.text }], path }]
          case 'thought':
            return [{ type: 'reasoning', text: draft.text, opaque: draft.opaque, path }]
          case 'call':
            return [
              { type: 'tool_call', kind: draft.kind, id: draft.id, name: draft.name, arguments: draft.text, path },
            ]
        }
      }),
      ...[...outcomes].map(([id, outcome]) => resultItem(id, outcome, path)),
    ]
  }

  function end(reason?: 'end'): readonly TurnEvent[] {
    const last = stop
    stop = undefined
    if (last === undefined) return nothing
    return [reason === undefined ? last : { type: 'stop', reason }]
  }

  return {
    push: (events) => events.flatMap(take),
    isWaiting: () => waiting.length > 0,
    searches: () => waiting.flatMap(({ query, failure }) => (failure === undefined ? [{ query, tool }] : [])),
    resume(found, context) {
      const queue = [...found]
      const outcomes = new Map<string, SearchOutcome>()
      const events = waiting.flatMap(({ slot, id, query, failure }): readonly TurnEvent[] => {
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
      const isCallers = [...drafts.values()].some((draft) => draft.type === 'call' && !draft.isSearch)
      waiting = []
      // The caller has to answer its own calls before upstream can go on; it sends the searches back with them.
      if (isCallers) return { events: [...events, ...end()], request: undefined }
      if (rounds === maxContinuations) return { events: [...events, ...end('end')], request: undefined }
      rounds += 1
      said = [...said, ...itemsOfRound(outcomes)]
      drafts = new Map()
      base = next
      return { events, request: resume(said, rounds === maxContinuations, context) }
    },
    endAnswer: () => end('end'),
    count: () => succeeded,
  }
}

/** A page in an answer: as a markdown link, or by its bare address. */
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

/** Characters, as many as Anthropic quotes of a page. Source: Anthropic documentation, web search tool, 2026-11. */
const maxQuoteLength = 150

function quoteOf({ text }: FoundPage): string | undefined {
  const quote = text
    .replace(/^[\s.,;:]+/, '')
    .slice(0, maxQuoteLength)
    .trimEnd()
  return quote === '' ? undefined : quote
}
