import { fc } from '../fast-check.ts'
import { describe, expect, test } from 'vitest'
import { redactFields, redactText } from '../../src/redaction/redact.ts'
import { cpuMs } from '../cpu-time.ts'

const secret = 'example0123456789abcdef'

describe('redactText', () => {
  test.each([
    ['a GitHub user token', `GET failed for ghu_${secret} at once`],
    ['a GitHub OAuth token', `gho_${secret}`],
    ['a classic token', `"ghp_${secret}"`],
    ['a fine-grained token', `github_pat_11EXAMPLE0_${secret}`],
    ['a Copilot token', `token tid=${secret};exp=1;sku=x;proxy-ep=proxy.example:${secret} rejected`],
    ['a percent-encoded Copilot token', `?t=tid%3D${secret}%3Bexp`],
    ['a Copilot token that does not start with tid', `sku=plus;exp=9;ol=1:${secret}`],
    ['an authorization scheme', `authorization: Bearer ${secret}`],
    ['an authorization scheme of any case', `BEARER ${secret}`],
    ['the token scheme in a header', `Authorization: token ${secret}`],
    ['an API key', `using sk-${secret}`],
    ['a JSON web token', `eyJhbGciOi.eyJz${secret}.${secret}`],
    ['a JSON field', `{"access_token":"${secret}"}`],
    ['a JSON field inside a JSON string', String.raw`{"body":"{\"refresh_token\": \"${secret}\"}"}`],
    ['a field in camel case', `{"refreshToken":"${secret}"}`],
    ['a code of a login flow', `authorization_code=${secret} and device_auth_id: ${secret}`],
    ['a form field', `grant=x&device_code=${secret}&y=1`],
    ['a cookie', `Set-Cookie: ${secret}; path=/`],
    ['a header after an escaped line break', String.raw`{"raw":"GET / HTTP/1.1\r\ncookie: ${secret}\r\nx: y"}`],
    ['a header after a line break that is shown', String.raw`GET /\u000aauthorization: ${secret}\u000ax: y`],
    ['a key after an escaped tab', String.raw`\tsk-${secret}`],
    ['credentials in an address', `connect http://user:${secret}@proxy.example:3128 failed`],
  ])('removes %s', (_name, text) => {
    expect(redactText(text)).not.toContain(secret)
    expect(redactText(text)).toContain('[redacted]')
  })

  test.each([
    'listening on http://127.0.0.1:4141',
    'model gpt-5-mini is not known; did you mean gpt-5?',
    'max_tokens: 4096, total_tokens=12',
    'expected a string at messages[0].content',
    'IDE token expired: unauthorized: token expired',
    'user@example.com wrote sku=free',
  ])('leaves ordinary text alone: %s', (text) => {
    expect(redactText(text)).toBe(text)
  })

  test('changes nothing more the second time', () => {
    const pieces = fc.constantFrom(
      'Bearer ',
      'tid=',
      'ghu_',
      'exp=',
      ';',
      ':',
      'abc',
      '"',
      ' ',
      'api_key',
      '=',
      '@',
      '://',
      'sk-',
      '[redacted]',
    )
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 20 }), (parts) => {
        const once = redactText(parts.join(''))
        expect(redactText(once)).toBe(once)
      }),
    )
  })

  test.each(['exp=', 'tid', 'Bearer ', '://a', 'api_key', 'eyJabcdef.', 'gh'])(
    'takes linear time on a long run of %s',
    (piece) => {
      const text = piece.repeat(500_000 / piece.length)
      const startedMs = cpuMs()
      redactText(text)
      expect(cpuMs() - startedMs).toBeLessThan(10_000)
    },
  )
})

describe('redactFields', () => {
  test('replaces values of secret names at any depth, in lists and in errors', () => {
    const error = Object.assign(new Error('refused'), { code: 'E1', config: { headers: { Authorization: secret } } })
    const fields = {
      status: 401,
      Authorization: secret,
      record: { metadata: { github_access_token: secret, access_token: secret, login: 'octo' } },
      list: [{ 'x-api-key': secret }, { apiKeys: [secret] }],
      err: new Error('outer', { cause: error }),
    }
    const text = JSON.stringify(redactFields(fields))
    expect(text).not.toContain(secret)
    expect(redactFields(fields)).toMatchObject({
      status: 401,
      record: { metadata: { login: 'octo' } },
      err: { name: 'Error', message: 'outer', cause: { message: 'refused', code: 'E1' } },
    })
  })

  test('keeps token counts, and says when there is no value', () => {
    const fields = { inputTokens: 12, maxTokens: 4, token: null, apiKey: undefined }
    expect(redactFields(fields)).toEqual({ inputTokens: 12, maxTokens: 4, token: null, apiKey: undefined })
  })

  test('ends in a cycle', () => {
    const node: Record<string, unknown> = { name: 'a' }
    node['self'] = node
    expect(JSON.stringify(redactFields(node))).toContain('[deeper]')
  })

  test('shows the size of binary values and collections, not their content', () => {
    expect(redactFields({ bytes: new Uint8Array(3), map: new Map([[secret, secret]]), big: 5n })).toEqual({
      bytes: '[3 bytes]',
      map: '[1 entries]',
      big: '5',
    })
  })
})

test.each([
  'authorization',
  'cookie',
  'x-api-key',
  'api_key',
  'client_secret',
  'password',
  'access_token',
  'refresh-token',
  'github_access_token',
  'device_code',
  'device_auth_id',
  'authorization_code',
  'code_verifier',
])('removes the value after %s, whatever it looks like', (name) => {
  expect(redactText(`${name}: dull`)).toBe(`${name}: [redacted]`)
  expect(redactText(`{"${name.toUpperCase()}":"dull"}`)).toBe(`{"${name.toUpperCase()}":"[redacted]"}`)
})
