import { describe, expect, test } from 'vitest'
import { htmlReply, jsonReply, textReply } from '../upstreams/http/outcome.ts'
import { Fault } from '../../src/errors.ts'
import { createAutoChoices } from '../../src/pipeline/auto-choices.ts'
import { createModelRegistry } from '../../src/models/registry.ts'
import { model } from '../models/samples.ts'
import { recordingLog } from '../recording-log.ts'
import { saying } from './client.ts'
import { openProxy } from './harness.ts'
import type { Proxy } from './harness.ts'

const long = `Explain ${'every part of it, '.repeat(20)}please`

function choicesOf({ demo }: Pick<Proxy, 'demo'>): readonly unknown[] {
  return demo.log.filter(({ route }) => route === '/auto' || route === '/models/session').map(({ route }) => route)
}

const lastCall = ({ demo }: Pick<Proxy, 'demo'>) => demo.log.at(-1)

describe('a request for auto', () => {
  test.each([
    ['/v1/chat/completions', { messages: [{ role: 'user', content: 'Hi' }] }, 'gpt-5-mini', '/chat/completions'],
    ['/v1/responses', { input: long, store: false }, 'claude-sonnet-5', '/v1/messages'],
    [
      '/v1/messages',
      { max_tokens: 50, messages: [{ role: 'user', content: long }] },
      'claude-sonnet-5',
      '/v1/messages',
    ],
    ['/v1/messages', { max_tokens: 50, messages: [{ role: 'user', content: 'Hi' }] }, 'gpt-5-mini', '/responses'],
  ])('at %s is answered by the model that upstream chooses: %#', async (path, body, chosen, route) => {
    const proxy = await openProxy()
    const reply = await proxy.send(path, { body: JSON.stringify({ model: 'auto', ...body }) })
    expect(reply.status).toBe(200)
    expect(reply.json()).toMatchObject({ model: expect.stringContaining(chosen) })
    expect(reply.headers['x-copilot-proxy-warnings'] ?? '').not.toContain('auto')
    expect(lastCall(proxy)).toMatchObject({ route, headers: { 'copilot-session-token': 'auto-demo-1' } })
    expect(JSON.parse(lastCall(proxy)?.body ?? '')).toMatchObject({ model: chosen })
    const line = proxy.log.find(({ message }) => message === 'request served')
    expect(line?.fields).toMatchObject({ model: chosen, chosenFor: 'auto' })
  })

  test.each([
    ['auto:efficiency', 'gpt-5-mini'],
    ['auto:balance', 'gpt-5.4'],
    ['copilot/auto:intelligence', 'claude-sonnet-5'],
  ])('%s asks upstream for a choice of that tier, which is not listed', async (name, chosen) => {
    const proxy = await openProxy()
    const ask = () => proxy.chat({ model: name, messages: [{ role: 'user', content: 'Hi' }] })
    expect((await ask()).json()).toMatchObject({ model: expect.stringContaining(chosen) })
    const choice = proxy.demo.log.find(({ route }) => route === '/auto')
    expect(JSON.parse(choice?.body ?? '')).toEqual({ prompt: 'Hi', tier: name.slice(name.indexOf(':') + 1) })
    expect(lastCall(proxy)?.headers['copilot-session-token']).toBe('auto-demo-1')
    // Another tier is another choice, also in the same conversation.
    await ask()
    await proxy.chat({ model: 'auto', messages: [{ role: 'user', content: 'Hi' }] })
    expect(choicesOf(proxy)).toEqual(['/auto', '/auto'])
    const { data } = JSON.parse((await proxy.send('/v1/models')).text)
    const ids = data.map(({ id }: { id: string }) => id)
    expect(ids).toContain('auto')
    expect(ids.filter((id: string) => id.startsWith('auto:'))).toEqual([])
  })

  test('a tier that upstream does not have is an unknown model, and one that it does not take is a warning', async () => {
    const proxy = await openProxy({ demo: { settings: { autoWays: 'session' } } })
    expect((await proxy.chat({ model: 'auto:fast' })).status).toBe(404)
    const reply = await proxy.chat({ model: 'auto:balance' })
    expect(reply.status).toBe(200)
    expect(reply.headers['x-copilot-proxy-warnings']).toBe('auto_unavailable;model')
  })

  test('keeps its model for the conversation, by its name or its beginning, and chooses for another one', async () => {
    const proxy = await openProxy()
    const ask = (messages: readonly object[], headers: Record<string, string> = {}) =>
      proxy.chat({ model: 'copilot/auto', messages }, { headers })
    const first = { role: 'user', content: 'Hi' }
    const later = [first, { role: 'assistant', content: 'Hello' }, { role: 'user', content: long }]
    await Promise.all([ask([first]), ask([first])])
    expect((await ask(later)).json()).toMatchObject({ model: expect.stringContaining('gpt-5-mini') })
    expect(choicesOf(proxy)).toEqual(['/auto'])
    await ask([{ role: 'user', content: long }])
    expect(choicesOf(proxy)).toEqual(['/auto', '/auto'])
    expect(lastCall(proxy)?.headers['copilot-session-token']).toBe('auto-demo-2')
    const responses = (headers: Record<string, string>) =>
      proxy.send('/v1/responses', { body: JSON.stringify({ model: 'auto', input: 'Hi', store: false }), headers })
    await responses({ 'session-id': 'one' })
    await responses({ 'session-id': 'two' })
    await responses({ 'session-id': 'one' })
    expect(choicesOf(proxy)).toHaveLength(4)
  })

  test('streams, under an alias and with the prompt that the user wrote, bounded', async () => {
    const proxy = await openProxy({ file: 'models: { aliases: { best: auto } }' })
    const prompt = 'x'.repeat(10_000)
    const reminder = { type: 'text', text: '<system-reminder>Never mind</system-reminder>' }
    const body = {
      model: 'best',
      max_tokens: 50,
      stream: true,
      messages: [{ role: 'user', content: [reminder, { type: 'text', text: prompt }] }],
    }
    const reply = await proxy.send('/v1/messages', { body: JSON.stringify(body) })
    expect(reply.text).toContain('"model":"claude-sonnet-5"')
    const asked = proxy.demo.log.find(({ route }) => route === '/auto')
    expect(JSON.parse(asked?.body ?? '')).toEqual({ prompt: prompt.slice(0, 4000) })
    expect(asked?.headers).toMatchObject({ 'x-initiator': 'agent', 'x-github-api-version': '2026-08-01' })
  })

  test('with an image is answered by a model that accepts images', async () => {
    const proxy = await openProxy()
    const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }
    const reply = await proxy.chat({ model: 'auto', messages: [{ role: 'user', content: [image] }] })
    expect(reply.status).toBe(200)
    const asked = proxy.demo.log.find(({ route }) => route === '/auto')
    expect(JSON.parse(asked?.body ?? '')).toEqual({ prompt: 'Continue.', has_image: true })
  })

  test('has its model chosen again, once, if upstream no longer knows the choice', async () => {
    const proxy = await openProxy()
    const ask = () => proxy.chat({ model: 'auto' })
    expect((await ask()).status).toBe(200)
    const exchanges = proxy.demo.exchanges()
    proxy.demo.forgetAutoSessions()
    expect((await ask()).status).toBe(200)
    expect(lastCall(proxy)?.headers['copilot-session-token']).toBe('auto-demo-2')
    proxy.demo.script('/chat/completions', { outcome: textReply(401, 'Invalid auto-mode selector'), times: 2 })
    const refused = await ask()
    expect(refused.status).toBe(502)
    expect(refused.text).toContain('Invalid auto-mode selector')
    expect(choicesOf(proxy)).toHaveLength(3)
    // It says nothing of the Copilot token.
    expect(proxy.demo.exchanges()).toBe(exchanges)
  })

  test('continues in the same stream after its model was chosen again', async () => {
    const proxy = await openProxy()
    await proxy.chat({ model: 'auto' })
    proxy.demo.forgetAutoSessions()
    const reply = await proxy.chat({ model: 'auto', stream: true })
    expect(reply.text).toMatch(/^data: .*\n\n[\s\S]*data: \[DONE\]\n\n$/)
    expect(reply.text.match(/data: \[DONE\]/g)).toHaveLength(1)
  })

  test.each([
    ['claude-opus-4.6', '/chat/completions'],
    ['a-model-of-tomorrow', '/v1/messages'],
  ])('goes to %s by the account’s list, or by what upstream says of it', async (id, route) => {
    const proxy = await openProxy()
    const selected = { id, supported_endpoints: ['/v1/messages'], capabilities: { type: 'chat' } }
    proxy.demo.script('/auto', {
      outcome: jsonReply(200, {
        session_token: 'auto-x',
        expires_at: Date.now() / 1000 + 60,
        selected_model: selected,
      }),
    })
    await proxy.chat({ model: 'auto' })
    const asked = proxy.demo.log.find(({ headers }) => headers['copilot-session-token'] === 'auto-x')
    expect(asked?.route).toBe(route)
    expect(JSON.parse(asked?.body ?? '')).toMatchObject({ model: id })
  })
})

