import { expect, test } from 'vitest'
import { nearMatch } from '../../src/config/near-match.ts'

const keys = ['host', 'port', 'api-keys', 'allowed-hosts', 'allowed-origins', 'hide']

test.each([
  ['prot', 'port'],
  ['prt', 'port'],
  ['ports', 'port'],
  ['Port', 'port'],
  ['apiKeys', 'api-keys'],
  ['API_KEYS', 'api-keys'],
  ['allowed-host', 'allowed-hosts'],
  ['allowed-orgins', 'allowed-origins'],
  ['timeout', undefined],
  ['', undefined],
  ['x'.repeat(100_000), undefined],
])('%.20j is meant as %j', (name, meant) => {
  expect(nearMatch(name, keys)).toBe(meant)
})
