import { fc } from '../../fast-check.ts'
import { expect, test } from 'vitest'
import { copilotRecordId, isCopilotRecordId } from '../../../src/auth/copilot/record.ts'

test.each([
  ['octocat', 'https://github.com', 'copilot-octocat'],
  ['OctoCat', 'https://github.com', 'copilot-octocat'],
  ['octo_corp', 'https://octo.ghe.com', 'copilot-octo_corp@octo.ghe.com'],
  ['octocat', 'http://127.0.0.1:4199', 'copilot-octocat@127.0.0.1'],
  ['octocat', 'http://[::1]:4199', 'copilot-octocat@---1-'],
  ['../../etc', 'https://github.com', 'copilot-------etc'],
  ['', 'https://github.com', 'copilot-account'],
])('%j at %s is %s', (login, host, id) => {
  expect(copilotRecordId(login, host)).toBe(id)
})

test('whatever a login is, its id can name a file', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: 'binary' }),
      fc.constantFrom('https://github.com', 'https://octo.ghe.com'),
      (login, host) => {
        expect(isCopilotRecordId(copilotRecordId(login, host))).toBe(true)
      },
    ),
  )
})
