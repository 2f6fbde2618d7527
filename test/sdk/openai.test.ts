import { some } from '../thorough.ts'
import type { ChatCompletionTool } from 'openai/resources/chat/completions'
import { expect, test } from 'vitest'
import { chatsOf } from '../http/harness.ts'
import { models, openClient, promptsOf, says } from './client.ts'

/** A small PNG: one transparent pixel. */
const pixel =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII='

/** A copy without the parts that the simulated Copilot numbers by request, and without those that the helper adds. */
function comparable(value: unknown): unknown {
  const text = JSON.stringify(value).replaceAll(/demo[-_]\d+/g, 'demo')
  return JSON.parse(text, (key, inner: unknown) => (key === 'index' || key === 'parsed_arguments' ? undefined : inner))
}

const tools: ChatCompletionTool[] = [
  {
    type: 'function',
    function: {
      name: 'read_file',
      description: 'Reads a file',
      parameters: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
    },
  },
  {
    type: 'function',
    function: {
      name: 'list_folder',
      description: 'Lists a folder',
      parameters: { type: 'object', properties: { folder: { type: 'string' } }, required: ['folder'] },
    },
  },
]

test.each(some(models, 2, 0))('%s answers without a stream', async (model) => {
  const { openai } = await openClient()
  const completion = await openai.chat.completions.create({ model, messages: says('Hello') })
  expect(completion).toMatchObject({
    object: 'chat.completion',
    choices: [
      { index: 0, finish_reason: 'stop', message: { role: 'assistant', content: expect.any(String), refusal: null } },
    ],
    usage: {
      prompt_tokens: expect.any(Number),
      completion_tokens: expect.any(Number),
      total_tokens: expect.any(Number),
    },
  })
  expect(completion.choices[0]?.message.content).toBe(
    `Hello from ${model}, simulated by copilot-proxy --demo. You said: Hello`,
  )
  expect(completion.id).not.toBe('')
  expect(completion.created).toBeGreaterThan(1_700_000_000)
})

test.each(some(models, 2, 1))(
  '%s streams chunks that are all of one shape and end with a finish and usage',
  async (model) => {
    const { openai } = await openClient()
    const stream = await openai.chat.completions.create({
      model,
      messages: says('Hello'),
      stream: true,
      stream_options: { include_usage: true },
    })
    let text = ''
    const ids = new Set<string>()
    const reasons: unknown[] = []
    let usage: unknown
    for await (const chunk of stream) {
      expect(chunk).toMatchObject({
        object: 'chat.completion.chunk',
        model: expect.any(String),
        created: expect.any(Number),
      })
      ids.add(chunk.id)
      usage = chunk.usage ?? usage
      for (const { index, delta, finish_reason: reason } of chunk.choices) {
        expect(index).toBe(0)
        text += delta.content ?? ''
        if (reason !== null) reasons.push(reason)
      }
    }
    expect(text).toBe(`Hello from ${model}, simulated by copilot-proxy --demo. You said: Hello`)
    expect(reasons).toEqual(['stop'])
    expect(ids.size).toBe(1)
    expect(usage).toMatchObject({ total_tokens: expect.any(Number) })
  },
)

test.each(
  models.flatMap((model) =>
    [
      'Hello',
      '[demo:reasoning] Hello',
      '[demo:tool] go',
      '[demo:tools] go',
      '[demo:length] one two three four',
      '[demo:refusal] no',
    ].map((prompt) => [model, prompt] as const),
  ),
)('%s: the stream helper builds the message that the plain call returns (%s)', async (model, prompt) => {
  const { openai } = await openClient()
  const request = { model, messages: says(prompt), tools }
  const plain = await openai.chat.completions.create(request)
  const streamed = await openai.chat.completions
    .stream({ ...request, stream_options: { include_usage: true } })
    .finalChatCompletion()
  expect(streamed.choices).toHaveLength(1)
  const [left] = plain.choices
  const [right] = streamed.choices
  expect(right?.finish_reason).toBe(left?.finish_reason)
  expect(right?.message.content || null).toEqual(left?.message.content || null)
  expect(comparable(right?.message.tool_calls ?? [])).toEqual(comparable(left?.message.tool_calls ?? []))
  expect(right?.message.refusal ?? null).toEqual(left?.message.refusal ?? null)
  expect(comparable(streamed.usage)).toEqual(comparable(plain.usage))
})

