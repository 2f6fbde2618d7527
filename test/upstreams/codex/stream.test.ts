import { expect, test } from 'vitest'
import type { CodexUpstream } from '../codex.ts'
import { ask, askWithKey, doneItems, eventsOf, loginHeaders, promptOf, openCodex } from './test-client.ts'
import type { Event, Fields } from './test-client.ts'

const parameters = { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] }
const tools = ['read_file', 'list_all'].map((name) => ({ type: 'function', name, strict: false, parameters }))

async function stream(codex: CodexUpstream, text: string, more: Fields = {}): Promise<string> {
  const response = await ask(codex, promptOf(text, more))
  expect(response.status).toBe(200)
  return response.text()
}

function typesOf(events: readonly Event[]): readonly string[] {
  return events.map(({ type }) => type)
}

/** All deltas of one kind, by the place of their item. */
function textAt(events: readonly Event[], kind: string, place: number): string {
  return events
    .filter(({ type, output_index: at }) => type === `response.${kind}.delta` && at === place)
    .map(({ delta = '' }) => delta)
    .join('')
}

test('answers with an empty last event, whole items in their done events, and no [DONE]', async () => {
  const codex = await openCodex()
  const text = await stream(codex, 'Hi', { reasoning: { effort: 'low' } })
  expect(text).not.toContain('[DONE]')
  const events = eventsOf(text)
  const last = events.at(-1)
  expect(last).toMatchObject({
    type: 'response.completed',
    response: {
      status: 'completed',
      output: [],
      end_turn: true,
      model: 'gpt-5.5',
      usage: { output_tokens: expect.any(Number) },
    },
  })
  const [thought, message] = doneItems(events)
  expect(thought).toEqual({ id: expect.stringMatching(/^rs_/), type: 'reasoning', summary: [] })
  const words = 'Hello from gpt-5.5, simulated by copilot-proxy --demo. You said: Hi'
  expect(message).toMatchObject({
    type: 'message',
    phase: 'final_answer',
    content: [{ type: 'output_text', text: words }],
  })
  expect(textAt(events, 'output_text', 1)).toBe(words)
})

test('numbers its events, names each twice, and sends comments and asides between them', async () => {
  const codex = await openCodex()
  const text = await stream(codex, 'Hi')
  expect(text.startsWith(': keepalive\n\n')).toBe(true)
  const events = eventsOf(text)
  const numbers = events.flatMap(({ sequence_number: number }) => (typeof number === 'number' ? [number] : []))
  expect(numbers).toEqual(numbers.map((_, at) => at))
  const named = [...text.matchAll(/^event: (\S+)$/gm)].map(([, type]) => type)
  expect(named).toEqual(typesOf(events))
  const asides = ['codex.rate_limits', 'response.metadata', 'codex.response.metadata']
  expect(typesOf(events)).toEqual(expect.arrayContaining(asides))
  expect(events.find(({ type }) => type === 'codex.rate_limits')).toMatchObject({
    plan_type: 'plus',
    rate_limits: { primary: { used_percent: 12.5, window_minutes: 300 } },
  })
})

test('an item has one id through all its events', async () => {
  const codex = await openCodex()
  const events = eventsOf(await stream(codex, '[demo:tools]', { tools }))
  for (const { id } of doneItems(events)) expect(id.length).toBeLessThanOrEqual(64)
  const places = new Map<unknown, Set<unknown>>()
  for (const { output_index: place, item_id: id, item } of events) {
    if (place === undefined) continue
    const ids = places.get(place) ?? new Set()
    places.set(place, ids.add(id ?? item?.id))
  }
  expect([...places.values()].map((ids) => ids.size)).toEqual([1, 1, 1])
})

test('the ciphertext of a thought is there for those who ask, and another one at first', async () => {
  const codex = await openCodex()
  const events = eventsOf(await stream(codex, 'Hi', { include: ['reasoning.encrypted_content'] }))
  const shown = events.flatMap(({ item }) => (item?.type === 'reasoning' ? [item.encrypted_content] : []))
  expect(shown).toEqual([expect.any(String), expect.any(String)])
  expect(shown[0]).not.toBe(shown[1])
})

test('a thought that may be read has two parts', async () => {
  const codex = await openCodex()
  const events = eventsOf(await stream(codex, '[demo:reasoning]', { reasoning: { summary: 'auto' } }))
  const [thought] = doneItems(events)
  expect(thought?.['summary']).toHaveLength(2)
  expect(textAt(events, 'reasoning_summary_text', 0)).toMatch(/^The user wants .* answers\.$/)
  const kept = eventsOf(await stream(codex, '[demo:reasoning]'))
  expect(doneItems(kept)[0]?.['summary']).toEqual([])
})

test('calls that are made at once are open at once', async () => {
  const codex = await openCodex()
  const events = eventsOf(await stream(codex, '[demo:tools]', { tools }))
  const places = events
    .filter(({ type }) => type === 'response.function_call_arguments.delta')
    .map(({ output_index: at }) => at)
  expect(places.slice(0, 4)).toEqual([1, 2, 1, 2])
  const calls = doneItems(events).filter(({ type }) => type === 'function_call')
  expect(calls.map(({ name }) => name)).toEqual(['read_file', 'list_all'])
  for (const [at, { arguments: text }] of calls.entries()) {
    expect(textAt(events, 'function_call_arguments', at + 1)).toBe(text)
  }
  expect(new Set(calls.map(({ call_id: id }) => id)).size).toBe(2)
  expect(events.at(-1)?.response?.['end_turn']).toBe(false)
})

