import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { layoutRequests, requestsRows, requestText } from '../../src/commands/requests/requests-text.ts'
import { formatHead } from '../../src/terminal/table.ts'
import { createStyle } from '../../src/terminal/output.ts'
import type { RequestDetail } from '../../src/api/requests.ts'
import { emptyRequest } from '../api/empty-request.ts'
import { openProxy } from '../http/harness.ts'
import { createUser, recordOutput } from './harness.ts'

const request: RequestDetail = {
  ...emptyRequest,
  id: '6f1c2a9b-7d30-4d53-9d5f-0f7c27a0a7f1',
  time: '2026-11-23T12:00:00.000Z',
  client: 'claude',
  user_agent: 'claude-cli/2.1.3',
  key: 'laptop',
  api: 'messages',
  path: '/v1/messages',
  asked_model: 'sonnet',
  model: 'claude-sonnet-4.5',
  route: 'copilot/messages',
  input_tokens: 34_200,
  output_tokens: 512,
  cached_input_tokens: 30_000,
  credits: 1.25,
  estimated: true,
  first_byte_ms: 840,
  duration_ms: 3100,
  adapted: ['adapted;tools'],
}

const screen = (columns: number) => ({ columns, style: createStyle(false) })
const tableOf = (rows: readonly RequestDetail[], columns: number): string => {
  const layout = layoutRequests(rows, () => otherDay, screen(columns))
  return formatHead(layout, screen(columns)) + requestsRows(rows, layout, screen(columns))
}
const place = { url: 'http://127.0.0.1:4141', isKeyAsked: false }
const otherDay = Date.parse('2026-12-24T12:00:00Z')

test('a row fits a terminal of 80 columns, with the failure below it', () => {
  const refused = { ...request, status: 429, failed: true, error: `too many requests ${'x'.repeat(200)}`, model: null }
  const text = tableOf([request, refused], 80)
  expect(text.split('\n').slice(0, 3)).toEqual([
    'TIME     ID       CLIENT     MODEL             STATUS    IN   OUT CREDITS   TOOK',
    'Nov 23   6f1c2a9b claude     claude-sonnet-4.5 200      34k   512   ~1.25  3.1 s',
    'Nov 23   6f1c2a9b claude     sonnet            429      34k   512   ~1.25  3.1 s',
  ])
  expect(text).toMatch(/\n {9}too many requests x+…\n$/)
  for (const line of text.split('\n')) expect(line.length).toBeLessThanOrEqual(80)
})

test.each([40, 50, 60, 70, 80, 100, 120, 140, 200])('no line is wider than %d columns', (columns) => {
  const wide = {
    ...request,
    client: '漢字'.repeat(20),
    model: 'm'.repeat(99),
    key: 'k'.repeat(99),
    warnings: ['w'.repeat(500)],
  }
  const text = tableOf([request, wide], columns)
  // A wide character takes two columns.
  for (const line of text.split('\n')) expect(line.replaceAll(/[漢字]/g, 'xx').length).toBeLessThanOrEqual(columns)
})

test('files and pipes get every column, uncut', () => {
  const text = tableOf([{ ...request, model: 'm'.repeat(60) }], Infinity)
  expect(text).toContain('ROUTE')
  expect(text).toContain('m'.repeat(60))
})

test.each([60, 80, 120, 160, Infinity])('a long name of a client shifts no column at %d columns', (columns) => {
  const text = tableOf([request, { ...request, client: 'my-own-agent/1.0', key: 'k'.repeat(20) }], columns)
  const [head = '', ...rows] = text.trimEnd().split('\n')
  for (const row of rows) expect(row.indexOf('200 ')).toBe(head.indexOf('STATUS'))
  if (columns >= 160) expect(text).toContain('my-own-agent/1.0')
})

test('a row that comes later keeps to the widths of the first ones', () => {
  const layout = layoutRequests([request], () => otherDay, screen(Infinity))
  const text = requestsRows([{ ...request, client: 'my-own-agent/1.0' }], layout, screen(Infinity))
  expect(text.indexOf('200 ')).toBe(formatHead(layout, screen(Infinity)).indexOf('STATUS'))
})

