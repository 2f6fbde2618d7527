import { mkdir, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it, vi } from 'vitest'
import { filesIn, hasParts } from '../../src/workspace/confirm-files.ts'
import { parseGlob } from '../../src/workspace/glob.ts'
import { listFiles } from '../../src/workspace/list-files.ts'
import { openFolder } from '../../src/workspace/open-folder.ts'
import { runRipgrep } from '../../src/workspace/ripgrep.ts'
import { searchCode } from '../../src/workspace/search-code.ts'
import { startSwapping } from './start-swapping.ts'
import { createTree } from './tree.ts'

const real = await vi.importActual<{ readonly rgPath: string }>('@vscode/ripgrep')
const ripgrep = vi.hoisted(() => ({ path: '' }))
ripgrep.path = real.rgPath
vi.mock('@vscode/ripgrep', () => ({
  get rgPath() {
    return ripgrep.path
  },
}))

const { signal } = new AbortController()

/** Opens a workspace whose folder `src` is repeatedly swapped for a link to a folder outside. */
async function openRacing() {
  const { root, outside } = await createTree()
  await mkdir(join(root, 'src'))
  await writeFile(join(root, 'src/same'), 'word inside\n')
  await writeFile(join(outside, 'same'), 'word secret\n')
  await writeFile(join(outside, 'secret'), 'word secret\n')
  // More folders make ripgrep's walk longer.
  for (let index = 0; index < 5; index += 1) {
    await mkdir(join(root, `other${index}`))
    await writeFile(join(root, `other${index}/a`), 'word elsewhere\n')
  }
  // ripgrep takes some ms, so without a pause between swaps it would never read the folder.
  await startSwapping(join(root, 'src'), outside, 4)
  return openFolder(root)
}

it('G05: reveals nothing from outside while a folder is swapped for a link', { timeout: 120_000 }, async () => {
  const folder = await openRacing()
  let hits = 0
  for (let round = 0; round < 200 && (round < 20 || hits === 0); round += 1) {
    const found = await searchCode(folder, { query: 'word' }, signal)
    const list = await listFiles(folder, {}, signal)
    expect(JSON.stringify([found, list])).not.toContain('secret')
    hits += found.hits.filter(({ file }) => file === 'src/same').length
  }
  expect(hits).toBeGreaterThan(0)
})

// Makes the race deterministic: the link always exists when ripgrep opens the folder.
it.each([
  ['is a folder again', 'rm src; mv aside src'],
  ['is still a link', ''],
])('G05: shows nothing that ripgrep read through a link, if the path %s', async (_, after) => {
  const { root, outside } = await createTree()
  const folder = await openFolder(root)
  await mkdir(join(root, 'src'))
  await writeFile(join(root, 'src/same'), 'word inside\n')
  await writeFile(join(outside, 'same'), 'word secret\n')
  await writeFile(join(outside, 'secret'), 'word secret\n')
  const swap = `mv src aside; ln -s '${outside}' src`
  // ripgrep follows a link on its command line.
  await writeFile(
    join(outside, 'rg'),
    `#!/bin/sh\n${swap}\nfor last; do :; done\n'${real.rgPath}' "$@" src/\n${after}\n`,
    { mode: 0o755 },
  )
  ripgrep.path = join(outside, 'rg')
  const reset = () => rm(join(root, 'src'), { recursive: true, force: true })
  try {
    let output = ''
    const take = (chunk: Buffer): boolean => (output += chunk.toString()) !== ''
    const glob = parseGlob('', folder)
    await runRipgrep({ folder, glob, args: ['--regexp=word'], signal, deadlineMs: 5000, take })
    expect(output).toContain('secret')
    if (after === '') await reset().then(() => rename(join(root, 'aside'), join(root, 'src')))
    const found = await searchCode(folder, { query: 'word' }, signal)
    expect(found.hits.filter(({ file }) => file.startsWith('src'))).toEqual([])
    expect(found.truncated).toBe(true)
    if (after === '') await reset().then(() => rename(join(root, 'aside'), join(root, 'src')))
    const { files } = await listFiles(folder, {}, signal)
    expect(files).not.toContain('src/secret')
  } finally {
    ripgrep.path = real.rgPath
  }
})

it('confirms bytes of a file at its path, but not through a link', async () => {
  const { root, outside } = await createTree()
  const folder = await openFolder(root)
  await writeFile(join(root, 'a'), 'one two')
  await writeFile(join(outside, 'b'), 'one two')
  await symlink(join(outside, 'b'), join(root, 'link'))
  await symlink(outside, join(root, 'folder'))
  const part = { offset: 4, bytes: Buffer.from('two') }
  expect(await hasParts(folder, 'a', [part])).toBe(true)
  expect(await hasParts(folder, 'a', [{ ...part, offset: 5 }])).toBe(false)
  expect(await hasParts(folder, 'link', [part])).toBe(false)
  expect(await hasParts(folder, 'folder/b', [part])).toBe(false)
  expect(await hasParts(folder, 'none', [part])).toBe(false)
  expect(await filesIn(folder, '', ['a', 'link', 'folder', 'none'])).toEqual(['a'])
  expect(await filesIn(folder, 'folder', ['b'])).toEqual([])
})

it('finds hits in files with a byte order mark', async () => {
  const { root } = await createTree()
  const folder = await openFolder(root)
  await writeFile(join(root, 'utf-8'), '\ufefffirst\nneedle\n')
  await writeFile(join(root, 'utf-16be'), Buffer.from('\ufefffirst\nneedle\n', 'utf16le').swap16())
  const { hits, truncated } = await searchCode(folder, { query: 'needle' }, signal)
  expect(hits.map(({ file, line }) => [file, line])).toEqual([
    ['utf-16be', 2],
    ['utf-8', 2],
  ])
  expect(truncated).toBe(false)
})
