import { expect, onTestFinished, test, vi } from 'vitest'
import { failure } from '../../src/demo/failures.ts'
import { saying } from './client.ts'
import { chatsOf, openProxy } from './harness.ts'

const refused = failure(400, {
  message: "Unsupported parameter: 'seed' is not supported with this model.",
  code: 'unsupported_parameter',
  param: 'seed',
})

function wait(minutes: number): void {
  vi.setSystemTime(Date.now() + minutes * 60_000)
}

test('a refused field is left out for an hour, then sent again, and left out again if it is refused again', async () => {
  vi.useFakeTimers({ toFake: ['Date'] })
  onTestFinished(() => {
    vi.useRealTimers()
  })
  const proxy = await openProxy()
  const { chat, demo } = proxy
  /** Which of the requests that upstream gets for one request have the field. */
  async function sentSeeds(): Promise<readonly boolean[]> {
    const before = chatsOf(demo).length
    expect((await chat({ ...saying('Hello'), seed: 7 })).status).toBe(200)
    return chatsOf(demo)
      .slice(before)
      .map(({ body }) => 'seed' in JSON.parse(body))
  }
  demo.script('/chat/completions', { outcome: refused })
  expect(await sentSeeds()).toEqual([true, false])
  expect(await sentSeeds()).toEqual([false])
  proxy.daemon.reconfigure(proxy.configure('log: { bodies: true }'))
  wait(59)
  expect(await sentSeeds()).toEqual([false])
  wait(1)
  demo.script('/chat/completions', { outcome: refused })
  expect(await sentSeeds()).toEqual([true, false])
  wait(59)
  expect(await sentSeeds()).toEqual([false])
  wait(1)
  // Upstream accepts the field now.
  expect(await sentSeeds()).toEqual([true])
  expect(await sentSeeds()).toEqual([true])
})
