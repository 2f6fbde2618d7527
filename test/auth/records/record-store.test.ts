import { execFileSync } from 'node:child_process'
import * as nodeFs from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { codexRecordKind } from '../../../src/auth/codex/record.ts'
import { copilotRecordKind } from '../../../src/auth/copilot/record.ts'
import type { CopilotRecord } from '../../../src/auth/copilot/wire.ts'
import type { RecordFs } from '../../../src/auth/records/record-fs.ts'
import { createRecordStore, type RecordStore } from '../../../src/auth/records/record-store.ts'
import { exampleRecord, recordingLog, type RecordingLog } from '../support.ts'

const { chmod, lstat, mkdir, mkdtemp, readdir, readFile, readlink, rm, stat, symlink, utimes, writeFile } = nodeFs

let base: string
let dir: string
let log: RecordingLog
let store: RecordStore<CopilotRecord>

beforeEach(async () => {
  base = await mkdtemp(join(tmpdir(), 'copilot-proxy-records-'))
  dir = join(base, 'auth')
  log = recordingLog()
  store = createRecordStore({ kind: copilotRecordKind, dir, log })
})
afterEach(() => rm(base, { recursive: true, force: true }))

const file = (name = 'copilot-octocat.json'): string => join(dir, name)
const modeOf = async (path: string): Promise<string> => ((await stat(path)).mode & 0o777).toString(8)

/** A file system that fails as a real one does, in one operation. */
function failing(operation: 'rename' | 'writeFile' | 'sync' | 'open' | 'mkdir', code: string): RecordFs {
  const fail = async (): Promise<never> => {
    throw Object.assign(new Error(`${code}: made up`), { code })
  }
  if (operation === 'rename') return { ...nodeFs, rename: fail }
  if (operation === 'mkdir') return { ...nodeFs, mkdir: fail }
  const open: RecordFs['open'] = async (path, flags, mode) => {
    if (flags !== 'wx' || String(path).includes('.lock')) return nodeFs.open(path, flags, mode)
    if (operation === 'open') return fail()
    const handle = await nodeFs.open(path, flags, mode)
    handle[operation] = fail
    return handle
  }
  return { ...nodeFs, open }
}