// Not for Gemini 3, which requires its opaque reasoning: the helper keeps only the fields that it knows.
test.each(models.filter((model) => model !== 'gemini-3-pro-preview'))(
  '%s: the helper runs parallel tools and sends their results back',
  async (model) => {
    const { openai, demo } = await openClient()
    const called: string[] = []
    const runnable = (name: string, parameter: string) => ({
      type: 'function' as const,
      function: {
        name,
        description: name,
        parse: JSON.parse,
        parameters: { type: 'object', properties: { [parameter]: { type: 'string' } }, required: [parameter] },
        function: (input: Record<string, string>) => {
          called.push(`${name}(${Object.keys(input).join()})`)
          return `result of ${name}`
        },
      },
    })
    for (const stream of [false, true]) {
      called.length = 0
      const runner = stream
        ? openai.chat.completions.runTools({
            model,
            stream,
            messages: says('[demo:tools] go'),
            tools: [runnable('read_file', 'path'), runnable('list_folder', 'folder')],
          })
        : openai.chat.completions.runTools({
            model,
            messages: says('[demo:tools] go'),
            tools: [runnable('read_file', 'path'), runnable('list_folder', 'folder')],
          })
      expect(await runner.finalContent()).toBe('The tool answered: result of read_file\nresult of list_folder')
      expect(called).toEqual(['read_file(path)', 'list_folder(folder)'])
    }
    // Requests with tool messages count as an agent's.
    expect(promptsOf(demo).map(({ headers }) => headers['x-initiator'])).toEqual(['user', 'agent', 'user', 'agent'])
  },
)

test.each(some(models, 2, 0))('%s: parallel calls that go back as they came are answered', async (model) => {
  const { openai } = await openClient()
  const question = says('[demo:tools] go')
  const first = await openai.chat.completions.create({ model, messages: question, tools })
  const message = first.choices[0]?.message
  expect(first.choices[0]?.finish_reason).toBe('tool_calls')
  const calls = message?.tool_calls ?? []
  expect(calls).toHaveLength(2)
  expect(new Set(calls.map(({ id }) => id)).size).toBe(2)
  const results = calls.map(({ id }) => ({ role: 'tool' as const, tool_call_id: id, content: `result of ${id}` }))
  const messages = [...question, ...(message ? [message] : []), ...results]
  const second = await openai.chat.completions.create({ model, messages, tools })
  expect(second.choices[0]).toMatchObject({
    finish_reason: 'stop',
    message: { content: `The tool answered: ${calls.map(({ id }) => `result of ${id}`).join('\n')}` },
  })
})

test('a tool choice reaches upstream as it was sent', async () => {
  const { openai, demo } = await openClient()
  const choice = { type: 'function' as const, function: { name: 'list_folder' } }
  const { choices } = await openai.chat.completions.create({
    model: 'gpt-4.1',
    messages: says('go'),
    tools,
    tool_choice: choice,
  })
  expect(choices[0]?.message.tool_calls).toMatchObject([{ type: 'function', function: { name: 'list_folder' } }])
  expect(JSON.parse(chatsOf(demo).at(-1)?.body ?? '')).toMatchObject({ tool_choice: choice, tools, stream: true })
})

