import { globSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

// Each case of what is promised about safety has an id, which its tests carry in their titles. This one looks that none
// is lost.

/** Group by group, how many cases there are. */
const groups = { A: 15, B: 6, C: 22, D: 18, E: 30, F: 12, G: 33, H: 15, I: 8, J: 7 } as const

const ids = Object.entries(groups).flatMap(([group, count]) =>
  Array.from({ length: count }, (_, at) => `${group}${String(at + 1).padStart(2, '0')}`),
)

/** Where a title begins, or a row of a table of cases: one id or several. */
const named = /['"`]((?:[A-J]\d{2}[, ]*)+)/g
const testFiles = globSync('test/**/*.{test,soak}.ts', {
  exclude: ['**/node_modules/**', 'test/security/cases.test.ts'],
})
const found = new Set(
  testFiles
    .flatMap((file) => Array.from(readFileSync(file, 'utf8').matchAll(named)))
    .flatMap(([, list = '']) => list.match(/[A-J]\d{2}/g) ?? []),
)

test.each(ids)('%s has a test', (id) => {
  expect(found.has(id)).toBe(true)
})