describe('storing', () => {
  test('a record comes back as it was, unknown keys included', async () => {
    const record = exampleRecord({ access_token: 'tid=example' }, { attributes: { note: 'mine' } })
    const extended = { ...record, from_a_newer_program: { a: [1] } }
    await store.write(extended)
    expect(await store.read('copilot-octocat')).toEqual(extended)
    expect(await store.list()).toEqual([extended])
    expect(store.locationOf('copilot-octocat')).toBe(file())
  })

  test('reading creates no file and no folder', async () => {
    expect(await store.list()).toEqual([])
    expect(await store.current()).toBeUndefined()
    expect(await store.read('copilot-octocat')).toBeUndefined()
    expect(await store.update('copilot-octocat', (record) => record)).toBeUndefined()
    expect(await store.remove('copilot-octocat')).toBe(false)
    expect(await readdir(base)).toEqual([])
  })

  test('the newest login is the account in use', async () => {
    await store.write(exampleRecord({ logged_in_at: 20 }, { id: 'copilot-second' }))
    await store.write(exampleRecord({ logged_in_at: 30 }, { id: 'copilot-third@octo.ghe.com' }))
    await store.write(exampleRecord({ logged_in_at: 10 }, { id: 'copilot-first' }))
    expect((await store.list()).map((record) => record.id)).toEqual([
      'copilot-first',
      'copilot-second',
      'copilot-third@octo.ghe.com',
    ])
    expect((await store.current())?.id).toBe('copilot-third@octo.ghe.com')
    await store.remove('copilot-third@octo.ghe.com')
    expect((await store.current())?.id).toBe('copilot-second')
  })

  test.each(['https://api.githubcopilot.com/backend-api/codex', 'https://api.githubcopilot.com/backend-api/codex/'])(
    'attributes.base_url %s is left out, its neighbours stay',
    async (base_url) => {
      await store.write(exampleRecord({ base_url }, { attributes: { base_url, note: 'mine' } }))
      expect(await store.read('copilot-octocat')).toMatchObject({
        attributes: { note: 'mine' },
        metadata: { base_url },
      })
      expect((await store.read('copilot-octocat'))?.attributes).not.toHaveProperty('base_url')
    },
  )

  test('another attributes.base_url is kept', async () => {
    await store.write(exampleRecord({}, { attributes: { base_url: 'https://api.githubcopilot.com' } }))
    expect((await store.read('copilot-octocat'))?.attributes.base_url).toBe('https://api.githubcopilot.com')
  })

  test.each(['../../escape', 'copilot-a/b', 'copilot-', 'codex-octocat', 'copilot-a.json', ''])(
    'the id %j names no file',
    async (id) => {
      await expect(store.write(exampleRecord({}, { id }))).rejects.toMatchObject({ name: 'RecordStoreError' })
      await expect(store.read(id)).rejects.toMatchObject({ name: 'RecordStoreError' })
    },
  )

  test('records of another provider are none of ours', async () => {
    await mkdir(dir, { recursive: true, mode: 0o700 })
    await writeFile(file('codex-octocat.json'), '{}', { mode: 0o600 })
    expect(await store.list()).toEqual([])
    expect(await readdir(dir)).toEqual(['codex-octocat.json'])
  })

  test('an update changes what is there, and may decide not to', async () => {
    await store.write(exampleRecord({ sku: 'old' }))
    const changed = await store.update('copilot-octocat', async (record) => ({
      ...record,
      metadata: { ...record.metadata, sku: 'new' },
    }))
    expect(changed?.metadata.sku).toBe('new')
    const before = await stat(file())
    expect(await store.update('copilot-octocat', () => undefined)).toEqual(changed)
    expect((await stat(file())).ino).toBe(before.ino)
  })

  test('an update that throws leaves record and lock unchanged', async () => {
    await store.write(exampleRecord())
    await expect(
      store.update('copilot-octocat', () => {
        throw new Error('made up')
      }),
    ).rejects.toThrow('made up')
    expect(await readdir(dir)).toEqual(['copilot-octocat.json'])
  })

  test('updates of one process do not overtake each other', async () => {
    await store.write(exampleRecord({ refresh_in: 0 }))
    const increment = (): Promise<unknown> =>
      store.update('copilot-octocat', async (record) => {
        await new Promise((resolve) => setImmediate(resolve))
        return { ...record, metadata: { ...record.metadata, refresh_in: (record.metadata.refresh_in ?? 0) + 1 } }
      })
    await Promise.all([increment(), increment(), increment(), increment()])
    expect((await store.read('copilot-octocat'))?.metadata.refresh_in).toBe(4)
  })
})

