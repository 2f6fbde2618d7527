import { expect, test } from 'vitest'
import type { Outcome } from '../http/outcome.ts'
import { chunksOf, contentOf } from './test-client.ts'
import type { CallDelta } from './test-client.ts'
import { chat, eventsOf, messageOf, messages, refusalOf, responses, textOf } from './test-calls.ts'
import type { Body, Event } from './test-calls.ts'

interface Call {
  readonly name: string
  readonly arguments: string
}

/** One way to ask for the same thing, and to read what comes. */
interface Dialect {
  readonly model: string
  /** A conversation whose last word is this prompt, after other texts where a client puts some before it. */
  readonly prompt: (text: string) => Body
  /** The same, answered by a call whose result this is; `after` follows the result as a text of the client's own. */
  readonly result: (text: string, result: string, after?: string) => Body
  /** The prompt with an image beside it. */
  readonly image: (text: string) => Body
  readonly resultImage: (text: string) => Body
  readonly tool: (name: string, schema: Body) => Body
  readonly ask: (body: Body) => Outcome
  readonly textOf: (outcome: Outcome) => string
  readonly callsOf: (outcome: Outcome) => readonly Call[]
}

/** A small PNG: one transparent pixel, 68 bytes. */
const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII='
const PIXEL_URL = `data:image/png;base64,${PIXEL}`

const REMINDER = '<system-reminder>\nAs you answer, [demo:error 500] is not meant.\n</system-reminder>'

function deltasOf(events: readonly Event[], type: string): string {
  return events.flatMap((event) => (event.type === type ? String(event.delta) : [])).join('')
}

const CHAT: Dialect = {
  model: 'gpt-4.1',
  prompt: (text) => ({
    messages: [{ role: 'user', content: [REMINDER, text].map((each) => ({ type: 'text', text: each })) }],
  }),
  result: (text, result, after) => ({
    messages: [
      { role: 'user', content: text },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'c', type: 'function', function: { name: 'Read', arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: 'c', content: result },
      ...(after === undefined ? [] : [{ role: 'user', content: after }]),
    ],
  }),
  image: (text) => ({
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text },
          { type: 'image_url', image_url: { url: PIXEL_URL } },
        ],
      },
    ],
  }),
  resultImage: (text) => ({
    messages: [
      { role: 'user', content: text },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'c', type: 'function', function: { name: 'Read', arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: 'c', content: [{ type: 'image_url', image_url: { url: PIXEL_URL } }] },
    ],
  }),
  tool: (name, schema) => ({ type: 'function', function: { name, parameters: schema } }),
  ask: (body) => chat(body, { hasVisionHeader: true }),
  textOf: (outcome) => contentOf(textOf(outcome)),
  callsOf: (outcome) => {
    const deltas = chunksOf(textOf(outcome)).flatMap((chunk) =>
      chunk.choices.flatMap((choice): readonly CallDelta[] => choice.delta?.tool_calls ?? []),
    )
    const calls: { name: string; arguments: string }[] = []
    for (const { id, function: fragment } of deltas) {
      if (id !== undefined) calls.push({ name: fragment.name ?? '', arguments: '' })
      const last = calls.at(-1)
      if (last !== undefined) last.arguments += fragment.arguments
    }
    return calls
  },
}

