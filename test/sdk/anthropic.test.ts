import { some } from '../thorough.ts'
import Anthropic from '@anthropic-ai/sdk'
import { jsonSchemaOutputFormat } from '@anthropic-ai/sdk/helpers/json-schema'
import type {
  MessageCreateParamsNonStreaming,
  MessageParam,
  RawMessageStreamEvent,
  ThinkingConfigParam,
  Tool,
  WebSearchTool20260209,
  WebSearchToolResultBlockContent,
} from '@anthropic-ai/sdk/resources/messages'
import { expect, test } from 'vitest'
import type { Proxy } from '../http/harness.ts'
import { anthropicOf, openAnthropic, promptsFor, says, textOf } from './client.ts'
import type { Received } from './client.ts'
import { kinds, pixel } from './kinds.ts'

/** A Codex model, in addition to all of Copilot's. */
const ofCodex = 'gpt-5.5'
const everyModel = [...kinds.map(({ model }) => model), ofCodex]
/** One model for each upstream dialect of Copilot, and one of Codex. */
const fewModels = ['claude-sonnet-4.5', 'gpt-5-mini', 'gpt-5.3-codex', ofCodex]

const readFile: Tool = {
  name: 'read_file',
  description: 'Reads a file',
  input_schema: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
}
const now: Tool = { name: 'now', input_schema: { type: 'object', properties: {} } }

function asking(model: string, text: string): MessageCreateParamsNonStreaming {
  return { model, max_tokens: 8000, messages: says(text) }
}

/** The request for thinking that Claude Code makes, by model id. */
function thinkingFor(model: string): ThinkingConfigParam {
  return model.includes('4.5') ? { type: 'enabled', budget_tokens: 2000 } : { type: 'adaptive', display: 'summarized' }
}

/** The last request to the model's upstream. */
function sentTo(proxy: Proxy, model: string): Received | undefined {
  const login = model === ofCodex ? { codexLogin: 'stored' as const } : {}
  return promptsFor(proxy, login).at(-1)
}

test.each(some(everyModel, 3, 0))('%s: each block starts and ends before the next one', async (model) => {
  const { anthropic } = await openAnthropic({ codexLogin: 'stored' })
  const stream = await anthropic.messages.create({
    ...asking(model, '[demo:reasoning][demo:tool read_file {"path":"a"}][demo:tool now] go'),
    tools: [readFile, now],
    thinking: thinkingFor(model),
    stream: true,
  })
  const events: RawMessageStreamEvent[] = []
  for await (const event of stream) events.push(event)
  const [start] = events
  if (start?.type !== 'message_start') throw new Error(`the stream began with ${start?.type}`)
  expect(start.message).toMatchObject({ type: 'message', role: 'assistant', model, content: [], stop_reason: null })
  // LangChain adds this count to that of message_delta.
  expect(start.message.usage.output_tokens).toBeLessThanOrEqual(1)
  const marks = events
    .filter(({ type }) => type === 'content_block_start' || type === 'content_block_stop')
    .map((event) => ('index' in event ? `${event.type} ${event.index}` : ''))
  const count = marks.length / 2
  expect(marks).toEqual(
    Array.from({ length: count }, (_, at) => [`content_block_start ${at}`, `content_block_stop ${at}`]).flat(),
  )
  expect(events.slice(-2)).toMatchObject([
    { type: 'message_delta', delta: { stop_reason: 'tool_use', stop_sequence: null } },
    { type: 'message_stop' },
  ])
})

test.each(some(everyModel, 3, 1))('%s: the stream helper emits text, thinking and tool input', async (model) => {
  const { anthropic } = await openAnthropic({ codexLogin: 'stored' })
  const thinks = kinds.find((kind) => kind.model === model)?.thinks ?? []
  const stream = anthropic.messages.stream({
    ...asking(model, '[demo:reasoning][demo:tool read_file {"path":"some/where/far/away/from/here"}] go'),
    tools: [readFile],
    thinking: thinkingFor(model),
  })
  const received = { text: '', thinking: '', input: '', signatures: 0, blocks: [] as string[] }
  stream.on('text', (text) => (received.text += text))
  stream.on('thinking', (text) => (received.thinking += text))
  stream.on('inputJson', (text) => (received.input += text))
  stream.on('signature', () => (received.signatures += 1))
  stream.on('contentBlock', ({ type }) => received.blocks.push(type))
  const message = await stream.finalMessage()
  const { content, usage } = message
  expect(received.blocks).toEqual(content.map(({ type }) => type))
  expect(JSON.parse(received.input)).toEqual({ path: 'some/where/far/away/from/here' })
  expect(received.text).toBe(textOf(message))
  expect(received.thinking).toBe(content.map((block) => (block.type === 'thinking' ? block.thinking : '')).join(''))
  expect(received.signatures).toBe(
    content.filter((block) => block.type === 'thinking' && block.signature !== '').length,
  )
  if (thinks.length > 0) expect(received.signatures).toBe(1)
  expect(usage.output_tokens).toBeGreaterThan(1)
})

