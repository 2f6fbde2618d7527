import * as nodeFs from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { codexRecordKind } from '../../../src/auth/codex/record.ts'
import { copilotRecordKind } from '../../../src/auth/copilot/record.ts'
import type { RecordFs } from '../../../src/auth/records/record-fs.ts'
import { createRecordSeal } from '../../../src/auth/records/record-seal.ts'
import { createRecordStore, type RecordStore } from '../../../src/auth/records/record-store.ts'
import type { CopilotRecord } from '../../../src/auth/copilot/wire.ts'
import { fakeKeychain, type FakeKeychain } from './fake-keychain.ts'
import { exampleRecord, recordingLog, type RecordingLog } from '../support.ts'

const { copyFile, mkdtemp, readdir, readFile, rm, stat, writeFile } = nodeFs

let dir: string
let log: RecordingLog
let keychain: FakeKeychain
let store: RecordStore<CopilotRecord>

/** A store as another process has it: nothing in memory. */
const open = (fs?: RecordFs): RecordStore<CopilotRecord> =>
  createRecordStore({
    kind: copilotRecordKind,
    dir,
    log,
    seal: createRecordSeal(keychain),
    ...(fs !== undefined && { fs }),
  })

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'copilot-proxy-sealed-'))
  log = recordingLog()
  keychain = fakeKeychain()
  store = open()
})
afterEach(() => rm(dir, { recursive: true, force: true }))

const file = (name = 'copilot-octocat.sealed'): string => join(dir, name)
const label = async (from: RecordStore<CopilotRecord>): Promise<string | undefined> => (await from.current())?.label
const relabel = (to: string): Promise<unknown> =>
  store.update('copilot-octocat', (record) => ({ ...record, label: to }))

describe('a sealed record', () => {
  test('comes back as it was, in another process too, and shows nothing of it on the disk', async () => {
    const record = exampleRecord({ access_token: 'tid=example', sku: 'ünïcode' })
    await store.write(record)
    expect(await open().read('copilot-octocat')).toEqual(record)
    expect(await readdir(dir)).toEqual(['copilot-octocat.sealed'])
    expect((await stat(file())).mode & 0o777).toBe(0o600)
    const onDisk = await readFile(file(), 'utf8')
    for (const secret of ['ghu_example', 'tid=', 'octocat"', ...keychain.entries.values()]) {
      expect(onDisk).not.toContain(secret)
      expect(onDisk).not.toContain(Buffer.from(secret).toString('base64').slice(0, -3))
    }
  })

  test('takes one small entry of the keychain, however large it is', async () => {
    await store.write(exampleRecord({ access_token: 'x'.repeat(20_000) }))
    expect([...keychain.entries.keys()]).toEqual([expect.stringMatching(/^copilot-octocat [0-9a-f]{16}$/)])
    expect([...keychain.entries.values()].map((key) => key.length)).toEqual([44])
    expect((await open().current())?.metadata.access_token).toHaveLength(20_000)
  })

  test('is renewed without the keychain, which is asked once in a process', async () => {
    await store.write(exampleRecord())
    const first = await readFile(file(), 'utf8')
    const calls = keychain.calls.length
    await relabel('one')
    await relabel('two')
    expect(keychain.calls).toHaveLength(calls)
    expect(await readFile(file(), 'utf8')).not.toBe(first)
    const other = open()
    expect([await label(other), await label(other)]).toEqual(['two', 'two'])
    expect(keychain.calls).toHaveLength(calls + 1)
  })

  test('is still read and renewed after the keychain was locked, and in a new process only once it is open', async () => {
    await store.write(exampleRecord())
    keychain.break('locked')
    await relabel('renewed')
    expect(await label(store)).toBe('renewed')
    const other = open()
    await expect(other.current()).rejects.toMatchObject({
      problem: 'keychain',
      message: expect.stringMatching(/auth\.store is keychain.* locked, .*auth\.store to file/),
    })
    expect(await readdir(dir)).toEqual(['copilot-octocat.sealed'])
    keychain.break(undefined)
    expect(await label(other)).toBe('renewed')
  })

  test('that was changed is set aside with a message', async () => {
    await store.write(exampleRecord())
    const sealed = JSON.parse(await readFile(file(), 'utf8')) as { text: string }
    const text = `${sealed.text.startsWith('A') ? 'B' : 'A'}${sealed.text.slice(1)}`
    await writeFile(file(), JSON.stringify({ ...sealed, text }))
    expect(await store.current()).toBeUndefined()
    expect(await readdir(dir)).toEqual(['copilot-octocat.sealed.corrupt-1'])
    expect(log.lines).toEqual([expect.stringContaining('it was changed since it was sealed')])
  })

  test.each([
    ['empty', ''],
    ['cut short', '{"entry":"copilot-octocat 0123'],
    ['plain', JSON.stringify(exampleRecord())],
    ['sealed under another name', '{"entry":"codex-other 0123456789abcdef","iv":"AAAA","tag":"AAAA","text":"AAAA"}'],
  ])('that is %s is set aside, and no other entry of the keychain is touched', async (_what, content) => {
    await writeFile(file(), content, { mode: 0o600 })
    expect(await store.current()).toBeUndefined()
    expect(await readdir(dir)).toEqual(['copilot-octocat.sealed.corrupt-1'])
    expect(keychain.calls).toEqual([])
  })

  test('is of no use under another account’s name', async () => {
    await store.write(exampleRecord())
    await copyFile(file(), file('copilot-other.sealed'))
    expect(await open().read('copilot-other')).toBeUndefined()
    expect(log.lines).toEqual([expect.stringContaining('copilot-other.sealed is not usable')])
  })
})

