import { expect, test } from 'vitest'
import { jsonReply, streamReply } from '../upstreams/http/outcome.ts'
import type { Outcome } from '../upstreams/http/outcome.ts'
import { contentOf, saying } from './client.ts'
import { chatsOf, openProxy, tokenReply } from './harness.ts'
import { event, finish } from './word-stream.ts'

test('aliases and hidden models change for the next request', async () => {
  const { chat, send, daemon, configure, demo } = await openProxy()
  expect((await chat({ model: 'fast' })).status).toBe(404)
  daemon.reconfigure(configure('models: { aliases: { fast: gpt-5-mini }, hide: [gpt-4*] }'))
  expect((await chat({ model: 'fast' })).status).toBe(200)
  expect(JSON.parse(chatsOf(demo)[0]?.body ?? '').model).toBe('gpt-5-mini')
  expect((await send('/v1/models')).text).not.toContain('"gpt-4.1"')
  expect((await chat({ model: 'gpt-4.1' })).status).toBe(200)
  daemon.reconfigure(configure(''))
  expect((await chat({ model: 'fast' })).status).toBe(404)
})

test('keys change for the next request, also on a connection that is open', async () => {
  const { chat, daemon, configure } = await openProxy({ file: 'server: { api-keys: [old-key] }' })
  const ask = async (key: string) => (await chat({}, { headers: { authorization: `Bearer ${key}` } })).status
  expect(await ask('old-key')).toBe(200)
  daemon.reconfigure(configure('server: { api-keys: [new-key] }'))
  expect(await ask('old-key')).toBe(401)
  expect(await ask('new-key')).toBe(200)
})

test('F05 limits change for the next request', async () => {
  const { chat, daemon, configure, demo, send } = await openProxy()
  const large = saying('a'.repeat(20_000))
  expect((await chat(large)).status).toBe(200)
  daemon.reconfigure(configure('server: { body-limit-mb: 0.01, max-concurrent-requests: 1, max-queued-requests: 0 }'))
  expect((await chat(large)).status).toBe(413)
  const gate = demo.gateNext()
  const held = chat()
  await gate.opened
  expect((await chat()).status).toBe(429)
  daemon.reconfigure(configure('server: { max-concurrent-requests: 2, allowed-origins: ["http://app.example"] }'))
  expect((await chat()).status).toBe(200)
  expect((await send('/v1/models', { headers: { origin: 'http://app.example' } })).status).toBe(200)
  gate.open()
  expect((await held).status).toBe(200)
})

test('a raised limit admits requests that already wait', async () => {
  const { chat, daemon, configure, demo, send } = await openProxy({ file: 'server: { max-concurrent-requests: 1 }' })
  const gates = [demo.gateNext(), demo.gateNext()]
  const replies = [chat(), chat()]
  await gates[0]?.opened
  for (let round = 0; round < 3; round += 1) await send('/healthz')
  expect(demo.count('/chat/completions')).toBe(1)
  daemon.reconfigure(configure('server: { max-concurrent-requests: 2 }'))
  await gates[1]?.opened
  for (const gate of gates) gate.open()
  for (const reply of replies) expect((await reply).status).toBe(200)
})

test('timeouts, headers and rules of Copilot change for the next request, while streams go on', async () => {
  const { chat, openChat, daemon, configure, demo } = await openProxy()
  demo.script('/chat/completions', { outcome: streamReply([event('one '), event('two'), finish]) })
  const gate = demo.gateNext()
  gate.release(1)
  const reply = await openChat()
  expect(await reply.next()).toContain('one ')

  daemon.reconfigure(
    configure(`
copilot:
  initiator: last-message
  refresh-on-unauthorized: false
  headers: { editor-version: vscode/9.9 }
  timeouts: { headers-seconds: 0.1, idle-seconds: 0.1 }
`),
  )
  const messages = [
    { role: 'user', content: 'Hello' },
    { role: 'assistant', content: 'Hi' },
    { role: 'user', content: 'And?' },
  ]
  expect((await chat({ messages })).status).toBe(200)
  expect(chatsOf(demo).at(-1)?.headers).toMatchObject({ 'editor-version': 'vscode/9.9', 'x-initiator': 'user' })
  expect((await chat(saying('[demo:hang]'))).status).toBe(504)
  demo.tokens.expireAll()
  expect((await chat()).status).toBe(401)

  gate.open()
  expect(contentOf(await reply.rest())).toBe('two')
})