test('values of others cannot control the terminal', () => {
  const hostile = 'a\u001B[31m\u202E\nb'
  const odd = {
    ...request,
    client: hostile,
    model: hostile,
    key: hostile,
    error: hostile,
    user_agent: hostile,
    request_body: `{"a":"${hostile}"}`,
    answer_body: hostile,
  }
  const text = tableOf([odd], Infinity) + requestText(odd, place, screen(80))
  // oxlint-disable-next-line no-control-regex
  expect(text).not.toMatch(/[\u0000-\u0009\u000B-\u001F\u202E]/)
})

test('one request is shown in full', () => {
  const text = requestText(
    { ...request, status: 502, error: 'upstream failed', warnings: ['dropped;seed'] },
    place,
    screen(80),
  )
  expect(text).toContain('claude (claude-cli/2.1.3)')
  expect(text).toContain('claude-sonnet-4.5, requested as sonnet')
  expect(text).toContain('502, after the answer had started with 200')
  expect(text).toMatch(/Tokens +34200 in \(30000 cached\), 512 out/)
  expect(text).toMatch(/Warnings +dropped;seed/)
  expect(text).toMatch(/Adapted +adapted;tools/)
})

const kept = { bodies: 'kept', request_body: '{"a":1}' } as const

test.each([
  [{}, 'its body was not stored. To store bodies: copilot-proxy config set log.bodies true'],
  [{ ...kept, request_body_truncated: true }, 'its body was too long to store'],
  [{ ...kept, request_body: '{"a":"[redacted]"}' }, 'its body has a credential, which is not stored'],
])('says why no command repeats a request: %j', (change, expected) => {
  const text = requestText({ ...request, ...change }, place, screen(80))
  expect(text).toContain(`No command repeats this request, because ${expected}`)
  expect(text).not.toContain('curl ')
})

test.each([
  ['of the agent', { ...kept, api: 'turn', method: null, path: null }],
  ['without a route', { api: null, method: 'GET', path: '/v1/nothing' }],
])('gives no command for a request %s', (_what, change) => {
  expect(requestText({ ...request, ...change }, place, screen(80))).not.toMatch(/curl|No command|Repeat/)
})

test('the list shows a warning once for a conversation, one request all of them', () => {
  const warnings = ['dropped;seed', 'clamped;max_tokens']
  const repeated = { ...request, warnings, repeated_warnings: ['dropped;seed'] }
  expect(tableOf([repeated], Infinity)).toContain('warnings: clamped;max_tokens\n')
  expect(tableOf([{ ...repeated, repeated_warnings: warnings }], Infinity)).not.toContain('warnings')
  expect(requestText(repeated, place, screen(80))).toMatch(/Warnings +dropped;seed/)
})

/** The arguments that a shell gives to curl. */
function argumentsOf(command: string): readonly string[] {
  const script = `curl() { for each in "$@"; do printf '%s\\0' "$each"; done; }\n${command}`
  const env = { COPILOT_PROXY_API_KEY: 'example-key' }
  return execFileSync('/bin/sh', ['-c', script], { encoding: 'utf8', env }).split('\0').slice(0, -1)
}

test('the command is one for a shell, with the body as it was', () => {
  const body = { model: 'sonnet', messages: [{ role: 'user', content: 'it\'s $HOME `id`\n"\\ \u202E' }] }
  const headers = { 'anthropic-beta': "it's", authorization: 'Bearer theirs' }
  const sent = { ...request, ...kept, request_headers: headers, request_body: JSON.stringify(body, null, 2) }
  const [, command = ''] = requestText(sent, { ...place, isKeyAsked: true }, screen(80)).split('Repeat it:\n')
  const words = argumentsOf(command)
  expect(words).toContain("anthropic-beta: it's")
  expect(words.join(' ')).not.toContain('theirs')
  expect(words[0]).toBe('http://127.0.0.1:4141/v1/messages')
  expect(words).toContain('Authorization: Bearer example-key')
  expect(JSON.parse(words.at(-1) ?? '')).toEqual(body)
})

async function openUser() {
  const proxy = await openProxy()
  const user = await createUser()
  user.env['COPILOT_PROXY_SERVER_PORT'] = String(proxy.port)
  return { ...proxy, ...user }
}

