import * as fs from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { fc } from '../fast-check.ts'
import type { Folder } from '../../src/workspace/folder.ts'
import { listFiles } from '../../src/workspace/list-files.ts'
import { openFolder } from '../../src/workspace/open-folder.ts'
import { readText } from '../../src/workspace/read-text.ts'
import { searchCode } from '../../src/workspace/search-code.ts'
import { ToolError } from '../../src/workspace/tool-error.ts'
import { createTree } from './tree.ts'

/** The text of each file outside. */
const secret = 'a text from outside'

interface Tree {
  readonly root: string
  readonly outside: string
}

/** A call of a function, or a change by another program. */
type Step =
  | { readonly kind: 'read' | 'write' | 'create' | 'remove'; readonly path: string }
  | { readonly kind: 'make folder'; readonly path: string }
  | { readonly kind: 'make link'; readonly path: string; readonly target: string }
  | { readonly kind: 'rename'; readonly path: string; readonly target: string }

/** A placeholder for the absolute path of the folder outside. */
const outsideName = '@outside'

const name = fc.constantFrom('a', 'b', 'c', 'secret', 'folder')
const inner = fc.array(name, { minLength: 1, maxLength: 3 }).map((names) => names.join('/'))
const given = fc.oneof(
  { weight: 4, arbitrary: inner },
  fc
    .array(fc.constantFrom('a', 'b', 'secret', '..', '.', 'outside', 'root'), { maxLength: 5 })
    .map((all) => all.join('/')),
  inner.map((path) => `${outsideName}/${path}`),
)
const target = fc.oneof(
  given,
  fc.constantFrom(
    '..',
    '../outside',
    '../../outside',
    '../outside/secret',
    '../outside/new',
    outsideName,
    `${outsideName}/folder`,
    '/',
  ),
)
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constantFrom('read', 'write', 'create', 'remove'), path: given }) },
  fc.record({ kind: fc.constant('make folder'), path: inner }),
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('make link'), path: inner, target }) },
  fc.record({ kind: fc.constant('rename'), path: inner, target: inner }),
)

/** Returns the result of a call, or undefined if it was refused. Throws any error that is not a refusal. */
async function resultOf<Result>(call: Promise<Result>): Promise<Result | undefined> {
  try {
    return await call
  } catch (error) {
    if (error instanceof ToolError) return undefined
    throw error
  }
}

async function take(folder: Folder, tree: Tree, { kind, ...rest }: Step): Promise<unknown> {
  const real = (path: string): string => path.replace(outsideName, tree.outside)
  const path = real(rest.path)
  switch (kind) {
    case 'read':
      return resultOf(readText(folder, { path }, { maxBytes: 1000 }))
    case 'write':
      return resultOf(folder.writeFile(path, Buffer.from('written')))
    case 'create':
      return resultOf(folder.writeFile(path, Buffer.from('created'), { ifSha256: null }))
    case 'remove':
      return resultOf(folder.removeFile(path))
    case 'make folder':
    case 'make link':
    case 'rename':
      break
  }
  // Simulate another program. It changes only entries inside the root, but its links may point outside.
  const entry = join(tree.root, path)
  if ((await fs.realpath(join(entry, '..')).catch(() => '')).startsWith(tree.root)) {
    const to = 'target' in rest ? real(rest.target) : ''
    if (kind === 'make folder') await fs.mkdir(entry, { recursive: true }).catch(() => {})
    if (kind === 'make link') await fs.symlink(to, entry).catch(() => {})
    const destination = join(tree.root, to)
    const parent = await fs.realpath(join(destination, '..')).catch(() => '')
    if (kind === 'rename' && parent.startsWith(tree.root)) await fs.rename(entry, destination).catch(() => {})
  }
  return undefined
}

/** Returns all visible properties of a folder's files, except access times. */
async function look(folder: string): Promise<unknown> {
  const names = await fs.readdir(folder, { recursive: true })
  return Promise.all(
    names.toSorted().map(async (entry) => {
      const { ino, mode, size, mtimeMs, ctimeMs } = await fs.lstat(join(folder, entry))
      return { entry, ino, mode, size, mtimeMs, ctimeMs }
    }),
  )
}

describe.each([{ held: true }, { held: false }])('held: $held', ({ held }) => {
  it('no sequence of calls changes or reveals a byte outside the root', { timeout: 120_000 }, async () => {
    const { root: base, outside } = await createTree()
    await fs.mkdir(join(outside, 'folder'))
    for (const path of ['secret', 'a', 'folder/secret', 'folder/b']) await fs.writeFile(join(outside, path), secret)
    const before = await look(outside)
    let runs = 0
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 25 }), async (steps) => {
        const tree = { root: join(base, String((runs += 1))), outside }
        await fs.mkdir(join(tree.root, 'a/b'), { recursive: true })
        await fs.writeFile(join(tree.root, 'a/c'), 'inside')
        // With this link, `../outside` also works relative to the root.
        if (runs === 1) await fs.symlink(outside, join(base, 'outside'))
        const folder = await openFolder(tree.root, { held })
        const results: unknown[] = []
        for (const one of steps) results.push(await take(folder, tree, one))
        if (runs % 10 === 0) {
          const { signal } = new AbortController()
          for (const glob of ['', 'a/**', '*/*/secret', 'folder']) {
            results.push(await searchCode(folder, { query: secret, glob }, signal))
            for (const file of (await listFiles(folder, { glob }, signal)).files) {
              expect(await fs.realpath(join(tree.root, file))).toBe(join(tree.root, file))
            }
          }
        }
        expect(JSON.stringify(results)).not.toContain(secret)
        expect(await look(outside)).toEqual(before)
        await fs.rm(tree.root, { recursive: true })
      }),
      { numRuns: 50 },
    )
  })
})
