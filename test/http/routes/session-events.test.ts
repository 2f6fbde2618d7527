import { once } from 'node:events'
import { ServerResponse } from 'node:http'
import { gunzipSync } from 'node:zlib'
import { expect, onTestFinished, test, vi } from 'vitest'
import { makeFolder } from '../../tools/session.ts'
import { openProxy } from '../harness.ts'
import type { Proxy } from '../harness.ts'
import { eventsUntil, listen, postMessage } from '../session-client.ts'

async function openWorkspace(file = ''): Promise<Proxy> {
  return openProxy({ file: `workspaces: [{ path: ${await makeFolder()}, name: app }]\n${file}` })
}

/** Sends a message and waits until its run has ended. */
async function say(proxy: Proxy, text: string): Promise<string> {
  const listener = await listen(proxy)
  const { id } = (await postMessage(proxy, { text, model: 'gpt-5-mini' })).json() as { id: string }
  await eventsUntil(listener, 'done', ({ data }) => data['id'] === id)
  listener.leave()
  return id
}

test('a client resumes with Last-Event-ID, as a header or in the query', async () => {
  const proxy = await openWorkspace()
  const listener = await listen(proxy)
  await postMessage(proxy, { text: 'Say hello', model: 'gpt-5-mini' })
  const events = await eventsUntil(listener, 'lifecycle', ({ data }) => data['state'] === 'idle')
  listener.leave()
  const missed = events.slice(2)
  const resumed = await Promise.all([
    listen(proxy, '/events', { 'last-event-id': String(events[1]?.id) }),
    listen(proxy, `/events?session=app&lastEventId=${events[1]?.id}`),
  ])
  for (const again of resumed) {
    expect(await eventsUntil(again, 'lifecycle', ({ data }) => data['state'] === 'idle')).toEqual(missed)
    again.leave()
  }
})

test('a listener that reads fast gets what it has missed over many turns of the event loop', async () => {
  const proxy = await openWorkspace()
  const text = 'x'.repeat(900_000)
  const listener = await listen(proxy)
  for (let number = 0; number < 6; number += 1) {
    const { id } = (await postMessage(proxy, { text, model: 'gpt-5-mini' })).json() as { id: string }
    await eventsUntil(listener, 'done', ({ data }) => data['id'] === id)
  }
  listener.leave()
  let turn = 0
  const count = (): void => {
    turn += 1
    turning = setImmediate(count)
  }
  let turning = setImmediate(count)
  onTestFinished(() => clearImmediate(turning))
  const bytesOfTurn = new Map<number, number>()
  // oxlint-disable-next-line typescript/unbound-method -- called with its response below
  const write = ServerResponse.prototype.write
  const spy = vi.spyOn(ServerResponse.prototype, 'write').mockImplementation(function (this: ServerResponse, ...args) {
    bytesOfTurn.set(turn, (bytesOfTurn.get(turn) ?? 0) + Buffer.byteLength(args[0]))
    return write.apply(this, args)
  })
  onTestFinished(() => spy.mockRestore())
  const again = await listen(proxy, '/events', { 'last-event-id': '1' })
  let messages = 0
  await eventsUntil(again, 'inbound', () => (messages += 1) === 6)
  again.leave()
  expect(Math.max(...bytesOfTurn.values())).toBeLessThan(2_000_000)
})

test('an id that no event has had can be resumed from, with a gap', async () => {
  const proxy = await openWorkspace()
  await say(proxy, 'Say hello')
  const listener = await listen(proxy, '/events', { 'last-event-id': '7' })
  const [gap, first] = [await listener.nextEvent(), await listener.nextEvent()]
  expect(gap).toMatchObject({ event: 'gap', data: { from: 8 } })
  expect(first).toMatchObject({ event: 'inbound', data: { text: 'Say hello' } })
  // The first id of a process is the time.
  expect(first?.id).toBeGreaterThan(Number(gap?.id))
  listener.leave()
})

test('two listeners get the same events, one of them compressed', async () => {
  const proxy = await openWorkspace()
  const plain = await listen(proxy)
  const packed = await proxy.open('/events', { headers: { 'accept-encoding': 'br, gzip;q=0.5' } })
  expect(packed.headers).toMatchObject({
    'content-encoding': 'gzip',
    'content-type': 'text/event-stream; charset=utf-8',
  })
  expect(packed.headers['vary']).toContain('accept-encoding')
  const chunks: Buffer[] = []
  packed.stream.on('data', (chunk: Buffer) => chunks.push(chunk))
  const ended = once(packed.stream, 'end')
  await postMessage(proxy, { text: 'Say hello', model: 'gpt-5-mini' })
  const events = await eventsUntil(plain, 'lifecycle', ({ data }) => data['state'] === 'idle')
  const rest = plain.rest()
  await proxy.daemon.close(1000)
  await ended
  const text = gunzipSync(Buffer.concat(chunks)).toString()
  for (const { id } of events) expect(text).toContain(`id: ${id}\n`)
  expect(text.endsWith(await rest)).toBe(true)
})

