import { expect, test } from 'vitest'
import { ask, askWithKey, keyHeaders, loginHeaders, promptOf, replyOf, openCodex } from './test-client.ts'

const expired = { status: 401, body: { error: { code: 'token_expired' }, status: 401 } }

test.for<[string, Record<string, string>]>([
  ['missing', { authorization: '' }],
  ['no bearer', { authorization: 'Basic abc' }],
  ['foreign', { authorization: 'Bearer eyJhbGciOiJub25lIn0.e30.test' }],
])('a %s token counts as expired', async ([, change]) => {
  const codex = await openCodex()
  expect(await replyOf(await ask(codex, promptOf('Hi'), loginHeaders(codex.login(), change)))).toMatchObject(expired)
})

test('a token expires by its own time or when the server decides; two headers have the code too', async () => {
  const codex = await openCodex()
  const old = codex.login({ lifetimeSeconds: -1 })
  expect(await replyOf(await ask(codex, promptOf('Hi'), loginHeaders(old)))).toMatchObject(expired)
  const login = codex.login()
  codex.logins.expireAccess()
  const response = await ask(codex, promptOf('Hi'), loginHeaders(login))
  expect(response.headers.get('x-openai-authorization-error')).toBe('token_expired')
  const hidden = Buffer.from(response.headers.get('x-error-json') ?? '', 'base64').toString()
  expect(JSON.parse(hidden)).toEqual({ error: { code: 'token_expired' } })
  expect(await replyOf(response)).toMatchObject(expired)
  expect((await ask(codex, promptOf('Hi'))).status).toBe(200)
})

test('a token of another server is foreign', async () => {
  const codex = await openCodex()
  const other = await openCodex()
  const reply = await replyOf(await ask(codex, promptOf('Hi'), loginHeaders(other.login())))
  expect(reply).toMatchObject(expired)
})

test('a revoked login gets the documented message', async () => {
  const codex = await openCodex()
  const login = codex.login()
  codex.logins.revokeAll()
  expect(await replyOf(await ask(codex, promptOf('Hi'), loginHeaders(login)))).toEqual({
    status: 401,
    body: {
      error: {
        message: 'Your authentication token has been invalidated. Please try signing in again.',
        type: 'invalid_request_error',
        code: 'token_invalidated',
        param: null,
      },
      status: 401,
    },
  })
})

test.for(['', 'another-account'])('the account "%s" is not the one of the token', async (id) => {
  const codex = await openCodex()
  const headers = loginHeaders(codex.login(), { 'chatgpt-account-id': id })
  expect(await replyOf(await ask(codex, promptOf('Hi'), headers))).toEqual({
    status: 403,
    body: { detail: { code: 'invalid_workspace_selected' } },
  })
})

test.for<[string, string]>([
  ['originator', ''],
  ['user-agent', 'node'],
  ['user-agent', 'undici'],
])('refuses a program whose %s is "%s"', async ([name, value]) => {
  const codex = await openCodex()
  const reply = await replyOf(await ask(codex, promptOf('Hi'), loginHeaders(codex.login(), { [name]: value })))
  expect(reply.status).toBe(403)
  expect(JSON.stringify(reply.body)).toContain(name)
})

test('wants the FedRAMP header exactly where the token has the claim', async () => {
  const codex = await openCodex()
  const status = async (isFedramp: boolean, more: Record<string, string>) =>
    (await ask(codex, promptOf('Hi'), loginHeaders(codex.login({ isFedramp }), more))).status
  const header = { 'x-openai-fedramp': 'true' }
  expect([await status(true, header), await status(false, {})]).toEqual([200, 200])
  expect([await status(true, {}), await status(false, header)]).toEqual([400, 400])
})

