import { describe, expect, onTestFinished, test } from 'vitest'
import { judgeDaemon } from '../../../src/commands/doctor/daemon-check.ts'
import type { DaemonFacts } from '../../../src/commands/doctor/daemon-check.ts'
import { listen } from '../../auth/support.ts'
import { openProxy } from '../../http/harness.ts'
import { copilotUser } from './logged-in.ts'

type Answer = Extract<DaemonFacts, { kind: 'answer' }>

function answered(change: Partial<Answer>): Answer {
  return {
    kind: 'answer',
    url: 'http://127.0.0.1:4141',
    starter: 'detach',
    reached: [],
    failures: [{ provider: 'copilot', reason: 'The host was not found.', worksHere: true }],
    differences: [{ name: 'HTTPS_PROXY', kind: 'missing' }],
    ...change,
  }
}

describe('the remedy', () => {
  test.each<readonly [string, Partial<Answer>, RegExp]>([
    ['of a background daemon', {}, /^Restart it from this shell: copilot-proxy restart$/],
    ['of a service', { starter: 'service' }, /^Install it again from this shell.*: copilot-proxy service install$/],
    ['of a daemon in a terminal', { starter: 'terminal' }, /start it from this shell: copilot-proxy serve$/],
    ['of a service whose environment is right', { starter: 'service', differences: [] }, /: copilot-proxy restart$/],
    ['of a daemon that may not say its environment', { differences: undefined }, /: copilot-proxy restart$/],
  ])('%s', (_what, change, fix) => {
    expect(judgeDaemon(answered(change))).toMatchObject([{ status: 'failed', fix: expect.stringMatching(fix) }])
  })

  test('what fails here too is left to the other checks, unless the environments differ', () => {
    const failures = [{ provider: 'copilot', reason: 'Offline.', worksHere: false }] as const
    expect(judgeDaemon(answered({ failures, differences: [] }))).toMatchObject([{ status: 'skipped' }])
    expect(judgeDaemon(answered({ failures }))).toMatchObject([{ status: 'failed' }])
  })
})

/** A user whose commands find a daemon that gives these answers. */
async function userOf(answers: Readonly<Record<string, readonly [status: number, body: unknown]>>) {
  const { user } = await copilotUser()
  const daemon = await listen((request, response) => {
    const [status, body] = answers[request.url ?? ''] ?? [404, { error: { message: 'Unknown path' } }]
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  })
  onTestFinished(() => daemon.close())
  user.env['COPILOT_PROXY_SERVER_PORT'] = new URL(daemon.url).port
  const { code, stdout } = await user.run('doctor --json')
  const { checks }: { readonly checks: readonly { readonly id: string }[] } = JSON.parse(stdout)
  return { code, rows: checks.filter(({ id }) => id === 'daemon') }
}

const health = { ok: true, copilot: 'ok', version: '0.0.0-test' }

test.each([
  ['an older daemon', { '/healthz': [200, health] }, 'skipped', /another version/],
  [
    'an older daemon without Copilot',
    { '/healthz': [200, { ...health, copilot: 'unavailable' }] },
    'warning',
    /It says that Copilot is unavailable/,
  ],
  ['one that refuses', { '/healthz': [200, health], '/self-check': [403, {}] }, 'skipped', /answered 403/],
  ['one that answers something else', { '/healthz': [200, health], '/self-check': [200, []] }, 'skipped', /version/],
  ['one that asks for a key', { '/healthz': [200, health], '/self-check': [401, {}] }, 'skipped', /needs a key/],
  ['a demo', { '/healthz': [200, { ...health, demo: true }] }, 'skipped', /--demo/],
] as const)('%s is no failure', async (_what, answers, status, detail) => {
  const { code, rows } = await userOf(answers)
  expect(code).toBe(0)
  expect(rows).toMatchObject([{ status, detail: expect.stringMatching(detail) }])
})

test('a daemon of another data folder says what it reaches, and not its environment', async () => {
  const { user } = await copilotUser()
  const { url } = await openProxy({ login: 'revoked', proxies: { NO_PROXY: 'other.example' } })
  user.env['COPILOT_PROXY_SERVER_PORT'] = new URL(url).port
  const { stdout } = await user.run('doctor --json')
  expect(stdout).toMatch(/cannot use Copilot: GitHub does not accept the token in COPILOT_GITHUB_TOKEN/)
  expect(stdout).not.toContain('differs')
})
