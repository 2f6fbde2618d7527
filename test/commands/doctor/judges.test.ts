import { describe, expect, test } from 'vitest'
import type { CodexLoginStatus } from '../../../src/auth/codex/credentials.ts'
import type { ExchangeOutcome } from '../../../src/auth/copilot/github-api.ts'
import type { CopilotAccount, Quota } from '../../../src/auth/copilot/quota.ts'
import {
  judgeCodexEntitlement,
  judgeCodexLogin,
  judgeCodexToken,
  judgeCopilotEntitlement,
  judgeCopilotLogin,
  judgeCopilotToken,
  judgeModels,
} from '../../../src/commands/doctor/account-checks.ts'
import type { ListingOutcome } from '../../../src/models/try-list.ts'
import type { Finding, Findings } from '../../../src/commands/doctor/check.ts'
import {
  judgeConfig,
  judgeFiles,
  judgeRuntime,
  judgeClock,
  judgeNetwork,
  judgeOpenness,
  judgePort,
  judgeTls,
  judgeTrust,
} from '../../../src/commands/doctor/machine-checks.ts'
import type { PortFacts } from '../../../src/commands/doctor/machine-checks.ts'
import type { Probe, ProbeStage } from '../../../src/commands/doctor/probe.ts'
import type { ProxyError } from '../../../src/errors.ts'
import { toCopilotModel } from '../../../src/models/copilot-model.ts'
import type { CodexState } from '../../../src/daemon/login-status.ts'
import type { DaemonHealth } from '../../../src/commands/shared/find-daemon.ts'

/** `failed: what / fix`, a line for each. */
function lines(findings: Findings): readonly string[] {
  return findings.map((finding) =>
    'fix' in finding ? `${finding.status}: ${finding.detail} / ${finding.fix}` : `${finding.status}: ${finding.detail}`,
  )
}

function only(findings: Findings): string {
  expect(findings).toHaveLength(1)
  return lines(findings)[0] ?? ''
}

const about = { isSecure: true, proxy: undefined } as const
const reached = (host: string, aheadMs = 0): Probe => ({ ...about, host, kind: 'reached', aheadMs })
const broken = (host: string, stage: ProbeStage, code: string, reason = 'it broke'): Probe => ({
  ...about,
  host,
  kind: 'failed',
  stage,
  code,
  reason,
})
const through = <P extends Probe>(probe: P): P => ({
  ...probe,
  proxy: { variable: 'HTTPS_PROXY', address: 'http://proxy.example:3128' },
})

describe('network', () => {
  test.each<readonly [Probe, RegExp]>([
    [
      broken('a.example', 'lookup', 'ENOTFOUND'),
      /^failed: Cannot reach a\.example: it broke \/ .*DNS.*: curl -vI https:\/\/a\.example\/$/,
    ],
    [
      broken('a.example', 'connect', 'ECONNREFUSED'),
      /^failed: Cannot reach a\.example: it broke \/ Check the firewall.*: curl -vI https:\/\/a\.example\/$/,
    ],
    [
      through(broken('a.example', 'proxy', '407', 'it answered 407: its login is missing')),
      /through the proxy http:\/\/proxy\.example:3128 \(HTTPS_PROXY\): it answered 407: its login is missing \/ Add the login of the proxy to HTTPS_PROXY.*: curl -vI https:\/\/a\.example\/$/,
    ],
    [
      through(broken('a.example', 'proxy', '403', 'it answered 403 and opened no connection')),
      /it answered 403 and opened no connection \/ Ask the administrator of the proxy .*: curl -vI https:\/\/a\.example\/$/,
    ],
    [
      through(broken('a.example', 'proxy', '407', 'it asks for NTLM, which copilot-proxy does not support')),
      / \/ Start such a local proxy and set HTTPS_PROXY to its address$/,
    ],
    [
      through(broken('a.example', 'proxy', 'ECONNREFUSED')),
      / \/ Set HTTPS_PROXY to a working proxy, or run: unset HTTPS_PROXY$/,
    ],
    [
      broken('a.example', 'answer', 'HPE_INVALID_CONSTANT'),
      /^failed: Unexpected answer from a\.example: it broke \/ Check whether .*: curl -vI https:\/\/a\.example\/$/,
    ],
    // Found out by the check of TLS.
    [broken('a.example', 'tls', 'CERT_HAS_EXPIRED'), /^ok: /],
    [reached('a.example'), /^ok: a\.example reachable$/],
    [through(reached('a.example')), /^ok: a\.example reachable through the proxy http:\/\/proxy\.example:3128/],
  ])('%j', (probe, expected) => {
    expect(only(judgeNetwork([probe], 'linux'))).toMatch(expected)
  })

  test('every host that cannot be reached is a finding of its own', () => {
    const probes = [
      broken('a.example', 'lookup', 'ENOTFOUND'),
      reached('b.example'),
      broken('c.example', 'connect', ''),
    ]
    expect(judgeNetwork(probes, 'linux')).toMatchObject([{ host: 'a.example' }, { host: 'c.example' }])
  })
})

