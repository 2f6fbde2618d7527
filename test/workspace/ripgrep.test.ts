import { rm, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it, vi } from 'vitest'
import { listFiles } from '../../src/workspace/list-files.ts'
import { openFolder } from '../../src/workspace/open-folder.ts'
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
