import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { startDaemon } from '../../src/daemon.ts'
import { createIdleMemory } from '../../src/http/idle-memory.ts'
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

function openMemory() {
  const told: string[] = []
  const memory = createIdleMemory({
    setEngineFlags: (flags) => void told.push(flags),
    setTimer(run, delayMs) {
      const timer = setTimeout(run, delayMs)
      return () => clearTimeout(timer)
    },
  })
  return { told, memory }
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
  expect(told).toEqual([shrink, asUsual])
  vi.advanceTimersByTime(60_000)
  expect(told).toEqual([shrink, asUsual])
})

test('as long as one request is open, nothing is given back', () => {
  const { told, memory } = openMemory()
  const lifetimes = createLifetimes(memory)
  const first = lifetimes.open(newResponse())
  const second = lifetimes.open(newResponse())
  first.close()
  vi.advanceTimersByTime(60_000)
  expect(told).toEqual([])
  second.close()
  vi.advanceTimersByTime(5000)
  lifetimes.open(newResponse()).close()
  vi.advanceTimersByTime(9999)
  expect(told).toEqual([])
  vi.advanceTimersByTime(1)
  expect(told).toEqual([shrink])
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
    setEngineFlags: (flags) => void told.push(flags),
  })
  try {
    expect(told).toEqual([])
    vi.advanceTimersByTime(10_000)
    expect(told).toEqual([shrink])
  } finally {
    await daemon.close(0)
  }
})