test.each(some(everyModel, 3, 2))('%s: a result with an image, and one that is an error', async (model) => {
  const { anthropic, ...proxy } = await openAnthropic({ codexLogin: 'stored' })
  const request = { ...asking(model, '[demo:tools] go'), tools: [readFile, now] }
  const first = await anthropic.messages.create(request)
  const [shot, failed] = first.content.filter((block) => block.type === 'tool_use')
  if (shot === undefined || failed === undefined) throw new Error('there are not two calls')
  const results: MessageParam = {
    role: 'user',
    content: [
      {
        type: 'tool_result',
        tool_use_id: shot.id,
        content: [
          { type: 'text', text: 'a screen' },
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: pixel } },
        ],
      },
      { type: 'tool_result', tool_use_id: failed.id, is_error: true, content: 'no clock' },
    ],
  }
  const messages: MessageParam[] = [...request.messages, { role: 'assistant', content: first.content }, results]
  const second = await anthropic.messages.create({ ...request, messages })
  expect(second.stop_reason).toBe('end_turn')
  const { body: sent = '', headers = {} } = sentTo(proxy, model) ?? {}
  expect(sent).toContain(pixel)
  expect(headers['copilot-vision-request']).toBe(model === ofCodex ? undefined : 'true')
  expect(sent).toContain('a screen')
  // Only Messages has a flag for a result that is an error. In other dialects the text states it.
  expect(sent).toMatch(model.startsWith('claude') ? /"is_error":true/ : /Error: no clock/)
})

test.each(some(everyModel, 3, 0))('%s: a conversation moves on to every other model', async (from) => {
  const { anthropic } = await openAnthropic({ codexLogin: 'stored' })
  const question = says('[demo:reasoning][demo:tool read_file {"path":"a"}] go')
  const options = { max_tokens: 8000, tools: [readFile] }
  const first = await anthropic.messages.create({
    ...options,
    model: from,
    messages: question,
    thinking: thinkingFor(from),
  })
  const call = first.content.find((block) => block.type === 'tool_use')
  for (const model of everyModel) {
    const second = await anthropic.messages.create({
      ...options,
      model,
      thinking: thinkingFor(model),
      messages: [
        ...question,
        { role: 'assistant', content: first.content },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: call?.id ?? '', content: 'done' }] },
      ],
    })
    expect(second.stop_reason, model).toBe('end_turn')
    // Gemini 3 accepts only its own calls, so it gets the calls of other models as text.
    const getsTextInstead = model === 'gemini-3-pro-preview' && model !== from
    expect(textOf(second), model).toMatch(getsTextInstead ? /done/ : /^The tool answered: done$/)
  }
})

test.each(fewModels)('%s: structured output is parsed', async (model) => {
  const { anthropic } = await openAnthropic({ codexLogin: 'stored' })
  const message = await anthropic.messages.parse({
    ...asking(model, 'Where?'),
    output_config: {
      format: jsonSchemaOutputFormat({
        type: 'object',
        properties: { city: { type: 'string' } },
        required: ['city'],
        additionalProperties: false,
      }),
    },
  })
  expect(message.parsed_output).toEqual({ city: expect.any(String) })
})

test.each(some(everyModel, 3, 1))('%s: a stop text ends the answer, and is named', async (model) => {
  const { anthropic } = await openAnthropic({ codexLogin: 'stored' })
  const request = { ...asking(model, 'one two three'), stop_sequences: ['two', 'never'] }
  const plain = await anthropic.messages.create(request)
  const streamed = await anthropic.messages.stream(request).finalMessage()
  for (const message of [plain, streamed]) {
    expect(message).toMatchObject({ stop_reason: 'stop_sequence', stop_sequence: 'two' })
    expect(textOf(message)).toMatch(/You said: one $/)
  }
})

