import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import type { CopilotToken } from '../../src/auth/copilot/token.ts'
import { editorHeaders } from '../../src/config/header-table.ts'
import { createPool } from '../../src/executors/connection-pool.ts'
import { createCopilotExecutor } from '../../src/executors/copilot.ts'
import type { CopilotExecutorOptions } from '../../src/executors/copilot.ts'
import type { Executor, UpstreamCall } from '../../src/executors/executor.ts'
import { recordingLog } from '../recording-log.ts'
import { textOf } from './bodies.ts'
import { asIs } from '../as-is.ts'
import { listenForTest } from '../listen-for-test.ts'
import { errorOf } from './error-of.ts'

const call: UpstreamCall = {
  path: '/chat/completions',
  body: '{"model":"gpt-5-mini","stream":true}',
  initiator: 'user',
  hasImage: false,
  requestId: 'req-1',
}
const options: CopilotExecutorOptions = {
  refreshOnUnauthorized: true,
  headers: { 'user-agent': 'GitHubCopilotChat/0.26.7', 'editor-version': 'vscode/1.0' },
  connectMs: 1000,
  headersMs: 1000,
  idleMs: 1000,
}
const never = new AbortController().signal

type Handler = (request: IncomingMessage & { body: string }, response: ServerResponse) => void

const closing: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

async function startUpstream(handler: Handler) {
  const requests: { path: string; headers: IncomingMessage['headers']; body: string }[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString()
      requests.push({ path: request.url ?? '', headers: request.headers, body })
      handler(Object.assign(request, { body }), response)
    })
  })
  return { url: `http://127.0.0.1:${await listenForTest(server)}`, requests, server }
}

/** Tokens that never expire; `replace` hands out the next of the list. */
function tokensFor(candidates: readonly string[], values: readonly string[] = ['token-1']) {
  const asked: string[] = []
  const stale: string[] = []
  const toToken = (value: string): CopilotToken => ({
    value,
    recordId: 'copilot-example',
    completionsUrl: 'http://127.0.0.1:9',
    candidates,
  })
  return {
    asked,
    stale,
    renewBeforeNext: (refused: string) => void stale.push(refused),
    get: () => Promise.resolve(toToken(values[0] ?? '')),
    replace: (rejected: string) => {
      asked.push(rejected)
      return Promise.resolve(toToken(values[values.indexOf(rejected) + 1] ?? rejected))
    },
  }
}

function executorFor(tokens: ReturnType<typeof tokensFor>, changed: Partial<CopilotExecutorOptions> = {}) {
  const all = { ...options, ...changed }
  const pool = createPool({ connectMs: all.connectMs, env: {} })
  const log = recordingLog()
  const executor = createCopilotExecutor({ tokens, pool, log, redact: asIs }, all)
  closing.push(() => pool.destroy())
  return { executor, log }
}

/** One exchange to its end, so that a connection is kept. */
async function useOnce(executor: Executor): Promise<void> {
  const { body } = await executor.stream(call, { signal: never })
  await textOf(body)
  // The pool takes the connection back once its answer is complete.
  await new Promise(setImmediate)
}

function sendEvents(response: ServerResponse, text = 'data: {}\n\n'): void {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'set-cookie': 'a=b', 'x-github-request-id': 'GH-1' })
  response.end(text)
}

test('sends the identity, the credential, the initiator and the exact body', async () => {
  const upstream = await startUpstream((_, response) => sendEvents(response))
  const { executor } = executorFor(tokensFor([upstream.url]))
  const { body, headers } = await executor.stream({ ...call, hasImage: true, initiator: 'agent' }, { signal: never })
  expect(await textOf(body)).toBe('data: {}\n\n')
  expect(headers).toEqual({ 'x-github-request-id': 'GH-1' })
  expect(upstream.requests[0]).toMatchObject({
    path: '/chat/completions',
    body: call.body,
    headers: {
      authorization: 'Bearer token-1',
      'content-type': 'application/json',
      'content-length': String(call.body.length),
      accept: 'text/event-stream',
      'editor-version': 'vscode/1.0',
      'user-agent': 'GitHubCopilotChat/0.26.7',
      'x-request-id': 'req-1',
      'x-initiator': 'agent',
      'copilot-vision-request': 'true',
    },
  })
})

