import { expect, test } from 'vitest'
import { ask, editorHeaders, post, openCopilot } from './copilot/test-client.ts'
import { get } from './copilot/raw-get.ts'

test.for([
  ['editor-version', '', 400, 'bad request: unknown Editor-Version header for IDE auth\n'],
  ['editor-version', 'nonsense', 400, 'bad request: unknown Editor-Version header for IDE auth\n'],
  ['authorization', 'Basic x', 400, 'bad request: Authorization header is badly formatted\n'],
  [
    'authorization',
    'Bearer ghp_example',
    400,
    'bad request: Personal Access Tokens are not supported for this endpoint\n',
  ],
  ['authorization', 'Bearer tid=unknown', 401, 'unauthorized: token expired\n'],
  ['x-initiator', 'robot', 400, 'bad request: invalid X-Initiator header\n'],
  [
    'x-github-api-version',
    '2023-01-01',
    466,
    'bad request: the specified API version is no longer supported. You may need to update your client to a newer version.\n',
  ],
] as const)('refuses %s: %j with %i', async ([name, value, status, text]) => {
  const demo = await openCopilot()
  const reply = await ask(demo, 'hi', {}, { headers: { [name]: value } })
  expect(reply.status).toBe(status)
  expect(reply.headers.get('content-type')).toBe('text/plain; charset=utf-8')
  expect(await reply.text()).toBe(text)
})

test.each([
  ['gho_', undefined, 200],
  ['gho_', 'vscode-chat', 200],
  ['github_pat_', 'copilot-developer-cli', 200],
  ['github_pat_', 'vscode-chat', 400],
  ['github_pat_', undefined, 400],
  ['ghu_', 'copilot-developer-cli', 200],
  ['ghu_', 'vscode-chat', 401],
] as const)('a %s token as it is, from the integration %s, is %i', async (prefix, integration, status) => {
  const demo = await openCopilot()
  const authorization = `Bearer ${demo.tokens.issueGithub(prefix)}`
  const asked = async () =>
    (
      await fetch(`${demo.url}/models`, {
        headers: {
          authorization,
          ...(integration !== undefined && { 'copilot-integration-id': integration }),
          ...(status === 401 && { 'editor-version': 'vscode/1.0' }),
        },
      })
    ).status
  expect(await asked()).toBe(status)
  demo.tokens.revokeAll()
  expect(await asked()).not.toBe(200)
})

test('wants an Editor-Version', async () => {
  const demo = await openCopilot()
  const { 'editor-version': _, ...headers } = editorHeaders(demo)
  const reply = await fetch(`${demo.url}/models`, { headers })
  expect(await reply.text()).toBe('bad request: missing Editor-Version header for IDE auth\n')
})

test('refuses an authorization header that was sent twice', async () => {
  const demo = await openCopilot()
  const { authorization = '', 'editor-version': editor = '' } = editorHeaders(demo)
  const once = { authorization, 'editor-version': editor }
  expect((await get(`${demo.url}/models`, once)).status).toBe(200)
  const reply = await get(`${demo.url}/models`, { ...once, authorization: [authorization, authorization] })
  expect(reply.status).toBe(400)
})

test('a token is good until its end, or until all are expired', async () => {
  let nowMs = 0
  const demo = await openCopilot({ now: () => nowMs })
  const headers = editorHeaders(demo)
  const models = async () => (await fetch(`${demo.url}/models`, { headers })).status
  expect(await models()).toBe(200)
  nowMs = 1_799_999
  expect(await models()).toBe(200)
  nowMs = 1_800_000
  expect(await models()).toBe(401)
  nowMs = 0
  demo.tokens.expireAll()
  expect(await models()).toBe(401)
})

test('two servers do not know each other’s tokens', async () => {
  const [one, other] = await Promise.all([openCopilot(), openCopilot()])
  const headers = editorHeaders(one)
  expect((await fetch(`${one.url}/models`, { headers })).status).toBe(200)
  expect((await fetch(`${other.url}/models`, { headers })).status).toBe(401)
})

test('a body above the limit gets 413, with and without a content length', async () => {
  const demo = await openCopilot({ settings: { maxBodyBytes: 1000 } })
  const large = 'x'.repeat(2000)
  expect((await post(demo, '/chat/completions', large)).status).toBe(413)
  const chunked = await fetch(`${demo.url}/chat/completions`, {
    method: 'POST',
    headers: editorHeaders(demo),
    body: new Blob([large]).stream(),
    duplex: 'half',
  })
  expect(chunked.status).toBe(413)
  expect(await chunked.text()).toBe('Request Entity Too Large\n')
})

test('paths with /v1 and wrong methods are 404', async () => {
  const demo = await openCopilot()
  expect((await post(demo, '/v1/chat/completions', {})).status).toBe(404)
  expect((await fetch(`${demo.url}/chat/completions`)).status).toBe(404)
  expect((await fetch(`${demo.url}/_ping`)).status).toBe(200)
})

test('every reply carries ids, and headers that must not be passed on', async () => {
  const demo = await openCopilot()
  const reply = await ask(demo, 'hi', {}, { headers: { 'x-request-id': 'my-id' } })
  expect(reply.headers.get('x-request-id')).toBe('my-id')
  expect(reply.headers.get('x-github-request-id')).toMatch(/^DEMO:\d{6}$/)
  expect(reply.headers.get('set-cookie')).toContain('demo_session')
  expect(reply.headers.get('access-control-allow-origin')).toBe('https://github.com')
  expect(reply.headers.get('x-quota-snapshot-premium_interactions')).toMatch(/^ent=300&.*rem=89\.1/)
  const refused = await ask(demo, 'hi', { model: 'nope' })
  expect(refused.headers.has('x-quota-snapshot-chat')).toBe(false)
})

test.for(['2024-12-15', '2025-04-01', '2025-05-01', '2026-01-09', '2026-06-01', '2026-08-01'])(
  'takes the API version %s, and lists less for one from before June 2026',
  async (version) => {
    const demo = await openCopilot()
    const reply = await fetch(`${demo.url}/models`, {
      headers: editorHeaders(demo, { 'x-github-api-version': version }),
    })
    expect(reply.status).toBe(200)
    const text = await reply.text()
    expect(text).toContain('"gpt-5.4"')
    expect(text.includes('"claude-sonnet-5"')).toBe(version >= '2026-06-01')
  },
)

test.for([
  ['vscode/1.0', 400],
  ['vscode/1.104.0', 400],
  ['vscode/1.104.1', 200],
  ['vscode/1.126.0', 200],
  ['JetBrains-IU/252.1', 200],
] as const)('a Codex model answers %s with %i', async ([editor, status]) => {
  const demo = await openCopilot()
  const headers = { 'editor-version': editor }
  const body = { model: 'gpt-5.3-codex', input: 'Hi', stream: true }
  const reply = await post(demo, '/responses', body, { headers })
  expect(reply.status).toBe(status)
  if (status === 400) {
    expect(await reply.text()).toContain(
      'model gpt-5.3-codex is not supported in this VS Code version. Please update it to version 1.104.1 or newer',
    )
  }
  expect((await ask(demo, 'Hi', {}, { headers })).status).toBe(200)
})
