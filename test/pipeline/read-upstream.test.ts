import { afterEach, expect, test, vi } from 'vitest'
import { Fault } from '../../src/errors.ts'
import { readUpstream } from '../../src/pipeline/read-upstream.ts'
import type { ChunkVerdict } from '../../src/pipeline/read-upstream.ts'
import { handBody } from '../executors/bodies.ts'

afterEach(() => {
  vi.useRealTimers()
})

/** Reads a body that the test fills, and records what happens in order. */
function reading(verdictOf: (text: string) => ChunkVerdict = () => 'go') {
  const source = handBody()
  const heard: string[] = []
  const over = readUpstream({ body: source.body, idleMs: 1000, headers: {} }, (chunk) => {
    const text = Buffer.from(chunk).toString()
    heard.push(text)
    return verdictOf(text)
  }).then(
    () => heard.push('[end]'),
    (error: unknown) => heard.push(error instanceof Fault ? `[${error.error.kind}]` : '[error]'),
  )
  return { ...source, heard, over }
}

/** What is due by then has run. */
const tick = () => Promise.resolve()

test('what one read of the socket brings comes as one chunk', async () => {
  const { say, end, heard, over } = reading()
  say('a', 'b', 'c')
  expect(heard).toEqual([])
  await tick()
  expect(heard).toEqual(['abc'])
  say('d')
  await tick()
  say('e', 'f')
  end()
  await over
  expect(heard).toEqual(['abc', 'd', 'ef', '[end]'])
})

test('data is delivered before the failure that arrived with it, and no timer stays', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const { say, fail, heard, over } = reading()
  say('a', 'b')
  fail(new Error('broken'))
  await over
  expect(heard).toEqual(['ab', '[upstream_truncated]'])
  expect(vi.getTimerCount()).toBe(0)
})

test('a complete answer stays complete, whatever follows it', async () => {
  for (const last of ['end', 'fail', 'say'] as const) {
    const { say, end, fail, calls, heard, over } = reading((text) => (text.includes('done') ? 'done' : 'go'))
    say('done')
    if (last === 'end') end()
    else if (last === 'fail') fail(new Error('broken'))
    else say(' more')
    await over
    say('late')
    await tick()
    expect(heard).toEqual([last === 'say' ? 'done more' : 'done', '[end]'])
    expect(calls).toEqual(['finish'])
  }
})

test('a slow caller pauses upstream, and is waited for at the end too', async () => {
  const taken: (() => void)[] = []
  const { say, end, calls, heard, over } = reading(() => new Promise((resolve) => taken.push(resolve)))
  say('a', 'b')
  await tick()
  say('c')
  expect(calls).toEqual(['pause'])
  taken.shift()?.()
  await tick()
  expect(calls).toEqual(['pause', 'resume'])
  end()
  expect(heard).toEqual(['ab', 'c'])
  await new Promise(setImmediate)
  expect(heard).toEqual(['ab', 'c'])
  taken.shift()?.()
  await over
  expect(heard).toEqual(['ab', 'c', '[end]'])
})

test('an event that amounts to a failure leaves the connection', async () => {
  const { say, calls, heard, over } = reading(() => {
    throw new Fault({ kind: 'upstream_unusable', detail: 'nonsense' })
  })
  say('a')
  await over
  expect(heard).toEqual(['a', '[upstream_unusable]'])
  expect(calls).toEqual(['destroy'])
})

test('upstream may be silent for as long as a caller is, and no longer than it may on its own', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  const taken: (() => void)[] = []
  const { say, calls, heard, over } = reading(() => new Promise((resolve) => taken.push(resolve)))
  say('a')
  await vi.advanceTimersByTimeAsync(5000)
  expect(calls).toEqual(['pause'])
  taken.shift()?.()
  await vi.advanceTimersByTimeAsync(999)
  expect(calls).toEqual(['pause', 'resume'])
  await vi.advanceTimersByTimeAsync(1000)
  await over
  expect(heard).toEqual(['a', '[upstream_silent]'])
  expect(calls).toEqual(['pause', 'resume', 'destroy'])
})

test('chunks without an event extend the idle time fourfold, and no further', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  const { say, heard, over } = reading((text) => (text === 'ping' ? 'quiet' : 'go'))
  const words = ['event', 'ping', 'ping', 'ping', 'event', 'ping', 'ping', 'ping', 'ping']
  for (const word of [...words, 'late']) {
    say(word)
    await vi.advanceTimersByTimeAsync(900)
  }
  await over
  expect(heard.slice(0, 10)).toEqual([...words, '[upstream_silent]'])
})
