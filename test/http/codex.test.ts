import { rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { jsonReply } from '../upstreams/http/outcome.ts'
import { bodyOfPrompt, callers, dialectPaths } from './callers.ts'
import { openProxy } from './harness.ts'
import type { Proxy, ProxyOptions } from './harness.ts'

/** A proxy that is logged in to both providers and knows both lists. */
async function openBoth(options: ProxyOptions = {}): Promise<Proxy> {
  const proxy = await openProxy({ codexLogin: 'stored', ...options })
  await expect.poll(() => idsOf(proxy), { timeout: 10_000 }).toContain('gpt-5.5')
  return proxy
}

async function idsOf({ send }: Proxy): Promise<readonly string[]> {
  const { data } = (await send('/v1/models')).json() as { readonly data: readonly { readonly id: string }[] }
  return data.map(({ id }) => id)
}

/** One model of Codex's alone, and one that both providers have. */
const own = 'gpt-5.5'
const shared = 'gpt-5.3-codex'

test.each(callers)('a %s caller is answered by Codex, streaming and not', async (caller) => {
  const { send, codex, demo } = await openBoth()
  for (const stream of [true, false]) {
    const reply = await send(dialectPaths[caller], { body: bodyOfPrompt(caller, own, 'Say hello', { stream }) })
    expect(reply.status).toBe(200)
    expect(reply.headers['x-copilot-proxy-route']).toBe('codex/responses')
    expect(reply.headers['x-codex-primary-used-percent']).toBe('12.5')
    expect(reply.text).toContain(stream ? '"You "' : 'You said')
  }
  expect(codex.count('/backend-api/codex/responses')).toBe(2)
  expect(demo.log.filter(({ method, route }) => method === 'POST' && route !== '/models')).toEqual([])
})

test('an id of both providers means Copilot’s model, and with the prefix codex/ Codex’s', async () => {
  const proxy = await openBoth()
  const ids = await idsOf(proxy)
  expect(ids).toContain(shared)
  expect(ids).toContain(`codex/${shared}`)
  expect(ids.filter((id) => id.startsWith('copilot/'))).toEqual([])
  for (const [model, route] of [
    [shared, 'copilot/responses'],
    [`copilot/${shared}`, 'copilot/responses'],
    [`codex/${shared}`, 'codex/responses'],
    [`codex/${own}`, 'codex/responses'],
    [own, 'codex/responses'],
  ] as const) {
    const reply = await proxy.send('/v1/responses', { body: bodyOfPrompt('responses', model, 'Hello') })
    expect([model, reply.status, reply.headers['x-copilot-proxy-route']]).toEqual([model, 200, route])
  }
  expect((await proxy.send('/v1/embeddings', { body: `{"model":"${own}","input":"a"}` })).status).toBe(400)
})

/** Names of headers that belong to one provider alone, and that nothing but its executor may send. */
const copilotOnly = /^(?:editor-|copilot-|x-initiator$|x-github-|openai-intent$|x-vscode-|anthropic-|x-request-id$)/
const codexOnly = /^(?:chatgpt-|originator$|session-id$|thread-id$|x-openai-|x-codex-|openai-beta$)/

test('no header and no credential of one provider is ever in a request of the other', async () => {
  const proxy = await openBoth()
  const { send, codex, demo, codexStore } = proxy
  const ask = async (): Promise<void> => {
    for (const model of [own, `codex/${shared}`, 'gpt-5-mini', shared, 'claude-opus-4.7', 'gemini-3-pro-preview']) {
      for (const caller of callers) {
        for (const prompt of [
          'Hello',
          '[demo:tool] go',
          '[demo:reasoning] go',
          '[demo:error 500]',
          '[demo:error 429]',
        ]) {
          const headers = { 'content-type': 'application/json', 'x-initiator': 'user', originator: 'codex_cli_rs' }
          const body = bodyOfPrompt(caller, model, prompt, { stream: prompt === 'Hello' })
          await send(dialectPaths[caller], { headers: { ...headers, cookie: 'caller=1', session_id: 'abc' }, body })
        }
      }
    }
  }
  await ask()
  // Both credentials are renewed once.
  demo.tokens.expireAll()
  codex.logins.expireAccess()
  await ask()

  const record = (await codexStore.list())[0]
  const codexSecrets = [...codex.log.flatMap(bearerOf), record?.metadata.refresh_token ?? '', codex.apiKey]
  const copilotSecrets = demo.log.flatMap(bearerOf)
  expect(new Set(codexSecrets).size).toBeGreaterThanOrEqual(3)
  expect(new Set(copilotSecrets).size).toBeGreaterThanOrEqual(3)
  expect(codex.count('/oauth/token')).toBe(1)
  // Kept are the newest requests only, all of which have to be looked at.
  expect(demo.log.length).toBeGreaterThan(80)
  expect(codex.log.length).toBeGreaterThan(60)
  for (const { path, headers, body } of demo.log) {
    expect([path, Object.keys(headers).filter((name) => codexOnly.test(name))]).toEqual([path, []])
    const text = JSON.stringify({ headers, body })
    expect(codexSecrets.filter((secret) => text.includes(secret))).toEqual([])
    expect(headers['user-agent']).not.toContain('copilot-proxy')
    expect(headers['cookie']).toBeUndefined()
  }
  for (const { path, headers, body } of codex.log) {
    expect([path, Object.keys(headers).filter((name) => copilotOnly.test(name))]).toEqual([path, []])
    const text = JSON.stringify({ headers, body })
    expect(copilotSecrets.filter((secret) => text.includes(secret))).toEqual([])
    expect(headers['cookie']).toBeUndefined()
    if (!path.startsWith('/oauth')) expect(headers).toMatchObject({ originator: 'copilot-proxy' })
    if (path.startsWith('/backend-api')) expect(headers['user-agent']).toMatch(/^copilot-proxy\/0\.0\.0-test /)
  }
})

function bearerOf({ headers }: { readonly headers: Readonly<Record<string, unknown>> }): readonly string[] {
  const { authorization } = headers
  return typeof authorization === 'string' ? [authorization.replace(/^\S+ /, '')] : []
}

test('each provider works without the other', async () => {
  const codexAlone = await openProxy({ login: 'none', codexLogin: 'stored' })
  await expect.poll(() => idsOf(codexAlone), { timeout: 10_000 }).toContain(own)
  const answer = await codexAlone.send('/v1/chat/completions', { body: bodyOfPrompt('chat', own, 'Hello') })
  expect(answer.status).toBe(200)
  const copilots = await codexAlone.chat()
  expect([copilots.status, copilots.text]).toEqual([503, expect.stringContaining('copilot-proxy login')])
  const unknown = await codexAlone.chat({ model: 'gpt-5.50' })
  expect([unknown.status, unknown.text]).toEqual([404, expect.stringContaining(own)])
  expect((await codexAlone.send('/healthz')).json()).toMatchObject({ ok: true, copilot: 'unavailable', codex: 'ok' })
  expect((await codexAlone.send('/readyz')).status).toBe(200)
  expect(codexAlone.demo.log).toEqual([])

  const copilotAlone = await openProxy()
  expect((await copilotAlone.chat()).status).toBe(200)
  const missing = await copilotAlone.chat({ model: `codex/${own}` })
  expect([missing.status, missing.text]).toEqual([404, expect.stringContaining('copilot-proxy login codex')])
  expect((await idsOf(copilotAlone)).filter((id) => id.startsWith('codex/'))).toEqual([])
  expect((await copilotAlone.send('/healthz')).json()).not.toHaveProperty('codex')
  expect(copilotAlone.codex.log).toEqual([])
})

test('E14 an access token of Codex that has expired is renewed once, for all who wait for it', async () => {
  const { send, codex, codexStore } = await openBoth()
  const before = (await codexStore.list())[0]?.metadata.refresh_token
  codex.logins.expireAccess()
  const replies = await Promise.all(
    Array.from({ length: 20 }, () => send('/v1/responses', { body: bodyOfPrompt('responses', own, 'Hello') })),
  )
  expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([200]))
  expect(codex.count('/oauth/token')).toBe(1)
  const after = (await codexStore.list())[0]?.metadata.refresh_token
  expect(after).not.toBe(before)
})

