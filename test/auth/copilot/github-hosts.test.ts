import { expect, test } from 'vitest'
import { parseGithubHost } from '../../../src/auth/copilot/github-hosts.ts'

test.each([
  ['github.com', 'https://github.com', 'https://api.github.com'],
  ['https://github.com/', 'https://github.com', 'https://api.github.com'],
  ['octo.ghe.com', 'https://octo.ghe.com', 'https://api.octo.ghe.com'],
  [' OCTO-corp.GHE.com ', 'https://octo-corp.ghe.com', 'https://api.octo-corp.ghe.com'],
  ['https://octo.ghe.com', 'https://octo.ghe.com', 'https://api.octo.ghe.com'],
  ['http://127.0.0.1:4199', 'http://127.0.0.1:4199', 'http://127.0.0.1:4199'],
  ['http://localhost:4199/', 'http://localhost:4199', 'http://localhost:4199'],
])('%s lives at %s', (input, baseUrl, apiBaseUrl) => {
  expect(parseGithubHost(input)).toEqual({ ok: true, value: { baseUrl, apiBaseUrl } })
})

test.each([
  '',
  'ghe.com',
  'api.octo.ghe.com',
  'a.b.ghe.com',
  'copilot-api.ghe.com.evil.example',
  'octo.ghe.com.evil.example',
  'evilghe.com',
  'http://octo.ghe.com',
  'https://octo.ghe.com:8443',
  'https://octo.ghe.com/login',
  'user@octo.ghe.com',
  'octo.ghe.com?x',
  'octo.ghe.com#x',
  'evil.example\\.ghe.com',
  'octo.ghe.com.',
  '203.0.113.7',
  'http://10.0.0.1',
  'ftp://127.0.0.1',
  'github.example.com',
])('refuses %j and says what is expected', (input) => {
  const result = parseGithubHost(input)
  expect(result).toMatchObject({ ok: false, detail: expect.stringContaining('SUB.ghe.com') })
})
