import { execFileSync, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import * as fs from 'node:fs/promises'
import { createServer } from 'node:net'
import { getuid } from 'node:process'
import { dirname, join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openFolder } from '../../src/workspace/open-folder.ts'
import { raceWrites } from './race-writes.ts'
import { createTree, failureOf } from './tree.ts'

const limits = { maxBytes: 4 * 1024 * 1024 }
const utf8 = (text: string): Uint8Array => Buffer.from(text)
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

async function openDescriptors(): Promise<number> {
  return (await fs.readdir('/proc/self/fd')).length
}

it('opens nothing but a folder', async () => {
  const { root } = await createTree()
  await fs.writeFile(join(root, 'a.ts'), 'a')
  expect(await failureOf(openFolder(join(root, 'a.ts')))).toMatchObject({ kind: 'failed' })
  expect(await failureOf(openFolder(join(root, 'b')))).toMatchObject({ kind: 'failed' })
})

it('accepts absolute paths below the real path of the root and below the path that opened it', async () => {
  const { root, outside } = await createTree()
  await fs.symlink(root, join(outside, 'alias'))
  await fs.writeFile(join(root, 'a.ts'), 'a')
  const folder = await openFolder(join(outside, 'alias'))
  expect(folder.root).toBe(root)
  expect(folder.relativePath(join(root, 'a.ts'))).toBe('a.ts')
  expect(folder.relativePath(join(outside, 'alias/a.ts'))).toBe('a.ts')
  await fs.symlink(join(outside, 'alias/a.ts'), join(root, 'link.ts'))
  expect((await folder.readFile('link.ts', limits)).bytes.toString()).toBe('a')
})

// `held`: descriptors hold folders (Linux). Otherwise, `openFolder` checks paths (other systems).
describe.each([{ held: true }, { held: false }])('openFolder, held: $held', ({ held }) => {
  it.each(['../x', '/etc/passwd', '~/x', 'a\0', '%2e%2e/x', String.raw`..\x`, '.GIT/config'])(
    'G02: refuses to read, write or remove %j',
    async (path) => {
      const { root } = await createTree()
      const folder = await openFolder(root, { held })
      expect(await failureOf(folder.readFile(path, limits))).toMatchObject({ kind: 'denied' })
      expect(await failureOf(folder.writeFile(path, utf8('x')))).toMatchObject({ kind: 'denied' })
      expect(await failureOf(folder.removeFile(path))).toMatchObject({ kind: 'denied' })
    },
  )

  it('reads a file with its hash, size and mode', async () => {
    const { root } = await createTree()
    await fs.mkdir(join(root, 'src'))
    await fs.writeFile(join(root, 'src/a.sh'), 'echo\n', { mode: 0o755 })
    const folder = await openFolder(root, { held })
    const content = await folder.readFile('./src/a.sh', limits)
    expect({ ...content, bytes: content.bytes.toString() }).toEqual({
      bytes: 'echo\n',
      sha256: sha256('echo\n'),
      size: 5,
      mode: 0o755,
    })
  })

  it('G04: reads nothing through links that lead outside', async () => {
    const { root, outside } = await createTree()
    await fs.writeFile(join(outside, 'secret'), 'secret')
    await fs.mkdir(join(root, 'src'))
    await fs.symlink(join(outside, 'secret'), join(root, 'file'))
    await fs.symlink('../../outside/secret', join(root, 'src/file'))
    await fs.symlink(outside, join(root, 'folder'))
    await fs.symlink('folder', join(root, 'chain'))
    await fs.symlink('src/../../outside', join(root, 'up'))
    await fs.symlink(join(outside, 'not-yet'), join(root, 'not-yet'))
    const folder = await openFolder(root, { held })
    for (const path of ['file', 'src/file', 'folder/secret', 'chain/secret', 'up/secret', 'not-yet', 'folder/none']) {
      expect(await failureOf(folder.readFile(path, limits)), path).toMatchObject({ kind: 'denied' })
    }
  })

  it('G04: reads through links that stay inside, and finds a loop', async () => {
    const { root } = await createTree()
    await fs.mkdir(join(root, 'src/deep'), { recursive: true })
    await fs.writeFile(join(root, 'src/a.ts'), 'a')
    await fs.symlink('src/a.ts', join(root, 'file'))
    await fs.symlink(join(root, 'src'), join(root, 'folder'))
    await fs.symlink('../../folder', join(root, 'src/deep/chain'))
    await fs.symlink('loop-b', join(root, 'loop-a'))
    await fs.symlink('loop-a', join(root, 'loop-b'))
    await fs.symlink('.', join(root, 'self'))
    const folder = await openFolder(root, { held })
    for (const path of ['file', 'folder/a.ts', 'src/deep/chain/a.ts', 'self/self/self/src/a.ts']) {
      expect((await folder.readFile(path, limits)).bytes.toString(), path).toBe('a')
    }
    const loop = await failureOf(folder.readFile('loop-a/x', limits))
    expect(loop).toEqual({ kind: 'failed', detail: '"loop-a/x" is a link that leads back to itself.' })
    expect(await failureOf(folder.readFile('folder', limits))).toEqual({
      kind: 'failed',
      detail: '"folder" is a folder.',
    })
    expect(await failureOf(folder.readFile('self', limits))).toMatchObject({ kind: 'failed' })
  })

  it('G04: does not write through links', async () => {
    const { root, outside } = await createTree()
    await fs.writeFile(join(outside, 'secret'), 'secret')
    await fs.mkdir(join(root, 'src'))
    await fs.symlink(join(outside, 'secret'), join(root, 'file'))
    await fs.symlink(join(outside, 'new'), join(root, 'not-yet'))
    await fs.symlink(outside, join(root, 'folder'))
    await fs.symlink('folder', join(root, 'chain'))
    await fs.symlink('loop', join(root, 'loop'))
    await fs.symlink('src', join(root, 'inside'))
    const folder = await openFolder(root, { held })
    for (const path of [
      'file',
      'not-yet',
      'folder/secret',
      'folder/new',
      'folder/a/b',
      'chain/new',
      'loop',
      'inside/a',
    ]) {
      expect(await failureOf(folder.writeFile(path, utf8('x'))), path).toMatchObject({ kind: 'denied' })
      expect(await failureOf(folder.writeFile(path, utf8('x'), { ifSha256: null })), path).toMatchObject({
        kind: 'denied',
      })
      expect(await failureOf(folder.removeFile(path)), path).toMatchObject({ kind: 'denied' })
    }
    expect(await failureOf(folder.writeFile('inside/a', utf8('x')))).toMatchObject({
      detail: '"inside/a" cannot be changed: "inside" is a link. Use the path of the file itself.',
    })
    expect(await fs.readdir(outside)).toEqual(['secret'])
    expect(await fs.readFile(join(outside, 'secret'), 'utf8')).toBe('secret')
    expect(await fs.readdir(join(root, 'src'))).toEqual([])
  })

  it('G06: leaves the other names of a hard-linked file unchanged', async () => {
    const { root, outside } = await createTree()
    await fs.writeFile(join(outside, 'other'), 'old')
    await fs.link(join(outside, 'other'), join(root, 'a'))
    await (await openFolder(root, { held })).writeFile('a', utf8('new'))
    expect(await fs.readFile(join(outside, 'other'), 'utf8')).toBe('old')
    expect(await fs.readFile(join(root, 'a'), 'utf8')).toBe('new')
  })

  it('G07: refuses FIFOs, sockets, devices and folders without waiting', async () => {
    const { root } = await createTree()
    execFileSync('mkfifo', [join(root, 'fifo')])
    const server = createServer().listen(join(root, 'socket'))
    await once(server, 'listening')
    onTestFinished(() => void server.close())
    await fs.mkdir(join(root, 'folder'))
    const paths = ['fifo', 'socket', 'folder']
    if (getuid?.() === 0) {
      execFileSync('mknod', [join(root, 'null'), 'c', '1', '3'])
      paths.push('null')
    }
    const folder = await openFolder(root, { held })
    for (const path of paths) {
      expect(await failureOf(folder.readFile(path, limits)), path).toMatchObject({ kind: 'failed' })
      expect(await failureOf(folder.writeFile(path, utf8('x'))), path).toMatchObject({ kind: 'failed' })
      expect(await failureOf(folder.removeFile(path)), path).toMatchObject({ kind: 'failed' })
    }
  })

  it('G07: reads no more than the limit of a sparse file of 10 GB', async () => {
    const { root } = await createTree()
    await fs.writeFile(join(root, 'sparse'), '')
    await fs.truncate(join(root, 'sparse'), 10 * 1024 ** 3)
    const folder = await openFolder(root, { held })
    expect(await failureOf(folder.readFile('sparse', limits))).toEqual({
      kind: 'too_large',
      detail: '"sparse" has 10 GB; the limit is 4 MB.',
    })
    const start = await folder.readStart('sparse', limits)
    expect(start).toMatchObject({ size: 10 * 1024 ** 3, sha256: undefined })
    expect(start.bytes.length).toBe(limits.maxBytes)
  })

  it('reads a file of exactly the limit, and an empty file', async () => {
    const { root } = await createTree()
    await fs.writeFile(join(root, 'a'), 'abc')
    await fs.writeFile(join(root, 'empty'), '')
    const folder = await openFolder(root, { held })
    expect((await folder.readFile('a', { maxBytes: 3 })).bytes.toString()).toBe('abc')
    expect(await failureOf(folder.readFile('a', { maxBytes: 2 }))).toMatchObject({ kind: 'too_large' })
    expect(await folder.readFile('empty', { maxBytes: 0 })).toMatchObject({ size: 0, sha256: sha256('') })
  })

  it('stops reading when it is cancelled', async () => {
    const { root } = await createTree()
    await fs.writeFile(join(root, 'a'), 'a')
    const read = (await openFolder(root, { held })).readFile('a', { ...limits, signal: AbortSignal.abort() })
    expect(await failureOf(read)).toEqual({ kind: 'cancelled' })
  })

  it('G22: writes bytes unchanged and keeps the mode', async () => {
    const { root } = await createTree()
    await fs.writeFile(join(root, 'a.sh'), 'old', { mode: 0o755 })
    const folder = await openFolder(root, { held })
    const bytes = Buffer.from('\ufeffone\r\ntwo\nno end')
    await folder.writeFile('a.sh', bytes)
    expect(await fs.readFile(join(root, 'a.sh'))).toEqual(bytes)
    expect((await fs.stat(join(root, 'a.sh'))).mode & 0o777).toBe(0o755)
    await folder.writeFile('a.sh', bytes, { mode: 0o640 })
    expect((await fs.stat(join(root, 'a.sh'))).mode & 0o777).toBe(0o640)
    expect(await fs.readdir(root)).toEqual(['a.sh'])
  })

  it('G22: refuses to change a read-only file', async () => {
    const { root } = await createTree()
    await fs.writeFile(join(root, 'a'), 'old', { mode: 0o444 })
    const folder = await openFolder(root, { held })
    const readOnly = { kind: 'failed', detail: '"a" is read-only.' }
    expect(await failureOf(folder.writeFile('a', utf8('new')))).toEqual(readOnly)
    expect(await failureOf(folder.removeFile('a'))).toEqual(readOnly)
    expect(await fs.readFile(join(root, 'a'), 'utf8')).toBe('old')
  })

  it('creates missing folders, and a file with the mode of any new file', async () => {
    const { root } = await createTree()
    const folder = await openFolder(root, { held })
    await folder.writeFile('a/b/c.ts', utf8('c'))
    await fs.writeFile(join(root, 'plain'), '')
    expect((await fs.stat(join(root, 'a/b/c.ts'))).mode).toBe((await fs.stat(join(root, 'plain'))).mode)
    expect(await failureOf(folder.writeFile('plain/x', utf8('x')))).toMatchObject({ kind: 'failed' })
    expect(await failureOf(folder.writeFile('', utf8('x')))).toMatchObject({ kind: 'failed' })
  })

  it('writes and removes a file only if it has the stated hash', async () => {
    const { root } = await createTree()
    await fs.writeFile(join(root, 'a'), 'one')
    const folder = await openFolder(root, { held })
    const conflict = { kind: 'conflict', conflicts: [{ path: 'a', expected: [], found: [] }] }
    expect(await failureOf(folder.writeFile('a', utf8('two'), { ifSha256: sha256('other') }))).toMatchObject(conflict)
    expect(await failureOf(folder.writeFile('a', utf8('two'), { ifSha256: null }))).toMatchObject(conflict)
    expect(await failureOf(folder.removeFile('a', { ifSha256: sha256('other') }))).toMatchObject(conflict)
    expect(await fs.readFile(join(root, 'a'), 'utf8')).toBe('one')
    await folder.writeFile('a', utf8('two'), { ifSha256: sha256('one') })
    await folder.removeFile('a', { ifSha256: sha256('two') })
    expect(await failureOf(folder.writeFile('a', utf8('x'), { ifSha256: sha256('two') }))).toMatchObject(conflict)
    expect(await failureOf(folder.removeFile('a', { ifSha256: sha256('two') }))).toMatchObject(conflict)
    expect(await failureOf(folder.removeFile('a'))).toEqual({ kind: 'failed', detail: '"a" does not exist.' })
    await folder.writeFile('b', utf8('b'), { ifSha256: null })
    expect(await fs.readdir(root)).toEqual(['b'])
  })

  it('lets only one of many writers with the same hash succeed', async () => {
    const { root } = await createTree()
    await fs.writeFile(join(root, 'a'), 'old')
    const folder = await openFolder(root, { held })
    const winners = async (path: string, ifSha256: string | null): Promise<number> => {
      const writes = ['1', '2', '3', '4'].map((text) => folder.writeFile(path, utf8(text), { ifSha256 }))
      return (await Promise.allSettled(writes)).filter(({ status }) => status === 'fulfilled').length
    }
    expect(await winners('a', sha256('old'))).toBe(1)
    expect(await winners('b', null)).toBe(1)
  })

  it('removes the temporary files of a killed process, and no others', async () => {
    const { root } = await createTree()
    const child = spawn('true')
    await once(child, 'exit')
    const stray = `.copilot-proxy.${child.pid}-0123456789ab.tmp`
    const live = `.copilot-proxy.${process.pid}-0123456789ab.tmp`
    for (const name of [stray, live, '.copilot-proxy.yaml', 'other.1-0123456789ab.tmp'])
      await fs.writeFile(join(root, name), '')
    await (await openFolder(root, { held })).writeFile('a', utf8('a'))
    expect((await fs.readdir(root)).toSorted()).toEqual([live, '.copilot-proxy.yaml', 'a', 'other.1-0123456789ab.tmp'])
  })

  it('closes each file that it opens', async () => {
    const { root, outside } = await createTree()
    await fs.mkdir(join(root, 'a/b'), { recursive: true })
    await fs.symlink(outside, join(root, 'a/link'))
    const folder = await openFolder(root, { held })
    const round = async (): Promise<void> => {
      await folder.writeFile('a/b/c', utf8('c'))
      await folder.readFile('a/b/c', limits)
      await Promise.allSettled([
        folder.readFile('a/none', limits),
        folder.readFile('a/link/x', limits),
        folder.readFile('a', limits),
        folder.readFile('a/b/c', { maxBytes: 0 }),
        folder.writeFile('a/link/x', utf8('x')),
        folder.writeFile('a/b/c', utf8('x'), { ifSha256: 'x' }),
      ])
    }
    await round()
    const before = await openDescriptors()
    for (let rounds = 0; rounds < 20; rounds += 1) await round()
    expect(await openDescriptors()).toBe(before)
  })
})

it('G07, G10: reports an unreadable file, and allows nothing if the policy is unreadable', async () => {
  const { root } = await createTree()
  for (const path of [dirname(root), root]) await fs.chmod(path, 0o755)
  await fs.writeFile(join(root, 'a'), 'a', { mode: 0o200 })
  await fs.writeFile(join(root, '.agent-policy.yaml'), 'writes: { allow: ["**"] }', { mode: 0o200 })
  const child = join(import.meta.dirname, 'children/read-as-nobody.ts')
  const output: unknown = JSON.parse(execFileSync(process.execPath, [child, root], { encoding: 'utf8' }))
  const failure = { kind: 'failed', detail: 'Permission to access "a" was denied.' }
  expect(output).toEqual({
    failures: [failure, failure],
    policy: { isAllowed: false, reason: expect.stringContaining('The workspace can be neither read nor changed') },
  })
})

// `npm run test:soak` makes 5000 writes.
it('G05: writes and reads nothing outside while a folder is swapped for a link', { timeout: 120_000 }, () =>
  raceWrites(1000),
)
