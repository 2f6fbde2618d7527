import { describe, expect, test } from 'vitest'
import { codexModel } from '../models/samples.ts'
import { openProxy } from './harness.ts'
import { openInMemory } from './in-memory.ts'

describe('GET /v1/models', () => {
  test('is OpenAI’s list by default', async () => {
    const { send } = openInMemory()
    const reply = await send('/v1/models')
    expect(reply.json()).toMatchObject({ object: 'list', data: expect.arrayContaining([]) })
    expect(reply.json()).toHaveProperty('data.0.object', 'model')
  })

  test.each([
    ['/v1/models', { 'anthropic-version': '2023-06-01' }],
    ['/v1/models?limit=1000', {}],
    ['/models?after_id=gpt-5-mini', {}],
  ])('is Anthropic’s list for an Anthropic client: %s %j', async (path, headers) => {
    const { send } = openInMemory()
    const reply = await send(path, { headers })
    expect(reply.json()).toMatchObject({ has_more: false, first_id: expect.any(String), last_id: expect.any(String) })
    expect(reply.json()).toHaveProperty('data.0.type', 'model')
    expect(reply.json()).not.toHaveProperty('object')
  })

  test('pages are followed to the end, each model once', async () => {
    const { send } = openInMemory()
    const whole = JSON.parse((await send('/v1/models?limit=1000')).text)
    const ids: string[] = []
    for (let path = '/v1/models?limit=2'; ;) {
      const page = JSON.parse((await send(path)).text)
      ids.push(...page.data.map(({ id }: { id: string }) => id))
      if (!page.has_more) break
      path = `/v1/models?limit=2&after_id=${page.last_id}`
    }
    expect(ids).toEqual(whole.data.map(({ id }: { id: string }) => id))
  })

  test.each(['0', '-1', '1001', '1.5', 'many'])('refuses limit=%s and names it', async (limit) => {
    const { send } = openInMemory()
    const reply = await send(`/v1/models?limit=${limit}`, { headers: { 'anthropic-version': '2023-06-01' } })
    expect(reply.status).toBe(400)
    expect(reply.json()).toMatchObject({ type: 'error', error: { type: 'invalid_request_error' } })
    expect(reply.text).toContain('limit')
  })

  test('is Codex’s catalogue for Codex, with a tag that changes only with it', async () => {
    const { send } = openInMemory()
    const [first, second] = [
      await send('/v1/models?client_version=0.169.0'),
      await send('/v1/models?client_version=0.169.0'),
    ]
    expect(first.json()).toHaveProperty('models.0.slug')
    expect(first.headers['etag']).toMatch(/^"[0-9a-f]{32}"$/)
    expect(second.headers['etag']).toBe(first.headers['etag'])
    const hidden = await openInMemory('models: { hide: [gpt-5-mini] }').send('/v1/models?client_version=0.169.0')
    expect(hidden.headers['etag']).not.toBe(first.headers['etag'])
  })

  test('has every field that Codex CLI requires of a catalogue, for every model', async () => {
    const { models } = JSON.parse((await openInMemory().send('/v1/models?client_version=0.169.0')).text)
    expect(models).not.toHaveLength(0)
    for (const entry of models) {
      expect(entry).toMatchObject({
        slug: expect.any(String),
        display_name: expect.any(String),
        supported_reasoning_levels: expect.any(Array),
        shell_type: expect.any(String),
        visibility: 'list',
        supported_in_api: true,
        support_verbosity: expect.any(Boolean),
        priority: expect.any(Number),
        truncation_policy: { mode: expect.stringMatching(/^(?:bytes|tokens)$/), limit: expect.any(Number) },
        experimental_supported_tools: expect.any(Array),
        base_instructions: expect.any(String),
      })
      // Another model would be told that it is this one.
      expect(entry.base_instructions).not.toMatch(/GPT|OpenAI|Claude/)
    }
  })

  test.each([
    ['TAG', 304],
    ['"another", W/TAG', 304],
    ['*', 304],
    ['"another"', 200],
  ])('answers If-None-Match: %s with %i', async (header, status) => {
    const { send } = openInMemory()
    const path = '/v1/models?client_version=0.169.0'
    const { headers } = await send(path)
    const tag = String(headers['etag'])
    const reply = await send(path, { headers: { 'if-none-match': header.replace('TAG', tag) } })
    expect([reply.status, reply.text === '', reply.headers['etag']]).toEqual([status, status === 304, tag])
  })

  test('names models for Claude Code so that it offers them, and takes the names', async () => {
    const { send } = openInMemory()
    const list = async (agent: string): Promise<readonly string[]> => {
      const headers = { 'anthropic-version': '2023-06-01', 'user-agent': agent }
      const { data } = JSON.parse((await send('/v1/models?limit=1000', { headers })).text)
      return data.map(({ id }: { id: string }) => id)
    }
    const own = await list('anthropic-sdk/1.11')
    const offered = await list('claude-code/2.1.329')
    expect(own).toEqual(expect.arrayContaining(['gpt-5-mini']))
    expect(offered).toHaveLength(own.length)
    for (const [at, id] of offered.entries()) {
      expect(id).toMatch(/claude|anthropic/i)
      expect((await send(`/v1/models/${id}`)).json()).toMatchObject({ id: own[at] })
    }
  })

  test('shows one model in the shape its client expects', async () => {
    const { send } = openInMemory()
    expect((await send('/v1/models/gpt-5-mini')).json()).toMatchObject({ object: 'model', id: 'gpt-5-mini' })
    const headers = { 'anthropic-version': '2023-06-01' }
    expect((await send('/v1/models/gpt-5-mini', { headers })).json()).toMatchObject({ type: 'model', id: 'gpt-5-mini' })
    const missing = await send('/v1/models/nothing', { headers })
    expect(missing.status).toBe(404)
    expect(missing.json()).toMatchObject({ type: 'error', error: { type: 'not_found_error' } })
  })
})