/** The commands that fixes end in. */
function commandsOf(platform: NodeJS.Platform): readonly string[] {
  return [
    judgeNetwork([broken('a.example', 'connect', 'ECONNREFUSED')], platform),
    judgeTls([broken('a.example', 'tls', 'SELF_SIGNED_CERT_IN_CHAIN')], platform),
    judgeTrust({ rejectUnauthorized: '0', extra: undefined }, platform),
    judgeClock([reached('a.example', 900_000)], platform),
  ].flatMap(([finding]) => ('fix' in finding ? (finding.fix.split(': ').at(-1) ?? '') : []))
}

test('the command is one of this system', () => {
  expect(commandsOf('linux')).toEqual([
    'curl -vI https://a.example/',
    'export NODE_EXTRA_CA_CERTS=FILE.pem',
    'unset NODE_TLS_REJECT_UNAUTHORIZED',
    'sudo timedatectl set-ntp true',
  ])
  expect(commandsOf('darwin').at(-1)).toBe('sudo systemsetup -setusingnetworktime on')
  expect(commandsOf('win32')).toEqual([
    'curl.exe -vI https://a.example/',
    "$env:NODE_EXTRA_CA_CERTS='FILE.pem'",
    'Remove-Item Env:NODE_TLS_REJECT_UNAUTHORIZED',
    'w32tm /resync',
  ])
})

describe('TLS', () => {
  test.each([
    ['DEPTH_ZERO_SELF_SIGNED_CERT', /NODE_EXTRA_CA_CERTS/],
    ['SELF_SIGNED_CERT_IN_CHAIN', /NODE_EXTRA_CA_CERTS/],
    ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', /NODE_EXTRA_CA_CERTS/],
    ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', /NODE_EXTRA_CA_CERTS/],
    [
      'CERT_HAS_EXPIRED',
      /Set the clock: sudo timedatectl set-ntp true\. If it is right already, a\.example needs a new certificate$/,
    ],
    ['CERT_NOT_YET_VALID', /Set the clock/],
    [
      'ERR_TLS_CERT_ALTNAME_INVALID',
      /Check whether .* answers instead of a\.example\. To test: curl -vI https:\/\/a\.example\/$/,
    ],
    ['ERR_SSL_WRONG_VERSION_NUMBER', /Check whether .* changes TLS connections to a\.example\. To test: curl -vI /],
  ])('%s', (code, fix) => {
    const line = only(judgeTls([broken('a.example', 'tls', code), reached('b.example')], 'linux'))
    expect(line).toMatch(/^failed: a\.example: it broke \/ /)
    expect(line).toMatch(fix)
  })

  test('speaks of what was verified only', () => {
    const plain = { ...reached('127.0.0.1:1'), isSecure: false }
    expect(only(judgeTls([reached('a.example'), plain], 'linux'))).toBe('ok: Valid certificates from a.example')
    expect(only(judgeTls([plain], 'linux'))).toMatch(/^ok: Not used/)
    expect(only(judgeTls([broken('a.example', 'lookup', 'ENOTFOUND')], 'linux'))).toMatch(/^skipped: /)
  })

  test('what the environment changes about it', () => {
    expect(only(judgeTrust({ rejectUnauthorized: undefined, extra: undefined }, 'linux'))).toBe(
      'ok: Certificates are checked',
    )
    expect(only(judgeTrust({ rejectUnauthorized: '1', extra: undefined }, 'linux'))).toBe(
      'ok: Certificates are checked',
    )
    expect(only(judgeTrust({ rejectUnauthorized: '0', extra: undefined }, 'linux'))).toMatch(
      /^warning: .* \/ .*, then run: unset NODE_TLS_REJECT_UNAUTHORIZED$/,
    )
    expect(
      only(judgeTrust({ rejectUnauthorized: undefined, extra: { path: '/ca.pem', problem: undefined } }, 'linux')),
    ).toMatch(/^ok: .*\/ca\.pem/)
    expect(
      only(
        judgeTrust({ rejectUnauthorized: undefined, extra: { path: '/ca.pem', problem: 'is not readable' } }, 'linux'),
      ),
    ).toMatch(/^failed: NODE_EXTRA_CA_CERTS: \/ca\.pem is not readable \/ Set NODE_EXTRA_CA_CERTS/)
  })
})

