import { setImmediate } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { openWorkspace, turnsDuring } from './support.ts'
import { failureOf } from '../tree.ts'

const numbered = (count: number, word: string): string =>
  Array.from({ length: count }, (_, index) => `${word} ${index % 10 === 5 ? word : 'line'} ${index}\n`).join('')

/** Creates a patch with one hunk for every tenth line. Adds `shift` to the line numbers. */
function patchOf(hunks: number, shift = 0): string {
  const parts = ['--- a/x.txt\n+++ b/x.txt\n']
  for (let hunk = 0; hunk < hunks; hunk += 1) {
    const at = hunk * 10
    parts.push(`@@ -${at + 5 + shift},3 +${at + 5 + shift},3 @@\n`)
    parts.push(` old line ${at + 4}\n-old old ${at + 5}\n+new new ${at + 5}\n old line ${at + 6}\n`)
  }
  return parts.join('')
}

it.each([
  ['at their lines', 0],
  ['at wrong lines', 3],
])('G21: applies 10,000 hunks %s and lets others run', async (_, shift) => {
  const old = numbered(100_000, 'old')
  const workspace = await openWorkspace({ 'x.txt': old })
  const call = workspace.apply(patchOf(10_000, shift))
  expect(await turnsDuring(call)).toBeGreaterThan(5)
  await call
  expect(await workspace.text('x.txt')).toBe(old.replaceAll('old old', 'new new'))
})

it('G21: refuses a patch of 50 MB', async () => {
  const workspace = await openWorkspace({ 'x.txt': 'a\n' })
  const large = `--- a/x.txt\n+++ b/x.txt\n@@ -1 +1 @@\n-a\n+${'b'.repeat(50 * 2 ** 20)}\n`
  expect(await failureOf(workspace.apply(large))).toMatchObject({ kind: 'too_large' })
})

it.each([
  ['hunks', '@@ -1 +1 @@\n-a\n+b\n'.repeat(50_001)],
  ['lines', `@@ -1 +1 @@\n-a\n${'+b\n'.repeat(500_000)}`],
])('G21: refuses too many %s', async (_, hunks) => {
  const workspace = await openWorkspace({ 'x.txt': 'a\n' })
  const failure = await failureOf(workspace.apply(`--- a/x.txt\n+++ b/x.txt\n${hunks}`))
  expect(failure).toMatchObject({ kind: 'too_large' })
})

it('G21: refuses a patch of too many files', async () => {
  const workspace = await openWorkspace({ 'x.txt': 'a\n' })
  const files = Array.from({ length: 5001 }, (_, at) => `diff --git a/${at} b/${at}\nnew file mode 100644\n`)
  expect(await failureOf(workspace.apply(files.join('')))).toEqual({
    kind: 'too_large',
    detail: 'The patch has more than 5000 files. Send it in parts.',
  })
})

it('G21: refuses files that are or become too large, alone or together', async () => {
  const workspace = await openWorkspace({ 'x.txt': 'a\n', 'large.txt': 'a\n'.repeat(2.1 * 2 ** 20) })
  const grow = `--- a/x.txt\n+++ b/x.txt\n@@ -1 +1 @@\n-a\n+${'b'.repeat(5 * 2 ** 20)}\n`
  expect(await failureOf(workspace.apply(grow))).toMatchObject({ kind: 'too_large' })
  expect(await failureOf(workspace.apply(grow.replaceAll('x.txt', 'large.txt')))).toMatchObject({ kind: 'too_large' })
})

it('G21: refuses hunks that take too long to search', async () => {
  const workspace = await openWorkspace({ 'x.txt': `${'a\n'.repeat(999)}b\n`.repeat(500) })
  const hunk = `@@ -1,1000 +1,1001 @@\n${' a\n'.repeat(1000)}+x\n`
  const call = workspace.apply(`--- a/x.txt\n+++ b/x.txt\n${hunk.repeat(490)}`)
  expect(await failureOf(call)).toMatchObject({ kind: 'conflict' })
})

it('ends a long call when it is cancelled', async () => {
  const workspace = await openWorkspace({ 'x.txt': numbered(100_000, 'old') })
  const controller = new AbortController()
  const call = failureOf(
    workspace.apply(
      patchOf(10_000, 3),
      {},
      { authorize: async () => {}, permit: async () => {}, signal: controller.signal },
    ),
  )
  await setImmediate()
  controller.abort()
  expect(await call).toEqual({ kind: 'cancelled' })
})
