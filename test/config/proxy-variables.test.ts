import { fc } from '../fast-check.ts'
import { describe, expect, test } from 'vitest'
import { readProxyUrls } from '../../src/config/proxy-variables.ts'
import { refused } from './loading.ts'

describe('the proxies of the environment', () => {
  test.each([
    [{}, {}],
    [{ HTTPS_PROXY: '', http_proxy: ' ' }, {}],
    [{ HTTPS_PROXY: 'http://proxy.corp:3128' }, { https: 'http://proxy.corp:3128/' }],
    [{ HTTPS_PROXY: 'proxy.corp:3128' }, { https: 'http://proxy.corp:3128/' }],
    [{ HTTPS_PROXY: 'proxy' }, { https: 'http://proxy/' }],
    [{ HTTPS_PROXY: '[::1]:3128' }, { https: 'http://[::1]:3128/' }],
    [{ HTTPS_PROXY: 'ada:p%40ss@proxy.corp:3128' }, { https: 'http://ada:p%40ss@proxy.corp:3128/' }],
    [{ HTTPS_PROXY: ' HTTPS://proxy.corp ' }, { https: 'https://proxy.corp/' }],
    [
      { http_proxy: 'a:1', HTTPS_PROXY: 'b:2' },
      { http: 'http://a:1/', https: 'http://b:2/' },
    ],
    [{ https_proxy: 'lower:1', HTTPS_PROXY: 'upper:1' }, { https: 'http://lower:1/' }],
    [{ https_proxy: '', HTTPS_PROXY: 'upper:1' }, {}],
  ])('of %j are %j', (env, value) => {
    expect(readProxyUrls(env)).toEqual({ ok: true, value })
  })
})

describe('a proxy that cannot be used', () => {
  const noAddress = 'expected the address of a proxy such as http://proxy.example:3128'
  const otherKind = 'expected an http or https proxy: other kinds are not supported'

  test.each([
    ['HTTPS_PROXY', 'http://', noAddress],
    ['https_proxy', '::::', noAddress],
    ['HTTP_PROXY', 'not a proxy', noAddress],
    ['HTTP_PROXY', 'proxy.corp:port', noAddress],
    ['HTTPS_PROXY', 'proxy.corp:99999', noAddress],
    ['http_proxy', 'socks5://proxy.corp:1080', otherKind],
    ['HTTPS_PROXY', 'ftp://proxy.corp', otherKind],
    ['HTTPS_PROXY', 'http://ada:100%@proxy.corp:3128', 'write % as %25 in the user name and password'],
  ])('makes the configuration invalid: %s=%s', (name, text, detail) => {
    expect(refused({ env: { [name]: text } })).toBe(`${name}  ${detail}`)
  })

  test('is reported together with all other errors', () => {
    const env = { HTTPS_PROXY: '::::', COPILOT_PROXY_SERVER_PORT: 'x' }
    expect(refused({ env, file: 'log: {level: loud}' }).split('\n')).toEqual([
      `HTTPS_PROXY  ${noAddress}`,
      expect.stringMatching(/^COPILOT_PROXY_SERVER_PORT /),
      expect.stringMatching(/^config\.yaml:1:14 /),
    ])
  })
})

test('any text is a proxy or a problem that does not repeat it', () => {
  const piece = fc.constantFrom('http://', 'socks5://', 'secret5150', ':', '@', '%', '%25', '.', '[', ' ', '/', '3128')
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
      const read = readProxyUrls({ HTTPS_PROXY: pieces.join('') })
      if (!read.ok) expect(JSON.stringify(read.problems)).not.toContain('5150')
      else if (read.value.https !== undefined) expect(new URL(read.value.https).protocol).toBe('http:')
    }),
  )
})
