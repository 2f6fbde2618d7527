import { chmod, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { listFiles } from '../../src/workspace/list-files.ts'
import { openFolder } from '../../src/workspace/open-folder.ts'
import { searchCode } from '../../src/workspace/search-code.ts'
import { createTree, failureOf } from './tree.ts'

// Simulates an installation without optional packages.
vi.mock('@vscode/ripgrep', () => {
  throw new Error('Cannot find package')
})

const { rgPath } = await vi.importActual<{ readonly rgPath: string }>('@vscode/ripgrep')
const { signal } = new AbortController()

it('uses the ripgrep on PATH if the package is missing, and names what to install if there is none', async () => {
  const { root, outside } = await createTree()
  const folder = await openFolder(root)
  vi.stubEnv('PATH', outside)
  try {
    expect(await failureOf(listFiles(folder, {}, signal))).toEqual({
      kind: 'failed',
      detail: 'ripgrep (rg) is not installed. Install it, e.g. with "apt install ripgrep" or "brew install ripgrep".',
    })
    await symlink(rgPath, join(outside, 'rg'))
    expect(await listFiles(folder, {}, signal)).toEqual({ files: [], truncated: false })
  } finally {
    vi.unstubAllEnvs()
  }
})

it('reports a missing workspace', async () => {
  const { root } = await createTree()
  const folder = await openFolder(root)
  await rm(root, { recursive: true })
  expect(await failureOf(listFiles(folder, {}, signal))).toEqual({
    kind: 'failed',
    detail: 'The folder of the workspace is missing.',
  })
})

/** Searches for `hello` by a program that takes the place of ripgrep. `$RG` is the real one. */
async function search(script: string) {
  const { root, outside } = await createTree()
  await writeFile(join(root, 'a.txt'), 'hello\n')
  const program = join(outside, 'rg')
  await writeFile(program, `#!/bin/sh\nRG='${rgPath}'\n${script}\n`)
  await chmod(program, 0o755)
  vi.stubEnv('PATH', outside)
  onTestFinished(() => void vi.unstubAllEnvs())
  return searchCode(await openFolder(root), { query: 'hello' }, signal)
}

describe.runIf(process.platform === 'linux')('a ripgrep that does not search everything', () => {
  const hit = expect.objectContaining({ file: 'a.txt' })

  it.each([
    ['ended by a signal after its first hits', '"$RG" "$@"; kill -9 $$'],
    ['without some files that it could not read', '"$RG" "$@"; exit 2'],
    ['aborted for lack of memory after its first hits', '"$RG" "$@"; echo "memory allocation failed" >&2; kill -6 $$'],
  ])('%s gives its hits as truncated', async (_name, script) => {
    expect(await search(script)).toEqual({ hits: [hit], truncated: true })
  })

  it('that could read nothing is truncated too', async () => {
    expect(await search('exit 2')).toEqual({ hits: [], truncated: true })
  })

  it.each(['kill -9 $$', 'echo "memory allocation failed" >&2; kill -6 $$'])(
    'and is ended by a signal before any hit is an error (%s)',
    async (script) => {
      expect(await failureOf(search(script))).toEqual({
        kind: 'failed',
        detail: expect.stringMatching(/^ripgrep \(rg\) was ended by SIG(KILL|ABRT) before it found anything\./),
      })
    },
  )

  it('but ends by itself without a hit has found nothing', async () => {
    expect(await search('exit 1')).toEqual({ hits: [], truncated: false })
  })
})
