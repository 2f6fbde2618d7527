import { expect, test } from 'vitest'
import { ask, post, openCopilot } from './copilot/test-client.ts'

const user = { role: 'user', content: 'hi' }
const tool = { type: 'function', function: { name: 'read_file', parameters: { type: 'object', properties: {} } } }
const call = { id: 'call_1', type: 'function', function: { name: 'read_file', arguments: '{}' } }
const calling = { role: 'assistant', content: null, tool_calls: [call] }
const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } }

interface Row {
  readonly refuses: string
  readonly body: Record<string, unknown>
  readonly code: string
  readonly message: string
}

const ROWS: readonly Row[] = [
  { refuses: 'an unknown model', body: { model: 'gpt-9' }, code: 'model_not_supported', message: 'not supported' },
  { refuses: 'a disabled model', body: { model: 'claude-opus-4.5' }, code: 'model_not_supported', message: 'not' },
  {
    refuses: 'an embedding model',
    body: { model: 'text-embedding-3-small' },
    code: 'model_not_supported',
    message: '',
  },
  {
    refuses: 'a responses-only model',
    body: { model: 'gpt-5.4' },
    code: 'unsupported_api_for_model',
    message: 'model "gpt-5.4" is not accessible via the /chat/completions endpoint',
  },
  {
    refuses: 'a whole answer from gpt-4.1',
    body: { stream: false },
    code: 'invalid_request_body',
    message: 'streaming',
  },
  {
    refuses: 'an image without the vision header',
    body: { messages: [{ role: 'user', content: [image] }, { role: 'assistant', content: 'x' }, user] },
    code: '',
    message: 'missing required Copilot-Vision-Request header',
  },
  {
    refuses: 'max_tokens on gpt-5',
    body: { model: 'gpt-5', max_tokens: 5 },
    code: 'invalid_request_body',
    message: "Use 'max_completion_tokens' instead.",
  },
  {
    refuses: 'more output than the model has',
    body: { max_tokens: 16_001 },
    code: 'invalid_request_body',
    message: 'max_tokens is too large: 16001',
  },
  {
    refuses: 'a temperature on gpt-5',
    body: { model: 'gpt-5-mini', temperature: 0.2 },
    code: 'unsupported_value',
    message: "'temperature' does not support 0.2",
  },
  {
    refuses: 'sampling of the caller’s own on Kimi',
    body: { model: 'kimi-k2.6', top_p: 1 },
    code: 'invalid_request_body',
    message: 'invalid top_p: only 0.95 is allowed for this model',
  },
  {
    refuses: 'ids of calls that do not count them on Kimi K2',
    body: { model: 'kimi-k2.6', messages: [user, calling, { role: 'tool', tool_call_id: 'call_1', content: 'x' }] },
    code: 'invalid_request_body',
    message: "tool call id 'call_1' is not of the form 'functions.NAME:IDX'",
  },
  {
    refuses: 'ids of calls that do not count them on Kimi K3',
    body: { model: 'kimi-k3', messages: [user, calling, { role: 'tool', tool_call_id: 'call_1', content: 'x' }] },
    code: 'invalid_request_body',
    message: "tool call id 'call_1' is not of the form 'NAME:IDX'",
  },
  {
    refuses: 'an effort the model lacks',
    body: { model: 'gpt-5-mini', reasoning_effort: 'minimal' },
    code: 'invalid_reasoning_effort',
    message: 'supported values: [low medium high]',
  },
  {
    refuses: 'an effort on a model without efforts',
    body: { reasoning_effort: 'low' },
    code: 'invalid_reasoning_effort',
    message: 'does not support reasoning effort',
  },
  {
    refuses: 'tool_choice without tools',
    body: { tool_choice: 'auto' },
    code: 'invalid_request_body',
    message: "only allowed when 'tools'",
  },
  {
    refuses: 'a prompt above the limit',
    body: { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'four'.repeat(12_001) }] },
    code: 'model_max_prompt_tokens_exceeded',
    message: 'prompt token count of 12001 exceeds the limit of 12000',
  },
  {
    refuses: 'a tool result without its call',
    body: { messages: [user, { role: 'tool', tool_call_id: 'call_1', content: 'x' }] },
    code: 'invalid_request_body',
    message: "must be a response to a preceding message with 'tool_calls'",
  },
  {
    refuses: 'a call without its result',
    body: { messages: [user, calling, user] },
    code: 'invalid_request_body',
    message: "must be followed by tool messages responding to each 'tool_call_id'",
  },
  {
    refuses: 'a call without its result on Claude',
    body: { model: 'claude-haiku-4.5', messages: [user, calling, user] },
    code: 'invalid_request_body',
    message: 'tool_use ids were found without tool_result blocks immediately after: call_1',
  },
  {
    refuses: 'the developer role outside GPT',
    body: { model: 'gemini-2.5-pro', messages: [{ role: 'developer', content: 'x' }, user] },
    code: 'invalid_request_body',
    message: 'Location: /properties/messages/items/properties/role',
  },
  {
    refuses: 'keys of an OpenAI reply outside GPT',
    body: { model: 'grok-code-fast-1', messages: [user, { role: 'assistant', content: 'x', annotations: [] }, user] },
    code: 'invalid_request_body',
    message: "additional properties 'annotations' not allowed",
  },
  {
    refuses: 'an empty text part on Claude',
    body: { model: 'claude-sonnet-4.5', messages: [{ role: 'user', content: [{ type: 'text', text: '' }] }] },
    code: 'invalid_request_body',
    message: 'messages: text content blocks must be non-empty',
  },
  {
    refuses: 'an assistant message at the end on Claude 4.6',
    body: { model: 'claude-opus-4.6', messages: [user, { role: 'assistant', content: 'I' }] },
    code: 'invalid_request_body',
    message: 'must end with a user message',
  },
  {
    refuses: 'a Gemini 3 call without its signature',
    body: {
      model: 'gemini-3-pro-preview',
      messages: [user, calling, { role: 'tool', tool_call_id: 'call_1', content: 'x' }],
    },
    code: 'invalid_request_body',
    message: 'thought_signature',
  },
  {
    refuses: 'a body that breaks the schema',
    body: { messages: [{ role: 'user', content: [{ type: 'text', text: ['x'] }] }] },
    code: 'invalid_request_body',
    message:
      'failed to validate schema: (1) Reason: got array, want string, Location: /properties/messages/items/properties/content/items/properties/text',
  },
  {
    refuses: 'an image_url that is null',
    body: { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: null }] }] },
    code: 'invalid_request_body',
    message: 'Reason: got null, want object',
  },
  { refuses: 'missing messages', body: { messages: undefined }, code: 'invalid_request_body', message: 'got nothing' },
  { refuses: 'an empty tool list', body: { tools: [] }, code: 'invalid_request_body', message: '/properties/tools' },
  {
    refuses: 'more than 128 tools',
    body: { tools: Array.from({ length: 129 }, () => tool) },
    code: 'invalid_request_body',
    message: '/properties/tools',
  },
]