const openBoth = () =>
  openInMemory('copilot: { upstream-dialect: chat }', [codexModel('gpt-6-sol'), codexModel('gpt-5')])

describe('GET /v1/models with a Codex login', () => {
  test('OpenAI’s list has the models of both, each with its provider and under a name of its own', async () => {
    const { data } = JSON.parse((await openBoth().send('/v1/models')).text)
    const ids: string[] = data.map(({ id }: { id: string }) => id)
    expect(new Set(ids).size).toBe(ids.length)
    expect(ids).toEqual(expect.arrayContaining(['gpt-5', 'codex/gpt-5', 'gpt-6-sol']))
    expect(ids).not.toContain('codex/gpt-6-sol')
    expect(data.filter(({ owned_by }: { owned_by: string }) => owned_by === 'OpenAI')).toMatchObject([
      { id: 'gpt-6-sol', copilot_proxy: { provider: 'codex', routes: { chat: 'responses', messages: 'responses' } } },
      { id: 'codex/gpt-5', copilot_proxy: { provider: 'codex' } },
    ])
  })

  test('so have Anthropic’s list and Codex’s catalogue', async () => {
    const { send } = openBoth()
    const anthropic = JSON.parse((await send('/v1/models?limit=1000')).text)
    const codex = JSON.parse((await send('/v1/models?client_version=0.169.0')).text)
    const ids = anthropic.data.map(({ id }: { id: string }) => id)
    expect(ids).toEqual(expect.arrayContaining(['gpt-5', 'codex/gpt-5', 'gpt-6-sol']))
    expect(codex.models.map(({ slug }: { slug: string }) => slug)).toEqual(ids)
  })

  test.each(['gpt-6-sol', 'codex/gpt-6-sol', 'codex%2Fgpt-6-sol', 'codex/gpt-5'])(
    'a single one is found as %s',
    async (name) => {
      const reply = await openBoth().send(`/v1/models/${name}`)
      expect(reply.json()).toMatchObject({ object: 'model', copilot_proxy: { provider: 'codex' } })
    },
  )

  test('without one, no model of Codex is listed or found', async () => {
    const { send } = openInMemory()
    expect((await send('/v1/models')).text).not.toContain('"codex')
    expect((await send('/v1/models/codex/gpt-5')).status).toBe(404)
  })
})

describe('a long context tier', () => {
  const file = "copilot: { headers: { x-github-api-version: '2026-06-01' } }"
  /** More than the default tier of gpt-5.2 and claude-sonnet-4.6 takes. */
  const messages = [{ role: 'user', content: 'word '.repeat(240_000) }]

  test.each(['gpt-5.2[1m]', 'gpt-5.2-long-context', 'claude-sonnet-4-6[1m]', 'copilot/claude-sonnet-4.6-long-context'])(
    '%s is asked for upstream under the model’s own id, and takes a long prompt',
    async (name) => {
      const { chat, demo } = await openProxy({ file })
      const reply = await chat({ model: name, messages })
      expect([reply.status, reply.text]).toEqual([200, expect.any(String)])
      const [, id = ''] = /(gpt-5\.2|claude-sonnet-4)/.exec(name) ?? []
      const sent = demo.log
        .filter(({ route }) => route === '/chat/completions')
        .map(({ body }) => JSON.parse(body).model)
      expect(sent).toEqual([id.startsWith('gpt') ? id : 'claude-sonnet-4.6'])
    },
  )

  test('is a separate model in Anthropic’s list and Codex’s catalogue, and a field in OpenAI’s list', async () => {
    const { chat, send } = await openProxy({ file })
    await chat({ model: 'gpt-5.2' })
    const openai = JSON.parse((await send('/v1/models')).text).data
    expect(openai.map(({ id }: { id: string }) => id)).not.toContain('gpt-5.2[1m]')
    expect(openai.find(({ id }: { id: string }) => id === 'gpt-5.2')).toMatchObject({
      copilot_proxy: { max_prompt_tokens: 272_000, long_context: { id: 'gpt-5.2[1m]', max_prompt_tokens: 922_000 } },
    })
    const anthropic = JSON.parse((await send('/v1/models?limit=1000')).text).data
    expect(anthropic).toContainEqual(expect.objectContaining({ id: 'gpt-5.2', max_input_tokens: 272_000 }))
    expect(anthropic).toContainEqual(expect.objectContaining({ id: 'gpt-5.2[1m]', max_input_tokens: 922_000 }))
    const codex = JSON.parse((await send('/v1/models?client_version=0.169.0')).text).models
    expect(codex).toContainEqual(expect.objectContaining({ slug: 'gpt-5.2', max_context_window: 272_000 }))
    expect(codex).toContainEqual(expect.objectContaining({ slug: 'gpt-5.2-long-context', context_window: 922_000 }))
    for (const name of ['gpt-5.2%5B1m%5D', 'gpt-5.2-long-context']) {
      expect((await send(`/v1/models/${name}`)).json()).toMatchObject({ id: 'gpt-5.2[1m]' })
    }
  })
})

test('a warning of upstream about a model is logged once', async () => {
  const { chat, log } = await openProxy()
  for (let turn = 1; turn <= 2; turn += 1) expect((await chat({ model: 'gemini-2.5-pro' })).status).toBe(200)
  const lines = log.filter(({ message }) => message === 'Copilot warns about this model')
  expect(lines).toMatchObject([{ level: 'warn', fields: { model: 'gemini-2.5-pro', code: 'model_deprecated' } }])
})
