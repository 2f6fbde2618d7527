import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import * as nodeFs from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { inspectAuthFolder } from '../../../src/auth/records/inspect-permissions.ts'

let base: string
let dir: string

beforeEach(async () => {
  base = await mkdtemp(join(tmpdir(), 'copilot-proxy-inspect-'))
  dir = join(base, 'auth')
  await mkdir(dir, { mode: 0o700 })
})
afterEach(() => rm(base, { recursive: true, force: true }))

const file = (name: string): string => join(dir, name)

test('a folder that is private, or not there yet, is nothing to speak of', async () => {
  await writeFile(file('copilot-octocat.json'), '{}', { mode: 0o600 })
  expect(await inspectAuthFolder(dir)).toEqual([])
  expect(await inspectAuthFolder(join(base, 'nowhere'))).toEqual([])
})

test('C02 each file that others can reach is found, with the command that ends it, and none is changed', async () => {
  const names = ['codex-a.json.corrupt-2', 'copilot-b.json', 'copilot-c.sealed']
  for (const name of [...names, 'notes.txt', 'copilot-b.json.lock']) {
    await writeFile(file(name), '{}')
    await chmod(file(name), 0o640)
  }
  await chmod(dir, 0o755)
  const findings = [
    { path: dir, problem: 'open_to_others', detail: expect.stringContaining('(mode 0755)'), fix: `chmod 700 ${dir}` },
    ...names.map((name) => ({
      path: file(name),
      problem: 'open_to_others',
      detail: `${file(name)} is open to other users of this machine (mode 0640)`,
      fix: `chmod 600 ${file(name)}`,
    })),
  ]
  expect(await inspectAuthFolder(dir)).toEqual(findings)
  expect(await inspectAuthFolder(dir)).toEqual(findings)
})

test('C03 what is no file of this user is found: a link, a folder, another owner', async () => {
  await symlink(join(base, 'elsewhere'), file('copilot-a.json'))
  await mkdir(file('copilot-b.json'))
  await writeFile(file('copilot-c.json'), '{}', { mode: 0o600 })
  const foreign = {
    ...nodeFs,
    lstat: async (path: string) => {
      const stat = await nodeFs.lstat(path)
      return path.endsWith('c.json') ? Object.assign(stat, { uid: 12_345 }) : stat
    },
  } as typeof nodeFs
  expect((await inspectAuthFolder(dir, foreign)).map(({ problem }) => problem)).toEqual([
    'wrong_kind',
    'wrong_kind',
    'foreign_owner',
  ])
})

test('what cannot be inspected is a finding, and a path with blanks can be pasted', async () => {
  const closed = {
    ...nodeFs,
    readdir: async () => ['a.json', 'gone.json'],
    lstat: (path: string) => {
      const code = path.endsWith('gone.json') ? 'ENOENT' : 'EACCES'
      return Promise.reject(Object.assign(new Error(code), { code }))
    },
    stat: () => Promise.reject(Object.assign(new Error('ENOENT'), { code: 'ENOENT' })),
  } as unknown as typeof nodeFs
  expect(await inspectAuthFolder("/home/ada's files", closed)).toEqual([
    {
      path: "/home/ada's files/a.json",
      problem: 'unknown',
      detail: "/home/ada's files/a.json cannot be inspected (EACCES)",
      fix: `ls -ld '/home/ada'\\''s files/a.json'`,
    },
  ])
})