describe('clock', () => {
  test.each([
    [0, /^ok: Same time as a\.example$/],
    [-59_000, /^ok/],
    [61_000, /^warning: 1 min ahead of a\.example \/ Set the clock/],
    [-200_000, /^warning: 3 min behind a\.example/],
    [301_000, /^failed: 5 min ahead of/],
    [-86_400_000, /^failed: 1 d behind/],
  ])('%i ms ahead', (aheadMs, expected) => {
    expect(only(judgeClock([reached('a.example', aheadMs)], 'linux'))).toMatch(expected)
  })

  test('one host that is right is enough, and one that tells nothing is not asked', () => {
    expect(only(judgeClock([reached('a.example', 900_000), reached('b.example', 10)], 'linux'))).toBe(
      'ok: Same time as b.example',
    )
    const timeless: Probe = { ...about, host: 'a.example', kind: 'reached', aheadMs: undefined }
    expect(only(judgeClock([timeless, broken('b.example', 'tls', '')], 'linux'))).toMatch(/^skipped/)
  })
})

test('every problem of the configuration is a finding that names place and key', () => {
  const problem = {
    source: { kind: 'file', path: '/c.yaml', line: 3, column: 5 },
    key: 'server.port',
    detail: 'no',
  } as const
  const findings = judgeConfig({ kind: 'invalid', problems: [problem, { ...problem, key: '' }] }, 'linux')
  expect(lines(findings)).toEqual([
    'failed: /c.yaml:3:5  server.port  no / Fix server.port in /c.yaml:3:5. To check: copilot-proxy config check',
    'failed: /c.yaml:3:5  no / Fix it in /c.yaml:3:5. To check: copilot-proxy config check',
  ])
})

test.each([
  [false, 'open_to_others', /^warning: loose \/ Run: chmod 600 \/x$/],
  [true, 'open_to_others', /^failed: /],
  [false, 'foreign_owner', /^failed: /],
  [false, 'wrong_kind', /^failed: /],
] as const)('strict permissions: %s, a file with the problem %s', (strict, problem, expected) => {
  const logins = [{ path: '/x', problem, detail: 'loose', fix: 'chmod 600 /x' }]
  expect(only(judgeFiles({ authDir: '/auth', logins, exposedConfig: undefined, strict }))).toMatch(expected)
})