test.each(['identity', 'gzip;q=0', 'br', ''])('accept-encoding %s gets plain text', async (encoding) => {
  const proxy = await openWorkspace()
  const reply = await proxy.open('/events', { headers: { 'accept-encoding': encoding } })
  expect(reply.headers['content-encoding']).toBeUndefined()
  reply.leave()
})

test('streams end with the daemon, after the last events', async () => {
  const proxy = await openWorkspace()
  const listener = await listen(proxy)
  await postMessage(proxy, { text: '[demo:stall] wait', model: 'gpt-5-mini' })
  await eventsUntil(listener, 'lifecycle')
  const closed = proxy.daemon.close(5000)
  const events = await eventsUntil(listener, 'done')
  expect(events.some(({ data }) => data['state'] === 'shutdown')).toBe(true)
  expect(events.at(-1)?.data).toMatchObject({ outcome: 'cancelled', reason: 'copilot-proxy was stopped.' })
  await listener.rest()
  await closed
})

test('a stream ends when its key is removed', async () => {
  const dir = await makeFolder()
  const fileOf = (keys: string) => `server: { api-keys: [${keys}] }\nworkspaces: [${dir}]`
  const proxy = await openProxy({ file: fileOf('first-key-1234567, other-key-1234567') })
  const [kept, removed] = await Promise.all(
    ['first-key-1234567', 'other-key-1234567'].map((key) =>
      listen(proxy, '/events', { authorization: `Bearer ${key}` }),
    ),
  )
  proxy.daemon.reconfigure(proxy.configure(fileOf('first-key-1234567')))
  await removed?.rest()
  expect(kept?.stream.readableEnded).toBe(false)
  kept?.leave()
})

test('unknown sessions, ids that are none, and missing workspaces are refused with a status', async () => {
  const proxy = await openWorkspace()
  const refusals = await Promise.all([
    proxy.send('/events?session=unknown'),
    proxy.send('/events?lastEventId=first'),
    proxy.send('/events', { headers: { 'last-event-id': '1.5' } }),
  ])
  expect(refusals.map(({ status }) => status)).toEqual([404, 400, 400])
  expect(refusals[0]?.json()).toMatchObject({ error: { code: 'session_not_found' } })
  const without = await openProxy()
  expect((await without.send('/events')).json()).toMatchObject({ error: { code: 'no_workspace' } })
})

test('a listener that stops reading holds up nobody, costs little memory, and goes on where it was', async () => {
  const proxy = await openWorkspace()
  const socket = await proxy.socket()
  socket.write('GET /events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n')
  await once(socket, 'readable')
  const quick = await listen(proxy)
  // More than the system buffers. No model answers: the messages alone are long enough.
  const runs = 6
  for (let run = 0; run < runs; run += 1) {
    await postMessage(proxy, { text: 'much '.repeat(200_000), model: 'no-such-model' })
    await eventsUntil(quick, 'lifecycle', ({ data }) => data['state'] === 'idle')
  }
  quick.leave()
  // Only now does the slow one read: everything is there, from the file.
  const chunks: Buffer[] = []
  let ends = 0
  for await (const chunk of socket as AsyncIterable<Buffer>) {
    chunks.push(chunk)
    // The texts are long, so an event's name is rarely cut in two.
    ends += chunk.toString('latin1').split('"state":"idle"').length - 1
    if (ends === runs) break
  }
  const text = Buffer.concat(chunks).toString('latin1')
  expect(text.match(/^event: done$/gm)).toHaveLength(runs)
  const ids = [...text.matchAll(/^id: (\d+)\r?\nevent/gm)].map(([, id]) => Number(id))
  expect(ids).toEqual(ids.toSorted((one, other) => one - other))
  expect(text).not.toContain('event: gap')
})

test('a hundred listeners hear a run', async () => {
  const proxy = await openWorkspace()
  const listeners = await Promise.all(
    Array.from({ length: 100 }, (_, at) => listen(proxy, at % 2 === 0 ? '/events' : '/events?session=app')),
  )
  await postMessage(proxy, { text: 'Say hello', model: 'gpt-5-mini' })
  const heard = await Promise.all(listeners.map((listener) => eventsUntil(listener, 'done')))
  for (const events of heard) expect(events).toEqual(heard[0])
  for (const listener of listeners) listener.leave()
})