test.each(['gpt-5-mini', 'claude-sonnet-4.5', 'gemini-2.5-pro'])(
  '%s is sent images, under the vision flag',
  async (model) => {
    const { openai, demo } = await openClient()
    const content = [
      { type: 'text' as const, text: 'What is this?' },
      { type: 'image_url' as const, image_url: { url: pixel } },
    ]
    const { choices } = await openai.chat.completions.create({ model, messages: [{ role: 'user', content }] })
    expect(choices[0]?.message.content).toContain('What is this?')
    const sent = chatsOf(demo).at(-1)
    expect(sent?.headers['copilot-vision-request']).toBe('true')
    expect(JSON.parse(sent?.body ?? '').messages[0].content).toEqual(content)
  },
)

test('embeddings come as numbers, whichever encoding the client asks for', async () => {
  const { openai } = await openClient()
  const request = { model: 'text-embedding-3-small', input: ['one', 'two'] }
  const { data, usage } = await openai.embeddings.create(request)
  const plain = await openai.embeddings.create({ ...request, encoding_format: 'float' })
  expect(data).toHaveLength(2)
  expect(usage).toEqual({ prompt_tokens: 2, total_tokens: 2 })
  for (const [at, { embedding, index }] of data.entries()) {
    expect(index).toBe(at)
    expect(embedding).toHaveLength(1536)
    const exact = plain.data[at]?.embedding ?? []
    // The default encoding is of 32-bit floats.
    expect(embedding.every((value, position) => value === Math.fround(exact[position] ?? Number.NaN))).toBe(true)
  }
  expect((await openai.embeddings.create({ ...request, input: 'one', dimensions: 8 })).data[0]?.embedding).toHaveLength(
    8,
  )
})

test('models are listed and found', async () => {
  const { openai } = await openClient()
  await openai.chat.completions.create({ model: 'claude-sonnet-4.5', messages: says('Hello') })
  const ids: string[] = []
  for await (const { id, object } of openai.models.list()) {
    expect(object).toBe('model')
    ids.push(id)
  }
  expect(ids).toEqual(expect.arrayContaining(['gpt-5-mini', 'claude-sonnet-4.5', 'text-embedding-3-small']))
  expect(await openai.models.retrieve('claude-sonnet-4.5')).toMatchObject({ id: 'claude-sonnet-4.5', object: 'model' })
  await expect(openai.models.retrieve('claude-sonet-4.5')).rejects.toMatchObject({
    status: 404,
    code: 'model_not_found',
    message: expect.stringContaining('claude-sonnet-4.5'),
  })
})

test('structured output is parsed', async () => {
  const { openai } = await openClient()
  const schema = {
    type: 'object',
    properties: { city: { type: 'string' } },
    required: ['city'],
    additionalProperties: false,
  }
  const { choices } = await openai.chat.completions.parse({
    model: 'gpt-5-mini',
    messages: says('Where?'),
    response_format: { type: 'json_schema', json_schema: { name: 'place', strict: true, schema } },
  })
  expect(choices[0]?.message.parsed).toEqual({ city: expect.any(String) })
})

test.each(some(models, 2, 1))('%s: a custom tool is called with text as it is, and answered', async (model) => {
  const { openai } = await openClient()
  const input = '*** Begin Patch\n+ "quoted" \\ ü€😀\n*** End Patch'
  // Other upstreams know functions only, so they get a function with this text as its argument.
  const given = model === 'gpt-5.3-codex' ? input : { input }
  const messages = says(`[demo:tool apply_patch ${JSON.stringify(given)}] go`)
  const custom: ChatCompletionTool = { type: 'custom', custom: { name: 'apply_patch', description: 'Edits files' } }
  const { choices } = await openai.chat.completions.create({ model, messages, tools: [custom] })
  const message = choices[0]?.message
  const [call] = message?.tool_calls ?? []
  expect(call).toMatchObject({ type: 'custom', custom: { name: 'apply_patch', input } })
  const result = { role: 'tool' as const, tool_call_id: call?.id ?? '', content: 'patched' }
  const second = await openai.chat.completions.create({
    model,
    messages: [...messages, ...(message ? [message] : []), result],
    tools: [custom],
  })
  expect(second.choices[0]?.message.content).toBe('The tool answered: patched')
})