describe('login', () => {
  test('nobody at all is a failure of its own kind, nobody at one of two is none', () => {
    const nobody = { login: undefined, problem: undefined }
    expect(judgeCopilotLogin(nobody, false)).toEqual([
      { status: 'failed', detail: 'Not logged in', fix: 'Run: copilot-proxy login', nobody: true },
    ])
    expect(only(judgeCopilotLogin(nobody, true))).toMatch(/^skipped: /)
    expect(only(judgeCopilotLogin({ ...nobody, problem: 'd' }, false))).toMatch(/^failed: d \/ .*copilot-proxy login$/)
  })

  test.each<readonly [CodexState, RegExp]>([
    [{ kind: 'off' }, /^skipped: Off/],
    [{ kind: 'problem', sentence: 's', detail: 'd', fix: 'f' }, /^failed: d \/ f$/],
    [{ kind: 'nobody', detail: 'd', fix: 'f', isChosen: true }, /^failed: d \/ f$/],
    [{ kind: 'nobody', detail: 'd', fix: 'f', isChosen: false }, /^skipped: .*copilot-proxy login codex$/],
  ])('of Codex: %j', (state, expected) => {
    expect(only(judgeCodexLogin(state))).toMatch(expected)
  })
})

const given: ExchangeOutcome = { kind: 'ok', token: 'example', expiresAtSeconds: 9, refreshInSeconds: 1500 }

test.each<readonly [ExchangeOutcome, RegExp]>([
  [given, /^ok: .* for 25 min$/],
  [{ ...given, direct: true }, /^ok: .* sends it directly to Copilot/],
  [{ kind: 'bad_credentials', detail: 'no', fix: 'Log in' }, /^failed: no \/ Log in$/],
  [{ kind: 'not_available', detail: 'no', fix: 'Log in' }, /^failed: no \/ Log in$/],
  [{ kind: 'no_access', detail: 'no', fix: 'Pay' }, /^skipped: /],
  [{ kind: 'rate_limited', detail: 'slow', retryAfterSeconds: 9 }, /^warning: slow \/ Wait 9 s and/],
  [{ kind: 'rate_limited', detail: 'slow' }, /^warning: slow \/ Wait a moment/],
  [{ kind: 'transient', detail: 'hm', timedOut: false }, /^failed: hm \/ Wait a moment/],
  [{ kind: 'redirected', detail: 'hm' }, /^failed: hm \/ Sign in to this network/],
])('an exchange that ended as %j', (outcome, expected) => {
  expect(only(judgeCopilotToken(outcome))).toMatch(expected)
})

const judgePlan = (exchange: ExchangeOutcome, change: Partial<CopilotAccount> = {}): string => {
  const account: CopilotAccount = { plan: 'individual', tokenBasedBilling: false, quotas: [], ...change }
  return only(judgeCopilotEntitlement(exchange, { kind: 'ok', account }))
}

const quota = (
  id: string,
  remaining: number,
  more: Partial<Quota> = {},
): Pick<CopilotAccount, 'quotas' | 'resetsAt'> => ({
  quotas: [{ id, unlimited: false, entitlement: 300, remaining, ...more }],
  resetsAt: '2026-12-01T00:00:00.000Z',
})

describe('plan of Copilot', () => {
  test('no seat', () => {
    expect(judgePlan({ kind: 'no_access', detail: 'This account has no plan.', fix: 'Start one' })).toBe(
      'failed: This account has no plan. / Start one',
    )
    expect(judgePlan({ kind: 'transient', detail: '', timedOut: true })).toMatch(/^skipped/)
  })

  test('is unknown for a login that GitHub reports nothing about', () => {
    const account = { kind: 'not_available', detail: 'no', fix: 'no' } as const
    const untold = 'plan and quota are unknown, because GitHub does not report them for this login'
    expect(only(judgeCopilotEntitlement(given, account))).toBe(`ok: Copilot is enabled; ${untold}`)
    const exchange = { ...given, direct: true } as const
    expect(only(judgeCopilotEntitlement(exchange, account))).toBe(`ok: P${untold.slice(1)}`)
  })

  test.each<readonly [Pick<CopilotAccount, 'quotas'>, RegExp]>([
    [quota('premium_interactions', 12.4), /^ok: Copilot Pro; 12 of 300 premium requests left$/],
    [quota('premium_interactions', 0), /^warning: .*premium requests are used up.* \/ Wait until 2026-12-01/],
    [quota('premium_interactions', -3, { overagePermitted: true }), /^ok/],
    [quota('premium_interactions', 0, { unlimited: true }), /^ok/],
    [quota('chat', 0), /^failed: .*chat quota is used up \/ Wait until/],
    [quota('completions', 0), /^ok/],
  ])('%j', (change, expected) => {
    expect(judgePlan(given, change)).toMatch(expected)
  })
})