describe('privacy', () => {
  test('C01 folder 0700 and files 0600 from the first instant, whatever the umask', async () => {
    const modes = new Set<number>()
    const watching: RecordFs = {
      ...nodeFs,
      open: async (path, flags, mode) => {
        const handle = await nodeFs.open(path, flags, mode)
        if (flags === 'wx') modes.add((await handle.stat()).mode & 0o777)
        return handle
      },
    }
    // Worker threads cannot set the umask, so the mode asked for is what is looked at, and one child runs without mask.
    await createRecordStore({ kind: copilotRecordKind, dir, log, fs: watching }).write(exampleRecord())
    expect([...modes]).toEqual([0o600])
    const other = join(base, 'unmasked')
    const script = `
      process.umask(0)
      const { createRecordStore } = await import(${JSON.stringify(new URL('../../../src/auth/records/record-store.ts', import.meta.url).href)})
      const { copilotRecordKind } = await import(${JSON.stringify(new URL('../../../src/auth/copilot/record.ts', import.meta.url).href)})
      const { exampleRecord, recordingLog } = await import(${JSON.stringify(new URL('../support.ts', import.meta.url).href)})
      await createRecordStore({ kind: copilotRecordKind, dir: ${JSON.stringify(other)}, log: recordingLog() }).write(exampleRecord())`
    execFileSync(process.execPath, ['--input-type=module', '-e', script])
    expect(await modeOf(other)).toBe('700')
    expect(await modeOf(join(other, 'copilot-octocat.json'))).toBe('600')
  })

  test('C02 a record that others could read is tightened, with one warning', async () => {
    await store.write(exampleRecord())
    await chmod(file(), 0o644)
    expect(await store.current()).toEqual(exampleRecord())
    await store.current()
    expect(await modeOf(file())).toBe('600')
    expect(log.lines).toEqual([expect.stringMatching(/^warn .*could be read by other users.*0600/)])
  })

  test('C02 a folder that others could enter is tightened, with a warning', async () => {
    await mkdir(dir, { mode: 0o755 })
    await chmod(dir, 0o755)
    await store.write(exampleRecord())
    expect(await modeOf(dir)).toBe('700')
    expect(log.lines).toEqual([expect.stringMatching(/^warn .*0700/)])
  })

  test('C02 a record that others can read is refused where permissions are strict, and left as it is', async () => {
    await store.write(exampleRecord())
    await chmod(file(), 0o640)
    const strict = createRecordStore({ kind: copilotRecordKind, dir, log, strictPermissions: true })
    await expect(strict.current()).rejects.toMatchObject({
      problem: 'not_private',
      message: expect.stringContaining(`chmod 600 ${file()}`),
    })
    expect(await modeOf(file())).toBe('640')
  })

  test('C02 a record whose mode cannot be changed is used, with one warning', async () => {
    await store.write(exampleRecord())
    await chmod(file(), 0o644)
    const fixed: RecordFs = {
      ...nodeFs,
      open: async (path, flags, mode) => {
        const handle = await nodeFs.open(path, flags, mode)
        handle.chmod = () => Promise.reject(Object.assign(new Error('EROFS'), { code: 'EROFS' }))
        return handle
      },
    }
    const other = createRecordStore({ kind: copilotRecordKind, dir, log, fs: fixed })
    expect(await other.current()).toEqual(exampleRecord())
    expect(await other.current()).toEqual(exampleRecord())
    expect(log.lines).toEqual([expect.stringMatching(/^warn .*cannot be changed: the file system is read-only/)])
  })

  describe('in a folder of another user', () => {
    const expectedWarning = /belongs to another user \(uid 12345\), who can replace the logins in it\. Change its owner/
    const foreign: RecordFs = {
      ...nodeFs,
      stat: async (path) => Object.assign(await nodeFs.stat(path), { uid: 12_345 }) as never,
    }

    test('C02 records are used, with one warning of all the stores in it', async () => {
      await store.write(exampleRecord())
      const place = { dir, log, fs: foreign, warned: new Set<string>() }
      const one = createRecordStore({ kind: copilotRecordKind, ...place })
      const two = createRecordStore({ kind: codexRecordKind, ...place })
      expect(await one.current()).toEqual(exampleRecord())
      expect(await two.current()).toBeUndefined()
      await one.write(exampleRecord({ sku: 'new' }))
      expect(log.lines).toEqual([expect.stringMatching(expectedWarning)])
    })

    test('C02 nothing is read or written where permissions are strict', async () => {
      await store.write(exampleRecord())
      const strict = createRecordStore({ kind: copilotRecordKind, dir, log, fs: foreign, strictPermissions: true })
      const refusal = { problem: 'not_private', message: expect.stringMatching(expectedWarning) }
      for (let round = 0; round < 2; round += 1) {
        await expect(strict.current()).rejects.toMatchObject(refusal)
        await expect(strict.write(exampleRecord({ sku: 'new' }))).rejects.toMatchObject(refusal)
      }
      expect(await store.current()).toEqual(exampleRecord())
    })
  })

  test('C02 a folder that stays open to others is used, with one warning', async () => {
    await store.write(exampleRecord())
    await chmod(dir, 0o777)
    const fixed: RecordFs = {
      ...nodeFs,
      chmod: () => Promise.reject(Object.assign(new Error('EPERM'), { code: 'EPERM' })),
    }
    const other = createRecordStore({ kind: copilotRecordKind, dir, log, fs: fixed })
    expect(await other.current()).toEqual(exampleRecord())
    await other.write(exampleRecord({ sku: 'new' }))
    expect(log.lines).toEqual([expect.stringMatching(/^warn .*is open to other users .*cannot be changed: permission/)])
  })

  test('C02 a folder that is open to others is refused where permissions are strict, and left as it is', async () => {
    await store.write(exampleRecord())
    await chmod(dir, 0o755)
    const strict = createRecordStore({ kind: copilotRecordKind, dir, log, strictPermissions: true })
    await expect(strict.current()).rejects.toMatchObject({
      problem: 'not_private',
      message: expect.stringContaining(`chmod 700 ${dir}`),
    })
    expect(await modeOf(dir)).toBe('755')
  })

  test('nothing secret is in any line of the log', async () => {
    await mkdir(dir, { mode: 0o700 })
    await writeFile(file(), '{"id":"copilot-octocat","metadata":{"github_access_token":["ghu_example"]}}')
    await store.current()
    expect(log.lines.join('\n')).toContain('copilot-octocat.json')
    expect(log.lines.join('\n')).not.toContain('ghu_example')
  })
})

