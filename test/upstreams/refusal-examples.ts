import type { InferencePath } from './inference.ts'

/** A request that a row refuses, and one like it that the row takes. */
interface RefusalExample {
  readonly path: InferencePath
  readonly model: string
  readonly refused: object
  readonly taken: object
  /** Part of upstream's words. */
  readonly words: string
  readonly headers?: Readonly<Record<string, string>>
  /** Headers of the request that is taken. Default: the same. */
  readonly takenHeaders?: Readonly<Record<string, string>>
  readonly windowTokens?: number
}

const CHAT = '/chat/completions'
const RESPONSES = '/responses'
const MESSAGES = '/v1/messages'

const hi = [{ role: 'user', content: 'hi' }]
const text = { type: 'string' }

/** One example by the API of its route: a tool `t` with a schema. */
function withSchema(path: InferencePath, schema: object, name = 't'): object {
  switch (path) {
    case CHAT:
      return { messages: hi, tools: [{ type: 'function', function: { name, parameters: schema } }] }
    case RESPONSES:
      return { input: 'hi', tools: [{ type: 'function', name, parameters: schema }] }
    case MESSAGES:
      return { max_tokens: 100, messages: hi, tools: [{ name, input_schema: schema }] }
  }
}

function schemas(
  path: InferencePath,
  model: string,
  words: string,
  [refused, taken]: readonly [refused: object, taken: object],
): RefusalExample {
  return { path, model, words, refused: withSchema(path, refused), taken: withSchema(path, taken) }
}

const of = (properties: object, more: object = {}): object => ({ type: 'object', properties, ...more })
const inV = (schema: object): object => of({ v: schema })

const GEMINI = 'gemini-3-pro-preview'
const CLAUDE = 'claude-sonnet-4.5'
const GPT = 'gpt-4.1'
const CODEX = 'gpt-5.3-codex'

const gemini = (refused: object, taken: object): RefusalExample =>
  schemas(CHAT, GEMINI, 'Bad Request', [inV(refused), inV(taken)])

/** A chat with one round of a call of `f`. */
function round(id: string, given: string, more: object = {}): readonly object[] {
  return [
    ...hi,
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id, type: 'function', function: { name: 'f', arguments: given } }],
      ...more,
    },
    { role: 'tool', tool_call_id: id, content: 'x' },
  ]
}

const f = [{ type: 'function', function: { name: 'f', parameters: of({}) } }]
const chat = (messages: readonly object[], more: object = {}): object => ({ messages, ...more })

/** The beginning of a PNG with this side. */
function png(side: number): string {
  const bytes = Buffer.alloc(48)
  Buffer.from('\x89PNG\r\n\x1A\n\0\0\0\rIHDR', 'latin1').copy(bytes)
  bytes.writeUInt32BE(side, 16)
  bytes.writeUInt32BE(side, 20)
  return bytes.toString('base64')
}

const shown = (url: string): object => chat([{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }])
const data = (content: string, type = 'image/png'): object => shown(`data:${type};base64,${content}`)
const garbage = Buffer.from('this is no image at all').toString('base64')
const input = (part: object): object => ({ input: [{ role: 'user', content: [part] }] })
const result = (content: object): object => ({
  max_tokens: 100,
  tools: [{ name: 'f', input_schema: of({}) }],
  messages: [
    ...hi,
    { role: 'assistant', content: [{ type: 'tool_use', id: 't1', name: 'f', input: {} }] },
    { role: 'user', content: [content] },
  ],
})
const mark = { cache_control: { type: 'ephemeral' } }
const namespace = (description?: string): object => ({
  input: 'hi',
  tools: [{ type: 'namespace', name: 'ns', description, tools: [{ type: 'function', name: 'f', parameters: of({}) }] }],
})
const many = (count: number): object =>
  chat(hi, { tools: Array.from({ length: count }, (_, at) => ({ type: 'function', function: { name: `t${at}` } })) })
const thinking = (given: object | undefined): object => ({ max_tokens: 4000, messages: hi, thinking: given })
const forced = (type: string): object => ({
  max_tokens: 4000,
  messages: hi,
  tools: [{ name: 'f', input_schema: of({}) }],
  thinking: { type: 'adaptive' },
  tool_choice: { type, ...(type === 'tool' && { name: 'f' }) },
})
const long = 'word '.repeat(1000)

