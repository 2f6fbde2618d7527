import { fc } from '../fast-check.ts'
import { describe, expect, test } from 'vitest'
import { ignoredProxy, isExempt, proxyFor, proxyPasswords, readProxies } from '../../src/config/proxy-variables.ts'
import { refused } from './loading.ts'

/** The proxies for both schemes, as `variable=url`. */
function proxiesOf(env: Readonly<Record<string, string>>) {
  const show = (url: string) => {
    const proxy = proxyFor(new URL(url), env)
    return proxy && `${proxy.variable}=${proxy.url}`
  }
  return { http: show('http://api.example'), https: show('https://api.example') }
}

const none = { http: undefined, https: undefined }
const both = (proxy: string) => ({ http: proxy, https: proxy })

describe('the proxies of the environment', () => {
  test.each([
    [{}, none],
    [{ HTTPS_PROXY: '', http_proxy: ' ' }, none],
    [{ HTTPS_PROXY: 'http://proxy.corp:3128' }, { ...none, https: 'HTTPS_PROXY=http://proxy.corp:3128/' }],
    [{ HTTPS_PROXY: 'http://proxy.corp:3128/' }, { ...none, https: 'HTTPS_PROXY=http://proxy.corp:3128/' }],
    [{ HTTPS_PROXY: 'proxy.corp:3128' }, { ...none, https: 'HTTPS_PROXY=http://proxy.corp:3128/' }],
    [{ HTTPS_PROXY: 'proxy' }, { ...none, https: 'HTTPS_PROXY=http://proxy/' }],
    [{ HTTPS_PROXY: '[::1]:3128' }, { ...none, https: 'HTTPS_PROXY=http://[::1]:3128/' }],
    [{ HTTPS_PROXY: ' HTTPS://proxy.corp ' }, { ...none, https: 'HTTPS_PROXY=https://proxy.corp/' }],
    [
      { http_proxy: 'a:1', HTTPS_PROXY: 'b:2' },
      { http: 'http_proxy=http://a:1/', https: 'HTTPS_PROXY=http://b:2/' },
    ],
    [{ HTTP_PROXY: 'a:1' }, both('HTTP_PROXY=http://a:1/')],
    [
      { https_proxy: 'lower:1', HTTPS_PROXY: 'upper:1' },
      { ...none, https: 'https_proxy=http://lower:1/' },
    ],
    // An empty variable counts as not set.
    [
      { https_proxy: '', HTTPS_PROXY: 'upper:1' },
      { ...none, https: 'HTTPS_PROXY=http://upper:1/' },
    ],
    [{ ALL_PROXY: 'all:1' }, both('ALL_PROXY=http://all:1/')],
    [
      { all_proxy: '', ALL_PROXY: 'all:1', HTTP_PROXY: 'a:1' },
      { http: 'HTTP_PROXY=http://a:1/', https: 'ALL_PROXY=http://all:1/' },
    ],
    [
      { all_proxy: 'socks5://all:1', https_proxy: 'a:1', http_proxy: 'a:1' },
      { http: 'http_proxy=http://a:1/', https: 'https_proxy=http://a:1/' },
    ],
    [{ ALL_PROXY: 'socks5h://all:1' }, none],
  ])('of %j are %j', (env, value) => {
    expect(proxiesOf(env)).toEqual(value)
  })

  test.each([
    [{ ALL_PROXY: 'socks5h://all:1' }, 'ALL_PROXY'],
    [{ all_proxy: 'SOCKS4://all:1', HTTPS_PROXY: '' }, 'all_proxy'],
    [{ ALL_PROXY: 'socks5://all:1', HTTPS_PROXY: 'a:1' }, undefined],
    [{ ALL_PROXY: 'http://all:1' }, undefined],
  ])('a SOCKS proxy is ignored only where nothing else names a proxy: %j', (env, ignored) => {
    expect(ignoredProxy(env)?.detail.split(' ', 1)[0]).toBe(ignored)
  })
})

/** What a proxy receives in `Proxy-Authorization`. */
function loginOf(text: string): readonly string[] | undefined {
  const proxy = proxyFor(new URL('https://api.example'), { HTTPS_PROXY: text })
  if (proxy === undefined) return undefined
  const { username, password, host } = new URL(proxy.url)
  return [decodeURIComponent(username), decodeURIComponent(password), host]
}

