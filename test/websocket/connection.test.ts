import { once } from 'node:events'
import { createServer } from 'node:http'
import { WebSocket } from 'ws'
import { expect, onTestFinished, test } from 'vitest'
import { acceptHandshake } from '../../src/websocket/connection.ts'
import { listenForTest } from '../listen-for-test.ts'

/** A server that hands the texts of one connection to `onText`, and a client. */
async function openConnection(onText: (text: string) => void) {
  const server = createServer()
  const limits = { maxMessageBytes: 4 * 1024 * 1024, maxQueuedBytes: 1024, pingMs: 60_000 }
  server.on('upgrade', (request, socket, head) => {
    acceptHandshake(request, { socket, head }, limits, () => ({ onText, onClose() {} }))
  })
  const port = await listenForTest(server)
  const client = new WebSocket(`ws://127.0.0.1:${port}`)
  onTestFinished(() => client.terminate())
  await once(client, 'open')
  return client
}

test('a flood of small messages leaves turns of the event loop to others, and keeps its order', async () => {
  const large = 'x'.repeat(2 * 1024 * 1024)
  const sent = [...Array.from({ length: 100 }, (_, at) => String(at)), large, 'after it', large, 'last']
  const received: string[] = []
  const all = Promise.withResolvers<void>()
  let turns = 0
  const client = await openConnection((text) => {
    received.push(text)
    if (text === '0') setImmediate(countTurn)
    const untilMs = performance.now() + 5
    while (performance.now() < untilMs);
    if (text === 'last') all.resolve()
  })
  function countTurn(): void {
    turns += 1
    if (received.at(-1) !== 'last') setImmediate(countTurn)
  }
  for (const text of sent) client.send(text)
  await all.promise
  expect(received).toEqual(sent)
  expect(turns).toBeGreaterThan(20)
})
