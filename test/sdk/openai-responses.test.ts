import { some } from '../thorough.ts'
import OpenAI from 'openai'
import type { ResponseStreamEvent, Tool } from 'openai/resources/responses/responses'
import { expect, test } from 'vitest'
import { anthropicOf, clientOf, openClient, promptsOf, says, thrownBy } from './client.ts'
import { kinds } from './kinds.ts'

/** A Codex model, in addition to all of Copilot's. */
const ofCodex = 'gpt-5.5'
const everyModel = [...kinds.map(({ model }) => model), ofCodex]
/** One model for each upstream dialect of Copilot, and one of Codex. */
const fewModels = ['gpt-5.3-codex', 'gpt-4.1', 'claude-opus-4.7', ofCodex]
/** Models with a Responses upstream. */
const speakResponses = new Set(['gpt-5.3-codex', ofCodex])

type Output = OpenAI.Responses.ResponseOutputItem

/** The one item of that type. */
function only<Type extends Output['type']>(output: readonly Output[], type: Type): Extract<Output, { type: Type }> {
  const isOfType = (item: Output): item is Extract<Output, { type: Type }> => item.type === type
  const [item, ...others] = output.filter(isOfType)
  if (item === undefined || others.length > 0) throw new Error(`${others.length + (item ? 1 : 0)} of ${type}`)
  return item
}

const readFile: Tool = {
  type: 'function',
  name: 'read_file',
  description: 'Reads a file',
  parameters: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
  strict: false,
}

test.each(some(everyModel, 3, 0))(
  '%s: the events of a stream are numbered, named and keep their ids',
  async (model) => {
    const { openai } = await openClient({ codexLogin: 'stored' })
    const stream = await openai.responses.create({
      model,
      input: '[demo:reasoning][demo:tool] go',
      tools: [readFile],
      reasoning: { effort: 'high', summary: 'auto' },
      stream: true,
    })
    const events: ResponseStreamEvent[] = []
    for await (const event of stream) events.push(event)
    expect(events.map((event) => event.sequence_number)).toEqual(events.map((_, at) => at))
    expect(events.slice(0, 2).map(({ type }) => type)).toEqual(['response.created', 'response.in_progress'])
    const end = events.at(-1)
    if (end?.type !== 'response.completed') throw new Error(`the stream ended with ${end?.type}`)
    // The names of an item in its first event, in every event about it, in its last event, and in the response.
    const names = new Map<number, Set<string | undefined>>()
    for (const event of events) {
      if (!('output_index' in event)) continue
      const seen = names.get(event.output_index) ?? new Set()
      seen.add('item_id' in event ? event.item_id : 'item' in event ? event.item.id : undefined)
      names.set(event.output_index, seen)
    }
    expect([...names.values()]).toEqual(end.response.output.map(({ id }) => new Set([id])))
    expect(new Set(end.response.output.map(({ id }) => id)).size).toBe(end.response.output.length)
    expect(end.response).toMatchObject({
      status: 'completed',
      output: expect.arrayContaining([expect.objectContaining({ type: 'function_call', status: 'completed' })]),
      usage: { input_tokens: expect.any(Number), output_tokens: expect.any(Number), total_tokens: expect.any(Number) },
    })
  },
)

test.each(fewModels)('%s: a custom tool is called with text as it is, and answered', async (model) => {
  const { openai } = await openClient({ codexLogin: 'stored' })
  const input = '*** Begin Patch\n+ "quoted" \\ ü€😀\n*** End Patch'
  const tools: Tool[] = [{ type: 'custom', name: 'apply_patch', description: 'Edits files' }]
  // Other upstreams know functions only, so they get a function with this text as its argument.
  const given = speakResponses.has(model) ? input : { input }
  for (const stream of [false, true]) {
    const request = {
      model,
      tools,
      store: false,
      input: says(`[demo:tool apply_patch ${JSON.stringify(given)}] go`),
    }
    const first = stream
      ? await openai.responses.stream(request).finalResponse()
      : await openai.responses.create(request)
    const call = only(first.output, 'custom_tool_call')
    expect(call).toMatchObject({ name: 'apply_patch', input })
    const { call_id: id } = call
    const second = await openai.responses.create({
      ...request,
      input: [
        ...request.input,
        { type: 'custom_tool_call', call_id: id, name: 'apply_patch', input: call.input },
        { type: 'custom_tool_call_output', call_id: id, output: 'patched' },
      ],
    })
    expect(second.output_text).toBe('The tool answered: patched')
  }
})

