import { expect, test } from 'vitest'
import { snakeKeys } from '../../src/json/key-case.ts'

const camel = { resetsAt: 'aB', quotas: [{ percentRemaining: 1, id: 'premium_interactions' }], plain: null }
const snake = { resets_at: 'aB', quotas: [{ percent_remaining: 1, id: 'premium_interactions' }], plain: null }

test('changes keys at every depth, and no values', () => {
  expect(snakeKeys(camel)).toEqual(snake)
})