test.for(ROWS)('refuses $refuses', async ({ body, code, message }) => {
  const demo = await openCopilot()
  const reply = await ask(demo, 'hi', body)
  expect(reply.status).toBe(400)
  const answer: unknown = JSON.parse(await reply.text())
  expect(answer).toMatchObject({ error: { code, message: expect.stringContaining(message) } })
})

test('refuses a body that is not JSON', async () => {
  const demo = await openCopilot()
  const reply = await post(demo, '/chat/completions', '{"model":')
  expect(reply.status).toBe(400)
  expect(await reply.text()).toContain('failed to parse request body')
})

test('refuses a lone system message in plain text', async () => {
  const demo = await openCopilot()
  const reply = await ask(demo, '', { messages: [{ role: 'system', content: 'x' }] })
  expect(await reply.text()).toBe('bad request: no user message, only message was a "system" message\n')
})

test('takes an image with the vision header, but not from an outside address', async () => {
  const demo = await openCopilot()
  const vision = { headers: { 'copilot-vision-request': 'true' } }
  const inline = await ask(demo, '', { messages: [{ role: 'user', content: [image] }] }, vision)
  expect(inline.status).toBe(200)
  const outside = { type: 'image_url', image_url: { url: 'https://example.com/x.png' } }
  const external = await ask(demo, '', { messages: [{ role: 'user', content: [outside] }] }, vision)
  expect(external.status).toBe(400)
})

test('takes a complete tool round, null parameters and the defaults of gpt-5', async () => {
  const demo = await openCopilot()
  const reply = await ask(demo, '', {
    model: 'gpt-5',
    temperature: 1,
    top_p: null,
    max_tokens: null,
    tools: [tool],
    tool_choice: 'auto',
    messages: [user, calling, { role: 'tool', tool_call_id: 'call_1', content: 'done' }, user],
  })
  expect(reply.status).toBe(200)
})
