import { times } from '../../thorough.ts'
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import * as nodeFs from 'node:fs/promises'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { copilotRecordKind } from '../../../src/auth/copilot/record.ts'
import type { CopilotRecord } from '../../../src/auth/copilot/wire.ts'
import { LOCK_TIMES } from '../../../src/auth/records/file-lock.ts'
import type { RecordFs } from '../../../src/auth/records/record-fs.ts'
import { createRecordStore, type RecordStore } from '../../../src/auth/records/record-store.ts'
import { exampleRecord, recordingLog } from '../support.ts'
import { killRecordWriters } from './kill-record-writers.ts'

const { mkdtemp, readdir, readFile, rm, utimes, writeFile } = nodeFs

let dir: string
let store: RecordStore<CopilotRecord>
const children: ChildProcess[] = []

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'copilot-proxy-lock-'))
  store = createRecordStore({ kind: copilotRecordKind, dir, log: recordingLog() })
  await store.write(exampleRecord({ refresh_in: 0 }))
})
afterEach(async () => {
  await Promise.all(children.splice(0).map(kill))
  await rm(dir, { recursive: true, force: true })
})

const lockPath = (): string => join(dir, 'copilot-octocat.json.lock')
const mark = (store_: RecordStore<CopilotRecord>, signal?: AbortSignal): Promise<unknown> =>
  store_.update(
    'copilot-octocat',
    (record) => ({ ...record, label: 'changed' }),
    signal === undefined ? {} : { signal },
  )

const slowIncrement = (store_: RecordStore<CopilotRecord>): Promise<unknown> =>
  store_.update('copilot-octocat', async (record) => {
    await new Promise((resolve) => setTimeout(resolve, 5))
    return { ...record, metadata: { ...record.metadata, refresh_in: (record.metadata.refresh_in ?? 0) + 1 } }
  })