test('a revoked login stops, names the command to run, and continues after a new login', async () => {
  const proxy = await openBoth()
  const { send, codex, codexStore } = proxy
  const ask = () => send('/v1/chat/completions', { body: bodyOfPrompt('chat', own, 'Hello') })
  codex.logins.revokeAll()
  const refused = await ask()
  expect([refused.status, refused.text]).toEqual([503, expect.stringContaining('copilot-proxy login codex')])
  expect(refused.json()).toMatchObject({ error: { code: 'codex_unavailable' } })
  expect(refused.headers['x-should-retry']).toBe('false')
  const asked = codex.count('/backend-api/codex/responses')
  for (let again = 0; again < 3; again += 1) expect((await ask()).status).toBe(503)
  expect(codex.count('/backend-api/codex/responses')).toBe(asked)
  expect(codex.count('/oauth/token')).toBe(0)
  expect((await proxy.send('/healthz')).json()).toMatchObject({ copilot: 'ok', codex: 'unavailable' })
  expect((await proxy.chat()).status).toBe(200)

  const { accessToken, refreshToken } = codex.login()
  const [record] = await codexStore.list()
  if (record === undefined) throw new Error('expected a record')
  const metadata = { ...record.metadata, access_token: accessToken, refresh_token: refreshToken }
  await codexStore.write({ ...record, metadata: { ...metadata, logged_in_at: (metadata.logged_in_at ?? 0) + 1 } })
  await expect.poll(async () => (await ask()).status, { timeout: 10_000 }).toBe(200)
})

