import { expect, onTestFinished, test, vi } from 'vitest'
import { failure } from '../upstreams/copilot/failures.ts'
import type { JsonObject } from '../../src/json/json.ts'
import { saying } from './client.ts'
import { chatsOf, openProxy, type Proxy } from './harness.ts'

const refused = refusalOf('seed')

function refusalOf(param: string, message = `Unsupported parameter: '${param}' is not supported with this model.`) {
  return failure(400, { message, code: 'unsupported_parameter', param })
}

function wait(minutes: number): void {
  vi.setSystemTime(Date.now() + minutes * 60_000)
}

/** The bodies that upstream gets for one request, refused ones included. */
async function sentBodies({ chat, demo }: Proxy, members: JsonObject): Promise<readonly JsonObject[]> {
  const before = chatsOf(demo).length
  expect((await chat({ ...saying('Hello'), ...members })).status).toBe(200)
  return chatsOf(demo)
    .slice(before)
    .map(({ body }): JsonObject => JSON.parse(body))
}

test('one refusal of a member changes no later request, and the second does', async () => {
  const proxy = await openProxy()
  const { demo } = proxy
  /** Which of the requests that upstream gets have the member. */
  const sentSeeds = async () => (await sentBodies(proxy, { seed: 7 })).map((body) => 'seed' in body)
  demo.script('/chat/completions', { outcome: refused })
  expect(await sentSeeds()).toEqual([true, false])
  // The refusal was about that request alone.
  expect(await sentSeeds()).toEqual([true])
  demo.script('/chat/completions', { outcome: refused })
  expect(await sentSeeds()).toEqual([true, false])
  expect(await sentSeeds()).toEqual([false])
})

test('refusals of two members, or of one member by two models, are no second refusal', async () => {
  const proxy = await openProxy()
  const { demo } = proxy
  const members = { seed: 7, top_p: 0.5 }
  const sent = async (model?: string) =>
    (await sentBodies(proxy, { ...members, ...(model !== undefined && { model }) })).map((body) =>
      Object.keys(members).filter((member) => member in body),
    )
  demo.script('/chat/completions', { outcome: refused })
  expect(await sent('gpt-4.1')).toEqual([['seed', 'top_p'], ['top_p']])
  demo.script('/chat/completions', { outcome: refusalOf('top_p') })
  expect(await sent('gpt-4.1')).toEqual([['seed', 'top_p'], ['seed']])
  demo.script('/chat/completions', { outcome: refused })
  expect(await sent('gpt-4o')).toEqual([['seed', 'top_p'], ['top_p']])
  expect(await sent('gpt-4.1')).toEqual([['seed', 'top_p']])
  expect(await sent('gpt-4o')).toEqual([['seed', 'top_p']])
})

test('a refusal that names another value is remembered at once', async () => {
  const proxy = await openProxy()
  const sent = async (members: JsonObject) =>
    (await sentBodies(proxy, members)).map((body) =>
      ['max_tokens', 'max_completion_tokens'].filter((member) => member in body),
    )
  const text =
    "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
  proxy.demo.script('/chat/completions', { outcome: refusalOf('max_tokens', text) })
  expect(await sent({ model: 'gpt-4.1', max_tokens: 50 })).toEqual([['max_tokens'], ['max_completion_tokens']])
  expect(await sent({ model: 'gpt-4.1', max_tokens: 50 })).toEqual([['max_completion_tokens']])
})

test('an essential member is never left out, however often it is refused', async () => {
  const { chat, demo } = await openProxy()
  for (let time = 0; time < 3; time += 1) {
    demo.script('/chat/completions', { outcome: refusalOf('messages') })
    expect((await chat(saying('Hello'))).status).toBe(400)
  }
  expect(chatsOf(demo)).toHaveLength(3)
  expect((await chat(saying('Hello'))).status).toBe(200)
})

test('a field refused twice is left out for an hour, then sent again until it is refused twice again', async () => {
  vi.useFakeTimers({ toFake: ['Date'] })
  onTestFinished(() => {
    vi.useRealTimers()
  })
  const proxy = await openProxy()
  const { demo } = proxy
  const sentSeeds = async () => (await sentBodies(proxy, { seed: 7 })).map((body) => 'seed' in body)
  const isRefused = async () => {
    demo.script('/chat/completions', { outcome: refused })
    expect(await sentSeeds()).toEqual([true, false])
  }
  await isRefused()
  await isRefused()
  expect(await sentSeeds()).toEqual([false])
  proxy.daemon.reconfigure(proxy.configure('log: { bodies: true }'))
  wait(59)
  expect(await sentSeeds()).toEqual([false])
  wait(1)
  await isRefused()
  // Too late for a second refusal.
  wait(60)
  await isRefused()
  expect(await sentSeeds()).toEqual([true])
  await isRefused()
  wait(59)
  expect(await sentSeeds()).toEqual([false])
  wait(1)
  // Upstream accepts the field now.
  expect(await sentSeeds()).toEqual([true])
  expect(await sentSeeds()).toEqual([true])
})
