import { execFile } from 'node:child_process'
import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { promisify } from 'node:util'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { startDaemon } from '../../src/daemon.ts'
import type { Engine } from '../../src/engine.ts'
import { createEngineMemory } from '../../src/http/engine-memory.ts'
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
  const told: string[] = []
  let size = narrow
  const engine: Engine = { setFlags: (flags) => void told.push(flags), nurseryBytes: () => size }
  const memory = createEngineMemory({
    engine,
    setTimer(run, delayMs) {
      const timer = setTimeout(run, delayMs)
      return () => clearTimeout(timer)
    },
  })
  return {
    told,
    memory,
    setNursery: (bytes: number) => {
      size = bytes
    },
  }
}

const newResponse = () => new ServerResponse(new IncomingMessage(new Socket()))

test('memory is given back once nothing has been asked for ten seconds, and that ends by itself', () => {
  const { told, memory } = openMemory()
  memory.idle()
  vi.advanceTimersByTime(9999)
  expect(told).toEqual([])
  vi.advanceTimersByTime(1)
  expect(told).toEqual([shrink])
  vi.advanceTimersByTime(60_000)
  expect(told).toEqual([shrink, asUsual])
  expect(vi.getTimerCount()).toBe(0)
})

test('the next request ends it, and is no slower for it', () => {
  const { told, memory } = openMemory()
  memory.idle()
  vi.advanceTimersByTime(10_000)
  memory.busy()
  expect(told).toEqual([shrink, asUsual, slack, grow])
  vi.advanceTimersByTime(60_000)
  expect(told).toEqual([shrink, asUsual, slack, grow])
})

test('the nursery grows with the first request and stays at what it has grown to', () => {
  const { told, memory, setNursery } = openMemory()
  memory.busy()
  expect(told).toEqual([slack, grow])
  vi.advanceTimersByTime(99)
  setNursery(wide)
  expect(told).toEqual([slack, grow])
  vi.advanceTimersByTime(1)
  expect(told).toEqual([slack, grow, stay])
  memory.idle()
  memory.busy()
  expect(told).toEqual([slack, grow, stay])
  expect(vi.getTimerCount()).toBe(0)
})

test('where it has not been given back yet, it does not grow further', () => {
  const { told, memory, setNursery } = openMemory()
  memory.busy()
  setNursery(wide)
  vi.advanceTimersByTime(100)
  memory.idle()
  vi.advanceTimersByTime(10_000)
  memory.busy()
  expect(told.splice(0)).toEqual([slack, grow, stay, noSlack, shrink, asUsual, slack, stay])
  expect(vi.getTimerCount()).toBe(0)
  memory.idle()
  vi.advanceTimersByTime(10_000)
  setNursery(wide / 4)
  memory.busy()
  expect(told).toEqual([noSlack, shrink, asUsual, slack, '--semi-space-growth-factor=4'])
})

test('it grows from 2 MB where V8 states less', () => {
  const { told, memory, setNursery } = openMemory()
  setNursery(narrow / 2)
  memory.busy()
  expect(told).toEqual([slack, grow])
})

test('it is given back with the rest, also where it has not grown yet, and grows anew', () => {
  const { told, memory, setNursery } = openMemory()
  for (const size of [narrow, wide]) {
    memory.busy()
    setNursery(size)
    vi.advanceTimersByTime(100)
    memory.idle()
    vi.advanceTimersByTime(50_000)
    expect(told.splice(0)).toEqual([slack, grow, stay, noSlack, shrink, asUsual])
    expect(vi.getTimerCount()).toBe(0)
    setNursery(narrow)
  }
})

test("V8's nursery stays at 2 MB until it is told to grow, and then goes to 32", async () => {
  const program = `
    import { v8Engine } from ${JSON.stringify(new URL('../../src/engine.ts', import.meta.url).href)}
    const kept = []
    function churn() {
      for (let i = 0; i < 20_000; i += 1) kept[i] = { i }
      return v8Engine.nurseryBytes()
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

test('as long as one request is open, nothing is given back', () => {
  const { told, memory } = openMemory()
  const lifetimes = createLifetimes(memory)
  const first = lifetimes.open(newResponse())
  const second = lifetimes.open(newResponse())
  first.close()
  vi.advanceTimersByTime(60_000)
  expect(told).toEqual([slack, grow])
  second.close()
  vi.advanceTimersByTime(5000)
  lifetimes.open(newResponse()).close()
  vi.advanceTimersByTime(9999)
  expect(told).toEqual([slack, grow])
  vi.advanceTimersByTime(1)
  expect(told).toEqual([slack, grow, stay, noSlack, shrink])
})

test('a daemon that nobody has asked gives back what its start took', async () => {
  const told: string[] = []
  const daemon = await startDaemon({
    config: loaded({ file: 'server: { port: 0 }' }).config,
    authDir: '/nonexistent',
    codexHome: undefined,
    version: '0.0.0-test',
    log: recordingLog(),
    demo: true,
    githubToken: undefined,
    env: {},
    engine: { setFlags: (flags) => void told.push(flags), nurseryBytes: () => narrow },
  })
  try {
    expect(told).toEqual([])
    vi.advanceTimersByTime(10_000)
    expect(told).toEqual([shrink])
  } finally {
    await daemon.close(0)
  }
})