const model = (id: string, state?: string) =>
  toCopilotModel({ id, capabilities: { type: 'chat' }, ...(state && { policy: { state } }) })
const judgeOutcome = (outcome: ListingOutcome): string => only(judgeModels(outcome, 'copilot'))
const listed = (...models: readonly ReturnType<typeof model>[]): ListingOutcome => ({
  kind: 'listed',
  listing: { models, leftOut: 0 },
})

describe('models', () => {
  test('those that a policy keeps away are named, with the page that helps', () => {
    expect(
      judgeOutcome(listed(model('a'), model('b', 'disabled'), model('c', 'disabled'), model('c', 'enabled'))),
    ).toMatch(
      /^warning: 2 chat models; disabled by a policy: b \/ .*https:\/\/github\.com\/settings\/copilot\/features/,
    )
    expect(judgeOutcome(listed(model('b', 'disabled')))).toMatch(/^failed: 0 chat models/)
    expect(judgeOutcome(listed(model('b', 'pending')))).toMatch(/^failed: 0 chat models; disabled by a policy: b /)
    expect(judgeOutcome(listed(model('a')))).toBe('ok: 1 chat model')
    expect(judgeOutcome(listed())).toMatch(/^skipped/)
  })

  test('a long list is cut', () => {
    const many = Array.from({ length: 20 }, (_, at) => model(`m${at}`, 'disabled'))
    expect(judgeOutcome(listed(model('a'), ...many))).toContain('m7 and 12 more')
  })

  test('no list', () => {
    expect(judgeOutcome({ kind: 'unusable' })).toMatch(/^failed: Copilot did not answer with a model list/)
    expect(judgeOutcome({ kind: 'fault', error: { kind: 'upstream_truncated' } })).toMatch(
      /^failed: .+ \/ Wait a moment/,
    )
  })
})

const status: CodexLoginStatus = { state: 'ok', detail: '', fix: '', source: 'login', plan: 'plus' }
const answer = (error: ProxyError | undefined, more: Partial<CodexLoginStatus> = {}) => ({
  outcome:
    error === undefined
      ? ({ kind: 'listed', listing: { models: [], leftOut: 0 } } as const)
      : ({ kind: 'fault', error } as const),
  status: { ...status, ...more },
})
const refused = (code: number): ProxyError => ({ kind: 'upstream_status', status: code, message: 'no' })

describe('login of Codex', () => {
  test.each<readonly [ProxyError | undefined, RegExp, RegExp]>([
    [undefined, /^ok: OpenAI accepts the login; the token is valid for 9 d/, /^ok: ChatGPT plan plus$/],
    [{ kind: 'codex_unavailable', detail: 'over', fix: 'Log in' }, /^failed: over \/ Log in$/, /^skipped/],
    [refused(401), /^failed: .* \/ Run: copilot-proxy login codex$/, /^skipped/],
    [refused(403), /^ok/, /^failed: .* \/ Log in with another account/],
    [refused(429), /^ok/, /^warning: .* \/ Wait until/],
    [refused(500), /^skipped/, /^skipped/],
  ])('%j', (error, token, plan) => {
    const result = answer(error, { expiresAtMs: 10 * 86_400_000 })
    expect(only(judgeCodexToken(result, 86_400_000 - 1000))).toMatch(token)
    expect(only(judgeCodexEntitlement(result))).toMatch(plan)
  })

  test('each kind of login is renewed in its own way', () => {
    const fix = (source: CodexLoginStatus['source']): string =>
      only(judgeCodexToken(answer(refused(401), { ...(source && { source }) }), 0))
    expect(fix('api-key')).toContain('Set codex.api-key')
    expect(fix('codex-cli')).toContain('Run: codex login')
    expect(only(judgeCodexEntitlement(answer(undefined, { source: 'api-key' })))).toMatch(/^ok: Billed to/)
  })
})