/** Runs test/auth/records/children/<name>.ts with this Node. */
function run(name: string, ...args: readonly string[]): ChildProcess {
  const script = fileURLToPath(new URL(`children/${name}.ts`, import.meta.url))
  const child = spawn(process.execPath, [script, ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
  children.push(child)
  return child
}

async function firstOutput(child: ChildProcess): Promise<void> {
  if (child.stdout !== null) await once(child.stdout, 'data')
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = once(child, 'exit')
  child.kill('SIGKILL')
  await gone
}

describe('between processes', () => {
  test('C06 changes of two processes and this one are all kept', async () => {
    const counters = [run('count-up', dir, 'copilot-octocat', '40'), run('count-up', dir, 'copilot-octocat', '40')]
    const ended = counters.map((child) => once(child, 'exit'))
    for (let n = 0; n < 40; n += 1) {
      await store.update('copilot-octocat', (record) => ({
        ...record,
        metadata: { ...record.metadata, refresh_in: (record.metadata.refresh_in ?? 0) + 1 },
      }))
    }
    expect((await Promise.all(ended)).map(([code]) => code)).toEqual([0, 0])
    expect((await store.current())?.metadata.refresh_in).toBe(120)
    expect(await readdir(dir)).toEqual(['copilot-octocat.json'])
  }, 30_000)

  test('C06 a live holder is waited for, and its death frees the lock at once', async () => {
    const holder = run('hold-lock', dir, 'copilot-octocat')
    await firstOutput(holder)
    let changed = false
    const change = mark(store).then(() => (changed = true))
    // Several polls go by while the holder lives.
    await new Promise((resolve) => setTimeout(resolve, 5 * LOCK_TIMES.pollMs))
    expect(changed).toBe(false)
    const startedMs = performance.now()
    await kill(holder)
    await change
    expect(performance.now() - startedMs).toBeLessThan(LOCK_TIMES.staleAfterMs / 2)
    expect(await store.current()).toMatchObject({ label: 'changed' })
    expect(await readdir(dir)).toEqual(['copilot-octocat.json'])
  }, 30_000)

  test('C04 a writer killed at any moment of its writes leaves a whole record and, after the next start, nothing else', async () => {
    await killRecordWriters(join(dir, 'a'), times(100))
  })
})

describe('a lock left by somebody this machine cannot ask', () => {
  const quick = { waitLimitMs: 5_000, staleAfterMs: 120, heartbeatMs: 20, pollMs: 5 }
  const impatient = (): RecordStore<CopilotRecord> =>
    createRecordStore({ kind: copilotRecordKind, dir, log: recordingLog(), lockTimes: quick })

  test.each([
    ['of another machine', { nonce: 'a', pid: 1, host: 'elsewhere.example' }],
    ['of a process id that something else has now', { nonce: 'a', pid: process.pid, host: hostname() }],
    ['without a name', ''],
    ['of an unknown shape', { nonce: 7, pid: 'x' }],
  ])('%s is taken over once its heartbeat has stopped', async (_what, content) => {
    await writeFile(lockPath(), content === '' ? '' : JSON.stringify(content))
    const startedMs = performance.now()
    await mark(impatient())
    expect(performance.now() - startedMs).toBeGreaterThanOrEqual(quick.staleAfterMs)
    expect(await readdir(dir)).toEqual(['copilot-octocat.json'])
  })

  test('is not taken over while its heart beats, however wrong its clock', async () => {
    await writeFile(lockPath(), JSON.stringify({ nonce: 'a', pid: 1, host: 'elsewhere.example' }))
    let beats = 0
    const heart = setInterval(() => {
      beats += 1
      void utimes(lockPath(), beats, beats).catch(() => {})
    }, 20)
    // Far apart from the heartbeat, so that a busy machine that skips some beats changes nothing.
    const patient = { ...quick, staleAfterMs: 800, waitLimitMs: 1_500 }
    const waiting = createRecordStore({ kind: copilotRecordKind, dir, log: recordingLog(), lockTimes: patient })
    await expect(mark(waiting)).rejects.toMatchObject({ problem: 'busy' })
    clearInterval(heart)
    expect(JSON.parse(await readFile(lockPath(), 'utf8'))).toMatchObject({ nonce: 'a' })
  })

  test('two that see it dead do not take it from each other', async () => {
    await writeFile(lockPath(), '')
    await Promise.all(Array.from({ length: 8 }, () => slowIncrement(impatient())))
    expect((await store.current())?.metadata.refresh_in).toBe(8)
    expect(await readdir(dir)).toEqual(['copilot-octocat.json'])
  })

  test('the slower of two that see it dead leaves the lock alone that the faster one has taken', async () => {
    const dead = 2 ** 22 + 1 // above the largest process id Linux gives out
    await writeFile(lockPath(), JSON.stringify({ nonce: 'dead', pid: dead, host: hostname() }))
    const slower: RecordFs = {
      ...nodeFs,
      open: async (path, flags, mode) => {
        if (String(path).endsWith('.takeover')) {
          await rm(lockPath())
          await writeFile(lockPath(), JSON.stringify({ nonce: 'faster', pid: process.pid, host: hostname() }))
        }
        return nodeFs.open(path, flags, mode)
      },
    }
    const lockTimes = { ...quick, staleAfterMs: 5_000, waitLimitMs: 60 }
    const waiting = createRecordStore({ kind: copilotRecordKind, dir, log: recordingLog(), fs: slower, lockTimes })
    await expect(mark(waiting)).rejects.toMatchObject({ problem: 'busy' })
    expect(JSON.parse(await readFile(lockPath(), 'utf8'))).toMatchObject({ nonce: 'faster' })
  })

  test('a guard left by a takeover that was killed does not block for good', async () => {
    await writeFile(lockPath(), '')
    await writeFile(`${lockPath()}.takeover`, '')
    await utimes(`${lockPath()}.takeover`, 0, 0)
    await mark(impatient())
    expect(await readdir(dir)).toEqual(['copilot-octocat.json'])
  })
})

describe('waiting for the lock', () => {
  const slow = { waitLimitMs: 60, staleAfterMs: 5_000, heartbeatMs: 1_000, pollMs: 5 }

  test('ends at the limit and names the holder', async () => {
    await writeFile(lockPath(), JSON.stringify({ nonce: 'a', pid: process.pid, host: hostname() }))
    const waiting = createRecordStore({ kind: copilotRecordKind, dir, log: recordingLog(), lockTimes: slow })
    await expect(mark(waiting)).rejects.toThrow(`process ${process.pid} is using`)
    expect(await store.current()).toMatchObject({ label: 'octocat' })
  })

  test('ends with the signal', async () => {
    await writeFile(lockPath(), JSON.stringify({ nonce: 'a', pid: process.pid, host: hostname() }))
    const stop = new AbortController()
    const change = mark(store, stop.signal)
    stop.abort(new Error('enough'))
    await expect(change).rejects.toThrow('enough')
  })
})

test('a holder that was taken for dead writes nothing and frees nobody else’s lock', async () => {
  const change = store.update('copilot-octocat', async (record) => {
    await rm(lockPath())
    await writeFile(lockPath(), JSON.stringify({ nonce: 'other', pid: process.pid, host: hostname() }))
    return { ...record, label: 'late' }
  })
  await expect(change).rejects.toMatchObject({ problem: 'lock_lost' })
  expect(await store.current()).toMatchObject({ label: 'octocat' })
  expect(JSON.parse(await readFile(lockPath(), 'utf8'))).toMatchObject({ nonce: 'other' })
})

test('a long change keeps its lock by its heartbeat', async () => {
  const quick = { waitLimitMs: 5_000, staleAfterMs: 800, heartbeatMs: 20, pollMs: 5 }
  const one = createRecordStore({ kind: copilotRecordKind, dir, log: recordingLog(), lockTimes: quick })
  const two = createRecordStore({ kind: copilotRecordKind, dir, log: recordingLog(), lockTimes: quick })
  const order: string[] = []
  const begun = Promise.withResolvers<void>()
  const first = one.update('copilot-octocat', async () => {
    order.push('first begins')
    begun.resolve()
    await new Promise((resolve) => setTimeout(resolve, 1_200))
    order.push('first ends')
    return undefined
  })
  await begun.promise
  await two.update('copilot-octocat', () => {
    order.push('second')
    return undefined
  })
  await first
  expect(order).toEqual(['first begins', 'first ends', 'second'])
})