test.each(fewModels)('%s: the system prompt and a mark for caching', async (model) => {
  const { anthropic, ...proxy } = await openAnthropic({ codexLogin: 'stored' })
  const { usage } = await anthropic.messages.create({
    ...asking(model, 'Hello'),
    system: [{ type: 'text', text: 'You are a lighthouse keeper.', cache_control: { type: 'ephemeral' } }],
  })
  expect(sentTo(proxy, model)?.body).toContain('You are a lighthouse keeper.')
  expect(usage.input_tokens).toBeGreaterThan(0)
})

test('a web search runs where the model can', async () => {
  const { anthropic } = await openAnthropic({ codexLogin: 'stored' })
  const request = {
    ...asking('gpt-5.3-codex', '[demo:search figs] go'),
    tools: [{ type: 'web_search_20250305' as const, name: 'web_search' as const }],
  }
  const plain = await anthropic.messages.create(request)
  const streamed = await anthropic.messages.stream(request).finalMessage()
  const url = 'https://example.com/simulated'
  const use = { type: 'server_tool_use', name: 'web_search', input: { query: 'figs' } }
  const result = { type: 'web_search_tool_result', content: [{ type: 'web_search_result', url }] }
  const text = { type: 'text', text: 'Simulated search results say so.', citations: [{ url }] }
  expect(plain.content.filter(({ type }) => type !== 'thinking')).toMatchObject([use, result, text])
  // The text names the pages, so the result of the search follows the text, which does not wait for it.
  expect(streamed.content.filter(({ type }) => type !== 'thinking')).toMatchObject([use, text, result])
  for (const { content, stop_reason: reason } of [plain, streamed]) {
    expect(reason).toBe('end_turn')
    const { role } = plain
    const messages = [...request.messages, { role, content }, { role: 'user' as const, content: 'and now?' }]
    for (const model of ['gpt-5.3-codex', 'claude-opus-4.7']) {
      const next = await anthropic.messages.create({ ...request, model, messages })
      expect(next.stop_reason).toBe('end_turn')
    }
  }
})

test.each(['claude-sonnet-4.5', 'claude-opus-4.7', 'gpt-4.1', 'gemini-3-pro-preview'])(
  'a web search runs for a model that cannot search: %s',
  async (model) => {
    const { anthropic } = await openAnthropic()
    const tool: WebSearchTool20260209 = { type: 'web_search_20260209', name: 'web_search', max_uses: 1 }
    const calls = '[demo:tool web_search {"query":"figs"}][demo:tool web_search {"query":"dates"}]'
    const request = { ...asking(model, `${calls} go`), tools: [tool] }
    const plain = await anthropic.messages.create(request)
    const streamed = await anthropic.messages.stream(request).finalMessage()
    for (const { content, stop_reason: reason, usage } of [plain, streamed]) {
      const uses = content.filter((block) => block.type === 'server_tool_use')
      const results = content.filter((block) => block.type === 'web_search_tool_result')
      expect(uses.map(({ input }) => input)).toEqual([{ query: 'figs' }, { query: 'dates' }])
      expect(results.map((block) => block.tool_use_id)).toEqual(uses.map(({ id }) => id))
      const [found, refused] = results.map((block): WebSearchToolResultBlockContent => block.content)
      expect(Array.isArray(found) && found.map(({ url }) => url)).toEqual([
        'https://example.com/figs',
        'https://example.org/figs',
      ])
      expect(refused).toEqual({ type: 'web_search_tool_result_error', error_code: 'max_uses_exceeded' })
      const text = content.findLast((block) => block.type === 'text')
      expect(text?.citations?.[0]).toMatchObject({ type: 'web_search_result_location', title: 'Page one' })
      expect(reason).toBe('end_turn')
      expect(usage.server_tool_use?.web_search_requests).toBe(1)
    }
    // The whole answer is sent back unchanged, with the tool and without it.
    const messages: MessageParam[] = [
      ...request.messages,
      { role: 'assistant', content: plain.content },
      { role: 'user', content: 'and now?' },
    ]
    for (const tools of [[tool], []]) {
      expect(textOf(await anthropic.messages.create({ ...request, messages, tools }))).toContain('and now?')
    }
  },
)

test('the beta API accepts new fields, and upstream gets only fields that it knows', async () => {
  const { anthropic } = await openAnthropic({ codexLogin: 'stored' })
  for (const model of fewModels) {
    const message = await anthropic.beta.messages.create({
      model,
      max_tokens: 4000,
      messages: says('Hello'),
      betas: ['context-management-2025-06-27', 'interleaved-thinking-2025-05-14', 'thinking-token-count-2026-05-13'],
      context_management: { edits: [{ type: 'clear_thinking_20251015', keep: 'all' }] },
      metadata: { user_id: '{"session_id":"s"}' },
    })
    expect(textOf(message), model).toContain('You said: Hello')
  }
})