/** The headers of a call with a token that was exchanged, and with one that was not. */
async function sentWith(headers: Readonly<Record<string, string>>, changes: Partial<UpstreamCall> = {}) {
  const upstream = await startUpstream((_, response) => sendEvents(response))
  const tokens = tokensFor([upstream.url])
  const direct = { ...tokens, get: async () => ({ ...(await tokens.get()), direct: true as const }) }
  for (const each of [tokens, direct]) {
    const { executor } = executorFor(each, { headers })
    const { body } = await executor.stream({ ...call, ...changes }, { signal: never })
    await textOf(body)
  }
  return upstream.requests.map(({ headers: each }) => each)
}

describe('a GitHub token that was not exchanged', () => {
  const interaction = { purpose: 'panel', id: 'i-1', stated: {} } as const

  test('goes out under the identity of GitHub’s CLI, and an exchanged one under the editor’s', async () => {
    const [exchanged, direct] = await sentWith(editorHeaders, { interaction })
    expect(exchanged).toMatchObject({
      'user-agent': expect.stringMatching(/^GitHubCopilotChat\//),
      'copilot-integration-id': 'vscode-chat',
      'openai-intent': 'conversation-panel',
      'x-interaction-type': 'conversation-panel',
    })
    expect(exchanged).not.toHaveProperty('copilot-harness-id')
    expect(direct).toMatchObject({
      'user-agent': expect.stringMatching(/^copilot\//),
      'editor-version': expect.stringMatching(/^copilot\//),
      'copilot-integration-id': 'copilot-developer-cli',
      'copilot-harness-id': 'copilot-sdk',
      'openai-intent': 'conversation-agent',
      'x-interaction-type': 'conversation-user',
    })
    expect(JSON.stringify(direct)).not.toMatch(/vscode|plugin|electron/i)
  })

  test.each([
    ['agent', 'agent', 'conversation-agent'],
    ['agent', 'user', 'conversation-user'],
    ['subagent', 'agent', 'conversation-subagent'],
    ['compaction', 'agent', 'conversation-compaction'],
  ] as const)('states the type of a request of %s, made by %s: %s', async (purpose, initiator, type) => {
    const [, direct] = await sentWith(editorHeaders, { initiator, interaction: { ...interaction, purpose } })
    expect(direct).toMatchObject({ 'x-interaction-type': type, 'x-initiator': initiator })
  })

  test('has no intent on /v1/messages', async () => {
    const [, direct] = await sentWith(editorHeaders, { interaction, path: '/v1/messages' })
    expect(direct).not.toHaveProperty('openai-intent')
  })

  test('keeps the headers that the user has set, and sends none that the user has removed', async () => {
    const { 'editor-version': _, ...others } = editorHeaders
    const [, direct] = await sentWith({ ...others, 'user-agent': 'mine/1', 'x-own': '1' }, { interaction })
    expect(direct).toMatchObject({ 'user-agent': 'mine/1', 'x-own': '1' })
    expect(direct).not.toHaveProperty('editor-version')
  })
})

test.each([
  [402, ['token-1']],
  [403, ['token-1']],
  [400, []],
  [429, []],
  [500, []],
])('a %i has the token renewed before the next request: %j, and is never replayed', async (status, stale) => {
  const upstream = await startUpstream((_, response) => response.writeHead(status).end('{"message":"no"}'))
  const tokens = tokensFor([upstream.url], ['token-1', 'token-2'])
  const { executor } = executorFor(tokens)
  expect(await errorOf(executor.stream(call, { signal: never }))).toMatchObject({ kind: 'upstream_status', status })
  expect({ stale: tokens.stale, asked: tokens.asked, requests: upstream.requests.length }).toEqual({
    stale,
    asked: [],
    requests: 1,
  })
})

test('refuses a body of more than 32 MB for /responses before it is sent', async () => {
  const upstream = await startUpstream((_, response) => sendEvents(response))
  const { executor } = executorFor(tokensFor([upstream.url]), { headersMs: 60_000 })
  const most = Buffer.alloc(32 * 1024 * 1024, 'a')
  const send = (path: string, body: Buffer) => executor.stream({ ...call, path, body }, { signal: never })
  expect(await errorOf(send('/responses', Buffer.concat([most, most])))).toMatchObject({
    kind: 'upstream_status',
    status: 413,
    code: 'request_too_large',
    message: expect.stringMatching(/64\.0 MB.*32 MB/),
  })
  expect(upstream.requests).toEqual([])
  await textOf((await send('/responses', most)).body)
  await textOf((await send('/v1/messages', Buffer.concat([most, Buffer.from('a')]))).body)
  expect(upstream.requests.map(({ path }) => path)).toEqual(['/responses', '/v1/messages'])
})

test('sends no vision flag without an image', async () => {
  const upstream = await startUpstream((_, response) => sendEvents(response))
  const { executor } = executorFor(tokensFor([upstream.url]))
  await executor.stream(call, { signal: never })
  expect(upstream.requests[0]?.headers).not.toHaveProperty('copilot-vision-request')
})

test('after a 401 asks for another token once and replays with it', async () => {
  const upstream = await startUpstream((request, response) => {
    if (request.headers.authorization === 'Bearer token-2') sendEvents(response)
    else response.writeHead(401).end('unauthorized: token expired\n')
  })
  const tokens = tokensFor([upstream.url], ['token-1', 'token-2'])
  await executorFor(tokens).executor.stream(call, { signal: never })
  expect(tokens.asked).toEqual(['token-1'])
  expect(upstream.requests).toHaveLength(2)
})

test('does not replay with the same token', async () => {
  const upstream = await startUpstream((_, response) => response.writeHead(401).end('unauthorized: token expired\n'))
  const { executor } = executorFor(tokensFor([upstream.url]))
  expect(await errorOf(executor.stream(call, { signal: never }))).toMatchObject({
    kind: 'upstream_unauthorized',
    upstreamMessage: 'unauthorized: token expired',
  })
  expect(upstream.requests).toHaveLength(1)
})

test('replays at most once', async () => {
  const upstream = await startUpstream((_, response) => response.writeHead(401).end('no'))
  const { executor } = executorFor(tokensFor([upstream.url], ['token-1', 'token-2', 'token-3']))
  expect(await errorOf(executor.stream(call, { signal: never }))).toMatchObject({ kind: 'upstream_unauthorized' })
  expect(upstream.requests).toHaveLength(2)
})

test('does not refresh when refresh-on-unauthorized is off', async () => {
  const upstream = await startUpstream((_, response) => response.writeHead(401).end('no'))
  const tokens = tokensFor([upstream.url], ['token-1', 'token-2'])
  const { executor } = executorFor(tokens, { refreshOnUnauthorized: false })
  expect(await errorOf(executor.stream(call, { signal: never }))).toMatchObject({ kind: 'upstream_unauthorized' })
  expect(tokens.asked).toEqual([])
  expect(upstream.requests).toHaveLength(1)
})

test('a 401 about an item of another connection does not renew the token', async () => {
  const message = 'input item ID does not belong to this connection'
  const upstream = await startUpstream((_, response) =>
    response.writeHead(401).end(JSON.stringify({ error: { message } })),
  )
  const tokens = tokensFor([upstream.url], ['token-1', 'token-2'])
  const error = await errorOf(executorFor(tokens).executor.stream(call, { signal: never }))
  expect(error).toMatchObject({ kind: 'upstream_status', status: 400, message })
  expect(tokens.asked).toEqual([])
})

test('after a 421 uses the next endpoint and stays with it for that token', async () => {
  const wrong = await startUpstream((_, response) => response.writeHead(421).end('Misdirected Request'))
  const right = await startUpstream((_, response) => sendEvents(response))
  const { executor } = executorFor(tokensFor([wrong.url, right.url]))
  await executor.stream(call, { signal: never })
  await executor.stream(call, { signal: never })
  expect(wrong.requests).toHaveLength(1)
  expect(right.requests).toHaveLength(2)
})

test.each([
  ['says 404', (response: ServerResponse) => void response.writeHead(404).end('404 page not found')],
  ['says 421 too', (response: ServerResponse) => void response.writeHead(421).end('Misdirected Request')],
  ['breaks', (response: ServerResponse) => void response.destroy()],
])('asks the first endpoint again when the one after a 421 %s', async (_, answer) => {
  let isWrong = true
  const first = await startUpstream((_request, response) => {
    if (isWrong) response.writeHead(421).end('Misdirected Request')
    else sendEvents(response)
  })
  const second = await startUpstream((_request, response) => answer(response))
  const { executor } = executorFor(tokensFor([first.url, second.url]))
  expect(await errorOf(executor.stream(call, { signal: never }))).toMatchObject({
    kind: 'upstream_status',
    status: 421,
  })
  isWrong = false
  await executor.stream(call, { signal: never })
  expect(second.requests).toHaveLength(1)
})

test('an endpoint that refuses the request itself has taken over from the one that said 421', async () => {
  const wrong = await startUpstream((_, response) => response.writeHead(421).end('Misdirected Request'))
  const right = await startUpstream((_, response) => response.writeHead(429).end('slow down'))
  const { executor } = executorFor(tokensFor([wrong.url, right.url]))
  expect(await errorOf(executor.stream(call, { signal: never }))).toMatchObject({
    kind: 'upstream_status',
    status: 429,
  })
})

test('tries only one further endpoint after a 421', async () => {
  const wrong = await startUpstream((_, response) => response.writeHead(421).end('Misdirected Request'))
  const alsoWrong = await startUpstream((_, response) => response.writeHead(421).end('Misdirected Request'))
  const right = await startUpstream((_, response) => sendEvents(response))
  const { executor } = executorFor(tokensFor([wrong.url, alsoWrong.url, right.url]))
  expect(await errorOf(executor.stream(call, { signal: never }))).toMatchObject({
    kind: 'upstream_status',
    status: 421,
  })
  expect(right.requests).toHaveLength(0)
})

test.each([
  [429, '{"error":{"message":"slow down","code":"user_weekly_rate_limited"}}', 'slow down', 'user_weekly_rate_limited'],
  [402, '{"error":{"message":"quota","code":"quota_exceeded"}}', 'quota', 'quota_exceeded'],
  [500, '', 'Copilot answered 500 without a message.', undefined],
  [503, '{"message":"later"}', 'later', undefined],
  [
    400,
    'bad request: missing Editor-Version header for IDE auth\n',
    'bad request: missing Editor-Version header for IDE auth',
    'editor_version_refused',
  ],
  [400, '{"error":{"message":"{\\"error\\":{\\"message\\":\\"inner\\",\\"code\\":\\"c\\"}}"}}', 'inner', 'c'],
])('passes a %i on with its message, once', async (status, body, message, code) => {
  const upstream = await startUpstream((_, response) =>
    response.writeHead(status, { 'retry-after': '17', 'x-github-request-id': 'GH-2', 'set-cookie': 'a=b' }).end(body),
  )
  const { executor } = executorFor(tokensFor([upstream.url]))
  expect(await errorOf(executor.stream(call, { signal: never }))).toEqual({
    kind: 'upstream_status',
    status,
    message,
    retryAfter: '17',
    headers: { 'x-github-request-id': 'GH-2' },
    ...(code !== undefined && { code }),
    ...(code !== 'c' && { advice: expect.any(String) }),
  })
  expect(upstream.requests).toHaveLength(1)
})

test.each(['<html><body>secret page</body></html>', '<!-- x --><html>secret page', '<h1>secret page</h1><script>'])(
  'never passes a web page on: %s',
  async (page) => {
    const upstream = await startUpstream((_, response) => response.writeHead(502).end(page))
    const error = await errorOf(executorFor(tokensFor([upstream.url])).executor.stream(call, { signal: never }))
    expect(error).toMatchObject({ kind: 'upstream_status', status: 502 })
    expect(JSON.stringify(error)).not.toContain('secret page')
  },
)

test.each([
  ['a web page', { 'content-type': 'text/html' }, /web page/],
  ['a web page in capitals', { 'content-type': 'TEXT/HTML; charset=utf-8' }, /web page/],
  ['a compressed stream', { 'content-type': 'text/event-stream', 'content-encoding': 'gzip' }, /compressed/],
])('refuses %s in place of a stream', async (_, headers, detail) => {
  const upstream = await startUpstream((_request, response) => response.writeHead(200, headers).end('x'))
  const error = await errorOf(executorFor(tokensFor([upstream.url])).executor.stream(call, { signal: never }))
  expect(error).toMatchObject({ kind: 'upstream_unusable', detail: expect.stringMatching(detail) })
})

test('does not follow redirects', async () => {
  const elsewhere = await startUpstream((_, response) => sendEvents(response))
  const upstream = await startUpstream((_, response) => response.writeHead(302, { location: elsewhere.url }).end())
  const error = await errorOf(executorFor(tokensFor([upstream.url])).executor.stream(call, { signal: never }))
  expect(error).toMatchObject({ kind: 'upstream_unusable' })
  expect(elsewhere.requests).toHaveLength(0)
})

test.each([
  ['closed', (socket: Socket) => socket.destroy()],
  ['reset', (socket: Socket) => socket.resetAndDestroy()],
])('E19 asks once more, as agent, when a kept connection was %s just as it was picked up', async (_, breakOff) => {
  const upstream = await startUpstream((request, response) => {
    if (upstream.requests.length === 2) breakOff(request.socket)
    else sendEvents(response)
  })
  const { executor } = executorFor(tokensFor([upstream.url]))
  await useOnce(executor)
  await executor.stream(call, { signal: never })
  expect(upstream.requests.map(({ headers }) => headers['x-initiator'])).toEqual(['user', 'user', 'agent'])
})

test('E19 does not ask again when a kept connection breaks after upstream had time to work on the request', async () => {
  const upstream = await startUpstream((request, response) => {
    if (upstream.requests.length === 2) setTimeout(() => request.socket.destroy(), 700)
    else sendEvents(response)
  })
  const { executor } = executorFor(tokensFor([upstream.url]), { headersMs: 5000 })
  await useOnce(executor)
  expect(await errorOf(executor.stream(call, { signal: never }))).toMatchObject({ kind: 'upstream_unreachable' })
  expect(upstream.requests).toHaveLength(2)
})

test('E19 does not ask again when a new connection breaks in the middle of the response head', async () => {
  const upstream = await startUpstream((request) => {
    request.socket.end('HTTP/1.1 200 OK\r\ncontent-ty')
  })
  const { executor } = executorFor(tokensFor([upstream.url]))
  expect(await errorOf(executor.stream(call, { signal: never }))).toMatchObject({ kind: 'upstream_unreachable' })
  expect(upstream.requests).toHaveLength(1)
})

test('E19 does not ask again when a new connection breaks', async () => {
  const upstream = await startUpstream((request) => request.socket.destroy())
  const error = await errorOf(executorFor(tokensFor([upstream.url])).executor.stream(call, { signal: never }))
  expect(error).toMatchObject({ kind: 'upstream_unreachable' })
  expect(upstream.requests).toHaveLength(1)
})

test('E20 reports an endpoint that refuses connections', async () => {
  const upstream = await startUpstream(() => {})
  await new Promise((resolve) => upstream.server.close(resolve))
  const error = await errorOf(executorFor(tokensFor([upstream.url])).executor.stream(call, { signal: never }))
  expect(error).toEqual({ kind: 'upstream_unreachable', detail: 'the connection was refused (ECONNREFUSED)' })
})

test('times out if no response headers arrive', async () => {
  const upstream = await startUpstream(() => {})
  const { executor } = executorFor(tokensFor([upstream.url]), { headersMs: 50 })
  expect(await errorOf(executor.stream(call, { signal: never }))).toEqual({
    kind: 'upstream_silent',
    phase: 'headers',
    afterMs: 50,
  })
})

test('closes the upstream connection when aborted before headers and in mid-stream', async () => {
  const closed: Promise<void>[] = []
  const arrivals: (() => void)[] = []
  const upstream = await startUpstream((request, response) => {
    closed.push(new Promise((resolve) => request.socket.once('close', () => resolve())))
    if (upstream.requests.length === 2) {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write('data: {}\n\n')
    }
    arrivals.shift()?.()
  })
  const { executor } = executorFor(tokensFor([upstream.url]))

  const early = new AbortController()
  const arrived = new Promise<void>((resolve) => arrivals.push(resolve))
  const pending = errorOf(executor.stream(call, { signal: early.signal }))
  await arrived
  early.abort()
  expect(await pending).toMatchObject({ name: 'AbortError' })
  await closed[0]

  const late = new AbortController()
  const { body } = await executor.stream(call, { signal: late.signal })
  const broken = errorOf(textOf(body))
  late.abort()
  expect(await broken).toMatchObject({ name: 'AbortError' })
  await closed[1]
})

test('a stalled error body does not delay the error', async () => {
  const upstream = await startUpstream((_, response) => response.writeHead(500).write('{"e'))
  const { executor } = executorFor(tokensFor([upstream.url]), { idleMs: 50 })
  expect(await errorOf(executor.stream(call, { signal: never }))).toMatchObject({
    kind: 'upstream_status',
    status: 500,
  })
})

test('gives up on a JSON answer that stalls', async () => {
  const upstream = await startUpstream((_, response) => response.writeHead(200).write('{"da'))
  const { executor } = executorFor(tokensFor([upstream.url]), { idleMs: 50 })
  expect(await errorOf(executor.json(call, { signal: never }))).toEqual({
    kind: 'upstream_silent',
    phase: 'idle',
    afterMs: 50,
  })
})

test('accepts a stream with content-encoding: identity', async () => {
  const upstream = await startUpstream((_, response) =>
    response.writeHead(200, { 'content-encoding': 'identity' }).end('data: {}\n\n'),
  )
  const { executor } = executorFor(tokensFor([upstream.url]))
  const { body } = await executor.stream(call, { signal: never })
  expect(await textOf(body)).toBe('data: {}\n\n')
})

test('reads JSON answers and refuses what is not JSON', async () => {
  const upstream = await startUpstream((request, response) =>
    response.end(request.url === '/embeddings' ? '{"data":[]}' : 'not json'),
  )
  const { executor } = executorFor(tokensFor([upstream.url]))
  expect(await executor.json({ ...call, path: '/embeddings' }, { signal: never })).toEqual({ data: [] })
  expect(upstream.requests[0]?.headers.accept).toBe('application/json')
  expect(await errorOf(executor.json(call, { signal: never }))).toMatchObject({ kind: 'upstream_unusable' })
})

test('lists models under the model-access intent', async () => {
  const upstream = await startUpstream((_, response) => response.end('{"data":[{"id":"m"}]}'))
  const { executor } = executorFor(tokensFor([`${upstream.url}/prefix/`]))
  expect(await executor.listModels({ signal: never })).toEqual({ data: [{ id: 'm' }] })
  expect(upstream.requests[0]).toMatchObject({ path: '/prefix/models', headers: { 'openai-intent': 'model-access' } })
})

test('logs no credential when upstream refuses', async () => {
  const upstream = await startUpstream((request, response) =>
    response.writeHead(500).end(JSON.stringify({ error: { message: `you sent ${request.headers.authorization}` } })),
  )
  const { executor, log } = executorFor(tokensFor([upstream.url], ['tid=example;exp=1:mac']))
  const error = await errorOf(executor.stream(call, { signal: never }))
  expect(JSON.stringify([error, log.lines])).not.toContain('tid=example')
})