describe('C07 a corrupt record', () => {
  const good = JSON.stringify(exampleRecord())
  const big = Buffer.alloc(50 * 1024 * 1024, 0x20)
  test.each([
    ['empty', '', 'it is empty'],
    ['truncated', good.slice(0, 60), 'is not valid JSON'],
    ['of wrong types', good.replace('"ghu_example"', '7'), 'metadata.github_access_token'],
    ['of another shape', '[]', 'the whole'],
    ['binary', Buffer.from([0, 255, 254, 1, 2, 128]), 'is not valid JSON'],
    ['50 MB', big, 'too large'],
    ['with a byte order mark', `\uFEFF${good}`, 'byte order mark'],
    ['of another account', good.replace('"copilot-octocat"', '"copilot-other"'), 'its id differs'],
  ])('that is %s counts as absent and is kept aside with a message', async (_what, content, words) => {
    await mkdir(dir, { mode: 0o700 })
    await writeFile(file(), content, { mode: 0o600 })
    expect(await store.current()).toBeUndefined()
    expect(await readdir(dir)).toEqual(['copilot-octocat.json.corrupt-1'])
    expect((await readFile(file('copilot-octocat.json.corrupt-1'))).equals(Buffer.from(content))).toBe(true)
    expect(log.lines).toEqual([expect.stringContaining(words)])
    expect(log.lines[0]).toContain('copilot-proxy login')
  })

  test('never replaces one kept earlier, and does not hide a good neighbour', async () => {
    await store.write(exampleRecord({}, { id: 'copilot-good' }))
    await writeFile(file('copilot-octocat.json.corrupt-1'), 'earlier')
    await writeFile(file(), 'later')
    expect((await store.list()).map((record) => record.id)).toEqual(['copilot-good'])
    expect(await readFile(file('copilot-octocat.json.corrupt-1'), 'utf8')).toBe('earlier')
    expect(await readFile(file('copilot-octocat.json.corrupt-2'), 'utf8')).toBe('later')
  })

  test('of which there are too many takes the place of the oldest, and says so', async () => {
    await mkdir(dir, { mode: 0o700 })
    for (let n = 1; n <= 9; n += 1) {
      const kept = file(`copilot-octocat.json.corrupt-${n}`)
      await writeFile(kept, `${n}`)
      // The fourth is the oldest.
      await utimes(kept, n === 4 ? 1 : 100 + n, n === 4 ? 1 : 100 + n)
    }
    await writeFile(file(), 'later')
    expect(await store.current()).toBeUndefined()
    expect(await readdir(dir)).toHaveLength(9)
    expect(await readFile(file('copilot-octocat.json.corrupt-4'), 'utf8')).toBe('later')
    expect(log.lines).toEqual([expect.stringContaining('corrupt-4, replacing an older one')])
  })

  test('is kept aside before a login writes over it', async () => {
    await mkdir(dir, { mode: 0o700 })
    await writeFile(file(), 'broken')
    await store.write(exampleRecord())
    expect(await store.current()).toEqual(exampleRecord())
    expect(await readFile(file('copilot-octocat.json.corrupt-1'), 'utf8')).toBe('broken')
  })

  test('that cannot be moved is reported once and stays', async () => {
    await mkdir(dir, { mode: 0o700 })
    await writeFile(file(), 'broken')
    const readOnly = createRecordStore({ kind: copilotRecordKind, dir, log, fs: failing('rename', 'EROFS') })
    expect(await readOnly.current()).toBeUndefined()
    expect(await readOnly.current()).toBeUndefined()
    expect(log.lines).toEqual([expect.stringContaining('read-only')])
    expect(await readFile(file(), 'utf8')).toBe('broken')
  })

  test('that was replaced by a good one meanwhile is not moved', async () => {
    await mkdir(dir, { mode: 0o700 })
    await writeFile(file(), 'broken')
    let replaced = false
    const racing: RecordFs = {
      ...nodeFs,
      open: async (path, flags, mode) => {
        const handle = await nodeFs.open(path, flags, mode)
        if (path === file() && !replaced) {
          replaced = true
          await writeFile(file('next'), JSON.stringify(exampleRecord()), { mode: 0o600 })
          await nodeFs.rename(file('next'), file())
        }
        return handle
      },
    }
    expect(await createRecordStore({ kind: copilotRecordKind, dir, log, fs: racing }).current()).toEqual(
      exampleRecord(),
    )
    expect(await readdir(dir)).toEqual(['copilot-octocat.json'])
  })
})

