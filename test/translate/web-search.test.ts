import { fc } from '../fast-check.ts'
import { describe, expect, test } from 'vitest'
import { createSearchFold, searchTurn } from '../../src/translate/search-request.ts'
import type { TurnEvent, TurnTool, WebSearchTool } from '../../src/translate/turn.ts'
import { createSearchRounds, emulateSearch } from '../../src/translate/web-search.ts'
import { traits, turn as turnWith } from './turns.ts'

const tool: WebSearchTool = { type: 'web_search', onlyThere: [], path: 'tools.0' }
const page = { url: 'https://e.x/a(b)', title: 'A', text: '. It says so. ' }
const plain = 'https://e.x/p'
const emulated = { turn: turnWith({}), tool, name: 'web_search', warnings: [] }

/** A round that searches and finds the page; upstream then says the text. Returns what the caller hears of that. */
function heard(text: readonly string[]): readonly TurnEvent[] {
  const rounds = createSearchRounds(emulated)
  rounds.push([
    { type: 'tool.open', slot: 0, id: 'c', name: 'web_search', kind: 'function' },
    { type: 'tool.args', slot: 0, text: '{"query":"q"}' },
    { type: 'stop', reason: 'tool_calls' },
  ])
  rounds.resume([{ pages: [page, { ...page, url: plain }], text: '' }])
  const deltas = text.map((each): TurnEvent => ({ type: 'text.delta', slot: 0, text: each }))
  return rounds.push([...deltas, { type: 'part.close', slot: 0 }, { type: 'stop', reason: 'end' }])
}

describe('citations', () => {
  test.each([
    ['a link', 'So [it is](https://e.x/a(b)).', page.url, [3, 28]],
    ['an address', 'See https://e.x/p.', plain, [4, 17]],
    ['another page', 'See [x](https://e.x/other)', '', undefined],
    ['nothing', 'So it is.', '', undefined],
  ] as const)('of %s', (_title, text, url, place) => {
    const citations = heard([text]).filter(({ type }) => type === 'citation')
    const citation = { url, title: 'A', start: place?.[0], end: place?.[1], quote: 'It says so.' }
    expect(citations).toEqual(place === undefined ? [] : [{ type: 'citation', slot: 1, citation }])
  })

  test('come at the end of their text, however it is cut', () => {
    const text = 'See [A](https://e.x/a(b)) and again [B](https://e.x/a(b)), but not [C](https://f.x).'
    const whole = heard([text]).filter(({ type }) => type !== 'text.delta')
    expect(whole.map(({ type }) => type)).toEqual(['citation', 'citation', 'part.close', 'stop'])
    fc.assert(
      fc.property(fc.nat(text.length), (at) => {
        const cut = heard([text.slice(0, at), text.slice(at)])
        expect(cut.filter(({ type }) => type !== 'text.delta')).toEqual(whole)
      }),
    )
  })

  test('are looked for in reasonable time', () => {
    const startedAt = performance.now()
    for (const text of ['['.repeat(200_000), '[a]('.repeat(50_000), 'https://'.repeat(50_000)]) heard([text])
    expect(performance.now() - startedAt).toBeLessThan(5000)
  })
})