describe('the login of a proxy arrives as it is written', () => {
  test.each([
    ['http://CORP\\alice:secret@proxy:3128', ['CORP\\alice', 'secret']],
    ['http://alice:2024#Winter@proxy:3128', ['alice', '2024#Winter']],
    ['http://alice:p#w@proxy:3128', ['alice', 'p#w']],
    ['http://alice:a/b?c[d]@proxy:3128/', ['alice', 'a/b?c[d]']],
    ['http://alice:a b\t"c@proxy:3128', ['alice', 'a b\t"c']],
    ['http://alice:a:b@c@proxy:3128', ['alice', 'a:b@c']],
    ['http://alice:p%40w%23@proxy:3128', ['alice', 'p@w#']],
    ['CORP%5Calice:p@proxy:3128', ['CORP\\alice', 'p']],
    ['http://ålice:pässwörd🔑@proxy:3128', ['ålice', 'pässwörd🔑']],
    ['http://token@proxy:3128', ['token', '']],
    ['http://http://alice:p@proxy:3128', ['http', '//alice:p']],
  ])('%s', (text, login) => {
    expect(loginOf(text)).toEqual([...login, 'proxy:3128'])
  })

  test('every form of the password is known as a secret', () => {
    expect(proxyPasswords({ HTTPS_PROXY: 'http://alice:p%40w#2024@proxy:3128' })).toEqual([
      'p%40w%232024',
      'p@w#2024',
      'p%40w#2024',
    ])
  })

  test('for any characters', () => {
    const text = fc
      .string({ unit: 'grapheme', minLength: 1 })
      .filter((each) => each.isWellFormed() && !each.includes('%'))
    fc.assert(
      fc.property(text, text, (user, password) => {
        fc.pre(!user.includes(':'))
        const [gotUser, gotPassword] = loginOf(`http://${user}:${password}@proxy:3128`) ?? []
        expect([gotUser, gotPassword]).toEqual([user, password])
      }),
    )
  })
})

test.each(['http:/alice:secret@proxy', 'http:\\\\alice:secret@proxy', 'https:alice:secret@proxy'])(
  'a mistyped scheme is no login: %s',
  (text) => {
    const result = readProxies({ HTTPS_PROXY: text })
    expect(result).toMatchObject({ ok: false })
    expect(JSON.stringify(result)).not.toMatch(/alice|secret/)
  },
)

describe('NO_PROXY', () => {
  test.each([
    ['localhost,10.0.0.0/8', 'https://10.1.2.3/v1', true],
    ['localhost,10.0.0.0/8', 'https://11.1.2.3/v1', false],
    ['10.0.0.0/33', 'https://10.0.0.0/', false],
    ['10.0.0.0/x', 'https://10.0.0.0/', false],
    ['10.0.0.0/8', 'https://10.example/', false],
    ['10.0.0.0/8', 'https://[::ffff:10.1.2.3]/', true],
    ['10.1.2.3', 'https://10.1.2.3:8443/', true],
    ['10.1.2.3:443', 'https://10.1.2.3:8443/', false],
    ['0.1', 'https://10.0.0.1/', false],
    ['fd00::/8', 'https://[fd12::1]/', true],
    ['fd00::/8', 'https://[fe80::1]/', false],
    ['FD12:0::1', 'https://[fd12::1]/', true],
    ['[fd12::1]:8443', 'https://[fd12::1]:8443/', true],
    ['example.com', 'https://api.example.com/', true],
    ['.example.com', 'https://api.example.com/', true],
    ['*.example.com', 'https://example.com/', false],
    ['example.com', 'https://badexample.com/', false],
    ['Example.COM.', 'https://example.com/', true],
    ['example.com', 'https://example.com./', true],
    ['a b,,example.com', 'https://example.com/', true],
    ['*', 'https://10.1.2.3/', true],
    ['*', 'https://example.com/', true],
    ['*:80', 'https://example.com/', false],
    ['', 'https://example.com/', false],
  ])('%j for %s: %j', (list, url, exempt) => {
    for (const env of [{ NO_PROXY: list }, { no_proxy: list }, { no_proxy: '', NO_PROXY: list }]) {
      expect(isExempt(new URL(url), env)).toBe(exempt)
      expect(proxyFor(new URL(url), { ...env, HTTPS_PROXY: 'proxy:1' }) === undefined).toBe(exempt)
    }
  })
})

describe('a proxy that cannot be used', () => {
  const noAddress =
    'expected the address of a proxy such as http://proxy.example:3128, with a login http://user:password@proxy.example:3128'
  const otherKind = 'expected an http or https proxy: other kinds, such as SOCKS, are not supported'

  test.each([
    ['HTTPS_PROXY', 'http://', noAddress],
    ['https_proxy', '::::', noAddress],
    ['HTTP_PROXY', 'not a proxy', noAddress],
    ['HTTP_PROXY', 'proxy.corp:port', noAddress],
    ['HTTPS_PROXY', 'proxy.corp:99999', noAddress],
    ['http_proxy', 'socks5://proxy.corp:1080', otherKind],
    ['HTTPS_PROXY', 'ftp://proxy.corp', otherKind],
    ['ALL_PROXY', 'ftp://proxy.corp', otherKind],
    ['HTTPS_PROXY', 'http://alice:2024#Winter', noAddress],
    ['HTTPS_PROXY', 'http://proxy.corp:3128/path', noAddress],
    ['HTTPS_PROXY', 'http://proxy.corp?x', noAddress],
    ['HTTPS_PROXY', 'http://alice:50%off@proxy.corp:3128', 'write % as %25 in the user name and password'],
    ['HTTPS_PROXY', 'http://alice:%e9@proxy.corp:3128', 'write % as %25 in the user name and password'],
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
      const read = readProxies({ HTTPS_PROXY: pieces.join('') })
      if (!read.ok) expect(JSON.stringify(read.problems)).not.toContain('5150')
      else if (read.value.https !== undefined) expect(new URL(read.value.https.url).protocol).toBe('http:')
    }),
  )
})
