import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { RequestListener } from 'node:http'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { PlanUse } from '../../src/api/usage.ts'
import { codexRecordKind } from '../../src/auth/codex/record.ts'
import { createRecordStore } from '../../src/auth/records/record-store.ts'
import { usageLine, planUseLine, planUseText } from '../../src/commands/usage/usage-text.ts'
import { createStyle } from '../../src/terminal/output.ts'
import { toTotals } from '../../src/usage/periods.ts'
import { openUsageStore } from '../../src/usage/store.ts'
import { dayOf, noSums, utcDayOf } from '../../src/usage/tally.ts'
import type { Tally } from '../../src/usage/tally.ts'
import { codexRecord } from '../auth/codex/support.ts'
import { openProxy } from '../http/harness.ts'
import { recordingLog } from '../recording-log.ts'
import { createUser, inputOf, openGithub } from './harness.ts'
import type { TestUser } from './harness.ts'
import { listenForTest } from '../listen-for-test.ts'

const tally: Omit<Tally, 'day' | 'utcDay'> = {
  ...noSums,
  provider: 'copilot',
  model: 'gpt-5-mini',
  key: 'work',
  keyId: 'a1',
  client: 'claude',
  session: '0196b2a4-7c1e',
  requests: 12,
  errors: 1,
  inputTokens: 34_200,
  outputTokens: 5100,
  cachedInputTokens: 20_000,
  premiumRequests: 4,
  measuredNanoAiu: 12.5e9,
}

/** All but the last within the month that GitHub bills, whatever the date. */
function on(daysBack: number) {
  const utcDay = daysBack > 30 ? '2026-01-01' : utcDayOf(Date.now())
  return { day: dayOf(Date.now(), daysBack), utcDay }
}

function storeTotals(user: TestUser): void {
  const store = openUsageStore(join(user.home, 'usage.sqlite'), { waitMs: 0 })
  const plan = { provider: 'codex', model: 'gpt-5.5', key: '', keyId: '', premiumRequests: null, measuredNanoAiu: null }
  const costly = { model: 'claude-sonnet-5', measuredNanoAiu: null, estimatedNanoAiu: 0.25e9, premiumRequests: 1 }
  store.add([
    { ...tally, ...on(0) },
    { ...tally, ...on(3), ...plan, errors: 0, cachedInputTokens: 0 },
    { ...tally, ...on(3), ...costly, requests: 1 },
    { ...tally, ...on(40) },
  ])
  store.close()
}

function monthless(text: string): string {
  return text.replaceAll(/\d{4}-\d{2}-01/g, 'MONTH-01')
}

async function loggedIn(): Promise<TestUser> {
  const github = await openGithub()
  const user = await createUser(github)
  await user.run('login --token-stdin', { stdin: inputOf(github.tokens.issueGithub()) })
  return user
}