describe('C03 something else in the place of a record', () => {
  test('a symbolic link is refused, and its target is untouched', async () => {
    await mkdir(dir, { mode: 0o700 })
    const target = join(base, 'elsewhere.json')
    await writeFile(target, JSON.stringify(exampleRecord()), { mode: 0o644 })
    await symlink(target, file())
    await expect(store.read('copilot-octocat')).rejects.toThrow(/not a plain file/)
    await expect(store.write(exampleRecord({ sku: 'new' }))).rejects.toThrow(/not a plain file/)
    await expect(store.current()).rejects.toThrow(/not a plain file/)
    expect(await readlink(file())).toBe(target)
    expect(await modeOf(target)).toBe('644')
    expect(await readFile(target, 'utf8')).toBe(JSON.stringify(exampleRecord()))
  })

  test('a FIFO neither blocks nor is read', async () => {
    await mkdir(dir, { mode: 0o700 })
    execFileSync('mkfifo', [file()])
    await expect(store.read('copilot-octocat')).rejects.toThrow(/not a plain file/)
    expect((await lstat(file())).isFIFO()).toBe(true)
  })

  test('a folder is refused, and hides no good neighbour', async () => {
    await mkdir(file(), { recursive: true })
    await store.write(exampleRecord({}, { id: 'copilot-good' }))
    expect((await store.list()).map((record) => record.id)).toEqual(['copilot-good'])
    expect((await store.current())?.id).toBe('copilot-good')
    await store.list()
    expect(log.lines.filter((line) => line.includes('not a plain file'))).toHaveLength(1)
  })

  test('the file of another user is refused, and left as it is', async () => {
    await mkdir(dir, { mode: 0o700 })
    await writeFile(file(), JSON.stringify(exampleRecord()), { mode: 0o644 })
    const stranger = 12_345
    const foreign: RecordFs = {
      ...nodeFs,
      open: async (path, flags, mode) => {
        const handle = await nodeFs.open(path, flags, mode)
        const real = await handle.stat()
        handle.stat = async () => Object.assign(real, { uid: stranger }) as never
        return handle
      },
    }
    const other = createRecordStore({ kind: copilotRecordKind, dir, log, fs: foreign })
    await expect(other.read('copilot-octocat')).rejects.toMatchObject({
      problem: 'not_private',
      message: expect.stringContaining('belongs to another user (uid 12345)'),
    })
    await expect(other.write(exampleRecord({ sku: 'new' }))).rejects.toMatchObject({ problem: 'not_private' })
    expect(await modeOf(file())).toBe('644')
    expect(await readFile(file(), 'utf8')).toBe(JSON.stringify(exampleRecord()))
  })

  // Only the superuser can give a file away.
  test.runIf(process.geteuid?.() === 0)('a file that really belongs to another user is refused', async () => {
    await store.write(exampleRecord())
    await nodeFs.chown(file(), 12_345, 12_345)
    await expect(store.current()).rejects.toThrow(/belongs to another user/)
    expect((await lstat(file())).uid).toBe(12_345)
  })

  test('a pipe in the place of a lock is refused, and blocks nothing', async () => {
    await store.write(exampleRecord())
    execFileSync('mkfifo', [file('copilot-octocat.json.lock')])
    await expect(store.write(exampleRecord({ sku: 'new' }))).rejects.toThrow(/lock is not a plain file/)
    expect(await store.read('copilot-octocat')).toEqual(exampleRecord())
  })

  test('a link that appears between check and open is refused too', async () => {
    await store.write(exampleRecord())
    const target = join(base, 'elsewhere.json')
    await writeFile(target, JSON.stringify(exampleRecord()))
    const racing: RecordFs = {
      ...nodeFs,
      open: async (path, flags, mode) => {
        if (path === file()) {
          await rm(file())
          await symlink(target, file())
        }
        return nodeFs.open(path, flags, mode)
      },
    }
    await expect(
      createRecordStore({ kind: copilotRecordKind, dir, log, fs: racing }).read('copilot-octocat'),
    ).rejects.toThrow(/not a plain file/)
  })
})