const EXAMPLES: Readonly<Record<string, RefusalExample>> = {
  'P1 array without items': schemas(RESPONSES, CODEX, "In context=('properties', 'v'), array schema missing items.", [
    inV({ type: 'array' }),
    inV({ type: 'array', items: {} }),
  ]),
  'P1 array without items, as one of several types': schemas(CHAT, GPT, 'array schema missing items.', [
    inV({ type: ['array', 'null'] }),
    inV({ type: ['array', 'null'], items: {} }),
  ]),
  'P1 no object with properties': schemas(CHAT, GPT, 'object schema missing properties', [{ type: 'object' }, of({})]),
  'P24 alternatives at the root, GPT': schemas(CHAT, GPT, 'at the top level', [
    of({ id: text }, { anyOf: [{ required: ['id'] }] }),
    inV({ anyOf: [text, { type: 'null' }] }),
  ]),
  'P2 enum of other values': gemini({ type: 'integer', enum: [1] }, { type: 'string', enum: ['1'] }),
  'P2 enum on another type': gemini({ type: 'integer', enum: ['1'] }, { type: 'string', enum: ['1'] }),
  'P2 enum on a list or an object': gemini(
    { type: 'array', items: text, enum: ['a'] },
    { type: 'array', items: { type: 'string', enum: ['a'] } },
  ),
  'P2 list of types': gemini({ type: ['string', 'null'] }, text),
  'P2 array without items': gemini({ type: 'array' }, { type: 'array', items: text }),
  'P2 required without property': gemini(of({ a: text }, { required: ['b'] }), of({ a: text }, { required: ['a'] })),
  'P2 keywords beside anyOf': gemini({ type: 'object', anyOf: [of({})] }, { anyOf: [of({})] }),
  'P2 tool name': {
    path: CHAT,
    model: GEMINI,
    words: 'Bad Request',
    refused: withSchema(CHAT, of({}), '9f'),
    taken: withSchema(CHAT, of({}), '_9f'),
  },
  'P24 alternatives at the root, Claude': schemas(MESSAGES, CLAUDE, 'tools.0.custom.input_schema', [
    of({ id: text }, { oneOf: [{ required: ['id'] }] }),
    inV({ oneOf: [text, { type: 'null' }] }),
  ]),
  'P24 no JSON Schema': schemas(MESSAGES, CLAUDE, 'draft 2020-12', [
    inV({ type: 'number', minimum: 0, exclusiveMinimum: true }),
    of(
      { v: { type: 'number', exclusiveMinimum: 0 }, required: text },
      { $schema: 'http://json-schema.org/draft-07/schema#' },
    ),
  ]),
  'P17 property names': schemas(CHAT, CLAUDE, 'Property keys should match pattern', [
    of({ $top: text }),
    of({ top: text }),
  ]),
  'P3 empty description': {
    path: RESPONSES,
    model: 'gpt-5.6',
    words: "Invalid 'tools[0].description': empty string",
    refused: namespace(''),
    taken: namespace('Tools'),
  },
  'P3 no description': {
    path: RESPONSES,
    model: 'gpt-5.6',
    words: "'tools[0].description'",
    refused: namespace(),
    taken: namespace('Tools'),
  },
  'P8 encrypted parameter': schemas(RESPONSES, CODEX, 'encrypted parameters', [
    inV({ type: 'string', encrypted: true }),
    of({ encrypted: text }),
  ]),
  'P8 plain text as ciphertext': {
    path: RESPONSES,
    model: CODEX,
    words: 'could not be decrypted',
    refused: input({ type: 'encrypted_content', encrypted_content: 'a task' }),
    taken: input({ type: 'input_text', text: 'a task' }),
  },
  'P9 validated': {
    path: CHAT,
    model: GPT,
    words: '/properties/tool_choice',
    refused: chat(hi, { tools: f, tool_choice: 'validated' }),
    taken: chat(hi, { tools: f, tool_choice: 'auto' }),
  },
  'P25 long tool name': {
    path: MESSAGES,
    model: CLAUDE,
    words: 'less than or equal to 64',
    refused: withSchema(MESSAGES, of({}), 'x'.repeat(65)),
    taken: withSchema(MESSAGES, of({}), 'x'.repeat(64)),
  },
  'P26 more than 128 tools': {
    path: CHAT,
    model: CLAUDE,
    words: 'got 129, want 128',
    refused: many(129),
    taken: many(128),
  },
  'forced choice': {
    path: MESSAGES,
    model: 'claude-fable-5.1',
    words: 'are not supported for this model',
    refused: forced('tool'),
    taken: forced('auto'),
  },
  'P4 characters of ids': {
    path: CHAT,
    model: CLAUDE,
    words: 'messages.1.content.0.tool_use.id: String should match pattern',
    refused: chat(round('f:0', '{}'), { tools: f }),
    taken: chat(round('f-0', '{}'), { tools: f }),
  },
  'P4 repeated ids': {
    path: CHAT,
    model: CLAUDE,
    words: 'ids must be unique',
    refused: chat([...round('c1', '{}'), ...round('c1', '{}')], { tools: f }),
    taken: chat([...round('c1', '{}'), ...round('c2', '{}')], { tools: f }),
  },
  'P4 long ids': {
    path: CHAT,
    model: GPT,
    words: 'maximum length 40',
    refused: chat(round('c'.repeat(41), '{}'), { tools: f }),
    taken: chat(round('c'.repeat(40), '{}'), { tools: f }),
  },
  'P5 arguments without an object': {
    path: CHAT,
    model: GPT,
    words: 'invalid_tool_call_format',
    refused: chat(round('c1', '{"a":"b'), { tools: f }),
    taken: chat(round('c1', ''), { tools: f }),
  },
  'P15 stop on GPT-5': {
    path: CHAT,
    model: 'gpt-5-mini',
    words: "Unsupported parameter: 'stop'",
    refused: chat(hi, { stop: ['END'] }),
    taken: chat(hi),
  },
  'P15 blank stop sequence': {
    path: MESSAGES,
    model: CLAUDE,
    words: 'non-whitespace',
    refused: { max_tokens: 100, messages: hi, stop_sequences: ['END', '\n'] },
    taken: { max_tokens: 100, messages: hi, stop_sequences: ['END'] },
  },
  'P18 unknown member, GPT': {
    path: CHAT,
    model: GPT,
    words: "'messages[1].reasoning_details'",
    refused: chat([...hi, { role: 'assistant', content: 'a', reasoning_details: [] }, ...hi]),
    taken: chat([...hi, { role: 'assistant', content: 'a' }, ...hi]),
  },
  'P18 unknown member, Claude': {
    path: CHAT,
    model: CLAUDE,
    words: 'messages.1.provider_specific_fields: Extra inputs',
    refused: chat([...hi, { role: 'assistant', content: 'a', provider_specific_fields: {} }, ...hi]),
    taken: chat([...hi, { role: 'assistant', content: 'a' }, ...hi], { tools: f }),
  },
  'P21 reasoning of another account': {
    path: CHAT,
    model: CLAUDE,
    words: 'cannot be modified',
    refused: chat(round('c1', '{}', { reasoning_opaque: 'b3BhcXVl' }), { tools: f }),
    taken: chat(round('c1', '{}'), { tools: f }),
  },
  'P21 calls without reasoning': {
    path: CHAT,
    model: CLAUDE,
    words: 'found `tool_use`',
    refused: chat(round('c1', '{}'), { tools: f, thinking_budget: 2000 }),
    taken: chat(round('c1', '{}', { reasoning_opaque: 'b3BhcXVl' }), { tools: f, thinking_budget: 2000 }),
  },
  'P22 blank text': {
    path: CHAT,
    model: CLAUDE,
    words: 'non-whitespace text',
    refused: chat(round('c1', '{}', { content: '\n\n' }), { tools: f }),
    taken: chat(round('c1', '{}', { content: '\na' }), { tools: f }),
  },
  'P29 trailing white space': {
    path: CHAT,
    model: CLAUDE,
    words: 'trailing whitespace',
    refused: chat([...hi, { role: 'assistant', content: 'The answer is ' }]),
    taken: chat([...hi, { role: 'assistant', content: 'The answer is' }]),
  },
  'P10 image detail': {
    path: RESPONSES,
    model: CODEX,
    words: "either 'low' or 'high'",
    refused: input({ type: 'input_image', image_url: `data:image/png;base64,${png(1)}`, detail: 'auto' }),
    taken: input({ type: 'input_image', image_url: `data:image/png;base64,${png(1)}`, detail: 'low' }),
  },
  'P11 file on chat': {
    path: CHAT,
    model: GPT,
    words: "'image_url' or 'text'",
    refused: chat([{ role: 'user', content: [{ type: 'file', file: { file_data: 'x' } }] }]),
    taken: data(png(1)),
  },
  'P13 image by address': {
    path: CHAT,
    model: GPT,
    words: 'external image URLs',
    refused: shown('https://x.example/a.png'),
    taken: data(png(1)),
  },
  'P14 cache mark in a result': {
    path: MESSAGES,
    model: CLAUDE,
    words: 'messages.2.content.0.tool_result.content.0.cache_control',
    refused: result({ type: 'tool_result', tool_use_id: 't1', content: [{ type: 'text', text: 'a', ...mark }] }),
    taken: result({ type: 'tool_result', tool_use_id: 't1', content: [{ type: 'text', text: 'a' }], ...mark }),
  },
  'P16 type against bytes': {
    path: CHAT,
    model: CLAUDE,
    words: 'appears to be a image/png image',
    refused: data(png(1), 'image/jpeg'),
    taken: data(png(1)),
  },
  'P19 pixels': {
    path: CHAT,
    model: CLAUDE,
    words: '8000 pixels',
    refused: data(png(9000)),
    taken: data(png(3000)),
  },
  'P19 no image, Claude': {
    path: CHAT,
    model: CLAUDE,
    words: 'Could not process image',
    refused: data(garbage),
    taken: data(png(1)),
  },
  'P19 no image, GPT': {
    path: CHAT,
    model: GPT,
    words: 'does not represent a valid image',
    refused: data(garbage),
    taken: data(png(1)),
  },
  'P19 kind of image': {
    path: CHAT,
    model: GPT,
    words: 'image media type not supported',
    refused: data(png(1), 'image/bmp'),
    taken: data(png(1)),
  },
  'P19 no vision': {
    path: CHAT,
    model: GPT,
    words: 'vision is not enabled',
    refused: data(png(1)),
    taken: chat(hi),
  },
  'P20 full window, GPT': {
    path: RESPONSES,
    model: CODEX,
    words: 'exceeds the context window',
    windowTokens: 400,
    refused: { input: long },
    taken: { input: 'hi' },
  },
  'P20 full window, Bedrock': {
    path: MESSAGES,
    model: CLAUDE,
    words: 'Input is too long for requested model.',
    windowTokens: 400,
    refused: { max_tokens: 10, messages: [{ role: 'user', content: long }] },
    taken: { max_tokens: 10, messages: hi },
  },
  'P20 full window, Gemini': {
    path: CHAT,
    model: GEMINI,
    words: 'exceeds the maximum number of tokens allowed (400)',
    windowTokens: 400,
    refused: chat([{ role: 'user', content: long }]),
    taken: chat(hi),
  },
  'P20 prompt and output together': {
    path: CHAT,
    model: CLAUDE,
    words: '+ 390 > 400',
    windowTokens: 400,
    refused: chat(hi, { max_tokens: 390 }),
    taken: chat(hi, { max_tokens: 300 }),
  },
  '32 MB on Responses': {
    path: RESPONSES,
    model: CODEX,
    words: 'Request Entity Too Large',
    refused: {
      instructions: 'hi',
      input: [{ role: 'user', content: [{ type: 'input_file', file_data: 'x'.repeat(33 * 1024 * 1024) }] }],
    },
    taken: { input: 'hi' },
  },
  'mixed identities': {
    path: CHAT,
    model: GPT,
    words: 'headers of Copilot CLI and VS Code',
    headers: { 'copilot-harness-id': 'copilot-sdk' },
    refused: chat(hi),
    taken: chat(hi),
    takenHeaders: { 'user-agent': 'GitHubCopilotChat/0.54.0' },
  },
  'adaptive only, other type': {
    path: MESSAGES,
    model: 'claude-fable-5',
    words: 'thinking.type.disabled',
    refused: thinking({ type: 'disabled' }),
    taken: thinking({ type: 'adaptive' }),
  },
  'adaptive only, no thinking': {
    path: MESSAGES,
    model: 'claude-fable-5',
    words: 'this model thinks always',
    refused: thinking(undefined),
    taken: thinking({ type: 'adaptive' }),
  },
}

/** The example of a row. Throws for a row without one. */
export function exampleOf(id: string): RefusalExample {
  const example = EXAMPLES[id]
  if (example === undefined) throw new Error(`the row "${id}" has no example`)
  return example
}