describe('where there is no /auto', () => {
  test.each([
    ['', 'session', ['/auto', '/models/session'], 'auto-demo-1'],
    [
      'copilot: { headers: { x-github-api-version: "2026-06-01" } }',
      'both',
      ['/auto', '/models/session'],
      'auto-demo-1',
    ],
    ['', 'none', ['/auto', '/models/session'], undefined],
  ] as const)(
    'with %j and %s the older endpoint is used, then the default model answers',
    async (file, autoWays, asked, token) => {
      const proxy = await openProxy({ file, demo: { settings: { autoWays } } })
      const reply = await proxy.chat({ model: 'auto' })
      expect(reply.json()).toMatchObject({ model: expect.stringContaining('gpt-5-mini') })
      expect(choicesOf(proxy)).toEqual(asked)
      expect(lastCall(proxy)?.headers['copilot-session-token']).toBe(token)
      const warnings = reply.headers['x-copilot-proxy-warnings']
      expect(warnings).toBe(token === undefined ? 'auto_unavailable;model' : undefined)
      await proxy.chat({ model: 'auto' })
      expect(choicesOf(proxy)).toEqual(asked)
    },
  )

  test.each([
    [htmlReply(200, 'Sign in'), 200],
    [jsonReply(200, { session_token: '' }), 200],
    [textReply(503, 'busy'), 200],
    [textReply(403, 'access to this endpoint is forbidden'), 200],
    [jsonReply(402, { error: { message: 'You have exceeded your monthly quota', code: 'quota_exceeded' } }), 402],
    [jsonReply(429, { error: { message: 'rate limit exceeded', code: 'rate_limited' } }), 429],
  ])(
    '%# a failure of the choice alone does not fail the request, a failure of the account does',
    async (outcome, status) => {
      const proxy = await openProxy({ demo: { settings: { autoWays: 'none' } } })
      proxy.demo.script('/auto', { outcome })
      expect((await proxy.chat({ model: 'auto' })).status).toBe(status)
    },
  )
})