describe('an emulated search', () => {
  test('goes by a name that no tool of the caller’s has', () => {
    const own: TurnTool = { type: 'function', name: 'web_search', path: 'tools.1' }
    const made = emulateSearch(turnWith({ tools: [tool, own] }))
    expect(made?.name).toBe('web_search_')
    expect(made?.turn.tools).toMatchObject([{ type: 'function', name: 'web_search_' }, own])
  })

  test('says what it does not honour', () => {
    const limited = { ...tool, maxUses: 2, onlyThere: ['max_uses', 'blocked_domains', 'response_inclusion'] }
    const made = emulateSearch(turnWith({ tools: [limited] }))
    expect(made?.warnings.map(({ code, field }) => `${code};${field}`)).toEqual([
      'emulated;tools.0',
      'dropped;tools.0.response_inclusion',
    ])
  })

  test('is sent back with what came before it, thoughts included', () => {
    const rounds = createSearchRounds(emulated)
    const opaque = { vendor: 'anthropic', family: 'claude', form: 'signature', value: 's' } as const
    const events = rounds.push([
      { type: 'start', model: 'm' },
      { type: 'think.delta', slot: 0, text: 'hm' },
      { type: 'think.sign', slot: 0, opaque },
      { type: 'part.close', slot: 0 },
      { type: 'text.delta', slot: 1, text: 'Let me look.' },
      { type: 'tool.open', slot: 2, id: 'c', name: 'web_search', kind: 'function' },
      { type: 'tool.args', slot: 2, text: '{"query":"q"}' },
      { type: 'part.close', slot: 2 },
      { type: 'stop', reason: 'tool_calls' },
    ])
    expect(events.map(({ type }) => type)).toEqual([
      'start',
      'think.delta',
      'think.sign',
      'part.close',
      'text.delta',
      'search.open',
    ])
    expect(rounds.searches()).toEqual([{ query: 'q', tool }])
    expect(rounds.resume([{ failure: 'unavailable' }]).turn?.items).toMatchObject([
      { type: 'reasoning', text: 'hm', opaque },
      { type: 'message', role: 'assistant', parts: [{ text: 'Let me look.' }] },
      { type: 'tool_call', id: 'c', arguments: '{"query":"q"}' },
      { type: 'tool_result', callId: 'c', isError: true },
    ])
  })

  test.each(['max_tokens', 'content_filter'] as const)('that was cut short is none: %s', (reason) => {
    const rounds = createSearchRounds(emulated)
    const events = rounds.push([
      { type: 'tool.open', slot: 0, id: 'c', name: 'web_search', kind: 'function' },
      { type: 'tool.args', slot: 0, text: '{"que' },
      { type: 'stop', reason },
    ])
    expect(events).toEqual([{ type: 'stop', reason }])
    expect(rounds.isWaiting()).toBe(false)
  })
})

function cite(url: string, end: number): TurnEvent {
  return { type: 'citation', slot: 0, citation: { url, title: url === 'https://a.x' ? '' : 'T', start: end - 3, end } }
}

describe('what a search found', () => {
  const text = 'One (a). Two (b). Three (c). Rest.'
  const events: readonly TurnEvent[] = [
    { type: 'text.delta', slot: 0, text },
    cite('https://a.x', 7),
    cite('https://sub.b.x/docs/1', 16),
    cite('javascript:alert(1)', 20),
    cite('https://notb.x', 27),
    { type: 'stop', reason: 'end' },
  ]

  test.each([
    [{}, ['One (a)', '. Two (b)', '. Three (c). Rest.']],
    [{ allowedDomains: ['b.x'] }, ['. Two (b)']],
    [{ allowedDomains: ['b.x/docs'] }, ['. Two (b)']],
    [{ allowedDomains: ['b.x/*'] }, ['. Two (b)']],
    [{ allowedDomains: ['b.x/d*/1'] }, ['. Two (b)']],
    [{ allowedDomains: ['b.x/d*/2'] }, []],
    [{ allowedDomains: ['b.x/blog'] }, []],
    [{ blockedDomains: ['B.x'] }, ['One (a)', '. Three (c). Rest.']],
  ])('is cut by page, within the domains %j', (limits, expected) => {
    const fold = createSearchFold({ ...tool, ...limits })
    fold.push(events)
    const outcome = fold.outcome()
    expect('pages' in outcome && outcome.pages.map((each) => each.text)).toEqual(expected)
    expect(outcome).toMatchObject({ text: expected.length === 0 ? '' : text })
  })

  test('names a page without a title by its address', () => {
    const fold = createSearchFold(tool)
    fold.push(events)
    expect(fold.outcome()).toMatchObject({ pages: [{ title: 'https://a.x' }, { title: 'T' }, { title: 'T' }] })
  })
})

test('a search is asked for at the lowest effort, where the model lists it', () => {
  const model = traits('gpt', { supports: { reasoningEffort: ['low', 'high'] } })
  expect(searchTurn({ query: 'q', tool }, model).reasoning).toEqual({ effort: 'low', summary: 'none' })
  expect(searchTurn({ query: 'q', tool }, traits('gpt')).reasoning).toBeUndefined()
})
