import { expect, test } from 'vitest'
import { compareNetworks, fingerprints, hasOtherOptions, networkVariables } from '../../src/config/network-variables.ts'

const workingDir = (): string => '/srv/app'
const gone = (): never => {
  throw new Error('gone')
}

test('the variables of both spellings are kept, empty ones and others are not', () => {
  const env = {
    https_proxy: 'http://ada:secret@p.example:1',
    HTTPS_PROXY: ' http://q.example ',
    ALL_PROXY: 'socks5://p.example',
    no_proxy: '',
    NO_PROXY: 'localhost',
    NODE_USE_SYSTEM_CA: '1',
    PATH: '/bin',
    HOME: '/home/ada',
  }
  expect(networkVariables(env, workingDir)).toEqual({
    https_proxy: 'http://ada:secret@p.example:1',
    HTTPS_PROXY: 'http://q.example',
    ALL_PROXY: 'socks5://p.example',
    NO_PROXY: 'localhost',
    NODE_USE_SYSTEM_CA: '1',
  })
})

test('paths are absolute, because another process starts in another folder', () => {
  const env = { NODE_EXTRA_CA_CERTS: 'company.pem', SSL_CERT_FILE: '/etc/all.pem', SSL_CERT_DIR: 'certs:/etc/ssl' }
  expect(networkVariables(env, workingDir)).toEqual({
    NODE_EXTRA_CA_CERTS: '/srv/app/company.pem',
    SSL_CERT_FILE: '/etc/all.pem',
    SSL_CERT_DIR: '/srv/app/certs:/etc/ssl',
  })
})

test('a folder that is gone is no error', () => {
  for (const path of ['/etc/all.pem', 'all.pem']) {
    expect(networkVariables({ SSL_CERT_FILE: path }, gone)).toEqual({ SSL_CERT_FILE: path })
  }
})

test.each([
  ['--use-system-ca', '--use-system-ca', false],
  ['--use_openssl_ca --max-old-space-size=4096', '--use_openssl_ca', true],
  ['--import "data:text/javascript,a b" --tls-min-v1.3', '--tls-min-v1.3', true],
  ['--dns-result-order ipv4first --inspect', '--dns-result-order ipv4first', true],
  ['"--openssl-config=/etc/my ssl.cnf"', '"--openssl-config=/etc/my ssl.cnf"', false],
  ['--require /opt/apm.js', undefined, true],
  ['--no-network-family-autoselection', '--no-network-family-autoselection', false],
  ['--network-family-autoselection-attempt-timeout=500', '--network-family-autoselection-attempt-timeout=500', false],
  ['', undefined, false],
])('of NODE_OPTIONS=%s, the network has %s', (text, kept, hasOther) => {
  expect(networkVariables({ NODE_OPTIONS: text }, workingDir)['NODE_OPTIONS']).toBe(kept)
  expect(hasOtherOptions({ NODE_OPTIONS: text })).toBe(hasOther)
})

const hash = (text: string): string => `#${text.length}`
const taken = (env: Readonly<Record<string, string>>) => fingerprints(networkVariables(env, workingDir), hash)

test.each([
  [{ HTTPS_PROXY: 'a' }, {}, [{ name: 'HTTPS_PROXY', kind: 'missing' }]],
  [{}, { no_proxy: 'a' }, [{ name: 'no_proxy', kind: 'extra' }]],
  [{ HTTPS_PROXY: 'a' }, { HTTPS_PROXY: 'ab' }, [{ name: 'HTTPS_PROXY', kind: 'other' }]],
  // The same setting in the other spelling.
  [{ HTTPS_PROXY: 'a' }, { https_proxy: 'a' }, []],
  // The lower-case one counts.
  [{ https_proxy: 'a', HTTPS_PROXY: 'ab' }, { https_proxy: 'a' }, []],
  [{ https_proxy: 'ab', HTTPS_PROXY: 'a' }, { HTTPS_PROXY: 'a' }, [{ name: 'https_proxy', kind: 'other' }]],
  // The same values in another form.
  [{ HTTPS_PROXY: 'http://proxy:9/' }, { HTTPS_PROXY: 'proxy:9' }, []],
  [{ NO_PROXY: 'a, b' }, { NO_PROXY: 'a,b' }, []],
  [{ NODE_OPTIONS: '--inspect' }, {}, []],
])('%j differs from %j', (own, other, differences) => {
  expect(compareNetworks(taken(own), taken(other))).toEqual(differences)
})