test('answers with the results once they are sent back', async () => {
  const codex = await openCodex()
  const login = codex.login()
  const include = ['reasoning.encrypted_content']
  const first = promptOf('[demo:tool]', { tools, include })
  const items = doneItems(eventsOf(await (await ask(codex, first, loginHeaders(login))).text()))
  const output = { type: 'function_call_output', call_id: items[1]?.['call_id'], output: 'forty-two' }
  const input = [...(first['input'] as Fields[]), ...items, output]
  const reply = await ask(codex, { ...first, input, prompt_cache_key: 'a' }, loginHeaders(login))
  const events = eventsOf(await reply.text())
  expect(textAt(events, 'output_text', 1)).toBe('The tool answered: forty-two')
  expect(events.at(-1)?.response?.['usage']).not.toMatchObject({ input_tokens_details: { cached_tokens: 0 } })
})

test('custom tools get plain text, searches an item of their own', async () => {
  const codex = await openCodex()
  const custom = [{ type: 'custom', name: 'apply_patch' }, { type: 'web_search' }]
  const call = doneItems(eventsOf(await stream(codex, '[demo:tool]', { tools: custom }))).at(-1)
  expect(call).toMatchObject({ type: 'custom_tool_call', name: 'apply_patch', input: 'example input' })
  expect(call?.id).toMatch(/^ctc_/)
  const found = doneItems(eventsOf(await stream(codex, '[demo:search weather]', { tools: custom })))
  expect(found.map(({ type }) => type)).toEqual(['reasoning', 'web_search_call', 'message'])
})

test('[demo:sparse] has items in their done events only, and names of calls too', async () => {
  const codex = await openCodex()
  const plain = eventsOf(await stream(codex, '[demo:sparse]'))
  expect(typesOf(plain).filter((type) => /delta|added/.test(type))).toEqual([])
  expect(doneItems(plain).map(({ type }) => type)).toEqual(['reasoning', 'message'])
  const events = eventsOf(await stream(codex, '[demo:sparse] [demo:tools]', { tools }))
  const added = events.filter(({ type }) => type === 'response.output_item.added')
  expect(added.map(({ item }) => item?.['name'])).toEqual(['', ''])
  expect(typesOf(events).filter((type) => type.includes('delta'))).toEqual([])
  const calls = doneItems(events).slice(1)
  expect(calls).toMatchObject([
    { name: 'read_file', arguments: '{"path":"example path"}' },
    { name: 'list_all', arguments: '{"path":"example path"}' },
  ])
})

test.for<[string, string]>([
  ['[demo:length]', 'max_output_tokens'],
  ['[demo:filter]', 'content_filter'],
])('%s is an incomplete answer', async ([marker, reason]) => {
  const codex = await openCodex()
  expect(eventsOf(await stream(codex, marker)).at(-1)).toMatchObject({
    type: 'response.incomplete',
    response: { status: 'incomplete', incomplete_details: { reason } },
  })
})

test('tells with headers how much is used, which model answers, and what must not be passed on', async () => {
  const codex = await openCodex({ now: () => 1_800_000_000_000 })
  const { headers } = await ask(codex, promptOf('Hi'))
  expect(Object.fromEntries(headers)).toMatchObject({
    'x-request-id': expect.stringMatching(/^demo-codex-/),
    'cf-ray': expect.any(String),
    'set-cookie': expect.stringContaining('__cf_bm'),
    'openai-model': 'gpt-5.5',
    'x-models-etag': expect.any(String),
    'x-codex-turn-state': 'ts_demo_1',
    'x-codex-plan-type': 'plus',
    'x-codex-active-limit': 'codex',
    'x-codex-primary-used-percent': '12.5',
    'x-codex-primary-window-minutes': '300',
    'x-codex-primary-reset-at': '1800013872',
    'x-codex-primary-reset-after-seconds': '13872',
    'x-codex-secondary-used-percent': '40',
    'x-codex-secondary-window-minutes': '10080',
    'x-codex-credits-balance': '',
  })
})

test('the key API streams without asides, has its output in the last event, and other headers', async () => {
  const codex = await openCodex()
  const response = await askWithKey(codex, { model: 'gpt-5.5', input: 'Hi', stream: true })
  expect(response.headers.get('x-ratelimit-remaining-requests')).toBe('499')
  expect(response.headers.get('x-codex-plan-type')).toBe(null)
  const text = await response.text()
  expect(text).not.toContain('[DONE]')
  const events = eventsOf(text)
  expect(typesOf(events).every((type) => type.startsWith('response.') && type !== 'response.metadata')).toBe(true)
  expect(events.at(-1)?.response?.output).toEqual(doneItems(events))
})

test('the same prompt gives the same events, write by write or several in one', async () => {
  const one = await openCodex({ now: () => 0 })
  const many = await openCodex({ now: () => 0, settings: { eventsPerWrite: 5 } })
  const eternal = { lifetimeSeconds: 10 }
  const text = async (codex: CodexUpstream) =>
    (await ask(codex, promptOf('[demo:long 50]'), loginHeaders(codex.login(eternal)))).text()
  expect(await text(many)).toBe(await text(one))
})

test('a gate lets one event through at a time, and a client that leaves is noticed', async () => {
  const codex = await openCodex()
  const gate = codex.gateNext()
  const abort = new AbortController()
  const response = await fetch(`${codex.baseUrl}/responses`, {
    method: 'POST',
    headers: loginHeaders(codex.login()),
    body: JSON.stringify(promptOf('Hi')),
    signal: abort.signal,
  })
  await gate.opened
  gate.release(2)
  await gate.waiting()
  expect(codex.openStreams()).toBe(1)
  expect(response.status).toBe(200)
  abort.abort()
  expect(await gate.closed).toBe('aborted')
  await codex.until(() => codex.openStreams() === 0)
  expect(codex.aborted()).toBe(1)
})