const copilotHeaders: readonly [string, string][] = [
  ['editor-version', 'vscode/1.126.0'],
  ['editor-plugin-version', 'copilot-chat/0.54.0'],
  ['copilot-integration-id', 'vscode-chat'],
  ['copilot-vision-request', 'true'],
  ['x-initiator', 'user'],
  ['x-github-api-version', '2026-08-01'],
  ['openai-intent', 'conversation-panel'],
  ['x-interaction-id', '5b3f1e0a-1c2d-4e5f-8a9b-0c1d2e3f4a5b'],
  ['x-agent-task-id', '5b3f1e0a-1c2d-4e5f-8a9b-0c1d2e3f4a5b'],
  ['vscode-machineid', '0123'],
  ['x-vscode-user-agent-library-version', 'electron-fetch'],
  ['user-agent', 'GitHubCopilotChat/0.54.0'],
  ['x-whatever', 'tid=1;exp=2;sku=x:abc'],
  ['authorization', 'Bearer ghu_madeup'],
  ['authorization', 'Bearer gho_madeup'],
]

test.for(copilotHeaders)('names what was meant for Copilot: %s %s', async ([name, value]) => {
  const codex = await openCodex()
  const replies = [
    await ask(codex, promptOf('Hi'), loginHeaders(codex.login(), { [name]: value })),
    await askWithKey(codex, { model: 'gpt-5.5', input: 'Hi' }, keyHeaders(codex, { [name]: value })),
    await fetch(`${codex.issuer}/codex/device`, { headers: { [name]: value } }),
  ]
  for (const response of replies) {
    const { status, body } = await replyOf(response)
    expect(status).toBe(400)
    expect(JSON.stringify(body)).toContain(`header ${name}`)
    expect(JSON.stringify(body)).not.toContain(value)
  }
})

test.for(['x-forwarded-for', 'cookie', 'anthropic-version', 'x-api-key', 'via', 'cf-ray'])(
  'the header %s of a caller does not belong here, except at the issuer',
  async (name) => {
    const codex = await openCodex()
    const response = await ask(codex, promptOf('Hi'), loginHeaders(codex.login(), { [name]: 'x' }))
    expect((await replyOf(response)).status).toBe(400)
    expect((await fetch(`${codex.issuer}/codex/device`, { headers: { [name]: 'x' } })).status).toBe(200)
  },
)

test('a key opens no ChatGPT, and a login no key API', async () => {
  const codex = await openCodex()
  const login = codex.login()
  const withKey = loginHeaders({ ...login, accessToken: codex.apiKey })
  expect((await replyOf(await ask(codex, promptOf('Hi'), withKey))).status).toBe(401)
  const withLogin = keyHeaders(codex, { authorization: `Bearer ${login.accessToken}` })
  const reply = await replyOf(await askWithKey(codex, { model: 'gpt-5.5', input: 'Hi' }, withLogin))
  expect(reply.status).toBe(401)
  expect(JSON.stringify(reply.body)).toContain('Missing scopes: api.responses.write')
})

test('the key API takes its own key only, and no header of the ChatGPT backend', async () => {
  const codex = await openCodex()
  const body = { model: 'gpt-5.5', input: 'Hi' }
  const status = async (more: Record<string, string>) => (await askWithKey(codex, body, keyHeaders(codex, more))).status
  expect(await status({})).toBe(200)
  expect(await status({ authorization: 'Bearer sk-another' })).toBe(401)
  expect(await status({ 'chatgpt-account-id': 'x' })).toBe(400)
  expect(await status({ originator: 'x' })).toBe(400)
  expect(await status({ 'x-openai-internal-codex-responses-lite': 'true' })).toBe(400)
})

test('records every request, also of paths that are not served', async () => {
  const codex = await openCodex({ record: 10 })
  const stray = await fetch(`${codex.url}/chat/completions`, { method: 'POST', body: '{"a":1}' })
  expect(stray.status).toBe(404)
  await (await ask(codex, promptOf('Hi'))).text()
  expect(codex.log.map(({ method, path, route }) => [method, path, route])).toEqual([
    ['POST', '/chat/completions', 'other'],
    ['POST', '/backend-api/codex/responses', '/backend-api/codex/responses'],
  ])
  expect(codex.log[0]?.body).toBe('{"a":1}')
  expect(codex.log[1]?.headers['originator']).toBe('test-program')
})
