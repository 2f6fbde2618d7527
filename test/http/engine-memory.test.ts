import { unkeyedCaller } from '../../src/config/caller.ts'
import { execFile } from 'node:child_process'
import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { promisify } from 'node:util'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { startDaemon } from '../../src/daemon.ts'
import { countWork, createEngineMemory } from '../../src/http/engine-memory.ts'
import type { Engine } from '../../src/http/engine-memory.ts'
import { createLifetimes } from '../../src/http/lifetimes.ts'
import { loaded } from '../config/loading.ts'
import { recordingLog } from '../recording-log.ts'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
})
afterEach(() => {
  vi.useRealTimers()
})

const shrink = '--optimize-for-size'
const asUsual = '--no-optimize-for-size'
const slack = '--heap-growing-percent=200'
const noSlack = '--heap-growing-percent=0'
const grow = '--semi-space-growth-factor=16'
const stay = '--semi-space-growth-factor=1'
const [narrow, wide] = [2 * 1024 * 1024, 32 * 1024 * 1024]

function openMemory() {
  const flagsSet: string[] = []
  let size = narrow
  const engine: Engine = { setFlags: (flags) => void flagsSet.push(flags), newSpaceBytes: () => size }
  const memory = createEngineMemory({
    engine,
    setTimer(run, delayMs) {
      const timer = setTimeout(run, delayMs)
      return () => clearTimeout(timer)
    },
  })
  return {
    flagsSet,
    memory,
    setNursery: (bytes: number) => {
      size = bytes
    },
  }
}

test('returns memory after ten seconds without a request, for a limited time', () => {
  const { flagsSet, memory } = openMemory()
  memory.idle()
  vi.advanceTimersByTime(9999)
  expect(flagsSet).toEqual([])
  vi.advanceTimersByTime(1)
  expect(flagsSet).toEqual([shrink])
  vi.advanceTimersByTime(60_000)
  expect(flagsSet).toEqual([shrink, asUsual])
  expect(vi.getTimerCount()).toBe(0)
})

test('the next request ends the return of memory and is not slowed down', () => {
  const { flagsSet, memory } = openMemory()
  memory.idle()
  vi.advanceTimersByTime(10_000)
  memory.busy()
  expect(flagsSet).toEqual([shrink, asUsual, slack, grow])
  vi.advanceTimersByTime(60_000)
  expect(flagsSet).toEqual([shrink, asUsual, slack, grow])
})

test('the quiet time begins with the last request', () => {
  const { flagsSet, memory, setNursery } = openMemory()
  setNursery(wide)
  for (let at = 0; at < 5; at += 1) {
    memory.busy()
    memory.idle()
    vi.advanceTimersByTime(9000)
    expect(flagsSet).toEqual([slack])
  }
  vi.advanceTimersByTime(2000)
  expect(flagsSet).toEqual([slack, noSlack, shrink])
})

test('the young generation grows with the first request and keeps its size', () => {
  const { flagsSet, memory, setNursery } = openMemory()
  memory.busy()
  expect(flagsSet).toEqual([slack, grow])
  vi.advanceTimersByTime(99)
  setNursery(wide)
  expect(flagsSet).toEqual([slack, grow])
  vi.advanceTimersByTime(1)
  expect(flagsSet).toEqual([slack, grow, stay])
  memory.idle()
  memory.busy()
  vi.advanceTimersByTime(10_000)
  expect(flagsSet).toEqual([slack, grow, stay])
})

test('the young generation grows again within a second after V8 has shrunk it', () => {
  const { flagsSet, memory, setNursery } = openMemory()
  memory.busy()
  setNursery(wide)
  vi.advanceTimersByTime(100)
  setNursery(narrow)
  vi.advanceTimersByTime(1000)
  expect(flagsSet).toEqual([slack, grow, stay, grow])
  setNursery(wide / 4)
  vi.advanceTimersByTime(100)
  expect(flagsSet).toEqual([slack, grow, stay, grow, '--semi-space-growth-factor=4'])
  setNursery(wide)
  vi.advanceTimersByTime(100)
  expect(flagsSet.at(-1)).toBe(stay)
})