test('auto is in every list, and where nobody is logged in it is in none', async () => {
  const { send, chat: ask } = await openProxy()
  // Waits for the account's list.
  await ask({ model: 'auto' })
  const ids = async (path: string, headers = {}) => JSON.stringify((await send(path, { headers })).json())
  expect(await ids('/v1/models')).toContain('"id":"auto"')
  expect(await ids('/v1/models?limit=100')).toContain('"id":"auto"')
  expect(await ids('/v1/models?client_version=1')).toContain('"slug":"auto"')
  expect((await send('/v1/models/copilot/auto')).json()).toMatchObject({ id: 'auto', copilot_proxy: { type: 'chat' } })
  const { send: sendOut, chat } = await openProxy({ login: 'none' })
  expect((await sendOut('/v1/models')).text).not.toContain('"auto"')
  expect((await chat({ model: 'auto' })).status).toBe(503)
})

test('an alias of that name goes before the model, which keeps its full name', async () => {
  const proxy = await openProxy({ file: 'models: {aliases: {auto: gpt-4.1}}' })
  expect((await proxy.chat({ model: 'auto' })).json()).toMatchObject({ model: expect.stringContaining('gpt-4.1') })
  expect(choicesOf(proxy)).toEqual([])
  const listed = (await proxy.send('/v1/models')).text
  expect(listed).toContain('"id":"copilot/auto"')
  expect(JSON.parse(listed).data.filter(({ id }: { id: string }) => id === 'auto')).toMatchObject([
    { copilot_proxy: { alias_of: 'gpt-4.1' } },
  ])
  expect((await proxy.chat({ model: 'copilot/auto' })).json()).toMatchObject({
    model: expect.stringContaining('gpt-5-mini'),
  })
  expect(choicesOf(proxy)).toEqual(['/auto'])
})

test('auto never reaches Codex, embeddings or a token count', async () => {
  const proxy = await openProxy({ codexLogin: 'stored' })
  expect((await proxy.chat({ model: 'codex/auto' })).status).toBe(404)
  const embed = await proxy.send('/v1/embeddings', { body: JSON.stringify({ model: 'auto', input: 'Hi' }) })
  expect(embed.status).toBe(400)
  const messages = { model: 'auto', max_tokens: 50, ...saying(long) }
  const count = () => proxy.send('/v1/messages/count_tokens', { body: JSON.stringify(messages) })
  expect((await count()).headers['x-copilot-proxy-token-count']).toBe('estimate')
  expect(choicesOf(proxy)).toEqual([])
  await proxy.send('/v1/messages', { body: JSON.stringify(messages) })
  expect((await count()).headers['x-copilot-proxy-token-count']).toBe('upstream')
  expect(JSON.parse(lastCall(proxy)?.body ?? '')).toMatchObject({ model: 'claude-sonnet-5' })
})

const ask = { prompts: { first: 'Hi', last: 'Hi', lastAt: 0 }, hasImage: false, keyId: undefined }
const reply = (token: number, expiresAt?: number) => ({
  session_token: `t${token}`,
  selected_model: 'gpt-4.1',
  ...(expiresAt !== undefined && { expires_at: expiresAt }),
})

