import { fc } from '../../fast-check.ts'
import { describe, expect, test } from 'vitest'
import {
  allowedBaseUrl,
  deriveCopilotBaseFromToken,
  endpointCandidates,
  stripCodexSuffix,
} from '../../../src/auth/copilot/endpoint.ts'
import { loadConfig } from '../../../src/config/load.ts'
import { exampleRecord } from '../support.ts'

const githubHosts = ['github.com', 'api.github.com']
const byDefault = 'https://api.githubcopilot.com'

describe('deriveCopilotBaseFromToken', () => {
  test.each([
    [
      'a plain hint',
      'tid=example;exp=1;proxy-ep=proxy.individual.githubcopilot.com;st=dotcom:00ab',
      'proxy.individual.githubcopilot.com',
    ],
    [
      'a hint with a scheme',
      'tid=example;proxy-ep=https://proxy.business.githubcopilot.com;st=dotcom:00ab',
      'proxy.business.githubcopilot.com',
    ],
    [
      'a hint with a scheme, path and port',
      'tid=example;proxy-ep=http://proxy.example.com/v1:00ab',
      'proxy.example.com',
    ],
    ['a port', 'proxy-ep=proxy.example.com:8443;st=dotcom:00ab', 'proxy.example.com'],
    ['the last pair, next to the signature', 'tid=example;proxy-ep=proxy.example.com:00ab', 'proxy.example.com'],
    ['upper case', 'proxy-ep=Proxy.Example.COM;x=1:00ab', 'proxy.example.com'],
    ['no signature', 'proxy-ep=proxy.example.com', 'proxy.example.com'],
    ['a space after the separator', 'tid=example; proxy-ep=proxy.example.com:00ab', 'proxy.example.com'],
  ])('takes the host from %s', (_what, token, host) => {
    expect(deriveCopilotBaseFromToken(token)).toBe(`https://${host}/backend-api/codex`)
  })

  test.each([
    ['no hint', 'tid=example;exp=1:00ab'],
    ['an empty token', ''],
    ['an empty hint', 'proxy-ep=;st=dotcom:00ab'],
    ['a hint after the signature', 'tid=example:00ab;proxy-ep=proxy.example.com'],
    ['user information', 'proxy-ep=user@proxy.example.com;st=dotcom:00ab'],
    ['a query', 'proxy-ep=proxy.example.com?x=1;st=dotcom:00ab'],
    ['another key that ends alike', 'not-proxy-ep=proxy.example.com:00ab'],
    ['letters outside ASCII', 'proxy-ep=próxy.example.com:00ab'],
    ['a trailing dot', 'proxy-ep=proxy.example.com.;x=1:00ab'],
  ])('gives nothing for %s', (_what, token) => {
    expect(deriveCopilotBaseFromToken(token)).toBeUndefined()
  })

  test('never throws, and what it gives is an https URL with the known path', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.string().map((text) => `tid=1;proxy-ep=${text}`),
        ),
        (token) => {
          const base = deriveCopilotBaseFromToken(token)
          if (base === undefined) return
          expect(new URL(base)).toMatchObject({
            protocol: 'https:',
            pathname: '/backend-api/codex',
            username: '',
            port: '',
          })
        },
      ),
    )
  })
})

describe('C14 allowedBaseUrl', () => {
  test.each([
    ['https://api.githubcopilot.com', 'https://api.githubcopilot.com'],
    ['https://API.GitHubCopilot.com/', 'https://api.githubcopilot.com'],
    ['https://githubcopilot.com', 'https://githubcopilot.com'],
    ['https://copilot-proxy.githubusercontent.com', 'https://copilot-proxy.githubusercontent.com'],
    ['https://copilot-api.octo.ghe.com///', 'https://copilot-api.octo.ghe.com'],
    ['https://copilot.api.github.com/v2/', 'https://copilot.api.github.com/v2'],
    ['https://api.githubcopilot.com:443', 'https://api.githubcopilot.com'],
    ['https://api.githubcopilot.com/backend-api/codex/', 'https://api.githubcopilot.com'],
    ['http://127.0.0.1:4199', 'http://127.0.0.1:4199'],
    ['http://localhost:4199/backend-api/codex', 'http://localhost:4199'],
    ['http://[::1]:4199', 'http://[::1]:4199'],
  ])('accepts %s', (given, base) => {
    expect(allowedBaseUrl(given, githubHosts)).toBe(base)
  })

  test.each([
    'https://githubcopilot.com.evil.example',
    'https://evilgithubcopilot.com',
    'https://evil.example/githubcopilot.com',
    'https://evil.example#.githubcopilot.com',
    'https://evil.example?.githubcopilot.com',
    'https://evil.example\\.githubcopilot.com',
    'https://api.githubcopilot.com@evil.example',
    'https://user:password@api.githubcopilot.com',
    'https://@api.githubcopilot.com',
    'https://api.githubcopilot.com:8443',
    'https://api.githubcopilot.com.',
    'http://api.githubcopilot.com',
    'ftp://api.githubcopilot.com',
    'ftp://127.0.0.1',
    'https://api.github\u0441opilot.com',
    'https://203.0.113.7',
    'https://[2001:db8::1]',
    'https://127.0.0.1.evil.example',
    'http://localhost.evil.example',
    'http://10.0.0.1',
    'api.githubcopilot.com',
    '//api.githubcopilot.com',
    'javascript:alert(1)',
    '',
  ])('refuses %s', (given) => {
    expect(allowedBaseUrl(given, githubHosts)).toBeUndefined()
  })
})