describe('usage without a daemon', () => {
  test('one request is no plural', async () => {
    const user = await loggedIn()
    const store = openUsageStore(join(user.home, 'usage.sqlite'), { waitMs: 0 })
    store.add([{ ...tally, ...on(0), requests: 1, premiumRequests: 1 }])
    store.close()
    expect((await user.run('usage')).stdout).toContain(': 1 request, 12.5 credits, 1 premium request.\n')
  })

  test('ends in what went through copilot-proxy, a table for each period that adds something', async () => {
    const user = await loggedIn()
    storeTotals(user)
    const { code, stdout } = await user.run('usage')
    expect(code).toBe(0)
    expect(stdout).toMatch(/^premium requests +\[#/m)
    expect(stdout).toMatch(/^ {2}through copilot-proxy +\[-{20}\] 1\.7 % {2}5 used since \d{4}-\d{2}-01$/m)
    expect(monthless(stdout.slice(stdout.indexOf('Today')))).toBe(
      [
        'Today, through copilot-proxy',
        'MODEL       REQUESTS  ERRORS  TOKENS IN  CACHED %  TOKENS OUT  CREDITS  PREMIUM',
        'gpt-5-mini        12       1        34k        58        5.1k     12.5        4',
        '',
        'Last 7 days, through copilot-proxy',
        'MODEL            REQUESTS  ERRORS  TOKENS IN  CACHED %  TOKENS OUT  CREDITS  PREMIUM',
        'gpt-5-mini             12       1        34k        58        5.1k     12.5        4',
        'codex/gpt-5.5          12                34k         0        5.1k',
        'claude-sonnet-5         1       1        34k        58        5.1k    ~0.25        1',
        '',
        'This month, since MONTH-01: 25 requests, ~12.8 credits, 5 premium requests.',
        '',
        '~ means estimated: GitHub did not report the credits of some answers.',
        '',
      ].join('\n'),
    )
  })

  test('is by key or by day where that is asked for', async () => {
    const user = await loggedIn()
    storeTotals(user)
    const { stdout: byKey } = await user.run('usage --by key')
    expect(byKey.slice(byKey.indexOf('Last 7 days'), byKey.indexOf('\nThis month'))).toBe(
      [
        'Last 7 days, through copilot-proxy',
        'KEY   REQUESTS  ERRORS  TOKENS IN  CACHED %  TOKENS OUT  CREDITS  PREMIUM',
        'work        13       2        68k        58         10k    ~12.8        5',
        '-           12                34k         0        5.1k',
        '',
      ].join('\n'),
    )
    const { stdout: bySession } = await user.run('usage --by session')
    expect(bySession.slice(0, bySession.indexOf('\nThis month')).match(/^claude 0196b2a4-7c1e.*$/gm)).toEqual([
      expect.stringMatching(/^claude 0196b2a4-7c1e work +12 .* 12\.5 +4$/),
      expect.stringMatching(/^claude 0196b2a4-7c1e work +13 .* ~12\.8 +5$/),
      expect.stringMatching(/^claude 0196b2a4-7c1e +12 /),
    ])
    const { stdout: byDay } = await user.run('usage --by day')
    const rows = byDay.split('\n').filter((line) => /^\d{4}-/.test(line))
    expect(rows).toEqual([
      expect.stringMatching(new RegExp(`^${dayOf(Date.now())} +12 `)),
      expect.stringMatching(new RegExp(`^${dayOf(Date.now(), 3)} +13 .* ~0\\.25 `)),
    ])
    expect(byDay.match(/through copilot-proxy$/gm)).toHaveLength(1)
    expect(await user.run('usage --by hour')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('model, key, session, day'),
    })
  })

  test('shows premium requests only to who is billed by them', async () => {
    const github = await openGithub({ settings: { tokenBasedBilling: true } })
    const user = await createUser(github)
    await user.run('login --token-stdin', { stdin: inputOf(github.tokens.issueGithub()) })
    storeTotals(user)
    const { stdout } = await user.run('usage')
    expect(stdout).toMatch(/^AI credits +\[#/m)
    expect(stdout).toMatch(
      /^ {2}through copilot-proxy +\[-{20}\] ~1\.3 % {2}~12\.8 credits used since \d{4}-\d{2}-01$/m,
    )
    expect(stdout).not.toMatch(/premium/i)
  })

  test('says that nothing was counted', async () => {
    expect((await (await loggedIn()).run('usage')).stdout).toMatch(/^No requests through copilot-proxy/m)
  })

  test('has the totals in its JSON', async () => {
    const user = await loggedIn()
    storeTotals(user)
    const { totals } = JSON.parse((await user.run('usage --json')).stdout)
    expect(totals.today).toEqual([
      {
        provider: 'copilot',
        model: 'gpt-5-mini',
        requests: 12,
        errors: 1,
        input_tokens: 34_200,
        output_tokens: 5100,
        cached_input_tokens: 20_000,
        cache_write_tokens: 0,
        cache_hit_rate: 20_000 / 34_200,
        credits: 12.5,
        estimated_credits: null,
        estimated: false,
        premium_requests: 4,
      },
    ])
    expect(totals.last_7_days).toHaveLength(3)
    expect(totals.last_30_days).toHaveLength(3)
    expect(totals.by_key.last_7_days).toMatchObject([{ key: 'work' }, { key: null, credits: null }])
    expect(totals.by_day).toHaveLength(2)
    expect(totals.month).toMatchObject({
      credits: 12.75,
      estimated_credits: 0.25,
      estimated: true,
      premium_requests: 5,
    })
  })

  test('shows totals also to who is not logged in to Copilot, and exits with 3 all the same', async () => {
    const user = await createUser()
    storeTotals(user)
    const { code, stdout, stderr } = await user.run('usage')
    expect(code).toBe(3)
    expect(stdout).toMatch(/^Today, through copilot-proxy$/m)
    expect(stderr).toContain('copilot-proxy login')
    expect(JSON.parse((await user.run('usage --json')).stdout)).toMatchObject({
      problem_code: 'copilot_unavailable',
    })
  })

  test('goes on without totals that cannot be read, and says so', async () => {
    const user = await loggedIn()
    writeFileSync(join(user.home, 'usage.sqlite'), 'not a database'.repeat(99))
    const { code, stdout, stderr } = await user.run('usage')
    expect(code).toBe(0)
    expect(stdout).toMatch(/^premium requests/m)
    expect(stderr).toMatch(/^Note: Cannot use the usage totals in .*usage\.sqlite/)
  })

  test('--line has the totals of today and asks nobody', async () => {
    const github = await openGithub({ record: 9 })
    const user = await createUser(github)
    await user.run('login --token-stdin', { stdin: inputOf(github.tokens.issueGithub()) })
    const asked = github.log.length
    storeTotals(user)
    expect(await user.run('usage --line')).toEqual({
      code: 0,
      stdout: 'today 12 req 34k in 5.1k out 12.5 credits\n',
      stderr: '',
    })
    expect(github.log.length).toBe(asked)
  })

  test('--line and --json exclude each other', async () => {
    expect(await (await createUser()).run('usage --line --json')).toMatchObject({ code: 2 })
  })
})

describe('usage of a running daemon', () => {
  test('is what the daemon knows, what it has not written yet included', async () => {
    const proxy = await openProxy({ file: 'server: { api-keys: [a-key-of-mine] }' })
    await proxy.chat({}, { headers: { authorization: 'Bearer a-key-of-mine' } })
    const user = await createUser()
    user.env['COPILOT_PROXY_SERVER_PORT'] = String(proxy.port)
    user.env['COPILOT_PROXY_SERVER_API_KEYS'] = 'a-key-of-mine'
    const { code, stdout } = await user.run('usage')
    expect(code).toBe(0)
    expect(stdout).toMatch(/^Copilot Pro of demo-user$/m)
    expect(stdout).toMatch(/^gpt-5-mini +1 /m)
    const line = await user.run('usage --line')
    expect(line.stdout).toMatch(
      /^premium 89 % left · resets [A-Z][a-z]{2} 1 · today 1 req \d+ in \d+ out 0\.\d+ credits\n$/,
    )
    expect(proxy.demo.count('/copilot_internal/user')).toBe(1)
  })

  test('--line does not wait for a daemon that is busy', async () => {
    const user = await userOf((_request, _response) => {})
    storeTotals(user)
    expect((await user.run('usage --line')).stdout).toBe('today 12 req 34k in 5.1k out 12.5 credits\n')
  })

  test.each(['{}', 'no JSON', '{"totals":{"today":7}}', '{"plan":"free","quotas":7,"totals":null}'])(
    '--line goes on after an answer such as %s',
    async (body) => {
      const user = await userOf((_request, response) => void response.end(body))
      storeTotals(user)
      expect((await user.run('usage --line')).stdout).toMatch(/today 12 req 34k in 5\.1k out 12\.5 credits\n$/)
    },
  )
})

describe('usage of a ChatGPT plan', () => {
  const nowMs = Date.parse('2026-11-22T02:56:04.000Z')
  const use: PlanUse = {
    plan: 'plus\u001B[2J',
    windows: [
      { used_percent: 142, minutes: 300, resets_at: '2026-11-22T06:47:16.000Z' },
      { used_percent: 40, minutes: 10_080, resets_at: '2026-11-26T02:56:04.000Z' },
      { used_percent: 99, minutes: 90, resets_at: '2026-11-22T02:00:00.000Z' },
      { used_percent: 0, minutes: 43_200 },
    ],
    reported_at: '2026-11-22T02:53:04.000Z',
  }

  test('is a bar for each window, with the time of the report', async () => {
    const text = planUseText(use, nowMs, { style: createStyle(false) })
    await expect(text).toMatchFileSnapshot('../golden/usage/plan.txt')
  })

  test('is the tightest window in the line', () => {
    expect(planUseLine(use, nowMs)).toBe('codex 5 h 0 % left')
    expect(planUseLine(use, Date.parse('2027-01-01'))).toBe('codex 30 d 100 % left')
    expect(planUseLine({ ...use, windows: [] }, nowMs)).toBe('')
  })

  test('is known to the daemon from the first answer on, for who has that login alone', async () => {
    const proxy = await openProxy({ login: 'none', codexLogin: 'stored' })
    const user = await createUser()
    user.env['COPILOT_PROXY_SERVER_PORT'] = String(proxy.port)
    await writeCodexLogin(user)
    expect(await user.run('usage')).toMatchObject({ code: 0, stdout: expect.not.stringContaining('Codex'), stderr: '' })
    await proxy.chat({ model: 'codex/gpt-5.5' })
    const { code, stdout, stderr } = await user.run('usage')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(/^Codex, plan plus\n\n5 h +\[[#-]{20}\] \d+ % left, resets at 2\d{3}-.* UTC\n7 d +\[/)
    expect(stdout).toMatch(/^codex\/gpt-5\.5 +1 /m)
    const report = JSON.parse((await user.run('usage --json')).stdout)
    expect(report).not.toHaveProperty('plan')
    expect(report).toMatchObject({
      codex: { plan: 'plus', windows: [{ minutes: 300 }, {}] },
    })
    expect((await user.run('usage --line')).stdout).toMatch(/^codex \S+ \S \d+ % left · today 1 req /)
  })

  test('needs an answer of the account that is in use', async () => {
    const proxy = await openProxy({ codexLogin: 'stored' })
    await proxy.chat({ model: 'codex/gpt-5.5' })
    expect((await proxy.send('/usage')).json()).toMatchObject({ codex: { windows: [{}, {}] } })
    for (const { id } of await proxy.codexStore.list()) await proxy.codexStore.remove(id)
    const answer = async (): Promise<string> => (await proxy.send('/usage')).text
    await expect.poll(answer, { timeout: 10_000 }).not.toContain('"codex":')
  })
})

/** The user's own login for Codex; whose it is does not matter where a daemon answers. */
async function writeCodexLogin({ home }: TestUser): Promise<void> {
  const store = createRecordStore({ kind: codexRecordKind, dir: join(home, 'auth'), log: recordingLog() })
  await store.write(codexRecord(Date.now(), 0))
}

/** A user at whose port this answers. */
async function userOf(answer: RequestListener): Promise<TestUser> {
  const user = await createUser()
  user.env['COPILOT_PROXY_SERVER_PORT'] = String(await listenForTest(createServer(answer)))
  return user
}

describe('the line', () => {
  const none = toTotals([], 0)
  const premium = { id: 'premium_interactions', unlimited: false, percent_remaining: 37.4 }
  const account = { plan: 'individual', token_based_billing: false, quotas: [premium] }

  test.each([
    ['premium requests', account, 'premium 37 % left · today 0 req 0 in 0 out'],
    [
      'credits, and the day they start over',
      { ...account, token_based_billing: true, resets_at: '2026-12-01T00:00:00.000Z' },
      'credits 37 % left · resets Dec 1 · today 0 req 0 in 0 out',
    ],
    [
      'the chats of the free plan',
      {
        ...account,
        quotas: [
          { id: 'completions', unlimited: false, percent_remaining: 3 },
          { ...premium, id: 'chat' },
        ],
      },
      'chat 37 % left · today 0 req 0 in 0 out',
    ],
    ['no limit', { ...account, quotas: [{ id: 'chat', unlimited: true }] }, 'unlimited · today 0 req 0 in 0 out'],
    ['an account without quotas', { ...account, quotas: [] }, 'today 0 req 0 in 0 out'],
  ])('tells of %s', (_what, of, expected) => {
    expect(usageLine(of, none)).toBe(expected)
  })

  test('tells of credits that are in part an estimate', () => {
    const nowMs = Date.now()
    const estimate = { model: 'b', measuredNanoAiu: null, estimatedNanoAiu: 2e5 }
    const { today, ...others } = toTotals(
      [
        { ...tally, ...on(0) },
        { ...tally, ...on(0), ...estimate },
      ],
      nowMs,
    )
    expect(usageLine(undefined, { ...others, today })).toBe('today 24 req 68k in 10k out ~12.5 credits')
    expect(usageLine(undefined, { ...others, today: today.slice(0, 1) })).toBe(
      'today 12 req 34k in 5.1k out ~0.0002 credits',
    )
  })
})

describe('usage allow', () => {
  const body = JSON.stringify({ model: 'gpt-5-mini', messages: [{ role: 'user', content: 'hello' }] })

  test('lifts the budgets of the running daemon until midnight, with the owner token and not with a key', async () => {
    const user = await createUser()
    const proxy = await openProxy({
      file: 'server: { api-keys: [laptop-key] }\nusage: { credits-per-day: 0.000001 }',
      ownerTokenDir: user.home,
    })
    user.env['COPILOT_PROXY_SERVER_PORT'] = new URL(proxy.daemon.url).port
    user.env['COPILOT_PROXY_API_KEY'] = 'laptop-key'
    const ask = async () =>
      (await proxy.send('/v1/chat/completions', { body, headers: { authorization: 'Bearer laptop-key' } })).status
    expect([await ask(), await ask()]).toEqual([200, 429])
    expect((await user.run('usage')).stdout).toMatch(
      /^budget for today +\[#{20}\] \d+ % {2}.*used up: requests are refused/m,
    )

    const allowed = await user.run('usage allow')
    expect(allowed).toMatchObject({ code: 0, stderr: '' })
    expect(allowed.stdout).toMatch(
      /^Your budgets are lifted until midnight\. .*\nbudget for today .*, lifted until midnight\n$/,
    )
    expect(await ask()).toBe(200)
    expect(JSON.parse((await user.run('usage allow --json')).stdout)).toMatchObject({
      budgets: [{ period: 'day', state: 'lifted' }],
    })
    expect(JSON.parse((await user.run('usage --json')).stdout)).toMatchObject({ budgets: [{ state: 'lifted' }] })
  })

  test('without the token of the daemon, and without a daemon, it fails and says what to do', async () => {
    const user = await createUser()
    expect(await user.run('usage allow')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('copilot-proxy start'),
    })
    const proxy = await openProxy({ file: 'server: { api-keys: [laptop-key] }' })
    user.env['COPILOT_PROXY_SERVER_PORT'] = new URL(proxy.daemon.url).port
    user.env['COPILOT_PROXY_API_KEY'] = 'laptop-key'
    expect(await user.run('usage allow')).toMatchObject({ code: 1, stderr: expect.stringContaining('no token') })
  })

  test('a misspelt subcommand is refused', async () => {
    const user = await createUser()
    expect(await user.run('usage alow')).toMatchObject({ code: 2, stderr: expect.stringContaining('allow') })
  })
})
