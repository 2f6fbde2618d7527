import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { fc } from '../../fast-check.ts'
import type { Folder } from '../../../src/workspace/folder.ts'
import { applyPatch } from '../../../src/workspace/patch/apply-patch.ts'
import { undoChanges } from '../../../src/workspace/patch/undo-changes.ts'
import { toFileLines } from '../../../src/workspace/patch/file-lines.ts'
import { applyEdits } from '../../../src/workspace/patch/file-lines.ts'
import { fitHunks } from '../../../src/workspace/patch/fit-hunks.ts'
import { openJournal } from '../../../src/workspace/patch/journal.ts'
import { createPace } from '../../../src/workspace/patch/pace.ts'
import { openFolder } from '../../../src/workspace/open-folder.ts'
import { parsePatch } from '../../../src/workspace/patch/parse-patch.ts'
import { diffOf } from '../../../src/workspace/patch/render-diff.ts'
import { ToolError } from '../../../src/workspace/tool-error.ts'
import { allow } from './support.ts'

const run = promisify(execFile)

let base = ''
let folder: Folder
beforeAll(async () => {
  base = await mkdtemp(join(tmpdir(), 'patch-properties-'))
  await mkdir(join(base, 'root'))
  folder = await openFolder(join(base, 'root'))
})
afterAll(() => rm(base, { recursive: true, force: true }))

async function openDeps() {
  const journal = await openJournal({ folder, dir: join(base, 'journal'), now: Date.now })
  return { folder, journal, maxFileBytes: 1_000_000 }
}

/** Generates few different lines. Some of them look like lines of a patch. */
const line = fc.constantFrom(
  'a',
  'b',
  'c',
  '',
  ' ',
  '-- x',
  '++ y',
  '@@ -1 +1 @@',
  '\\ z',
  'diff --git a/x b/x',
  'ä\u2028',
  '```',
)
const lines = fc.array(fc.tuple(line, fc.constantFrom('\n', '\n', '\n', '\r\n')), { maxLength: 30 })
const file = fc
  .tuple(fc.boolean(), lines, line)
  .map(([hasBom, parts, last]) => `${hasBom ? '\uFEFF' : ''}${parts.map((part) => part.join('')).join('')}${last}`)

/** Generates two files. The second one is the first one with some parts replaced, or unrelated. */
const pair = fc.oneof(
  fc.tuple(file, file),
  fc.tuple(file, fc.array(fc.tuple(fc.nat(40), fc.nat(3), lines), { maxLength: 4 })).map(([old, edits]) => {
    const parts = old.split(/(?<=\n)/)
    for (const [at, count, added] of edits) parts.splice(at, count, ...added.map((part) => part.join('')))
    return [old, parts.join('')] as const
  }),
)

const read = async (path: string): Promise<string> =>
  (await folder.readFile(path, { maxBytes: 1_000_000 })).bytes.toString()

describe('a diff of two files, applied to the first', () => {
  it('gives the second, and undo restores the first', async () => {
    const deps = await openDeps()
    await fc.assert(
      fc.asyncProperty(pair, async ([old, changed]) => {
        await folder.writeFile('x', Buffer.from(old))
        const diff = await diffOf(Buffer.from(old), Buffer.from(changed), 'x')
        if (old === changed) return
        await applyPatch(deps, { unifiedDiff: diff }, allow)
        expect(await read('x')).toBe(changed)
        await undoChanges(deps, {}, allow)
        expect(await read('x')).toBe(old)
      }),
      { numRuns: 40 },
    )
  })

  it('gives the second in memory, for many more files', async () => {
    const pace = createPace(allow.signal)
    await fc.assert(
      fc.asyncProperty(pair, async ([old, changed]) => {
        const diff = await diffOf(Buffer.from(old), Buffer.from(changed), 'x')
        if (old === changed) return
        const [patch] = await parsePatch(diff, pace)
        const oldLines = await toFileLines(Buffer.from(old), pace)
        const options = { path: 'x', isExact: true, isBaseKnown: false }
        const { edits, misfits } = await fitHunks(oldLines, patch?.hunks ?? [], options, pace)
        expect(misfits).toEqual([])
        expect((await applyEdits(oldLines, edits, pace)).toString()).toBe(changed)
      }),
      { numRuns: 2000 },
    )
  })

  it.each(['-u', '-U1', '-U30'])('gives the second if diff %s made it', async (option) => {
    const deps = await openDeps()
    await fc.assert(
      // Create many diffs with one shell to save time.
      fc.asyncProperty(fc.array(pair, { minLength: 20, maxLength: 20 }), async (pairs) => {
        for (const [index, [old, changed]] of pairs.entries()) {
          await writeFile(join(base, `old${index}`), old)
          await writeFile(join(base, `new${index}`), changed)
        }
        const diff = `diff -a ${option} --label a/x --label b/x old$i new$i > diff$i`
        await run('sh', ['-c', `for i in $(seq 0 ${pairs.length - 1}); do ${diff}; done; true`], { cwd: base })
        for (const [index, [old, changed]] of pairs.entries()) {
          if (old === changed) continue
          await folder.writeFile('x', Buffer.from(old))
          await applyPatch(deps, { unifiedDiff: await readFile(join(base, `diff${index}`), 'utf8') }, allow)
          expect(await read('x')).toBe(changed)
        }
      }),
      { numRuns: 2 },
    )
  })
})

describe('any patch', () => {
  it('changes all of its files or none, whatever is cut out of it', { timeout: 120_000 }, async () => {
    const deps = await openDeps()
    await fc.assert(
      fc.asyncProperty(pair, pair, fc.nat(600), fc.nat(40), fc.boolean(), async (x, y, at, count, isSabotaged) => {
        const files = { x: x[0], y: y[0] }
        for (const [path, text] of Object.entries(files)) await folder.writeFile(path, Buffer.from(text))
        const diff =
          (await diffOf(Buffer.from(x[0]), Buffer.from(x[1]), 'x')) +
          (await diffOf(Buffer.from(y[0]), Buffer.from(y[1]), 'y'))
        const cut = diff.slice(0, at) + diff.slice(at + count)
        if (isSabotaged) await folder.writeFile('y', Buffer.from(`${y[0]}\nmore`))
        const start = [await read('x'), await read('y')]
        try {
          const { files: changed } = await applyPatch(deps, { unifiedDiff: cut }, allow)
          for (const { path, after } of changed) {
            expect((await folder.readFile(path, { maxBytes: 1_000_000 })).sha256).toBe(after)
          }
          if (changed.length > 0) await undoChanges(deps, {}, allow)
        } catch (error) {
          // Each failure must be a ToolError.
          if (!(error instanceof ToolError)) throw error
        }
        expect([await read('x'), await read('y')]).toEqual(start)
      }),
      { numRuns: 60 },
    )
  })
})