test.each(fewModels)('%s: tools in a namespace keep it, in the call and in the history', async (model) => {
  const { openai } = await openClient({ codexLogin: 'stored' })
  const tools: Tool[] = [
    {
      type: 'namespace',
      name: 'github',
      description: 'GitHub',
      tools: [{ type: 'function', name: 'list', parameters: { type: 'object', properties: {} } }],
    },
  ]
  const request = { model, tools, store: false, input: says('[demo:tool github__list {}] go') }
  const first = await openai.responses.stream(request).finalResponse()
  const call = only(first.output, 'function_call')
  expect(call).toMatchObject({ namespace: 'github', name: 'list', arguments: '{}' })
  const { call_id: id } = call
  const second = await openai.responses.create({
    ...request,
    input: [
      ...request.input,
      { type: 'function_call', namespace: 'github', name: 'list', arguments: '{}', call_id: id },
      { type: 'function_call_output', call_id: id, output: 'listed' },
    ],
  })
  expect(second.output_text).toBe('The tool answered: listed')
})

test.each(some(everyModel, 3, 1))('%s: a stored response is gone on from, shown and deleted', async (model) => {
  const { openai } = await openClient({ codexLogin: 'stored' })
  const options = { model, tools: [readFile] }
  const first = await openai.responses.create({ ...options, input: '[demo:replay][demo:tool] go' })
  const call = only(first.output, 'function_call')
  const second = await openai.responses
    .stream({
      ...options,
      previous_response_id: first.id,
      input: [{ type: 'function_call_output', call_id: call.call_id, output: 'done' }],
    })
    .finalResponse()
  expect(second.output_text).toBe('The tool answered: done')
  expect(second).toMatchObject({ previous_response_id: first.id, store: true })
  const third = await openai.responses.create({ ...options, previous_response_id: second.id, input: 'thanks' })
  expect(third.output_text).toContain('You said: thanks')

  expect(await openai.responses.retrieve(second.id)).toMatchObject({
    id: second.id,
    status: 'completed',
    output: second.output.map(({ id, type }) => ({ id, type })),
  })
  const items: string[] = []
  for await (const { type } of openai.responses.inputItems.list(third.id)) items.push(type)
  expect(items.filter((type) => type === 'message').length).toBeGreaterThanOrEqual(3)
  expect(items).toEqual(expect.arrayContaining(['function_call', 'function_call_output']))

  await openai.responses.delete(first.id)
  await expect(openai.responses.retrieve(first.id)).rejects.toBeInstanceOf(OpenAI.NotFoundError)
  await expect(
    openai.responses.create({ ...options, previous_response_id: first.id, input: 'thanks' }),
  ).rejects.toMatchObject({ status: 400, code: 'previous_response_not_found', param: 'previous_response_id' })
})

test.each(some(everyModel, 3, 2))('%s: a conversation moves on to every other model', async (from) => {
  const { openai } = await openClient({ codexLogin: 'stored' })
  const options = {
    tools: [readFile],
    store: true,
    include: ['reasoning.encrypted_content' as const],
    reasoning: { effort: 'high' as const, summary: 'auto' as const },
  }
  const first = await openai.responses.create({ ...options, model: from, input: '[demo:reasoning][demo:tool] go' })
  const { call_id: callId } = only(first.output, 'function_call')
  for (const model of everyModel) {
    const second = await openai.responses.create({
      ...options,
      model,
      previous_response_id: first.id,
      input: [{ type: 'function_call_output', call_id: callId, output: 'done' }],
    })
    // Gemini 3 accepts only its own calls, so it gets the calls of other models as text.
    const getsTextInstead = model === 'gemini-3-pro-preview' && model !== from
    expect(second.output_text, model).toMatch(getsTextInstead ? /done/ : /^The tool answered: done$/)
  }
})

test('store: false stores nothing', async () => {
  const { openai } = await openClient({ codexLogin: 'stored' })
  const { id, ...response } = await openai.responses.create({ model: 'gpt-5-mini', input: 'Hello', store: false })
  expect(response).toMatchObject({ store: false, previous_response_id: null })
  await expect(openai.responses.retrieve(id)).rejects.toBeInstanceOf(OpenAI.NotFoundError)
})

test.each(fewModels)('%s: structured output is parsed', async (model) => {
  const { openai } = await openClient({ codexLogin: 'stored' })
  const schema = {
    type: 'object',
    properties: { city: { type: 'string' } },
    required: ['city'],
    additionalProperties: false,
  }
  const { output_parsed: parsed } = await openai.responses.parse({
    model,
    input: 'Where?',
    text: { format: { type: 'json_schema', name: 'place', strict: true, schema } },
  })
  expect(parsed).toEqual({ city: expect.any(String) })
})