test.each(['EACCES', 'EIO'])('a record that cannot be read (%s) is reported and stays where it is', async (code) => {
  await store.write(exampleRecord())
  const unreadable: RecordFs = {
    ...nodeFs,
    open: async (path, flags, mode) => {
      if (path === file()) throw Object.assign(new Error(code), { code })
      return nodeFs.open(path, flags, mode)
    },
  }
  const other = createRecordStore({ kind: copilotRecordKind, dir, log, fs: unreadable })
  expect(await other.list()).toEqual([])
  await expect(other.current()).rejects.toMatchObject({ problem: 'unreadable' })
  await expect(other.write(exampleRecord())).rejects.toMatchObject({ problem: 'unreadable' })
  expect(await readdir(dir)).toEqual(['copilot-octocat.json'])
  expect(log.lines).toEqual([expect.stringContaining('cannot be read')])
})

describe('C05 a write that fails', () => {
  test.each([
    ['open', 'ENOSPC', 'disk is full'],
    ['writeFile', 'ENOSPC', 'disk is full'],
    ['writeFile', 'EDQUOT', 'disk is full'],
    ['sync', 'EIO', 'reported an error'],
    ['rename', 'EROFS', 'read-only'],
    ['mkdir', 'EACCES', 'permission denied'],
    ['mkdir', 'ENOENT', 'the file system is read-only'],
    ['rename', 'EBUSY', 'the system reported EBUSY'],
  ] as const)(
    'in %s with %s keeps the old record, leaves no temporary file and says what to do',
    async (operation, code, words) => {
      await store.write(exampleRecord({ sku: 'old' }))
      const broken = createRecordStore({ kind: copilotRecordKind, dir, log, fs: failing(operation, code) })
      await expect(broken.write(exampleRecord({ sku: 'new' }))).rejects.toMatchObject({
        problem: 'unwritable',
        message: expect.stringContaining(words),
      })
      expect((await store.current())?.metadata.sku).toBe('old')
      expect(await readdir(dir)).toEqual(['copilot-octocat.json'])
    },
  )

  test('of the first record does not speak of an earlier one', async () => {
    const broken = createRecordStore({ kind: copilotRecordKind, dir, log, fs: failing('rename', 'EROFS') })
    await expect(broken.write(exampleRecord())).rejects.toThrow(/was not written, and nothing was changed: .*read-only/)
  })

  test('in an update that could not be locked: the change has run, the record is as it was', async () => {
    await store.write(exampleRecord({ sku: 'old' }))
    const readOnly: RecordFs = {
      ...nodeFs,
      open: async (path, flags, mode) => {
        if (flags === 'wx') throw Object.assign(new Error('EROFS'), { code: 'EROFS' })
        return nodeFs.open(path, flags, mode)
      },
    }
    const change = vi.fn((record: ReturnType<typeof exampleRecord>) => ({ ...record, label: 'new' }))
    await expect(
      createRecordStore({ kind: copilotRecordKind, dir, log, fs: readOnly }).update('copilot-octocat', change),
    ).rejects.toMatchObject({
      problem: 'unwritable',
    })
    expect(change.mock.calls).toEqual([
      [
        expect.anything(),
        expect.anything(),
        expect.objectContaining({
          problem: 'unwritable',
          message: expect.stringContaining('could not be locked: the file system is read-only'),
        }),
      ],
    ])
    expect(await store.current()).toMatchObject({ label: 'octocat' })
    const locked = vi.fn(() => undefined)
    await store.update('copilot-octocat', locked)
    expect(locked).toHaveBeenCalledWith(expect.anything(), expect.anything(), undefined)
  })

  test('a record that cannot be removed is reported', async () => {
    await store.write(exampleRecord())
    const stuck: RecordFs = {
      ...nodeFs,
      unlink: async (path) => {
        if (path === file()) throw Object.assign(new Error('EPERM'), { code: 'EPERM' })
        return nodeFs.unlink(path)
      },
    }
    await expect(
      createRecordStore({ kind: copilotRecordKind, dir, log, fs: stuck }).remove('copilot-octocat'),
    ).rejects.toThrow(/permission denied/)
  })
})