test('lists the requests of the daemon, the newest last, and shows one', async () => {
  const { chat, run } = await openUser()
  expect(await run('requests')).toMatchObject({ code: 0, stdout: 'No requests yet.\n' })
  await chat()
  await chat({ model: 'nonsense' })
  const { code, stdout } = await run('requests')
  expect(code).toBe(0)
  expect(stdout).toMatch(/^TIME .*\n.* gpt-5-mini .* 200 .*\n.* nonsense .* 404 /)
  const { requests } = JSON.parse((await run('requests --json --failed')).stdout)
  expect(requests).toMatchObject([{ asked_model: 'nonsense', status: 404 }])
  const one = await run(`requests ${requests[0].id.slice(0, 8)}`)
  expect(one.stdout).toContain(requests[0].id)
  expect(JSON.parse((await run(`requests ${requests[0].id} --json`)).stdout)).toMatchObject(requests[0])
})

test('a conversation shows a warning once, and each answer has it in its header', async () => {
  const { chat, run } = await openUser()
  const body = { model: 'gemini-3-pro-preview', reasoning_effort: 'medium' }
  for (let turn = 1; turn <= 3; turn += 1) {
    const { headers } = await chat(body, { headers: { 'session-id': 'one' } })
    expect(headers['x-copilot-proxy-warnings']).toContain('clamped;reasoning_effort')
  }
  expect((await run('requests')).stdout.match(/warnings: clamped;reasoning_effort/g)).toHaveLength(1)
  const { requests } = JSON.parse((await run('requests --json')).stdout)
  expect(requests.map(({ warnings }: { warnings: readonly string[] }) => warnings.length)).toEqual([1, 1, 1])
})

/** Characters that a terminal obeys or hides, without line feeds. */
// oxlint-disable-next-line no-control-regex -- controls are what it looks for
const steering = /[\u0000-\u0009\u000B-\u001F\u007F-\u009F\u202E\u3164]/

test('JSON has escapes for characters that steer a terminal, and is still the same JSON', async () => {
  const { send, run, context } = await openUser()
  const model = 'x\u009B31m\u0085\u202E\u3164 Grüße 👩\u200D💻'
  const headers = { 'user-agent': 'agent/\u009B2J\u0090' }
  await send('/v1/chat/completions', {
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello' }] }),
    headers,
  })
  const listed = (await run('requests --json')).stdout
  const { requests } = JSON.parse(listed)
  expect(requests).toMatchObject([{ asked_model: model, user_agent: expect.stringContaining('\u009B2J') }])
  const one = (await run(`requests ${requests[0].id} --json`)).stdout
  const followed = { ...recordOutput(), isClosed: () => true }
  const command = await import('../../src/commands/requests/requests.ts')
  await command.requests(context({ stdout: followed }), { id: undefined, limit: '5', follow: true, json: true })
  for (const text of [listed, one, followed.text()]) {
    expect(text).not.toMatch(steering)
    expect(text).toContain('Grüße 👩\u200D💻')
    expect(JSON.stringify(JSON.parse(text))).toContain('\u009B31m')
  }
})

test.each([
  ['requests', 1, 'copilot-proxy is not running. Run: copilot-proxy start'],
  ['requests --limit 0', 2, '--limit must be a whole number from 1 to 1000, got "0".'],
  ['requests --limit x', 2, 'got "x"'],
  ['requests 6f1c2a9b --follow', 2, '--follow cannot be used with an ID.'],
])('%s ends with %d where it cannot work', async (commandLine, code, message) => {
  const { run } = await createUser()
  const ended = await run(commandLine)
  expect(ended.code).toBe(code)
  expect(ended.stderr).toContain(message)
})

test('an unknown id and a wrong key get different errors', async () => {
  const { run, daemon, configure, env } = await openUser()
  expect(await run('requests 00000000')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('No request "00000000"'),
  })
  daemon.reconfigure(configure('server: { api-keys: [example-key] }'))
  env['COPILOT_PROXY_API_KEY'] = 'another-key'
  expect(await run('requests')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('refused the key in COPILOT_PROXY_API_KEY'),
  })
})

test('following ends when its reader has left', async () => {
  const { context, chat } = await openUser()
  await chat()
  const stdout = { ...recordOutput(), isClosed: () => true }
  const { requests } = await import('../../src/commands/requests/requests.ts')
  expect(await requests(context({ stdout }), { id: undefined, limit: '5', follow: true, json: true })).toBe(0)
  expect(JSON.parse(stdout.text())).toMatchObject({ asked_model: 'gpt-5-mini' })
})