test('does not grow the new space further if memory was not returned yet', () => {
  const { flagsSet, memory, setNursery } = openMemory()
  memory.busy()
  setNursery(wide)
  vi.advanceTimersByTime(100)
  memory.idle()
  vi.advanceTimersByTime(11_000)
  memory.busy()
  expect(flagsSet.splice(0)).toEqual([slack, grow, stay, noSlack, shrink, asUsual, slack])
  memory.idle()
  vi.advanceTimersByTime(11_000)
  setNursery(wide / 4)
  memory.busy()
  expect(flagsSet).toEqual([noSlack, shrink, asUsual, slack, '--semi-space-growth-factor=4'])
})

test('the young generation grows from 2 MB if V8 reports less', () => {
  const { flagsSet, memory, setNursery } = openMemory()
  setNursery(narrow / 2)
  memory.busy()
  expect(flagsSet).toEqual([slack, grow])
})

test('returns the new space with the heap, even before it has grown, and grows it again', () => {
  const { flagsSet, memory, setNursery } = openMemory()
  for (const size of [narrow, wide]) {
    memory.busy()
    setNursery(size)
    vi.advanceTimersByTime(100)
    memory.idle()
    vi.advanceTimersByTime(51_000)
    expect(flagsSet.splice(0)).toEqual([slack, grow, stay, noSlack, shrink, asUsual])
    expect(vi.getTimerCount()).toBe(0)
    setNursery(narrow)
  }
})

test("V8's new space stays at 2 MB until the flag allows growth, then grows to 32 MB", async () => {
  const program = `
    import { v8Engine } from ${JSON.stringify(new URL('../../src/http/engine-memory.ts', import.meta.url).href)}
    const kept = []
    function churn() {
      for (let i = 0; i < 20_000; i += 1) kept[i] = { i }
      return v8Engine.newSpaceBytes()
    }
    v8Engine.setFlags(${JSON.stringify(stay)})
    for (let i = 0; i < 100; i += 1) churn()
    const sizes = [churn()]
    v8Engine.setFlags(${JSON.stringify(grow)})
    let size = 0
    for (let i = 0; i < 2000 && size < ${wide}; i += 1) size = churn()
    console.log(JSON.stringify([...sizes, size]))
  `
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program])
  expect(JSON.parse(stdout)).toEqual([narrow, wide])
})

test('returns no memory while a request is open', async () => {
  const { flagsSet, memory } = openMemory()
  const lifetimes = createLifetimes(recordingLog(), countWork(memory))
  const open = () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const reply = { raw: new ServerResponse(new IncomingMessage(new Socket())), hijack: () => {} }
    const over = lifetimes.whileCallerStays({ id: '', caller: unkeyedCaller, meter: undefined }, reply, () => promise)
    return (): Promise<void> => {
      resolve()
      return over
    }
  }
  const [closeFirst, closeSecond] = [open(), open()]
  await closeFirst()
  vi.advanceTimersByTime(60_000)
  expect(flagsSet).toEqual([slack, grow])
  await closeSecond()
  vi.advanceTimersByTime(5000)
  await open()()
  vi.advanceTimersByTime(10_000)
  expect(flagsSet).toEqual([slack, grow])
  vi.advanceTimersByTime(100)
  expect(flagsSet).toEqual([slack, grow, stay, noSlack, shrink])
})

test('a daemon without requests returns the memory of its start', async () => {
  const flagsSet: string[] = []
  const daemon = await startDaemon({
    config: loaded({ file: 'server: { port: 0 }' }).config,
    authDir: '/nonexistent',
    ownPaths: { folders: [], files: [] },
    codexHome: undefined,
    version: '0.0.0-test',
    log: recordingLog(),
    demo: true,
    githubToken: undefined,
    env: {},
    engine: { setFlags: (flags) => void flagsSet.push(flags), newSpaceBytes: () => narrow },
  })
  try {
    expect(flagsSet).toEqual([])
    vi.advanceTimersByTime(10_000)
    expect(flagsSet).toEqual([shrink])
  } finally {
    await daemon.close(0)
  }
})
