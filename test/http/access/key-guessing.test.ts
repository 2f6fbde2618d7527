import { unkeyedCaller } from '../../../src/config/caller.ts'
import { promisify } from 'node:util'
import Fastify from 'fastify'
import { expect, onTestFinished, test } from 'vitest'
import { createFailedKeys } from '../../../src/http/access/failed-keys.ts'
import { createFaultHandler } from '../../../src/http/fault-handler.ts'
import { createGuard } from '../../../src/http/access/guards.ts'
import { createKeySessions } from '../../../src/http/access/key-sessions.ts'
import { createMetrics } from '../../../src/usage/metrics.ts'
import { recordingLog } from '../../recording-log.ts'
import { createClient } from '../client.ts'
import { createTestOwner, ownerToken } from '../owner.ts'

const first = 'first-key-0123456789'
const second = 'second-key-0123456789'

/** Eight answers that are held back. */
interface Crowd {
  readonly held: readonly Promise<{ readonly status: number }>[]
}

/** A guarded route, and a clock that the test moves. */
function openGuarded() {
  let nowMs = 0
  let timers: { readonly atMs: number; readonly run: () => void }[] = []
  const log = recordingLog()
  const settings = {
    host: '127.0.0.1',
    allowedHosts: [],
    allowedOrigins: [],
    apiKeys: [first, second],
    checkPeer: true,
  }
  const guard = createGuard({
    settings: () => settings,
    failedKeys: createFailedKeys(() => nowMs),
    sessions: createKeySessions(),
    owner: createTestOwner(),
    peers: { refusalOf: () => undefined },
    setTimer: (run, delayMs) => timers.push({ atMs: nowMs + delayMs, run }),
  })
  const fastify = Fastify()
  fastify.decorateRequest('caller')
  fastify.decorateRequest('meter', undefined)
  fastify.addHook('onRequest', (request, reply, next) => {
    request.caller = unkeyedCaller
    guard.check(request, reply, next)
  })
  fastify.setErrorHandler(
    createFaultHandler({
      log,
      redact: (text) => text,
      metrics: createMetrics(),
      requests: { note: () => {} },
      now: () => nowMs,
      dateNow: () => nowMs,
    }),
  )
  fastify.get('/', () => 'in')
  onTestFinished(() => fastify.close())

  const send = async (key: string | undefined, address = '192.0.2.1', headers = {}) => {
    const { statusCode, headers: replyHeaders } = await fastify.inject({
      url: '/',
      remoteAddress: address,
      headers: { host: 'localhost', ...(key !== undefined && { 'x-api-key': key }), ...headers },
    })
    return { status: statusCode, retryAfter: replyHeaders['retry-after'] }
  }
  return {
    fastify,
    log,
    send,
    statusOf: async (...ask: Parameters<typeof send>) => (await send(...ask)).status,
    waiting: () => timers.length,
    pass: (ms: number) => {
      nowMs += ms
      const due = timers.filter(({ atMs }) => atMs <= nowMs)
      timers = timers.filter((timer) => !due.includes(timer))
      for (const { run } of due) run()
    },
    crowd: async (address?: string, headersOf: (n: number) => object = () => ({})): Promise<Crowd> => {
      for (let n = 0; n < 10; n += 1) expect((await send(`wrong-${n}`, address, headersOf(n))).status).toBe(401)
      const held: ReturnType<typeof send>[] = []
      while (held.length < 8) {
        const before = timers.length
        held.push(send(`wrong-${held.length}`, address, headersOf(10 + held.length)))
        await expect.poll(() => timers.length).toBe(before + 1)
      }
      return { held }
    },
  }
}

test('parallel guesses do not reveal which key is right', async () => {
  const { send, statusOf, crowd, pass, waiting } = openGuarded()
  const { held } = await crowd()
  const refused = { status: 429, retryAfter: '2' }
  expect([await send('wrong'), await send(first), await send(second)]).toEqual([refused, refused, refused])
  expect(waiting()).toBe(8)
  // Nobody else is kept out, and what needs no key stays as it is.
  expect([await statusOf(first, '192.0.2.2'), await statusOf(undefined)]).toEqual([200, 401])
  pass(100)
  expect((await held[0])?.status).toBe(401)
  expect(await statusOf(first)).toBe(200)
  pass(2000)
  for (const each of held) expect((await each).status).toBe(401)
})

test('a key that worked from an address keeps working there while others guess keys', async () => {
  const { statusOf, crowd, pass } = openGuarded()
  expect(await statusOf(first)).toBe(200)
  await crowd()
  for (let n = 0; n < 3; n += 1) expect([await statusOf(first), await statusOf(second)]).toEqual([200, 429])
  pass(2000)
})

test("the owner's token counts as a right key: it keeps working where it worked before, and is no easier to guess", async () => {
  const { statusOf, crowd, pass } = openGuarded()
  expect(await statusOf(ownerToken)).toBe(200)
  await crowd()
  expect([await statusOf(ownerToken), await statusOf(first)]).toEqual([200, 429])
  pass(2000)
  await crowd('192.0.2.9')
  expect([await statusOf(ownerToken, '192.0.2.9'), await statusOf('wrong', '192.0.2.9')]).toEqual([429, 429])
  pass(2000)
})

const claims = (n: number) => ({
  'x-forwarded-for': `203.0.113.${n}`,
  'x-real-ip': `203.0.113.${n}`,
  forwarded: `for=203.0.113.${n}`,
})

test('A14 headers that a client sends do not hide that it guesses keys', async () => {
  const { statusOf, crowd, pass } = openGuarded()
  await crowd('192.0.2.1', claims)
  expect(await statusOf('wrong', '192.0.2.1', claims(99))).toBe(429)
  pass(2000)
})

test('a guess whose caller hangs up still counts as delayed', async () => {
  const { fastify, pass, waiting } = openGuarded()
  const client = createClient(await fastify.listen({ host: '127.0.0.1', port: 0 }))
  onTestFinished(client.close)
  const connections = promisify(fastify.server.getConnections.bind(fastify.server))
  const guess = (signal?: AbortSignal) =>
    client.send('/', { headers: { 'x-api-key': 'wrong' }, ...(signal && { signal }) })
  for (let n = 0; n < 10; n += 1) expect((await guess()).status).toBe(401)
  for (let n = 0; n < 8; n += 1) {
    const controller = new AbortController()
    const reply = guess(controller.signal)
    await expect.poll(waiting).toBe(n + 1)
    controller.abort()
    await expect(reply).rejects.toMatchObject({ name: 'AbortError' })
  }
  await expect.poll(() => connections()).toBe(0)
  expect((await guess()).status).toBe(429)
  pass(2000)
  const next = guess()
  await expect.poll(waiting).toBe(1)
  pass(2000)
  expect((await next).status).toBe(401)
})

test('many refusals are logged as one line per second and address, with their number', async () => {
  const { statusOf, crowd, log, pass } = openGuarded()
  await crowd()
  expect(log.lines).toHaveLength(1)
  for (let n = 0; n < 50; n += 1) expect(await statusOf('wrong')).toBe(429)
  for (let n = 0; n < 50; n += 1) expect(await statusOf(undefined, '192.0.2.1', { host: 'evil.example' })).toBe(403)
  expect(log.lines).toHaveLength(1)
  expect(await statusOf(undefined, '192.0.2.2')).toBe(401)
  expect(log.lines).toHaveLength(2)
  pass(1000)
  await expect.poll(() => log.lines.length).toBe(3)
  expect(log.lines.map(({ fields }) => fields['suppressed'])).toEqual([undefined, undefined, 109])
  pass(2000)
})