test('after a logout, requests are refused and Codex models are not listed', async () => {
  const proxy = await openBoth()
  const [record] = await proxy.codexStore.list()
  await proxy.codexStore.remove(record?.id ?? '')
  await expect.poll(() => idsOf(proxy), { timeout: 10_000 }).not.toContain(own)
  const reply = await proxy.chat({ model: own })
  expect(reply.status).toBe(404)
  expect((await proxy.chat()).status).toBe(200)
})

test.each(callers)('a spent plan is a 429 with its reset time for a %s caller, also inside a 200', async (caller) => {
  const { send, codex } = await openBoth()
  for (const prompt of ['[demo:error 429 usage_limit_reached]', '[demo:failed usage_limit_reached]']) {
    for (const stream of [true, false]) {
      const before = codex.count('/backend-api/codex/responses')
      const reply = await send(dialectPaths[caller], { body: bodyOfPrompt(caller, own, prompt, { stream }) })
      expect([prompt, reply.status, reply.text]).toEqual([prompt, 429, expect.stringContaining('usage limit')])
      expect(Number(reply.headers['retry-after'])).toBeGreaterThan(13_000)
      expect(reply.headers['x-should-retry']).toBe('false')
      expect(codex.count('/backend-api/codex/responses')).toBe(before + 1)
    }
  }
})

test.each(callers)('a failure after output is an error event for a %s caller, never a clean end', async (caller) => {
  const { send } = await openBoth()
  for (const prompt of ['[demo:error-mid] one two three', '[demo:cut] one two three']) {
    const streamed = await send(dialectPaths[caller], { body: bodyOfPrompt(caller, own, prompt, { stream: true }) })
    expect(streamed.status).toBe(200)
    expect(streamed.text).toContain('error')
    expect(streamed.text).not.toMatch(/\[DONE\]|message_stop|response\.completed/)
    const whole = await send(dialectPaths[caller], { body: bodyOfPrompt(caller, own, prompt) })
    expect(whole.status).toBeGreaterThanOrEqual(500)
  }
})