test('temporary files of killed writers are swept, those of live ones are not', async () => {
  await store.write(exampleRecord())
  const dead = 2 ** 22 + 1 // above the largest process id Linux gives out
  const names = {
    dead: `copilot-octocat.json.${dead}-0123456789ab.tmp`,
    live: `copilot-octocat.json.${process.pid}-0123456789ab.tmp`,
    old: `copilot-octocat.json.${process.pid}-ba9876543210.tmp`,
    other: 'notes.tmp',
  }
  await Promise.all(Object.values(names).map((name) => writeFile(file(name), 'half')))
  await utimes(file(names.old), 0, 0)
  await createRecordStore({ kind: copilotRecordKind, dir, log }).list()
  expect((await readdir(dir)).toSorted()).toEqual(['copilot-octocat.json', names.live, names.other].toSorted())
})

describe('a corrupt record that is left', () => {
  test('stays in place, is logged once, and counts as unreadable and not as absent', async () => {
    await store.write(exampleRecord())
    await writeFile(file(), '{"id":')
    for (let round = 0; round < 2; round += 1) {
      await expect(store.current({ leaveCorrupt: true })).rejects.toMatchObject({ problem: 'unreadable' })
    }
    expect(await readdir(dir)).toEqual(['copilot-octocat.json'])
    expect(log.lines).toEqual([expect.stringMatching(/^warn .*is not usable: it is not valid JSON$/)])
  })

  test('is there, as is one that cannot be read, until it is removed', async () => {
    expect(await store.has('copilot-octocat')).toBe(false)
    await store.write(exampleRecord())
    await writeFile(file(), '')
    expect(await store.has('copilot-octocat')).toBe(true)
    await store.remove('copilot-octocat')
    await mkdir(file())
    expect(await store.has('copilot-octocat')).toBe(true)
    await nodeFs.rmdir(file())
    expect(await store.has('copilot-octocat')).toBe(false)
  })
})

describe('watching', () => {
  test('hears of a write and a removal by another store, also in a folder that comes later', async () => {
    const watcher = createRecordStore({ kind: copilotRecordKind, dir, log, watchEveryMs: 5 })
    const waiting: (() => void)[] = []
    const change = (): Promise<void> => new Promise((resolve) => waiting.push(resolve))
    const stop = watcher.watch(() => {
      for (const resolve of waiting.splice(0)) resolve()
    })
    await change()
    let next = change()
    await store.write(exampleRecord())
    await next
    next = change()
    await store.remove('copilot-octocat')
    await next
    stop()
  })

  test('stops when the returned function is called', async () => {
    const watcher = createRecordStore({ kind: copilotRecordKind, dir, log, watchEveryMs: 5 })
    const onChange = vi.fn()
    watcher.watch(onChange)()
    const heard = new Promise<void>((resolve) =>
      createRecordStore({ kind: copilotRecordKind, dir, log, watchEveryMs: 20 }).watch(resolve),
    )
    await store.write(exampleRecord())
    await heard
    expect(onChange).not.toHaveBeenCalled()
  })

  test('does not keep the process alive', () => {
    const script = `
      const { createRecordStore } = await import(${JSON.stringify(new URL('../../../src/auth/records/record-store.ts', import.meta.url).href)})
      const { copilotRecordKind } = await import(${JSON.stringify(new URL('../../../src/auth/copilot/record.ts', import.meta.url).href)})
      createRecordStore({ kind: copilotRecordKind, dir: ${JSON.stringify(dir)}, log: { warn() {}, debug() {} } }).watch(() => {})`
    execFileSync(process.execPath, ['--input-type=module', '-e', script], { timeout: 10_000 })
  })
})