test('a refusal is a separate part, if the model sends one', async () => {
  const { openai } = await openClient({ codexLogin: 'stored' })
  for (const [model, type] of [
    ['gpt-5.3-codex', 'refusal'],
    ['gpt-4.1', 'refusal'],
    ['claude-opus-4.7', 'output_text'],
  ] as const) {
    const { output, status } = await openai.responses.stream({ model, input: '[demo:refusal] no' }).finalResponse()
    expect({ status, parts: output.flatMap((item) => (item.type === 'message' ? item.content : [])) }).toMatchObject({
      status: 'completed',
      parts: [{ type }],
    })
  }
})

test.each(fewModels)('%s: an answer that was cut is incomplete, and says why', async (model) => {
  const { openai } = await openClient({ codexLogin: 'stored' })
  for (const [marker, reason] of [
    ['length', 'max_output_tokens'],
    ['filter', 'content_filter'],
  ] as const) {
    const request = { model, input: `[demo:${marker}] one two three four` }
    const plain = await openai.responses.create(request)
    const streamed = await openai.responses.stream(request).finalResponse()
    for (const response of [plain, streamed]) {
      expect(response).toMatchObject({ status: 'incomplete', incomplete_details: { reason } })
      expect(response.output_text).toMatch(/^Hello from/)
    }
  }
})

test.each(fewModels)('%s: a web search runs, by the model itself where it can', async (model) => {
  const { openai } = await openClient({ codexLogin: 'stored' })
  const request = { model, input: '[demo:search figs] go', tools: [{ type: 'web_search' as const }] }
  if (!speakResponses.has(model)) {
    const input = '[demo:tool web_search {"query":"figs"}] go'
    const plain = await openai.responses.create({ ...request, input })
    const streamed = await openai.responses.stream({ ...request, input }).finalResponse()
    for (const { output } of [plain, streamed]) {
      expect(only(output, 'web_search_call')).toMatchObject({ status: 'completed', action: { query: 'figs' } })
      const cited = { type: 'url_citation', url: 'https://example.com/figs', title: 'Page one' }
      const annotations: unknown = expect.arrayContaining([expect.objectContaining(cited)])
      expect(output.findLast(({ type }) => type === 'message')).toMatchObject({ content: [{ annotations }] })
    }
    return
  }
  const { output, output_text: text } = await openai.responses.stream(request).finalResponse()
  expect(only(output, 'web_search_call')).toMatchObject({ status: 'completed', action: { query: 'figs' } })
  expect(only(output, 'message').content).toMatchObject([
    { annotations: [{ type: 'url_citation', url: 'https://example.com/simulated' }] },
  ])
  expect(text).toBe('Simulated search results say so.')
})

// Errors of Copilot. codex-errors.test.ts has those of Codex, whose wording differs.

const failures = [
  [400, OpenAI.BadRequestError, 'simulated: the request body is not acceptable'],
  [401, OpenAI.AuthenticationError, 'Invalid API key'],
  [402, OpenAI.APIError, 'You have exceeded your monthly quota'],
  [403, OpenAI.PermissionDeniedError, 'unauthorized: not authorized to use this Copilot feature'],
  [429, OpenAI.RateLimitError, 'Sorry, you have exceeded your weekly rate limit.'],
  [500, OpenAI.InternalServerError, /internal server error/i],
  [503, OpenAI.InternalServerError, 'upstream provider is rate limited'],
] as const

test.each(failures)(
  'a %i of upstream is the matching error class, whichever upstream it is',
  async (status, type, words) => {
    const { openai } = await openClient({ codexLogin: 'stored' })
    for (const model of fewModels.filter((each) => each !== ofCodex)) {
      for (const stream of [false, true]) {
        const error = await thrownBy(openai.responses.create({ model, input: `[demo:error ${status}]`, stream }))
        expect(error).toBeInstanceOf(type)
        expect(error).toMatchObject({ status, message: expect.stringMatching(words), type: expect.any(String) })
        expect(error).toHaveProperty('requestID', expect.stringMatching(/^[0-9a-f-]{36}$/))
      }
    }
  },
)

test('a full context has the code that clients act on', async () => {
  const { openai } = await openClient({ codexLogin: 'stored' })
  for (const model of everyModel) {
    await expect(openai.responses.create({ model, input: '[demo:overflow]' })).rejects.toMatchObject({
      status: 400,
      code: 'context_length_exceeded',
    })
  }
})

