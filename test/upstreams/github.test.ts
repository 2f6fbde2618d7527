import { expect, test } from 'vitest'
import type { PollAnswer } from './copilot/settings.ts'
import type { CopilotUpstream } from './copilot.ts'
import { openCopilot } from './copilot/test-client.ts'

const CLIENT = 'Iv1.example'

function form(demo: CopilotUpstream, path: string, fields: Record<string, string>, accept = 'application/json') {
  return fetch(`${demo.url}${path}`, { method: 'POST', headers: { accept }, body: new URLSearchParams(fields) })
}

async function startFlow(demo: CopilotUpstream, clientId = CLIENT): Promise<Record<string, string>> {
  const reply = await form(demo, '/login/device/code', { client_id: clientId, scope: 'read:user' })
  return record(await reply.json())
}

/** Test bodies are flat objects of strings and numbers. */
function record(value: unknown): Record<string, string> {
  return Object.fromEntries(Object.entries(value ?? {}).map(([key, field]) => [key, String(field)]))
}

async function poll(
  demo: CopilotUpstream,
  code = '',
  change: Record<string, string> = {},
): Promise<Record<string, string>> {
  const reply = await form(demo, '/login/oauth/access_token', {
    client_id: CLIENT,
    device_code: code,
    grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
    ...change,
  })
  return record(await reply.json())
}

test('approves the first poll and the token names the demo user', async () => {
  const demo = await openCopilot({ settings: { login: 'octo-demo' } })
  const flow = await startFlow(demo)
  expect(flow).toMatchObject({ user_code: 'DEMO-0001', verification_uri: `${demo.url}/login/device`, interval: '1' })

  const { access_token: token = '' } = await poll(demo, flow['device_code'])
  expect(token).toMatch(/^ghu_demo_/)
  const user = await fetch(`${demo.url}/user`, { headers: { authorization: `token ${token}` } })
  expect(await user.json()).toMatchObject({ login: 'octo-demo' })
})

test('answers polls in the scripted order and then approves', async () => {
  const answers: PollAnswer[] = ['pending', 'slow_down', 'slow_down']
  const demo = await openCopilot({ polls: answers })
  const { device_code: code } = await startFlow(demo)
  expect(await poll(demo, code)).toMatchObject({ error: 'authorization_pending' })
  expect(await poll(demo, code)).toMatchObject({ error: 'slow_down', interval: '6' })
  expect(await poll(demo, code)).toMatchObject({ error: 'slow_down', interval: '11' })
  expect(await poll(demo, code)).toMatchObject({ token_type: 'bearer' })
  expect(demo.count('/login/oauth/access_token')).toBe(4)
})

test.for([
  ['denied', 'access_denied'],
  ['expired', 'expired_token'],
] as const)('a %s code is dead afterwards', async ([answer, error]) => {
  const demo = await openCopilot()
  demo.answerPolls(answer)
  const { device_code: code } = await startFlow(demo)
  expect(await poll(demo, code)).toMatchObject({ error })
  expect(await poll(demo, code)).toMatchObject({ error: 'incorrect_device_code' })
})

test('can answer a poll with 503, HTML or a lost connection', async () => {
  const demo = await openCopilot({ polls: ['unavailable', 'html', 'drop'] })
  const fields = { client_id: CLIENT, grant_type: 'urn:ietf:params:oauth:grant-type:device_code' }
  const { device_code: code = '' } = await startFlow(demo)
  const once = () => form(demo, '/login/oauth/access_token', { ...fields, device_code: code })
  expect((await once()).status).toBe(503)
  const page = await once()
  expect(page.status).toBe(502)
  expect(page.headers.get('content-type')).toContain('text/html')
  await expect(once()).rejects.toThrow('fetch failed')
  expect((await once()).status).toBe(200)
})

test('a device code expires by the clock', async () => {
  let nowMs = 1_000_000
  const demo = await openCopilot({ now: () => nowMs })
  const { device_code: code } = await startFlow(demo)
  nowMs += 900_000
  expect(await poll(demo, code)).toMatchObject({ error: 'expired_token' })
})