test('an API key and a ChatGPT login are each sent to their own address only', async () => {
  const proxy = await openBoth({ codexLogin: 'api-key' })
  for (const caller of callers) {
    const reply = await proxy.send(dialectPaths[caller], { body: bodyOfPrompt(caller, own, 'Hello', { stream: true }) })
    expect([caller, reply.status]).toEqual([caller, 200])
    expect(reply.text).toContain('"You "')
  }
  expect(proxy.codex.log.map(({ path }) => path.split('?')[0])).toEqual(
    expect.arrayContaining(['/v1/models', '/v1/responses']),
  )
  for (const { path, headers } of proxy.codex.log) {
    expect(path).toMatch(/^\/v1\//)
    expect(headers['authorization']).toBe(`Bearer ${proxy.codex.apiKey}`)
    expect(Object.keys(headers).filter((name) => /^chatgpt-|^originator$/.test(name))).toEqual([])
  }
})

test('the login of Codex CLI is read again when it changes, and never renewed', async () => {
  const proxy = await openBoth({ codexLogin: 'codex-cli' })
  const { send, codex, codexHome } = proxy
  const ask = () => send('/v1/responses', { body: bodyOfPrompt('responses', own, 'Hello') })
  expect((await ask()).status).toBe(200)
  codex.logins.expireAccess()
  const refused = await ask()
  expect(refused.status).toBeGreaterThanOrEqual(400)
  expect(codex.count('/oauth/token')).toBe(0)

  const { accessToken, refreshToken, idToken, accountId } = codex.login()
  const tokens = { id_token: idToken, access_token: accessToken, refresh_token: refreshToken, account_id: accountId }
  await writeFile(join(codexHome, 'next.json'), JSON.stringify({ auth_mode: 'chatgpt', tokens }))
  await rename(join(codexHome, 'next.json'), join(codexHome, 'auth.json'))
  await expect.poll(async () => (await ask()).status, { timeout: 10_000 }).toBe(200)
  expect(codex.count('/oauth/token')).toBe(0)
})

test('a changed configuration switches Codex off and on while Copilot keeps running', async () => {
  const proxy = await openBoth()
  const { daemon, configure, codex } = proxy
  const gate = codex.gateNext()
  const opening = proxy.open('/v1/responses', { body: bodyOfPrompt('responses', own, 'Hello', { stream: true }) })
  await gate.opened
  daemon.reconfigure(configure('codex: { enabled: false }'))
  expect(await idsOf(proxy)).not.toContain(own)
  const off = await proxy.chat({ model: `codex/${own}` })
  expect([off.status, off.text]).toEqual([404, expect.stringContaining('codex.enabled')])
  expect((await proxy.chat()).status).toBe(200)
  // Running requests end on the connection they began on.
  gate.open()
  expect(await (await opening).rest()).toContain('response.completed')
  daemon.reconfigure(configure(''))
  await expect.poll(() => idsOf(proxy), { timeout: 10_000 }).toContain(own)
})

test('a model that is not found in the standard form is requested in the lite form from then on', async () => {
  const { send, codex } = await openBoth()
  codex.configure({ liteOnly: { 'gpt-6-sol': 'not_found' } })
  const tools = [{ type: 'function', name: 'look', parameters: { type: 'object', properties: {} } }]
  for (const asked of [2, 3]) {
    const reply = await send('/v1/responses', {
      body: bodyOfPrompt('responses', 'gpt-6-sol', '[demo:tool look]', { tools }),
    })
    expect([reply.status, reply.text]).toEqual([200, expect.stringContaining('"name":"look"')])
    expect(codex.count('/backend-api/codex/responses')).toBe(asked)
  }
})

test('a model that was not found only once is not requested in the lite form for ever', async () => {
  const { send, codex } = await openBoth()
  const ask = () => send('/v1/responses', { body: bodyOfPrompt('responses', own, 'Hello') })
  // This one takes the standard form only, so that asking again in the other one is refused too.
  codex.configure({ liteOnly: {} })
  codex.script('/backend-api/codex/responses', { outcome: jsonReply(404, { detail: `Model not found ${own}` }) })
  expect((await ask()).status).toBe(404)
  expect((await ask()).status).toBe(200)
  expect(codex.log.at(-1)?.headers).not.toHaveProperty('x-openai-internal-codex-responses-lite')
})

test('reasoning that Codex encrypted is sent to Codex only, also in a joined history', async () => {
  const { send, demo, codex } = await openBoth()
  const ask = async (model: string, prompt: string, change: Readonly<Record<string, unknown>> = {}) => {
    const reply = await send('/v1/responses', { body: bodyOfPrompt('responses', model, prompt, change) })
    expect(reply.status).toBe(200)
    return { reply, body: reply.json() as { readonly id: string; readonly output: readonly unknown[] } }
  }
  const first = (await ask(own, '[demo:reasoning] go')).body
  expect(JSON.stringify(first.output)).toContain('encrypted_content')
  for (const change of [
    { previous_response_id: first.id },
    { store: false, input: [...first.output, { role: 'user', content: 'on' }] },
  ]) {
    const before = { demo: demo.count('/responses'), codex: codex.count('/backend-api/codex/responses') }
    const { reply } = await ask(`copilot/${shared}`, 'on', change)
    expect(reply.headers['x-copilot-proxy-warnings']).toMatch(/thinking_dropped;input\.\d/)
    expect(demo.count('/responses')).toBe(before.demo + 1)
    expect(demo.log.at(-1)?.body).not.toContain('encrypted_content":')
    // Back to Codex, which refuses reasoning that it did not make.
    await ask(own, '[demo:replay] on', change)
    expect(codex.count('/backend-api/codex/responses')).toBe(before.codex + 1)
    expect(codex.log.at(-1)?.body).toContain('"encrypted_content":')
  }
})

test('a name that both providers have waits for Copilot’s model list', async () => {
  const held = Promise.withResolvers<void>()
  const proxy = await openProxy({
    codexLogin: 'stored',
    prepare: (demo) => demo.script('/models', { after: held.promise }),
  })
  await expect.poll(() => proxy.log.some(({ message }) => message === 'Codex model list loaded')).toBe(true)
  const asking = proxy.send('/v1/responses', { body: bodyOfPrompt('responses', shared, 'Hello') })
  await proxy.demo.until(() => proxy.demo.count('/models') === 1)
  held.resolve()
  expect((await asking).headers['x-copilot-proxy-route']).toBe('copilot/responses')
})

test('a failing fetch of Copilot’s model list does not delay requests to Codex', async () => {
  const proxy = await openProxy({
    codexLogin: 'stored',
    prepare: (demo) => demo.script('/models', ...Array.from({ length: 9 }, () => ({ outcome: jsonReply(500, {}) }))),
  })
  const ask = () => proxy.send('/v1/responses', { body: bodyOfPrompt('responses', own, 'Hello') })
  await expect.poll(async () => (await ask()).status).toBe(200)
  await proxy.demo.until(() => proxy.demo.count('/models') >= 1)
  await expect
    .poll(() => proxy.log.some(({ level, message }) => level === 'warn' && message.includes('Copilot model list')))
    .toBe(true)
  const asked = proxy.demo.count('/models')
  for (let again = 0; again < 3; again += 1) expect((await ask()).status).toBe(200)
  expect(proxy.demo.count('/models')).toBe(asked)
})