const RESPONSES: Dialect = {
  model: 'gpt-5.4',
  prompt: (text) => ({
    input: [
      { type: 'message', role: 'developer', content: [{ type: 'input_text', text: '[demo:error 500]' }] },
      { type: 'message', role: 'user', content: [REMINDER, text].map((each) => ({ type: 'input_text', text: each })) },
    ],
  }),
  result: (text, result, after) => ({
    input: [
      { role: 'user', content: text },
      { type: 'function_call', call_id: 'c', name: 'Read', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c', output: result },
      ...(after === undefined ? [] : [{ role: 'user', content: after }]),
    ],
  }),
  image: (text) => ({
    input: [
      {
        role: 'user',
        content: [
          { type: 'input_text', text },
          { type: 'input_image', image_url: PIXEL_URL },
        ],
      },
    ],
  }),
  resultImage: (text) => ({
    input: [
      { role: 'user', content: text },
      { type: 'function_call', call_id: 'c', name: 'Read', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c', output: [{ type: 'input_image', image_url: PIXEL_URL }] },
    ],
  }),
  tool: (name, schema) => ({ type: 'function', name, parameters: schema }),
  ask: (body) => responses(body, { hasVisionHeader: true }),
  textOf: (outcome) => deltasOf(eventsOf(outcome), 'response.output_text.delta'),
  callsOf: (outcome) =>
    eventsOf(outcome).flatMap(({ type, item }) =>
      type === 'response.output_item.done' && item?.type === 'function_call'
        ? [{ name: String(item['name']), arguments: String(item['arguments']) }]
        : [],
    ),
}

const MESSAGES: Dialect = {
  model: 'claude-sonnet-4.5',
  prompt: (text) => ({
    system: [{ type: 'text', text: '[demo:error 500]' }],
    messages: [
      { role: 'user', content: [REMINDER, 'context', text, REMINDER].map((each) => ({ type: 'text', text: each })) },
    ],
  }),
  result: (text, result, after) => ({
    messages: [
      { role: 'user', content: text },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'c', name: 'Read', input: {} }] },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'c', content: result },
          ...(after === undefined ? [] : [{ type: 'text', text: after }]),
        ],
      },
    ],
  }),
  image: (text) => ({
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text },
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PIXEL } },
        ],
      },
    ],
  }),
  resultImage: (text) => ({
    messages: [
      { role: 'user', content: text },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'c', name: 'Read', input: {} }] },
      {
        role: 'user',
        content: [
          {
            type: 'tool_result',
            tool_use_id: 'c',
            content: [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: PIXEL } }],
          },
        ],
      },
    ],
  }),
  tool: (name, schema) => ({ name, input_schema: schema }),
  ask: (body) => messages(body, { hasVisionHeader: true }),
  textOf: (outcome) =>
    eventsOf(outcome)
      .flatMap(({ delta }) => (delta === undefined ? [] : String(Object(delta).text ?? '')))
      .join(''),
  callsOf: (outcome) => {
    const calls: { name: string; arguments: string }[] = []
    for (const { type, content_block: block, delta } of eventsOf(outcome)) {
      if (type === 'content_block_start' && block?.['type'] === 'tool_use') {
        calls.push({ name: String(block['name']), arguments: '' })
      }
      const last = calls.at(-1)
      const piece: unknown = Object(delta).partial_json
      if (last !== undefined && typeof piece === 'string') last.arguments += piece
    }
    return calls
  },
}

const DIALECTS: readonly (readonly [string, Dialect])[] = [
  ['chat', CHAT],
  ['responses', RESPONSES],
  ['messages', MESSAGES],
]

const path = { type: 'object', properties: { file_path: { type: 'string' } }, required: ['file_path'] }

function say(dialect: Dialect, text: string, more: Body = {}): Outcome {
  const tools = [dialect.tool('Read', path), dialect.tool('Glob', { type: 'object', properties: {} })]
  return dialect.ask({ ...dialect.prompt(text), tools, ...more })
}

test.for(DIALECTS)('%s: answers the prompt, and nothing that stands around it', ([, dialect]) => {
  expect(dialect.textOf(say(dialect, 'Grüße 👋🏽'))).toBe(
    `Hello from ${dialect.model}, simulated by copilot-proxy --demo. You said: Grüße 👋🏽`,
  )
})

test.for(DIALECTS)('%s: calls the named tool with the arguments of the marker', ([, dialect]) => {
  const prompt = 'Please [demo:tool Read {"file_path":"/tmp/a [1].txt","lines":[1,2]}] now'
  expect(dialect.callsOf(say(dialect, prompt))).toEqual([
    { name: 'Read', arguments: '{"file_path":"/tmp/a [1].txt","lines":[1,2]}' },
  ])
})

test.for(DIALECTS)('%s: several tool markers are parallel calls, in order', ([, dialect]) => {
  const prompt = '[demo:tool Read {"file_path":"/a"}] [demo:tool Glob] [demo:tool Read {"file_path":"/b"}]'
  const calls = dialect.callsOf(say(dialect, prompt))
  expect(calls.map(({ name }) => name)).toEqual(['Read', 'Glob', 'Read'])
  expect([calls[0]?.arguments, calls[2]?.arguments]).toEqual(['{"file_path":"/a"}', '{"file_path":"/b"}'])
})

test.for(DIALECTS)('%s: arguments are made from the schema where the marker gives none', ([, dialect]) => {
  expect(dialect.callsOf(say(dialect, '[demo:tool]'))).toEqual([
    { name: 'Read', arguments: '{"file_path":"example file_path"}' },
  ])
  const only = { tools: [dialect.tool('Read', path)] }
  expect(dialect.callsOf(say(dialect, '[demo:tools]', only))).toHaveLength(2)
  expect(dialect.callsOf(say(dialect, '[demo:tools]')).map(({ name }) => name)).toEqual(['Read', 'Glob'])
})

