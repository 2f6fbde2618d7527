import { expect, test } from 'vitest'
import { ProxyFailure, describeConnectionFailure } from '../../src/auth/connection-failure.ts'

/** As fetch throws it. */
function failedFetch(code: unknown): Error {
  return new TypeError('fetch failed', { cause: Object.assign(new Error('inner'), { code }) })
}

test.each([
  ['ECONNREFUSED', 'the connection was refused (ECONNREFUSED)'],
  ['ENOTFOUND', 'the host name was not found (ENOTFOUND)'],
  ['EBRANDNEW', 'the connection failed (EBRANDNEW)'],
  ['constructor', 'the connection failed (constructor)'],
  ['UND_ERR_SOCKET', 'the connection was closed'],
  ['UND_ERR_CONNECT_TIMEOUT', 'the connection timed out'],
  ['UND_ERR_BRAND_NEW', 'the connection failed'],
  ['HPE_INVALID_CONSTANT', 'its answer is not HTTP'],
  ['ERR_SSL_WRONG_VERSION_NUMBER', 'the TLS handshake failed (ERR_SSL_WRONG_VERSION_NUMBER)'],
])('%s is reported as: %s', (code, words) => {
  expect(describeConnectionFailure(failedFetch(code))).toBe(words)
})

test.each([
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
])('a certificate of a company’s own (%s) names the variable that helps', (code) => {
  expect(describeConnectionFailure(failedFetch(code))).toContain('NODE_EXTRA_CA_CERTS')
})

test('the reason is found some levels down, a code that is no text is passed over, and nothing is made up', () => {
  const cancelled = Object.assign(new Error('cancelled', { cause: failedFetch('UND_ERR_ABORTED') }), { code: 0 })
  expect(describeConnectionFailure(cancelled)).toContain('proxy')
  expect(describeConnectionFailure(new TypeError('fetch failed'))).toBe('')
  expect(describeConnectionFailure('text')).toBe('')
  const circle = new Error('circle')
  circle.cause = circle
  expect(describeConnectionFailure(circle)).toBe('')
})

test('names the proxy if the connection to it failed', () => {
  const failed = new TypeError('fetch failed', {
    cause: new ProxyFailure('http://proxy.example:3128', { cause: failedFetch('ENOTFOUND') }),
  })
  expect(describeConnectionFailure(failed)).toBe(
    'the HTTP proxy http://proxy.example:3128 failed: the host name was not found (ENOTFOUND)',
  )
})

test.each([
  [{ status: 407, hadLogin: false, schemes: ['Basic'] }, 'answered 407: its login is missing'],
  [{ status: 407, hadLogin: true, schemes: ['NTLM', 'basic'] }, 'answered 407: its login is wrong'],
  [{ status: 407, hadLogin: true, schemes: [] }, 'answered 407: its login is wrong'],
  [
    { status: 407, hadLogin: true, schemes: ['Negotiate', 'NTLM'] },
    'answered 407: it asks for a login by Negotiate or NTLM, which copilot-proxy does not support; a local proxy such as Px or Cntlm can log in for it',
  ],
  [{ status: 403, hadLogin: true, schemes: [] }, 'answered 403 and opened no connection'],
])('names the proxy and what its answer means: %j', (refusal, clause) => {
  const failed = new TypeError('fetch failed', { cause: new ProxyFailure('http://proxy.example:3128', { refusal }) })
  expect(describeConnectionFailure(failed)).toBe(`the HTTP proxy http://proxy.example:3128 ${clause}`)
})