test.each([
  ['claude-sonnet-4.5', 'upstream'],
  ['claude-opus-4.7', 'upstream'],
  ['gpt-5-mini', 'estimate'],
  ['gpt-5.3-codex', 'estimate'],
  [ofCodex, 'estimate'],
])('%s: tokens are counted, by %s', async (model, source) => {
  const { anthropic } = await openAnthropic({ codexLogin: 'stored' })
  const count = async (text: string) =>
    anthropic.messages
      .countTokens({ model, messages: says(text), tools: [readFile], system: 'Be brief.' })
      .withResponse()
  const { data, response } = await count('Hello')
  expect(data.input_tokens).toBeGreaterThan(10)
  expect(response.headers.get('x-copilot-proxy-token-count')).toBe(source)
  const { data: longer } = await count('Hello '.repeat(100))
  expect(longer.input_tokens).toBeGreaterThan(data.input_tokens + 50)
})

test.each([
  ['one message of all that was said', true],
  ['one message of all that was said', false],
  ['a message for each part', true],
  ['a message for each part', false],
])('a paused answer is sent back as %s until it is whole (stream: %s)', async (how, stream) => {
  const proxy = await openAnthropic()
  const request = {
    ...asking('claude-opus-4.7', '[demo:pause 2][demo:reasoning] go'),
    thinking: thinkingFor('claude-opus-4.7'),
  }
  const ask = (messages: MessageParam[]) =>
    stream
      ? proxy.anthropic.messages.stream({ ...request, messages }).finalMessage()
      : proxy.anthropic.messages.create({ ...request, messages })
  const parts: Anthropic.Message[] = []
  for (let reason: string | null = 'pause_turn'; reason === 'pause_turn' && parts.length < 9;) {
    const said = parts.map(({ content }) => content)
    const spoken: MessageParam[] = how.startsWith('one')
      ? said.slice(0, 1).map(() => ({ role: 'assistant', content: said.flat() }))
      : said.map((content) => ({ role: 'assistant', content }))
    const part = await ask([...request.messages, ...spoken])
    parts.push(part)
    reason = part.stop_reason
  }
  expect(parts.map(({ stop_reason: reason }) => reason)).toEqual(['pause_turn', 'pause_turn', 'end_turn'])
  expect(parts.map(textOf)).toEqual([
    'Let me look that up.',
    'Let me look that up.',
    expect.stringMatching(/^Hello from/),
  ])
  const sent = proxy.demo.log.filter(({ route }) => route === '/v1/messages')
  expect(sent.map(({ headers }) => headers['x-initiator'])).toEqual(['user', 'agent', 'agent'])
  expect(proxy.log.filter(({ level }) => level === 'warn')).toEqual([])
})

test('models are listed page by page, and found', async () => {
  const { anthropic } = await openAnthropic({ codexLogin: 'stored' })
  // The first request that needs the account's own list fetches it.
  await anthropic.messages.create(asking('claude-sonnet-4.5', 'Hello'))
  const ids: string[] = []
  for await (const model of anthropic.models.list({ limit: 3 })) {
    expect(model).toMatchObject({ type: 'model', display_name: expect.any(String) })
    expect(Number.isNaN(Date.parse(model.created_at))).toBe(false)
    ids.push(model.id)
  }
  expect(new Set(ids).size).toBe(ids.length)
  expect(ids).toEqual(expect.arrayContaining(everyModel))
  expect(await anthropic.models.retrieve('claude-sonnet-4.5')).toMatchObject({ type: 'model', id: 'claude-sonnet-4.5' })
  await expect(anthropic.models.retrieve('claude-sonet-4.5')).rejects.toBeInstanceOf(Anthropic.NotFoundError)
})

test('both key headers are accepted, and a wrong key is an authentication error', async () => {
  const proxy = await openAnthropic({ file: 'server: { api-keys: [right-key] }' })
  const request = asking('claude-sonnet-4.5', 'Hello')
  await anthropicOf(proxy, 'right-key').messages.create(request)
  const { url: baseURL } = proxy
  await new Anthropic({ baseURL, authToken: 'right-key', apiKey: null, maxRetries: 0 }).messages.create(request)
  await expect(anthropicOf(proxy, 'wrong-key').messages.create(request)).rejects.toBeInstanceOf(
    Anthropic.AuthenticationError,
  )
})
