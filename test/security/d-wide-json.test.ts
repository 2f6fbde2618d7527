import { once } from 'node:events'
import { WebSocket } from 'ws'
import { expect, test } from 'vitest'
import { makeFolder } from '../tools/session.ts'
import { some } from '../thorough.ts'
import { runDaemon, watchDaemon } from './running-daemon.ts'
import type { RunningDaemon } from './running-daemon.ts'

const MiB = 1024 * 1024

const config = async (): Promise<string> => `workspaces: ['${await makeFolder()}']\n`

/** Texts of many values, about 12 MB each. */
const wide: readonly (readonly [name: string, value: string])[] = [
  ['empty objects', `[${'{},'.repeat(4 * MiB)}{}]`],
  ['empty lists in lists', `[${'[[]],'.repeat(2.4 * MiB)}[]]`],
  ['numbers', `[${'1,'.repeat(6 * MiB)}1]`],
  ['different keys', `{${Array.from({ length: MiB }, (_, at) => `"k${at}":1`).join()}}`],
  ['objects with different keys', `[${Array.from({ length: 800_000 }, (_, at) => `{"k${at}":1}`).join()}]`],
]

type Send = (daemon: RunningDaemon, value: string) => Promise<string>

const posts: readonly (readonly [path: string, around: (value: string) => string])[] = [
  ['/v1/chat/completions', (value) => `{"model":"gpt-5-mini","messages":${value}}`],
  ['/v1/responses', (value) => `{"model":"gpt-5-mini","input":${value}}`],
  ['/v1/messages', (value) => `{"model":"gpt-5-mini","max_tokens":5,"messages":${value}}`],
  ['/v1/messages/count_tokens', (value) => `{"model":"gpt-5-mini","messages":${value}}`],
  ['/v1/embeddings', (value) => `{"model":"text-embedding-3-small","input":${value}}`],
  ['/sessions/some-session/messages', (value) => `{"text":${value}}`],
  [
    '/mcp',
    (value) =>
      `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"fs_read","arguments":{"path":${value}}}}`,
  ],
  ['/mcp', (value) => value],
]

function post(path: string, around: (value: string) => string): Send {
  return async ({ client }, value) => {
    const headers = { accept: 'application/json, text/event-stream' }
    const { status, text } = await client.send(path, { body: around(value), headers })
    expect(status).toBeGreaterThanOrEqual(400)
    expect(status).toBeLessThan(500)
    return text
  }
}

async function overRpc({ client }: RunningDaemon, text: string): Promise<string> {
  const socket = new WebSocket(`${client.url.replace('http', 'ws')}/rpc`)
  await once(socket, 'open')
  socket.send(text)
  const [answer]: unknown[] = await once(socket, 'message')
  socket.close()
  await once(socket, 'close')
  return String(answer)
}

const call = (value: string): string => `{"jsonrpc":"2.0","id":1,"method":"mcp.fs.read","params":{"path":${value}}}`

const routes: readonly (readonly [name: string, send: Send])[] = [
  ...posts.map(([path, around]) => [`${path} ${around('…').slice(0, 30)}`, post(path, around)] as const),
  ['/rpc, a call', (daemon, value) => overRpc(daemon, call(value))],
  ['/rpc, a batch', overRpc],
]

test.each(some(routes, 5))(
  'others are served while %s gets JSON of too many values',
  { timeout: 120_000 },
  async (_, send) => {
    const daemon = await runDaemon({ config: await config() })
    for (const [name, value] of wide) {
      const watch = await watchDaemon(daemon)
      const answer = await send(daemon, value)
      const { worstMs } = await watch.end()
      expect(answer).toContain('error')
      expect(worstMs, name).toBeLessThan(5000)
    }
  },
)

test('a message of the same size that is one text is read', { timeout: 60_000 }, async () => {
  const daemon = await runDaemon({ config: await config() })
  const text = 'x'.repeat(12 * MiB)
  const watch = await watchDaemon(daemon)
  const reply = await daemon.client.chat({ messages: [{ role: 'user', content: `[demo:help] ${text}` }] })
  expect(reply.status).toBe(200)
  // The tool refuses it as a path, so the message was read.
  const answer = await overRpc(daemon, call(JSON.stringify(text)))
  expect(answer).toContain('"kind"')
  expect(answer).not.toContain('-32700')
  const { worstMs } = await watch.end()
  expect(worstMs).toBeLessThan(5000)
})
