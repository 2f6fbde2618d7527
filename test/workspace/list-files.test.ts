import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect, it } from 'vitest'
import type { Folder } from '../../src/workspace/folder.ts'
import { listFiles } from '../../src/workspace/list-files.ts'
import { openFolder } from '../../src/workspace/open-folder.ts'
import { createOwnPlaces } from '../../src/workspace/policy/own-places.ts'
import { searchCode } from '../../src/workspace/search-code.ts'
import { createTree, failureOf } from './tree.ts'

const { signal } = new AbortController()

async function folderWith(paths: readonly string[]): Promise<Folder & { readonly outside: string }> {
  const { root, outside } = await createTree()
  for (const path of paths) {
    await mkdir(dirname(join(root, path)), { recursive: true })
    await writeFile(join(root, path), path.endsWith('ignore') ? 'ignored/\n*.log\n' : '')
  }
  return { ...(await openFolder(root)), outside }
}

it('lists files in order, hidden ones too, without .git and ignored ones', async () => {
  const folder = await folderWith([
    'b.ts',
    'a/z.ts',
    'a/b/c.ts',
    '.github/x.yml',
    '.gitignore',
    '.git/config',
    'ignored/x.ts',
    'a/ignored/y.ts',
    'a.log',
    '.copilot-proxy.1-0123456789ab.tmp',
  ])
  expect(await listFiles(folder, {}, signal)).toEqual({
    files: ['.github/x.yml', '.gitignore', 'a/b/c.ts', 'a/z.ts', 'b.ts'],
    truncated: false,
  })
  for (const glob of ['**/*', '*', '**', '.', '*.{ts,log}']) {
    expect((await listFiles(folder, { glob }, signal)).files, glob).not.toContain('ignored/x.ts')
    expect((await listFiles(folder, { glob }, signal)).files, glob).not.toContain('a.log')
  }
})

it.skipIf(process.platform === 'win32')(
  'lists files whose names have a backslash, and finds text in them',
  async () => {
    const { root } = await folderWith(['a.ts', 'src/b.ts'])
    for (const name of ['\\c.ts', 'src\\d.ts']) await writeFile(join(root, name), 'text\n')
    const folder = await openFolder(root, { ownPlaces: createOwnPlaces({ folders: ['/nowhere'], files: [] }) })
    expect((await listFiles(folder, {}, signal)).files).toEqual(['\\c.ts', 'a.ts', 'src/b.ts', 'src\\d.ts'])
    const { hits } = await searchCode(folder, { query: 'text' }, signal)
    expect(hits.map(({ file }) => file)).toEqual(['\\c.ts', 'src\\d.ts'])
  },
)

it('lists the files of a glob, also in an ignored folder that it names', async () => {
  const folder = await folderWith(['a.ts', 'src/a.ts', 'src/x/b.ts', 'src/x/c.js', '.gitignore', 'ignored/x.ts'])
  const list = async (glob: string): Promise<readonly string[]> => (await listFiles(folder, { glob }, signal)).files
  expect(await list('*.ts')).toEqual(['a.ts', 'src/a.ts', 'src/x/b.ts'])
  expect(await list('src/*.ts')).toEqual(['src/a.ts'])
  expect(await list('*/x/*')).toEqual(['src/x/b.ts', 'src/x/c.js'])
  expect(await list('src')).toEqual(['src/a.ts', 'src/x/b.ts', 'src/x/c.js'])
  expect(await list('src/x/b.ts')).toEqual(['src/x/b.ts'])
  expect(await list('ignored/**')).toEqual(['ignored/x.ts'])
  expect(await list('none/**')).toEqual([])
  expect(await list('a.ts/**')).toEqual([])
})

it('stops at the limit with the first files', async () => {
  const folder = await folderWith(['c', 'b', 'a'])
  expect(await listFiles(folder, { limit: 2 }, signal)).toEqual({ files: ['a', 'b'], truncated: true })
  expect(await listFiles(folder, { limit: 3 }, signal)).toEqual({ files: ['a', 'b', 'c'], truncated: false })
})

it('G04: lists nothing through links', async () => {
  const folder = await folderWith(['a', 'x/b'])
  await writeFile(join(folder.outside, 'secret'), '')
  await symlink(folder.outside, join(folder.root, 'link'))
  await symlink('.', join(folder.root, 'x/loop'))
  for (const glob of ['', '**', 'link/**', 'link/', 'link/*', 'link', 'x/loop/**', 'link/secret']) {
    const { files } = await listFiles(folder, { glob }, signal)
    expect(
      files.filter((file) => file !== 'a' && file !== 'x/b'),
      glob,
    ).toEqual([])
  }
})

it('G12: returns the files so far at the deadline', async () => {
  const folder = await folderWith(['a'])
  expect(await listFiles(folder, {}, signal, 0)).toMatchObject({ truncated: true })
})

it('G12: lists a folder 1,000 levels deep', async () => {
  const folder = await folderWith(['a'])
  const deep = 'd/'.repeat(1000)
  await mkdir(join(folder.root, deep), { recursive: true })
  await writeFile(join(folder.root, deep, 'x'), '')
  expect(await listFiles(folder, { glob: 'x' }, signal, 20_000)).toEqual({ files: [`${deep}x`], truncated: false })
})

it('G14: does not read names as options', async () => {
  const folder = await folderWith(['--files', '-f', '--follow/a'])
  expect((await listFiles(folder, {}, signal)).files).toEqual(['--files', '--follow/a', '-f'])
  expect((await listFiles(folder, { glob: '--follow/*' }, signal)).files).toEqual(['--follow/a'])
  expect((await listFiles(folder, { glob: '-f' }, signal)).files).toEqual(['-f'])
  expect((await listFiles(folder, { glob: '--pre=sh' }, signal)).files).toEqual([])
})

it('ends when it is cancelled', async () => {
  const folder = await folderWith(['a'])
  expect(await failureOf(listFiles(folder, {}, AbortSignal.abort()))).toEqual({ kind: 'cancelled' })
  const controller = new AbortController()
  const list = failureOf(listFiles(folder, {}, controller.signal))
  controller.abort()
  expect(await list).toEqual({ kind: 'cancelled' })
})