test('a change that does not concern Copilot keeps its token and connections', async () => {
  const { chat, daemon, configure, demo } = await openProxy()
  expect((await chat()).status).toBe(200)
  daemon.reconfigure(configure('chat: { strict: true }'))
  expect((await chat()).status).toBe(200)
  expect(demo.exchanges()).toBe(1)
})

test('a request that waits for its token when Copilot is reconfigured is served', async () => {
  const held = Promise.withResolvers<void>()
  const { chat, daemon, configure, demo } = await openProxy({
    prepare: (server) => {
      server.script('/copilot_internal/v2/token', { outcome: tokenReply(server), after: held.promise })
    },
  })
  const waiting = chat()
  await demo.until(() => demo.exchanges() === 1)
  daemon.reconfigure(configure('copilot: { headers: { editor-version: vscode/9.9 } }'))
  held.resolve()
  expect((await waiting).status).toBe(200)
})

/** A reply with this many embeddings; upstream takes 512 texts at a time. */
function embeddings(count: number): Outcome {
  return jsonReply(200, { data: Array.from({ length: count }, (_, index) => ({ index, embedding: [1] })) })
}

test('a request of several parts ends on the connection on which it started', async () => {
  const held = Promise.withResolvers<void>()
  const { send, daemon, configure, demo, chat } = await openProxy()
  expect((await chat()).status).toBe(200)
  const body = JSON.stringify({
    model: 'text-embedding-3-small',
    input: Array.from({ length: 600 }, () => 'a'),
    dimensions: 1,
  })
  demo.script('/embeddings', { outcome: embeddings(512), after: held.promise }, { outcome: embeddings(88) })
  const reply = send('/v1/embeddings', { body })
  await demo.until(() => demo.count('/embeddings') === 1)
  daemon.reconfigure(configure('copilot: { headers: { editor-version: vscode/9.9 } }'))
  expect((await chat()).status).toBe(200)
  held.resolve()
  expect((await reply).status).toBe(200)
})

test('F05 under load no request is lost to a change of the configuration', async () => {
  const { chat, daemon, configure } = await openProxy()
  const replies: Promise<number>[] = []
  for (let round = 0; round < 20; round += 1) {
    for (let at = 0; at < 5; at += 1) {
      replies.push(chat({ stream: at % 2 === 0, ...saying('[demo:slow 1] Hello') }).then(({ status }) => status))
    }
    daemon.reconfigure(configure(`copilot: { headers: { editor-version: vscode/1.${round} } }`))
    await Promise.race(replies)
  }
  expect((await Promise.all(replies)).filter((status) => status !== 200)).toEqual([])
})

test('the history window changes for the next request', async () => {
  const { chat, daemon, configure, demo } = await openProxy({ file: 'chat: { history-window: 1 }' })
  const messages = ['one', 'two', 'three'].flatMap((content) => [
    { role: 'user', content },
    { role: 'assistant', content: 'ok' },
  ])
  const ask = { messages: [...messages, { role: 'user', content: 'four' }] }
  expect((await chat(ask)).headers['x-copilot-proxy-warnings']).toBe('history_cut;messages')
  daemon.reconfigure(configure('chat: { history-window: 2 }'))
  await chat(ask)
  daemon.reconfigure(configure(''))
  await chat(ask)
  expect(chatsOf(demo).map(({ body }) => JSON.parse(body).messages.length)).toEqual([1, 3, 7])
})