test('refuses a wrong grant, client or code with 200 and an error field', async () => {
  const demo = await openCopilot()
  const { device_code: code } = await startFlow(demo)
  expect(await startFlow(demo, '')).toMatchObject({ error: 'incorrect_client_credentials' })
  expect(await poll(demo, code, { grant_type: 'password' })).toMatchObject({ error: 'unsupported_grant_type' })
  expect(await poll(demo, code, { client_id: 'other' })).toMatchObject({ error: 'incorrect_client_credentials' })
  expect(await poll(demo, 'unknown')).toMatchObject({ error: 'incorrect_device_code' })
})

test('takes JSON as well as a form, and answers a form unless JSON is accepted', async () => {
  const demo = await openCopilot()
  const json = await fetch(`${demo.url}/login/device/code`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json' },
    body: JSON.stringify({ client_id: CLIENT }),
  })
  expect(await json.json()).toMatchObject({ device_code: 'demo-device-1' })
  const plain = await form(demo, '/login/device/code', { client_id: CLIENT }, '*/*')
  expect(new URLSearchParams(await plain.text()).get('device_code')).toBe('demo-device-2')
  const broken = await fetch(`${demo.url}/login/device/code`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json' },
    body: '{',
  })
  expect(await broken.json()).toMatchObject({ error: 'incorrect_client_credentials' })
})

test('shows a page for the human', async () => {
  const demo = await openCopilot()
  const page = await fetch(`${demo.url}/login/device`)
  expect(await page.text()).toContain('Simulated GitHub')
})

const VERSION = { 'x-github-api-version': '2025-04-01' }
const EDITOR = { ...VERSION, 'editor-version': 'vscode/1.126.0', 'user-agent': 'GitHubCopilotChat/0.54.0' }

function exchange(demo: CopilotUpstream, token: string, headers: Record<string, string> = EDITOR) {
  return fetch(`${demo.url}/copilot_internal/v2/token`, { headers: { authorization: `token ${token}`, ...headers } })
}

test('exchanges a GitHub token for a Copilot token that points back here', async () => {
  const demo = await openCopilot({ now: () => 1_000_000_000 })
  const reply = await exchange(demo, demo.tokens.issueGithub())
  expect(reply.headers.get('x-github-request-id')).toMatch(/^DEMO:/)
  const body = record(await reply.json())
  expect(body).toMatchObject({ expires_at: '1001800', refresh_in: '1500', sku: 'monthly_subscriber_quota' })
  const fields = body['token']?.split(':')[0]?.split(';') ?? []
  expect(body['token']).toContain(`;proxy-ep=127.0.0.1:${demo.port};`)
  expect(fields).toContain('exp=1001800')
  expect(demo.exchanges()).toBe(1)
})

test('endpoints.api is this server, another address, or absent', async () => {
  const demo = await openCopilot()
  const github = demo.tokens.issueGithub()
  expect(await (await exchange(demo, github)).json()).toMatchObject({ endpoints: { api: demo.url } })
  demo.configure({ apiUrl: 'https://api.business.example' })
  expect(await (await exchange(demo, github)).json()).toMatchObject({
    endpoints: { api: 'https://api.business.example' },
  })
  demo.configure({ apiUrl: null, proxyEp: 'proxy.individual.example' })
  const bare = record(await (await exchange(demo, github)).json())
  expect(bare).not.toHaveProperty('endpoints')
  expect(bare['token']).toContain(';proxy-ep=proxy.individual.example;')
})

test('refuses the exchange by kind of token', async () => {
  const demo = await openCopilot()
  expect((await exchange(demo, 'ghu_unknown')).status).toBe(401)
  expect((await exchange(demo, 'ghp_example')).status).toBe(403)
  expect((await exchange(demo, demo.tokens.issueGithub('github_pat_'))).status).toBe(403)
  expect((await exchange(demo, demo.tokens.issueGithub('gho_'))).status).toBe(404)
  const revoked = demo.tokens.issueGithub()
  demo.tokens.revokeAll()
  expect((await exchange(demo, revoked)).status).toBe(401)
})