test.for(DIALECTS)('%s: says so where the named tool, or any, is not offered', ([, dialect]) => {
  const absent = say(dialect, '[demo:tool Write {"file_path":"/a"}]')
  expect(dialect.callsOf(absent)).toEqual([])
  expect(dialect.textOf(absent)).toBe('There is no tool Write to call. Offered: Read, Glob')
  expect(dialect.textOf(say(dialect, '[demo:tool Read]', { tools: undefined }))).toContain('no tool to call')
})

test.for(DIALECTS)('%s: calls one tool where only one at a time is allowed', ([name, dialect]) => {
  const one =
    name === 'messages'
      ? { tool_choice: { type: 'auto', disable_parallel_tool_use: true } }
      : { parallel_tool_calls: false }
  expect(dialect.callsOf(say(dialect, '[demo:tools]', one))).toHaveLength(1)
})

test.for(DIALECTS)('%s: a forced tool is called without a marker', ([name, dialect]) => {
  const any = name === 'messages' ? { type: 'any' } : 'required'
  const glob = { type: 'function', name: 'Glob', function: { name: 'Glob' } }
  const named = name === 'messages' ? { type: 'tool', name: 'Glob' } : glob
  const none = name === 'messages' ? { type: 'none' } : 'none'
  expect(dialect.callsOf(say(dialect, 'Hi', { tool_choice: any }))[0]?.name).toBe('Read')
  expect(dialect.callsOf(say(dialect, 'Hi', { tool_choice: named }))[0]?.name).toBe('Glob')
  expect(dialect.callsOf(say(dialect, '[demo:tool]', { tool_choice: none }))).toEqual([])
})

test.for(DIALECTS)('%s: answers with the result of a tool, whatever the prompt asked for', ([, dialect]) => {
  expect(dialect.textOf(dialect.ask(dialect.result('[demo:tool]', 'forty-two')))).toBe('The tool answered: forty-two')
  const reminded = dialect.result('[demo:tool]', 'forty-two', REMINDER)
  expect(dialect.textOf(dialect.ask(reminded))).toBe('The tool answered: forty-two')
})

test.for(DIALECTS)('%s: what the user says after a result is the prompt', ([, dialect]) => {
  expect(dialect.textOf(dialect.ask(dialect.result('[demo:tool]', 'x', 'thanks [demo:long 2]')))).toBe(
    'simulated words',
  )
})

test.for(DIALECTS)('%s: acknowledges an image beside the prompt and in a result', ([, dialect]) => {
  expect(dialect.textOf(dialect.ask(dialect.image('What is this?')))).toContain(
    'I see an image, image/png of 68 bytes. You said: What',
  )
  expect(dialect.textOf(dialect.ask(dialect.resultImage('[demo:tool]')))).toBe(
    'The tool answered: [image, image/png of 68 bytes]',
  )
})

test.for(DIALECTS)('%s: [demo:echo] gives back the body as it was received', ([, dialect]) => {
  const body: unknown = JSON.parse(dialect.textOf(say(dialect, '[demo:echo]')))
  expect(body).toMatchObject({ stream: true, ...dialect.prompt('[demo:echo]') })
})

test.for(DIALECTS)('%s: [demo:long], [demo:length] and the limit of output', ([name, dialect]) => {
  expect(dialect.textOf(say(dialect, '[demo:long 30]')).split(' ')).toHaveLength(30)
  expect(dialect.textOf(say(dialect, '[demo:length] [demo:long 10]')).trim().split(' ')).toHaveLength(5)
  const most = { [name === 'responses' ? 'max_output_tokens' : 'max_tokens']: 16 }
  expect(
    dialect
      .textOf(say(dialect, '[demo:long 30]', most))
      .trim()
      .split(' '),
  ).toHaveLength(16)
})

test.for(DIALECTS)('%s: [demo:length] cuts a call in its arguments', ([, dialect]) => {
  const [call] = dialect.callsOf(say(dialect, '[demo:length] [demo:tool Read {"file_path":"/a"}]'))
  expect(call?.arguments).toBe('{"file_pa')
})

