import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { expect, test } from 'vitest'
import { createRunClient } from '../../../src/commands/agent/client.ts'
import { createUser } from '../harness.ts'
import { listenForTest } from '../../listen-for-test.ts'

/** A daemon whose answers are those of the test. */
async function openClient(answer: (request: IncomingMessage, response: ServerResponse) => void) {
  const server = createServer(answer)
  const port = await listenForTest(server)
  const user = await createUser()
  const connection = {
    url: `http://127.0.0.1:${port}`,
    key: 'key',
    sessionId: 'app',
    root: '/app',
    isDemo: true,
    readOnly: false,
    close: async () => {},
  }
  return createRunClient(user.context(), connection)
}

const done = { id: 'run', outcome: 'completed' }

test('after a broken connection, events continue after the last one', async () => {
  const asked: unknown[] = []
  const client = await openClient(({ headers }, response) => {
    asked.push(headers['last-event-id'])
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    if (asked.length === 1) {
      response.write('id: 7\nevent: fragment\ndata: {"id":"run","text":"é"}\n\n', () => response.destroy())
    } else response.write(`id: 8\nevent: done\ndata: ${JSON.stringify(done)}\n\n`)
  })
  const stop = new AbortController()
  let losses = 0
  const received: unknown[] = []
  for await (const event of await client.events(stop.signal, () => (losses += 1))) {
    received.push(event)
    if (received.length === 2) break
  }
  expect(received).toEqual([
    { type: 'fragment', id: 'run', text: 'é' },
    { type: 'done', ...done },
  ])
  expect(asked).toEqual([undefined, '7'])
  expect(losses).toBe(1)
})

test('what was missed is the approvals that wait, and the end of the run', async () => {
  const call = { callId: 'c', tool: 'mcp.shell.run' }
  const approvals = [
    { approvalId: 'a', ...call, state: 'once' },
    { approvalId: 'b', ...call, state: 'pending' },
  ]
  const run = {
    ...done,
    sessionId: 'app',
    conversationId: 'talk',
    text: 'Go',
    mode: 'agent',
    origin: 'user',
    startedAt: '2026-11-24T14:03:00.000Z',
    files: [],
    changes: [],
    requests: 3,
    usage: { inputTokens: 1, outputTokens: 1, cachedInputTokens: 0 },
  }
  let state = 'waiting'
  const client = await openClient((_request, response) =>
    response.end(JSON.stringify({ ...run, state, step: 3, steps: [], approvals })),
  )
  expect(await client.missed('run')).toMatchObject([{ type: 'approval', id: 'run', approvalId: 'b', state: 'pending' }])
  state = 'ended'
  expect(await client.missed('run')).toMatchObject([{ type: 'done', outcome: 'completed', steps: 3 }])
})