function choicesWith(
  json: (call: { path: string }, options: { signal: AbortSignal }) => Promise<unknown>,
  waitMs?: number,
) {
  const registry = createModelRegistry({ aliases: {}, hide: [] })
  registry.register('one', [
    model('gpt-4.1', { supports: { vision: false } }),
    model('gpt-5', { isChatDefault: true, supports: { vision: true } }),
  ])
  let nowMs = 0
  const log = recordingLog()
  const choices = createAutoChoices({ executor: () => ({ json }), registry, now: () => nowMs, log }, waitMs)
  return { choices, log, advance: (ms: number) => (nowMs += ms) }
}

const never = (_call: object, { signal }: { signal: AbortSignal }) =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))

describe('choices', () => {
  test('expire when upstream says so, and sooner if it does not say', async () => {
    let count = 0
    const ends = [100, undefined]
    const { choices, advance } = choicesWith(() => Promise.resolve(reply((count += 1), ends[count - 1])))
    const token = async () => (await choices.choose(ask, 'r')).sessionToken
    expect([await token(), await token()]).toEqual(['t1', 't1'])
    advance(100_000)
    expect(await token()).toBe('t2')
    advance(3_599_999)
    expect(await token()).toBe('t2')
    advance(1)
    expect(await token()).toBe('t3')
  })

  test('are kept for the most recent conversations', async () => {
    let count = 0
    const { choices } = choicesWith(() => Promise.resolve(reply((count += 1), 1e9)))
    const choose = (sessionId: string) => choices.choose({ ...ask, sessionId }, 'r')
    await choose('first')
    for (let at = 0; at < 499; at += 1) await choose(`s${at}`)
    await choose('first')
    await choose('one more')
    expect(choices.cached({ ...ask, sessionId: 'first' })?.sessionToken).toBe('t1')
    expect(choices.cached({ ...ask, sessionId: 's0' })).toBeUndefined()
  })

  test('of a key are not those of another with the same session or the same prompt', async () => {
    let count = 0
    const { choices } = choicesWith(() => Promise.resolve(reply((count += 1), 1e9)))
    const named = { ...ask, sessionId: 'same' }
    const asks = [{ ...named, keyId: 'a' }, { ...named, keyId: 'b' }, named]
    const made = await Promise.all(asks.map((each) => choices.choose(each, 'r')))
    expect(made.map(({ sessionToken }) => sessionToken)).toEqual(['t1', 't2', 't3'])
    expect(asks.map((each) => choices.cached(each)?.sessionToken)).toEqual(['t1', 't2', 't3'])
  })

  test('are not waited for longer than GitHub’s clients wait', async () => {
    const asked: string[] = []
    const { choices } = choicesWith((call, options) => {
      asked.push(call.path)
      return never(call, options)
    }, 5)
    expect(await choices.choose(ask, 'r')).toMatchObject({
      model: { id: 'gpt-5' },
      sessionToken: undefined,
      warnings: [{ code: 'auto_unavailable', field: 'model' }],
    })
    // The limit is for both ways together.
    expect(asked).toEqual(['/auto'])
  })

  test('are shared by concurrent requests, with a separate one for requests with an image', async () => {
    const replies = [reply(1, 1e9), { ...reply(2, 1e9), selected_model: 'gpt-5' }]
    const { choices } = choicesWith(() => Promise.resolve(replies.shift()))
    const made = await Promise.all([ask, { ...ask, hasImage: true }, ask].map((each) => choices.choose(each, 'r')))
    expect(made.map(({ model: { id } }) => id)).toEqual(['gpt-4.1', 'gpt-5', 'gpt-4.1'])
  })

  test('are not kept if they fail for the account', async () => {
    const failure = new Fault({ kind: 'copilot_unavailable', detail: 'Not logged in', fix: 'Log in' })
    const replies = [Promise.reject(failure), Promise.resolve(reply(1))]
    const { choices } = choicesWith(() => replies.shift() ?? Promise.reject(failure))
    await expect(choices.choose(ask, 'r')).rejects.toBe(failure)
    expect((await choices.choose(ask, 'r')).sessionToken).toBe('t1')
  })

  test('from the older endpoint use its first model that the account has', async () => {
    const session = { session_token: 't', expires_at: 1e9, available_models: ['unknown', 'gpt-4.1', 'gpt-5'] }
    const { choices } = choicesWith(({ path }) =>
      path === '/auto'
        ? Promise.reject(new Fault({ kind: 'upstream_status', status: 404, message: 'invalid apiVersion' }))
        : Promise.resolve(session),
    )
    expect(await choices.choose(ask, 'r')).toMatchObject({ model: { id: 'gpt-4.1' }, sessionToken: 't' })
  })
})