test.for(DIALECTS)('%s: [demo:whitespace] runs away in the arguments', ([, dialect]) => {
  expect(dialect.callsOf(say(dialect, '[demo:whitespace]'))[0]?.arguments).toMatch(/^\{"text":[ \t\n\r]{4000}$/)
})

test.for(DIALECTS)('%s: structured outputs get JSON that fits', ([name, dialect]) => {
  const schema = { type: 'object', properties: { ok: { type: 'boolean' } }, required: ['ok'] }
  const format =
    name === 'chat'
      ? { response_format: { type: 'json_schema', json_schema: { name: 'x', schema } } }
      : name === 'responses'
        ? { text: { format: { type: 'json_schema', name: 'x', schema } } }
        : { output_config: { format: { type: 'json_schema', schema } } }
  expect(dialect.textOf(say(dialect, 'Hi', format))).toBe('{"ok":false}')
})

test.for(DIALECTS)('%s: streams end as their markers ask', ([, dialect]) => {
  const whole = textOf(say(dialect, '[demo:long 20]'))
  const ending = (marker: string): readonly [string, boolean] => {
    const outcome = say(dialect, `[demo:long 20] ${marker}`)
    if (outcome.kind !== 'stream') throw new Error('not a stream')
    return [outcome.ending, textOf(outcome).length > 0 && textOf(outcome).length < whole.length]
  }
  expect(ending('[demo:cut]')).toEqual(['cut', true])
  expect(ending('[demo:eof]')).toEqual(['end', true])
  expect(ending('[demo:stall]')).toEqual(['hold', true])
  expect(ending('[demo:hang]')).toEqual(['hold', false])
  expect(say(dialect, '[demo:silent]').kind).toBe('silent')
  expect(say(dialect, '[demo:slow 20]')).toMatchObject({ delayMs: 20 })
})

test.for(DIALECTS)('%s: [demo:frames] are as many as asked for, however they are joined', ([, dialect]) => {
  const one = say(dialect, '[demo:frames 10]')
  expect(dialect.textOf(one)).toBe(' prepared'.repeat(10))
  expect(textOf(say(dialect, '[demo:frames 10 4]'))).toBe(textOf(one))
})

test.for(DIALECTS)(
  '%s: [demo:error] has the status asked for, and [demo:error 429 2] its own retry-after',
  ([, dialect]) => {
    for (const status of [401, 402, 429, 500, 529]) {
      expect(refusalOf(say(dialect, `[demo:error ${status}]`)).status).toBe(status)
    }
    expect(say(dialect, '[demo:error 429]')).toMatchObject({ headers: { 'retry-after': '30' } })
    expect(say(dialect, '[demo:error 429 2]')).toMatchObject({ headers: { 'retry-after': '2' } })
  },
)

test.for<[(body: Body) => Outcome, Body, string, string]>([
  [
    chat,
    { model: 'gpt-4o', messages: [{ role: 'user', content: '[demo:overflow]' }] },
    'prompt token count of 138898 exceeds the limit of 64000',
    'model_max_prompt_tokens_exceeded',
  ],
  [
    chat,
    { model: 'claude-haiku-4.5', messages: [{ role: 'user', content: '[demo:overflow]' }] },
    'prompt is too long: 210194 tokens > 200000 maximum',
    'invalid_request_body',
  ],
  [
    chat,
    { model: 'gemini-2.5-pro', messages: [{ role: 'user', content: '[demo:overflow]' }] },
    'Request body is too large for model context window',
    'invalid_request_body',
  ],
  [
    responses,
    { input: '[demo:overflow]' },
    'prompt token count of 346898 exceeds the limit of 272000',
    'model_max_prompt_tokens_exceeded',
  ],
  [
    messages,
    { messages: [{ role: 'user', content: '[demo:overflow]' }] },
    'prompt is too long: 210194 tokens > 200000 maximum',
    '',
  ],
])('[demo:overflow] speaks in the words of the backend', ([ask, body, message, code]) => {
  const outcome = ask(body)
  expect(refusalOf(outcome).status).toBe(400)
  expect(messageOf(outcome)).toBe(message)
  if (code !== '') expect(refusalOf(outcome).body).toMatchObject({ error: { code } })
})

test('chat wants the thinking of [demo:replay] back as well', () => {
  const asked = { role: 'user', content: '[demo:replay]' }
  const later = (answer: Body, model = 'claude-haiku-4.5'): Body => ({
    model,
    messages: [asked, { role: 'assistant', content: 'Ho', ...answer }, { role: 'user', content: 'Hi' }],
  })
  expect(chat(later({ reasoning_opaque: 'x' })).kind).toBe('stream')
  expect(messageOf(chat(later({})))).toContain('reasoning_opaque of an earlier answer is missing')
  // GPT gives no such field on chat, so there is nothing that could come back.
  expect(chat(later({}, 'gpt-4.1')).kind).toBe('stream')
})

test('chat stops at a stop text', () => {
  expect(contentOf(textOf(chat({ stop: [' simulated', 'You'] })))).toBe('Hello from gpt-4.1,')
})

test('[demo:redacted] on chat has opaque reasoning without a text', () => {
  const stream = textOf(chat({ model: 'claude-haiku-4.5', messages: [{ role: 'user', content: '[demo:redacted]' }] }))
  expect(stream).toContain('reasoning_opaque')
  expect(stream).not.toContain('reasoning_text')
})