test.each([
  ['/user', undefined, 200],
  ['/user', '2022-11-28', 200],
  ['/user', '2025-04-01', 400],
  ['/user', '2026-08-01', 400],
  ['/copilot_internal/user', '2025-04-01', 200],
  ['/copilot_internal/user', '2025-05-01', 200],
  ['/copilot_internal/user', '2024-12-15', 200],
  ['/copilot_internal/user', '2026-08-01', 400],
  ['/copilot_internal/user', '2022-11-28', 400],
  ['/copilot_internal/user', undefined, 200],
  ['/copilot_internal/v2/token', undefined, 400],
  ['/copilot_internal/v2/token', '2025-04-01', 200],
  ['/copilot_internal/v2/token', '2026-08-01', 400],
])('%s with the API version %s is %i', async (path, version, status) => {
  const demo = await openCopilot()
  const { 'x-github-api-version': _, ...editor } = EDITOR
  const authorization = `token ${demo.tokens.issueGithub()}`
  const headers = { ...editor, authorization, ...(version !== undefined && { 'x-github-api-version': version }) }
  const reply = await fetch(demo.url + path, { headers })
  expect(reply.status).toBe(status)
  if (status === 400)
    expect(await reply.json()).toMatchObject({
      message: expect.stringContaining('is not a supported version. The following versions'),
    })
})

test('an unknown version is refused before the token is looked at, in GitHub’s words', async () => {
  const demo = await openCopilot()
  const reply = await fetch(`${demo.url}/user`, { headers: { 'x-github-api-version': 'v3' } })
  expect(await reply.json()).toMatchObject({
    message:
      'Bad Request: The version you specified in the "X-GitHub-API-Version" request header, "v3", is not a supported version. The following versions are currently supported: "2022-11-28" (most recent).',
  })
})

test('refuses the exchange to a program that does not look like an editor', async () => {
  const demo = await openCopilot()
  const reply = await exchange(demo, demo.tokens.issueGithub(), { ...VERSION, 'user-agent': 'node' })
  expect(reply.status).toBe(403)
  expect(await reply.json()).toMatchObject({ error_details: { notification_id: 'go_http_client' } })
})

test('an account without Copilot gets 403 with the notification id', async () => {
  const demo = await openCopilot({ settings: { entitlementProblem: 'not_signed_up' } })
  const reply = await exchange(demo, demo.tokens.issueGithub())
  expect(reply.status).toBe(403)
  expect(await reply.json()).toMatchObject({
    can_signup_for_limited: true,
    error_details: { notification_id: 'not_signed_up' },
  })
})

test('reports quota by plan', async () => {
  const demo = await openCopilot({ now: () => Date.UTC(2026, 10, 20) })
  const token = demo.tokens.issueGithub()
  const usage = async () => {
    const reply = await fetch(`${demo.url}/copilot_internal/user`, {
      headers: { ...VERSION, authorization: `Bearer ${token}` },
    })
    return reply.json()
  }
  expect(await usage()).toMatchObject({
    copilot_plan: 'individual',
    quota_reset_date: '2026-12-01',
    quota_snapshots: { premium_interactions: { entitlement: 300, remaining: 267, percent_remaining: 89.1 } },
  })
  demo.configure({ plan: 'business', tokenBasedBilling: true })
  expect(await usage()).toMatchObject({
    copilot_plan: 'business',
    token_based_billing: true,
    quota_snapshots: { premium_interactions: { credits_used: 32 } },
  })
  demo.configure({ plan: 'free', tokenBasedBilling: false })
  const free = await usage()
  expect(free).toMatchObject({ access_type_sku: 'free_limited_copilot', limited_user_quotas: { chat: 42 } })
  expect(free).not.toHaveProperty('quota_snapshots')
})
