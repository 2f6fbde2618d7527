import { expect, test } from 'vitest'
import { redactValues } from '../../src/http/redact-values.ts'
import { createKnownSecrets } from '../../src/known-secrets.ts'

const secrets = createKnownSecrets()
secrets.note('gho_notARealToken0001')

test('headers that hold no credential stay the ones they are', () => {
  const headers = { 'x-github-request-id': 'ABC', 'retry-after-ms': '20' }
  expect(redactValues(headers, secrets.redact)).toBe(headers)
  expect(redactValues({}, secrets.redact)).toEqual({})
})

test('a credential is taken out of each value that holds it, and of no other', () => {
  const headers = {
    first: 'a gho_notARealToken0001',
    second: 'b',
    third: 'gho_notARealToken0001 gho_notARealToken0001',
  }
  expect(redactValues(headers, secrets.redact)).toEqual({
    first: 'a [redacted]',
    second: 'b',
    third: '[redacted] [redacted]',
  })
})

test('what only reads like a credential across two values is none', () => {
  const headers = { first: 'gho_notARe', second: 'alToken0001' }
  expect(redactValues(headers, secrets.redact)).toBe(headers)
})
