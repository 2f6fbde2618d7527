import { expect, test } from 'vitest'
import { loadConfig } from '../../src/config/load.ts'
import { formatConfigError } from '../../src/config/problem.ts'

const hash = '0123456789abcdef'.repeat(4)

test.each([
  ['lapto: { requests-per-minute: 3 }', 'no key has this name; the keys are laptop, plain-2'],
  ['laptop: { requests-per-minute: 0 }', 'expected a whole number from 1 to 1000000, got 0'],
  ['laptop: { credits-per-day: 0 }', 'expected a number above 0, got 0'],
  ['laptop: { models: [] }', 'expected at least one model, got an empty list'],
  ['laptop: { requests: 3 }', 'unknown key `requests`'],
  ['laptop: {}\n    Laptop: {}', 'this key already has limits'],
])('key-limits: %s is refused with its line', (limits, detail) => {
  const text = `server:\n  api-keys: ["laptop:sha256:${hash}", plain]\n  key-limits:\n    ${limits}\n`
  const result = loadConfig({ file: { path: 'config.yaml', text }, env: {}, flags: [] })
  if (result.ok) throw new Error('accepted')
  const [line = ''] = formatConfigError(result.error).split('\n')
  expect(line).toMatch(/^config\.yaml:[45]:/)
  expect(line).toContain(detail)
})