const free = { code: undefined, daemon: undefined, listener: { kind: 'unknown' }, version: '1.0.0' } as const
const nginx = { kind: 'process', pid: 7, name: 'nginx' } as const
/** A daemon on the configured port, unless `url` is another one. */
const ours = (change: Partial<DaemonHealth> = {}, url = 'http://127.0.0.1:4141') => ({
  url,
  health: { ok: true, copilot: 'ok', codex: 'ok', version: '1.0.0', demo: false, isConfigRefused: false, ...change },
})
const elsewhere = 'http://127.0.0.1:5000'

test.each<readonly [Partial<PortFacts>, RegExp]>([
  [{}, /^ok: 4141 is free; copilot-proxy is not running$/],
  [{ port: 0 }, /^ok: Each start picks a free port; copilot-proxy is not running$/],
  [{ daemon: ours() }, /^ok: copilot-proxy 1\.0\.0 runs on port 4141$/],
  [{ daemon: ours({ version: '0.9.0' }) }, /^warning: .*0\.9\.0.*, but version 1\.0\.0 is installed/],
  [{ daemon: ours({ demo: true }) }, /^warning: .*on port 4141 .*simulated/],
  [
    { daemon: ours({ isConfigRefused: true }) },
    /^warning: .*older settings, because the configuration file is empty or invalid \/ .*copilot-proxy config check$/,
  ],
  [{ daemon: ours({}, elsewhere) }, /^ok: copilot-proxy 1\.0\.0 runs in the background at http:\/\/127\.0\.0\.1:5000$/],
  [{ daemon: ours({ version: '0.9.0' }, elsewhere) }, /^warning: .*in the background at .*1\.0\.0 is installed/],
  [
    { code: 'EADDRINUSE', listener: nginx, daemon: ours({}, elsewhere) },
    /^failed: .*nginx \(process 7\) \/ Use a free port: copilot-proxy serve --port 0/,
  ],
  [{ code: 'EADDRINUSE' }, /^failed: Port 4141 is in use by another program/],
  [{ code: 'EACCES' }, /^failed: You are not allowed to listen/],
  [{ code: 'EADDRNOTAVAIL' }, /^failed: .*not an address of this machine \/ Set server\.host/],
  [{ code: 'EMFILE' }, /^failed: .*EMFILE/],
])('a port with %j', (change, expected) => {
  expect(only(judgePort({ host: '127.0.0.1', port: 4141, ...free, ...change }))).toMatch(expected)
})

test.each([
  ['keys', 'ok: Every caller needs a key'],
  ['own-user', 'ok: Only programs of your user and root can call copilot-proxy without a key'],
  [
    'switched-off',
    /^warning: .*every user of this machine.*server\.check-peer is false \/ .*copilot-proxy key add NAME$/,
  ],
  [
    'not-shown',
    /^warning: .*every user of this machine.*does not show which user calls \/ .*copilot-proxy key add NAME$/,
  ],
] as const)('callers: %s', (openness, expected) => {
  expect(only(judgeOpenness(openness))).toMatch(expected)
})

test.each([
  ['v24.21.0', /^ok: Node\.js v24\.21\.0$/],
  ['v24.0.0', /^warning: Node\.js v24\.0\.0 has known vulnerabilities \/ Update to 24\.[\d.]+ or newer$/],
  ['v20.20.2', /^warning: Node\.js 20 no longer gets security fixes \/ Install Node\.js 24 or newer$/],
])('Node.js %s', (version, expected) => {
  expect(only(judgeRuntime(version))).toMatch(expected)
})

test('every failed check has a fix', () => {
  // @ts-expect-error a failed finding needs a fix
  const finding: Finding = { status: 'failed', detail: 'broken' }
  expect(finding.status).toBe('failed')
})
