import { describe, expect, test } from 'vitest'
import type { Dialect, EncodeContext } from '../../../../src/translate/dialect.ts'
import { dialects } from '../../../../src/translate/dialects.ts'
import { formatWarning } from '../../../../src/translate/warning.ts'
import { callOf, type Words } from '../../refused.ts'
import { encodeContext, traits, translateForResponses } from '../../turns.ts'

type Json = Readonly<Record<string, unknown>>

const sol = traits('gpt-6-sol', { provider: 'codex', supports: { reasoningEffort: ['low', 'high'] } })
const header = 'x-openai-internal-codex-responses-lite'
const learned: Partial<EncodeContext> = { profile: 'chatgpt', learnedRefusals: new Set(['lite']) }

function send(caller: keyof typeof dialects, body: Json, parts: Partial<EncodeContext> = learned) {
  const dialect: Dialect = dialects[caller]
  const request = dialect.decodeRequest(JSON.stringify({ model: 'm', ...body }))
  const { request: sent, reader } = translateForResponses(dialect, request, encodeContext(sol, parts))
  const json: Json = JSON.parse(sent.body.toString())
  return { sent: json, headers: sent.headers, warnings: sent.warnings.map(formatWarning), notes: reader.notes }
}

const fn = (name: string): Json => ({
  type: 'function',
  name,
  strict: false,
  parameters: { type: 'object', properties: {} },
})
const namespace = (name: string, ...tools: Json[]): Json => ({ type: 'namespace', name, description: 'd', tools })
const user = { type: 'message', role: 'user', content: 'go' }

/** The tools as upstream gets them. */
function toolsOf({ sent }: { readonly sent: Json }): unknown {
  const [first]: readonly Json[] = Array.isArray(sent['input']) ? sent['input'] : []
  return first?.['type'] === 'additional_tools' ? first['tools'] : undefined
}

describe('a request in the lite form', () => {
  const request = {
    instructions: 'Be brief.',
    input: [
      {
        type: 'message',
        role: 'user',
        content: [{ type: 'input_image', image_url: 'data:image/png;base64,AA==', detail: 'high' }],
      },
      { type: 'function_call', call_id: 'c1', name: 'run', arguments: '{}' },
      {
        type: 'function_call_output',
        call_id: 'c1',
        output: [{ type: 'input_image', image_url: 'data:image/png;base64,AA==', detail: 'auto' }],
      },
    ],
    tools: [fn('run'), namespace('files', fn('list')), { type: 'custom', name: 'patch' }],
    reasoning: { effort: 'high' },
    prompt_cache_key: 's-1',
  }

  test('has its tools and its instructions in the input', () => {
    const { sent, headers, warnings } = send('responses', request)
    expect(sent).toEqual({
      model: 'gpt-6-sol',
      instructions: '',
      input: [
        {
          type: 'additional_tools',
          role: 'developer',
          tools: [
            {
              type: 'namespace',
              name: 'functions',
              description: expect.any(String),
              tools: [fn('run'), { type: 'custom', name: 'patch' }],
            },
            namespace('files', fn('list')),
          ],
        },
        { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'Be brief.' }] },
        { type: 'message', role: 'user', content: [{ type: 'input_image', image_url: 'data:image/png;base64,AA==' }] },
        { type: 'function_call', call_id: 'c1', name: 'run', arguments: '{}', namespace: 'functions' },
        {
          type: 'function_call_output',
          call_id: 'c1',
          output: [{ type: 'input_image', image_url: 'data:image/png;base64,AA==' }],
        },
      ],
      tool_choice: 'auto',
      parallel_tool_calls: false,
      reasoning: { effort: 'high', context: 'all_turns' },
      prompt_cache_key: 's-1',
      include: ['reasoning.encrypted_content'],
      store: false,
      stream: true,
    })
    expect(headers).toEqual({ 'session-id': 's-1', 'thread-id': 's-1', [header]: 'true' })
    expect(warnings).toEqual([])
  })

  test('the reply repeats the request as the caller wrote it', () => {
    const echo = {
      store: true,
      previous_response_id: null,
      prompt_cache_key: 's-1',
      instructions: 'Be brief.',
      tools: request.tools,
      tool_choice: 'auto',
      parallel_tool_calls: true,
    }
    expect(send('responses', request).notes.upstream).toMatchObject({ echo })
  })

  test('keeps the caller’s false, and is the same for another dialect', () => {
    expect(send('responses', { ...request, parallel_tool_calls: false }).sent).toHaveProperty(
      'parallel_tool_calls',
      false,
    )
    const chat = send('chat', {
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'go' },
      ],
      tools: [{ type: 'function', function: { name: 'run' } }],
    })
    expect(toolsOf(chat)).toMatchObject([{ type: 'namespace', name: 'functions', tools: [fn('run')] }])
    expect(chat.sent).toMatchObject({
      instructions: '',
      parallel_tool_calls: false,
      reasoning: { context: 'all_turns' },
    })
    expect(chat.sent).not.toHaveProperty('tools')
    expect(chat.headers).toHaveProperty([header], 'true')
    expect(chat.notes.upstream).toMatchObject({ calls: { grouped: new Set(['run']) } })
  })

  test('is left out of what has neither tools nor instructions', () => {
    expect(send('responses', { input: [user] }).sent['input']).toEqual([user])
  })

  test("joins the caller's own namespace of that name, whose calls keep it", () => {
    const own = send('responses', { input: [user], tools: [fn('run'), namespace('functions', fn('list'))] })
    expect(toolsOf(own)).toEqual([namespace('functions', fn('run'), fn('list'))])
    expect(own.notes.upstream).toMatchObject({ calls: { grouped: new Set(['run']) } })
  })

  test('written so by the caller is read and written anew', () => {
    const tools = [namespace('functions', fn('run'))]
    const again = send('responses', {
      instructions: '',
      input: [{ type: 'additional_tools', role: 'developer', tools }, user],
    })
    expect(toolsOf(again)).toEqual(tools)
    expect(again.sent['input']).toHaveLength(2)
  })

  test('has no hosted tools', () => {
    const { warnings, ...rest } = send('responses', { input: [user], tools: [{ type: 'web_search' }, fn('run')] })
    expect(toolsOf(rest)).toMatchObject([{ tools: [fn('run')] }])
    expect(warnings).toEqual(['dropped;tools.0'])
  })

  test.each<[string, unknown, readonly string[], readonly string[]]>([
    ['none', 'none', [], []],
    ['allowed ones', { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'b' }] }, ['b'], []],
    ['a named one', { type: 'function', name: 'b' }, ['b'], ['dropped;tool_choice']],
    ['any', 'required', ['a', 'b'], ['dropped;tool_choice']],
  ])('of a choice of %s keeps what it can', (_, tool_choice, names, warned) => {
    const { warnings, ...rest } = send('responses', { input: [user], tools: [fn('a'), fn('b')], tool_choice })
    expect(toolsOf(rest)).toEqual(
      names.length === 0 ? undefined : [expect.objectContaining({ tools: names.map((name) => fn(name)) })],
    )
    expect(rest.sent['tool_choice']).toBe('auto')
    expect(warnings).toEqual(warned)
  })

  test('says so where several calls at once were asked for', () => {
    expect(send('responses', { input: [user], tools: [fn('a')], parallel_tool_calls: true }).warnings).toEqual([
      'adapted;parallel_tool_calls',
    ])
  })
})