test('a limit that lasts for days is not retried', async () => {
  const proxy = await openClient({ codexLogin: 'stored' })
  const patient = new OpenAI({ baseURL: `${proxy.url}/v1`, apiKey: 'unused', maxRetries: 2 })
  const error = await thrownBy(patient.responses.create({ model: 'gpt-4.1', input: '[demo:error 429]' }))
  if (!(error instanceof OpenAI.RateLimitError)) throw error
  expect(error.headers.get('x-should-retry')).toBe('false')
  expect(error.headers.get('retry-after')).toBe('30')
  expect(promptsOf(proxy.demo)).toHaveLength(1)
})

test('an overload of Claude is reported as OpenAI’s, on both routes', async () => {
  const { openai } = await openClient({ codexLogin: 'stored' })
  const model = 'claude-opus-4.7'
  const overloaded = { status: 503, type: 'service_unavailable_error', code: 'server_is_overloaded' }
  await expect(openai.responses.create({ model, input: '[demo:error 529]' })).rejects.toMatchObject(overloaded)
  await expect(openai.chat.completions.create({ model, messages: says('[demo:error 529]') })).rejects.toMatchObject(
    overloaded,
  )
})

test.each(fewModels)('%s: a stream that fails is thrown after the text that came before', async (model) => {
  const { openai } = await openClient({ codexLogin: 'stored' })
  for (const marker of ['error-mid', 'error-event', 'cut', 'eof']) {
    const stream = openai.responses.stream({ model, input: `[demo:${marker}] one two three four five six` })
    let text = ''
    stream.on('response.output_text.delta', ({ delta }) => {
      text += delta
    })
    if (speakResponses.has(model) && marker === 'error-mid') {
      // The proxy forwards upstream's own failed response, and this client takes it for a normal end.
      await expect(stream.finalResponse()).resolves.toMatchObject({
        status: 'failed',
        error: { code: 'server_is_overloaded' },
      })
    } else await expect(stream.finalResponse(), marker).rejects.toBeInstanceOf(OpenAI.OpenAIError)
    expect(text, marker).toMatch(/^Hello from/)
  }
})

test('an invalid request is refused with the name of the field', async () => {
  const { openai } = await openClient({ codexLogin: 'stored' })
  const wrong = { model: 'gpt-5-mini', input: [{ role: 'user', content: [{ type: 'input_text' }] }] }
  // What the package's types do not allow is what is sent here.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  const request = wrong as unknown as OpenAI.Responses.ResponseCreateParamsNonStreaming
  await expect(openai.responses.create(request)).rejects.toMatchObject({
    status: 400,
    type: 'invalid_request_error',
    param: 'input[0].content[0].text',
  })
  await expect(openai.responses.create({ model: 'gpt-6-turbo', input: 'Hello' })).rejects.toMatchObject({
    status: 404,
    code: 'model_not_found',
  })
})

test('leaving a stream closes the connection to upstream', async () => {
  const { openai, demo } = await openClient({ codexLogin: 'stored' })
  for (const [model, route] of [
    ['gpt-5.3-codex', '/responses'],
    ['gpt-4.1', '/chat/completions'],
    ['claude-opus-4.7', '/v1/messages'],
  ] as const) {
    const gate = demo.gateNext(route)
    gate.release(12)
    const stream = await openai.responses.create({ model, input: '[demo:long 50]', stream: true })
    for await (const { type } of stream) if (type === 'response.output_text.delta') break
    expect(await gate.closed).toBe('aborted')
  }
  await demo.until(() => demo.openStreams() === 0)
})

test('one conversation continues over all three dialects', async () => {
  const proxy = await openClient({ codexLogin: 'stored' })
  const model = 'claude-sonnet-4.5'
  const openai = clientOf(proxy)
  const said = await Promise.all([
    openai.chat.completions
      .create({ model, messages: says('Hello') })
      .then(({ choices }) => choices[0]?.message.content),
    openai.responses.create({ model, input: 'Hello' }).then(({ output_text: text }) => text),
    anthropicOf(proxy)
      .messages.create({ model, max_tokens: 100, messages: says('Hello') })
      .then(({ content }) => content.map((block) => (block.type === 'text' ? block.text : '')).join('')),
  ])
  expect(new Set(said)).toEqual(new Set([`Hello from ${model}, simulated by copilot-proxy --demo. You said: Hello`]))
})