describe('a key that is gone from the keychain', () => {
  beforeEach(async () => {
    await store.write(exampleRecord())
    for (const entry of keychain.entries.keys()) await keychain.remove(entry)
  })

  test('leaves the record where it is, and says what to do', async () => {
    await expect(open().current()).rejects.toMatchObject({
      problem: 'unreadable',
      message: expect.stringMatching(/its key is not in the keychain .*copilot-proxy login/),
    })
    expect(await readdir(dir)).toEqual(['copilot-octocat.sealed'])
  })

  test('a new login takes its place with a key of its own, and the old file is kept', async () => {
    await open().write(exampleRecord({ sku: 'new' }))
    expect((await open().current())?.metadata.sku).toBe('new')
    expect((await readdir(dir)).toSorted()).toEqual(['copilot-octocat.sealed', 'copilot-octocat.sealed.corrupt-1'])
    expect(keychain.entries.size).toBe(1)
  })
})

describe('C19 a login while the keychain', () => {
  test.each(['absent', 'locked', 'silent', 'refused'] as const)('is %s is not stored anywhere else', async (reason) => {
    keychain.break(reason)
    await expect(store.write(exampleRecord())).rejects.toMatchObject({
      problem: 'keychain',
      message: expect.stringContaining('set auth.store to file'),
    })
    expect(await readdir(dir)).toEqual([])
  })

  test('is full leaves the earlier login as it was', async () => {
    await store.write(exampleRecord({ sku: 'old' }))
    keychain.break('refused', ['set'])
    await open().write(exampleRecord({ sku: 'new' }))
    await expect(open().write(exampleRecord({}, { id: 'copilot-other' }))).rejects.toMatchObject({
      problem: 'keychain',
    })
    expect((await open().list()).map(({ id, metadata }) => [id, metadata.sku])).toEqual([['copilot-octocat', 'new']])
  })
})

const neverEnding = (): Promise<never> => new Promise(() => {})

/** Simulates a process that dies at an operation: the operation never ends. */
function dying(operation: 'open' | 'rename'): RecordFs {
  if (operation === 'rename') return { ...nodeFs, rename: neverEnding }
  const opened: RecordFs['open'] = (path, flags, mode) =>
    flags === 'wx' && /sealed\.\d+-\w+\.tmp$/.test(String(path)) ? neverEnding() : nodeFs.open(path, flags, mode)
  return { ...nodeFs, open: opened }
}

describe('C04 a login that is killed', () => {
  test.each(['open', 'rename'] as const)(
    'between key and file (%s) is made again, and nothing of it is used',
    async (operation) => {
      void open(dying(operation)).write(exampleRecord({ sku: 'killed' }))
      await expect.poll(() => keychain.entries.size).toBe(1)
      // The lock is of a live process here.
      await rm(file('copilot-octocat.sealed.lock'), { force: true })
      const next = open()
      expect(await next.current()).toBeUndefined()
      await next.write(exampleRecord({ sku: 'again' }))
      expect((await open().current())?.metadata.sku).toBe('again')
    },
  )
})

describe('C12 removing', () => {
  test('takes the key out of the keychain and out of the memory', async () => {
    await store.write(exampleRecord())
    const before = await readFile(file())
    const daemon = open()
    await daemon.current()
    expect(await store.remove('copilot-octocat')).toBe(true)
    expect([await readdir(dir), keychain.entries.size]).toEqual([[], 0])
    // A copy of the file is of no use to the daemon that had the key.
    expect(await daemon.current()).toBeUndefined()
    await daemon.read('copilot-octocat')
    await writeFile(file(), before, { mode: 0o600 })
    await expect(daemon.current()).rejects.toMatchObject({ problem: 'unreadable' })
  })

  test('needs no key, and says when that remains', async () => {
    await store.write(exampleRecord())
    keychain.break('locked')
    await expect(open().remove('copilot-octocat')).rejects.toMatchObject({
      problem: 'keychain',
      message: expect.stringContaining('was removed, but its key is still in the keychain'),
    })
    expect(await readdir(dir)).toEqual([])
  })

  test('of one of two installations leaves the other its login', async () => {
    const otherDir = join(dir, 'other')
    const other = createRecordStore({ kind: copilotRecordKind, dir: otherDir, log, seal: createRecordSeal(keychain) })
    await store.write(exampleRecord())
    await other.write(exampleRecord())
    await store.remove('copilot-octocat')
    expect(await other.current()).toEqual(exampleRecord())
  })
})

test('each store sees its own files only, names what the other has, and leaves it alone', async () => {
  const plain = createRecordStore({ kind: copilotRecordKind, dir, log })
  await plain.write(exampleRecord({}, { id: 'copilot-plain' }))
  await store.write(exampleRecord())
  await createRecordStore({ kind: codexRecordKind, dir, log }).list()
  expect((await store.list()).map(({ id }) => id)).toEqual(['copilot-octocat'])
  expect((await plain.list()).map(({ id }) => id)).toEqual(['copilot-plain'])
  await plain.list()
  expect(log.lines).toEqual([
    expect.stringMatching(
      /copilot-plain\.json is not used, because auth\.store is keychain\. To use it, set auth\.store to file\./,
    ),
    expect.stringMatching(
      /copilot-octocat\.sealed is not used, because auth\.store is file\. To use it, set auth\.store to keychain\./,
    ),
  ])
})