test.each<[string, Partial<EncodeContext>]>([
  ['where nothing was learned', { ...learned, learnedRefusals: new Set() }],
  ['with an API key', { ...learned, profile: undefined }],
])('the usual form is sent %s', (_, parts) => {
  const { sent, headers } = send('responses', { input: [user], tools: [fn('run')] }, parts)
  expect(sent).toHaveProperty('tools')
  expect(headers ?? {}).not.toHaveProperty([header])
})

describe('is learned', () => {
  const fresh: Partial<EncodeContext> = { profile: 'chatgpt' }
  const notFound = { status: 404, message: 'Model not found gpt-6-sol' }

  function recover(words: Words, parts = fresh, body: Json = {}) {
    const text = JSON.stringify({ model: 'm', input: [user], ...body })
    return callOf({ upstream: 'responses', text, context: encodeContext(sol, parts) }).refusedAs(words)
  }

  test.each([
    notFound,
    { status: 400, message: 'reasoning.context must be all_turns for this model' },
    { status: 400, message: "Missing required parameter: 'reasoning.context'." },
  ])('from $status $message', (refusal) => {
    const recovered = recover(refusal)
    expect(recovered?.learned).toEqual(['lite'])
    expect(recovered?.request.headers).toHaveProperty([header])
  })

  test.each<[string, Partial<EncodeContext>]>([
    ['it did not help', learned],
    ['the upstream takes an API key', {}],
  ])('not where %s', (_, parts) => {
    expect(recover(notFound, parts)).toBeUndefined()
  })

  test.each([
    { status: 404, message: 'Not Found' },
    { status: 400, message: "The 'gpt-6-sol' model is not supported when using Codex with a ChatGPT account." },
  ])('not from $status $message', (refusal) => {
    expect(recover(refusal)).toBeUndefined()
  })

  test('not where the very setting was sent: it is left out instead', () => {
    const refusal = { status: 400, message: 'Unsupported parameter: reasoning.context' }
    const recovered = recover(refusal, fresh, { reasoning: { effort: 'low', context: 'all_turns' } })
    expect(recovered?.learned).toEqual(['field:reasoning.context'])
    expect(recovered?.value).toMatchObject({ reasoning: { effort: 'low' } })
  })
})

function recoverUsual(words: Words, body: Json) {
  const text = JSON.stringify({ model: 'm', ...body })
  return callOf({ upstream: 'responses', text, context: encodeContext(sol, { profile: 'chatgpt' }) }).refusedAs(words)
}

describe('refusals as the ChatGPT backend words them', () => {
  test('an unsupported parameter is left out, and not sent again', () => {
    const recovered = recoverUsual('Unsupported parameter: service_tier', { input: [user], service_tier: 'priority' })
    expect(recovered?.value).not.toHaveProperty('service_tier')
    expect(recovered?.learned).toEqual(['field:service_tier'])
    const again = send(
      'responses',
      { input: [user], service_tier: 'priority' },
      { profile: 'chatgpt', learnedRefusals: new Set(recovered?.learned) },
    )
    expect(again.sent).not.toHaveProperty('service_tier')
    expect(again.warnings).toEqual(['refused_upstream;service_tier'])
  })

  test.each([
    { code: 'invalid_encrypted_content', message: 'The encrypted content gAAA could not be verified.' },
    { message: 'invalid_encrypted_content' },
  ])('reasoning it cannot read is left out, once', (refusal) => {
    const reasoning = { type: 'reasoning', summary: [], encrypted_content: 'gAAA' }
    const recovered = recoverUsual(refusal, { input: [reasoning, user] })
    expect(recovered?.value).toMatchObject({ input: [user] })
    expect(recovered?.learned).toEqual([])
    expect(recoverUsual(refusal, { input: [user] })).toBeUndefined()
  })
})