describe('stripCodexSuffix', () => {
  test.each([
    ['https://x.example/backend-api/codex', 'https://x.example'],
    ['https://x.example/backend-api/codex//', 'https://x.example'],
    ['https://x.example//', 'https://x.example'],
    ['https://x.example/a', 'https://x.example/a'],
    ['https://x.example/backend-api/codex-more', 'https://x.example/backend-api/codex-more'],
  ])('%s becomes %s', (given, stripped) => {
    expect(stripCodexSuffix(given)).toBe(stripped)
  })
})

describe('endpointCandidates', () => {
  const token = 'tid=example;proxy-ep=proxy.individual.githubcopilot.com:00ab'

  test('orders configuration, attributes, metadata, token hint and default', () => {
    const record = exampleRecord(
      { base_url: 'https://api.business.githubcopilot.com', access_token: token },
      { attributes: { base_url: 'https://api.enterprise.githubcopilot.com' } },
    )
    expect(endpointCandidates(record, { explicitBaseUrl: 'http://127.0.0.1:4199/', githubHosts })).toEqual({
      candidates: [
        'http://127.0.0.1:4199',
        'https://api.enterprise.githubcopilot.com',
        'https://api.business.githubcopilot.com',
        'https://api.individual.githubcopilot.com',
        byDefault,
      ],
      refused: [],
    })
  })

  test('turns a completions host into its chat sibling, in the hint and in what was stored', () => {
    const record = exampleRecord({
      base_url: 'https://proxy.business.githubcopilot.com/backend-api/codex',
      access_token: token,
    })
    expect(endpointCandidates(record, { githubHosts }).candidates).toEqual([
      'https://api.business.githubcopilot.com',
      'https://api.individual.githubcopilot.com',
      byDefault,
    ])
  })

  test.each([
    ['the record', { github_base_url: 'https://octo.ghe.com' }, githubHosts, 'https://copilot-api.octo.ghe.com'],
    ['its API', { github_api_base_url: 'https://api.octo.ghe.com' }, githubHosts, 'https://copilot-api.octo.ghe.com'],
    ['the configuration', {}, ['octo.ghe.com', 'api.octo.ghe.com'], 'https://copilot-api.octo.ghe.com'],
    ['github.com, whatever is configured', { github_base_url: 'https://github.com' }, ['octo.ghe.com'], byDefault],
    ['a lookalike', { github_base_url: 'https://octo.ghe.com.evil.example' }, githubHosts, byDefault],
  ])('ends with the tenant’s own host where GHE.com is named by %s', (_what, metadata, hosts, last) => {
    const record = exampleRecord({ ...metadata, base_url: 'https://api.business.githubcopilot.com' })
    expect(endpointCandidates(record, { githubHosts: hosts }).candidates).toEqual([
      'https://api.business.githubcopilot.com',
      last,
    ])
  })

  test('names each candidate once', () => {
    const record = exampleRecord(
      { base_url: `${byDefault}/`, access_token: 'proxy-ep=api.githubcopilot.com:00ab' },
      { attributes: { base_url: `${byDefault}/backend-api/codex` } },
    )
    expect(endpointCandidates(record, { explicitBaseUrl: '', githubHosts }).candidates).toEqual([byDefault])
  })

  test.each([
    'http://127.0.0.1:4199',
    'https://127.0.0.1',
    'http://localhost:4199',
    'http://[::1]:4199',
    'http://127.1:4199',
    'http://2130706433:4199',
  ])('C14 follows GitHub’s own words to %s only where GitHub is on this machine too', (base_url) => {
    const record = exampleRecord({ base_url })
    expect(endpointCandidates(record, { githubHosts })).toEqual({ candidates: [byDefault], refused: [base_url] })
    const { candidates, refused } = endpointCandidates(record, { githubHosts: ['127.0.0.1'] })
    expect({ first: candidates[0], refused }).toEqual({ first: new URL(base_url).origin, refused: [] })
  })

  test('C14 leaves out and reports what may not receive a token', () => {
    const record = exampleRecord({
      base_url: 'https://githubcopilot.com.evil.example',
      access_token: 'proxy-ep=203.0.113.7:00ab',
    })
    expect(endpointCandidates(record, { githubHosts })).toEqual({
      candidates: [byDefault],
      refused: ['https://githubcopilot.com.evil.example', 'https://203.0.113.7/backend-api/codex'],
    })
  })

  test('has every `copilot.base-url` that the configuration accepts as its first candidate', () => {
    const host = fc.constantFrom('api.githubcopilot.com', 'octo.ghe.com', 'github.com', '127.0.0.1', 'evil.example', '')
    const piece = fc.oneof(
      host,
      fc.constantFrom('https://', 'http://', '/', '\\', ':1', ':443', '@', '%', '.', 'a', '/backend-api/codex'),
    )
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 5 }), (pieces) => {
        const env = { COPILOT_PROXY_COPILOT_BASE_URL: `https://${pieces.join('')}` }
        const settings = loadConfig({ file: undefined, env, flags: [] })
        if (!settings.ok) return
        const explicitBaseUrl = settings.value.copilot.baseUrl
        const { candidates, refused } = endpointCandidates(exampleRecord(), { explicitBaseUrl, githubHosts })
        expect({ refused, first: candidates[0] }).toEqual({
          refused: [],
          first: allowedBaseUrl(explicitBaseUrl, githubHosts),
        })
      }),
      { numRuns: 500 },
    )
  })

  test('allows the configured GitHub hosts on a label boundary only', () => {
    const hosts = ['git.corp.example']
    expect(allowedBaseUrl('https://copilot.git.corp.example', hosts)).toBe('https://copilot.git.corp.example')
    expect(allowedBaseUrl('https://evilgit.corp.example', hosts)).toBeUndefined()
  })
})
