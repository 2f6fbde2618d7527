import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { arch, platform } from 'node:os'
import { afterEach, describe, expect, test } from 'vitest'
import type { CodexCredential } from '../../src/auth/codex/credentials.ts'
import { Fault } from '../../src/errors.ts'
import { createPool } from '../../src/executors/connection-pool.ts'
import { createCodexExecutor } from '../../src/executors/codex.ts'
import type { CodexExecutorOptions } from '../../src/executors/codex.ts'
import type { Executor, UpstreamCall } from '../../src/executors/executor.ts'
import { judgeResponsesEvent } from '../../src/translate/responses/read-stream/first-event.ts'
import { recordingLog } from '../recording-log.ts'
import { textOf } from './bodies.ts'
import { asIs } from '../as-is.ts'
import { listenForTest } from '../listen-for-test.ts'
import { errorOf } from './error-of.ts'

const call: UpstreamCall = {
  judgeFirstEvent: judgeResponsesEvent,
  path: '/responses',
  body: '{"model":"gpt-6-sol","stream":true}',
  headers: { 'session-id': 'session-1' },
  initiator: 'agent',
  hasImage: true,
  requestId: 'req-1',
}
const never = new AbortController().signal
const nowMs = Date.UTC(2026, 10, 21, 18, 0, 0)

type Handler = (request: IncomingMessage, response: ServerResponse) => void

const closing: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

async function startUpstream(handler: Handler) {
  const requests: { path: string; headers: IncomingMessage['headers']; body: string }[] = []
  const sockets: Socket[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      requests.push({ path: request.url ?? '', headers: request.headers, body: Buffer.concat(chunks).toString() })
      handler(request, response)
    })
  })
  server.on('connection', (socket) => sockets.push(socket))
  return { url: `http://127.0.0.1:${await listenForTest(server)}`, requests, sockets, server }
}

const login = (value: string, isFedramp = false): CodexCredential => ({
  kind: 'chatgpt',
  value,
  accountId: `account-of-${value}`,
  isFedramp,
})
const key = (value: string): CodexCredential => ({ kind: 'api-key', value })

/**
 * Credentials that never expire, one after the other. What it keeps of a real source: `replace` gives the refused one
 * back when there is no other, and after `markRevoked` `get` gives another one or says why there is none.
 */
function credentialsOf(list: readonly CodexCredential[], kind = list[0]?.kind ?? 'chatgpt') {
  const refusals: string[] = []
  const accepted: string[] = []
  const revoked: { readonly value: string; readonly detail: string }[] = []
  let at = 0
  const current = (): CodexCredential => {
    const credential = list[at]
    if (credential === undefined) {
      throw new Fault({ kind: 'codex_unavailable', detail: 'the login has ended', fix: 'Log in again.' })
    }
    return credential
  }
  return {
    kind,
    refusals,
    accepted,
    revoked,
    get: async () => current(),
    replace: async (value: string) => {
      refusals.push(value)
      if (list[at + 1] !== undefined) at += 1
      return current()
    },
    markAccepted: (value: string) => void accepted.push(value),
    refused: (message: string) => new Fault({ kind: 'upstream_unauthorized', upstreamMessage: message }),
    markRevoked: (value: string, detail: string) => {
      revoked.push({ value, detail })
      at += 1
    },
  }
}

interface Setup extends Partial<CodexExecutorOptions> {
  readonly onModelsEtag?: (etag: string) => void
}

function executorFor(credentials: ReturnType<typeof credentialsOf>, setup: Setup) {
  const { onModelsEtag, ...changed } = setup
  const options: CodexExecutorOptions = {
    baseUrl: 'http://127.0.0.1:9',
    apiBaseUrl: 'http://127.0.0.1:9',
    originator: 'copilot-proxy',
    version: '1.2.3',
    clientVersion: '0.169.0',
    connectMs: 1000,
    headersMs: 1000,
    idleMs: 1000,
    ...changed,
  }
  const pool = createPool({ connectMs: options.connectMs, env: {} })
  const log = recordingLog()
  const executor = createCodexExecutor(
    { credentials, pool, log, now: () => nowMs, redact: asIs, ...(onModelsEtag && { onModelsEtag }) },
    options,
  )
  closing.push(() => pool.destroy())
  return { executor, log, credentials }
}

/** An upstream, and an executor with a ChatGPT login for it. */
async function chatgpt(handler: Handler, tokens: readonly string[] = ['token-1'], setup: Setup = {}) {
  const upstream = await startUpstream(handler)
  const credentials = credentialsOf(tokens.map((token) => login(token)))
  return { upstream, ...executorFor(credentials, { baseUrl: upstream.url, ...setup }) }
}

const ask = (executor: Executor, signal = never) => executor.stream(call, { signal })

const frame = (value: Readonly<Record<string, unknown>>) =>
  `event: ${String(value['type'])}\ndata: ${JSON.stringify(value)}\n\n`
const started = frame({ type: 'response.created' }) + frame({ type: 'response.in_progress' })
const output = frame({ type: 'response.output_item.added', output_index: 0 })
const completed = frame({ type: 'response.completed' })
const failed = (error: unknown) => frame({ type: 'response.failed', response: { error } })

function sendEvents(response: ServerResponse, text = started + output + completed, headers = {}): void {
  response.writeHead(200, { 'content-type': 'text/event-stream', ...headers }).end(text)
}

function sendError(response: ServerResponse, status: number, body: unknown, headers = {}): void {
  response.writeHead(status, headers).end(typeof body === 'string' ? body : JSON.stringify(body))
}

const unauthorized = (code: string) => ({ error: { message: `about ${code}`, type: 'invalid_request_error', code } })

describe('separation', () => {
  const agent = `copilot-proxy/1.2.3 (${platform()}; ${arch()})`
  /** What HTTP itself adds. */
  const ofHttp = { host: expect.any(String), connection: 'keep-alive' }
  const length = { 'content-length': String(call.body.length) }

  test('a ChatGPT login sends these headers and no others, to its own host', async () => {
    const upstream = await startUpstream((_, response) => sendEvents(response))
    const other = await startUpstream((_, response) => sendEvents(response))
    const { executor } = executorFor(credentialsOf([login('token-1')]), {
      baseUrl: `${upstream.url}/backend-api/codex/`,
      apiBaseUrl: `${other.url}/v1`,
    })
    const { body } = await ask(executor)
    expect(await textOf(body)).toBe(started + output + completed)
    expect(executor).toMatchObject({ provider: 'codex', profile: 'chatgpt' })
    expect(other.requests).toEqual([])
    expect(upstream.requests).toEqual([
      {
        path: '/backend-api/codex/responses',
        body: call.body,
        headers: {
          ...ofHttp,
          ...length,
          authorization: 'Bearer token-1',
          'chatgpt-account-id': 'account-of-token-1',
          originator: 'copilot-proxy',
          'user-agent': agent,
          'content-type': 'application/json',
          accept: 'text/event-stream',
          'session-id': 'session-1',
        },
      },
    ])
  })

  test('a key sends these headers and no others, to its own host', async () => {
    const upstream = await startUpstream((_, response) => sendEvents(response))
    const other = await startUpstream((_, response) => sendEvents(response))
    const { executor } = executorFor(credentialsOf([key('sk-example')]), {
      baseUrl: other.url,
      apiBaseUrl: `${upstream.url}/v1`,
    })
    await executor.stream({ ...call, headers: undefined }, { signal: never })
    expect(executor.profile).toBeUndefined()
    expect(other.requests).toEqual([])
    expect(upstream.requests).toEqual([
      {
        path: '/v1/responses',
        body: call.body,
        headers: {
          ...ofHttp,
          ...length,
          authorization: 'Bearer sk-example',
          'user-agent': agent,
          'content-type': 'application/json',
          accept: 'text/event-stream',
        },
      },
    ])
  })

  test('headers of the request do not replace the identity', async () => {
    const { upstream, executor } = await chatgpt((_, response) => sendEvents(response))
    const forged = {
      authorization: 'Bearer forged',
      'chatgpt-account-id': 'forged',
      originator: 'forged',
      'user-agent': 'forged',
      accept: 'forged',
      'content-type': 'forged',
    }
    await executor.stream({ ...call, headers: forged }, { signal: never })
    expect(Object.values(upstream.requests[0]?.headers ?? {})).not.toContain('forged')
    expect(upstream.requests[0]?.headers.authorization).toBe('Bearer token-1')
  })

  test('says when the account stays in a FedRAMP environment', async () => {
    const upstream = await startUpstream((_, response) => sendEvents(response))
    const { executor } = executorFor(credentialsOf([login('token-1', true)]), { baseUrl: upstream.url })
    await ask(executor)
    expect(upstream.requests[0]?.headers['x-openai-fedramp']).toBe('true')
  })

  test.each([
    ['at once', [key('sk-example')]],
    ['after a 401', [login('token-1'), key('sk-example')]],
  ])('a credential of another kind than the body was made for goes nowhere: %s', async (_, list) => {
    const upstream = await startUpstream((_request, response) =>
      sendError(response, 401, unauthorized('token_expired')),
    )
    const other = await startUpstream((_request, response) => sendEvents(response))
    const { executor } = executorFor(credentialsOf(list, 'chatgpt'), { baseUrl: upstream.url, apiBaseUrl: other.url })
    expect(await errorOf(ask(executor))).toEqual({ kind: 'internal' })
    expect(upstream.requests).toHaveLength(list.length - 1)
    expect(other.requests).toEqual([])
  })

  test('refuses embeddings without an upstream request', async () => {
    const { upstream, executor } = await chatgpt((_, response) => response.end('{}'))
    expect(await errorOf(executor.json({ ...call, path: '/embeddings' }, { signal: never }))).toMatchObject({
      kind: 'invalid_request',
      detail: expect.stringContaining('Codex has no embeddings'),
    })
    expect(upstream.requests).toEqual([])
  })
})

describe('the model list', () => {
  test('of a login is requested with the client version', async () => {
    const { upstream, executor } = await chatgpt((_, response) => response.end('{"models":[]}'))
    expect(await executor.listModels({ signal: never })).toEqual({ models: [] })
    expect(upstream.requests[0]).toMatchObject({
      path: '/models?client_version=0.169.0',
      body: '',
      headers: {
        authorization: 'Bearer token-1',
        'chatgpt-account-id': 'account-of-token-1',
        accept: 'application/json',
      },
    })
    expect(upstream.requests[0]?.headers).not.toHaveProperty('content-type')
  })

  test('of a key is requested without a client version', async () => {
    const upstream = await startUpstream((_, response) => response.end('{"data":[]}'))
    const { executor } = executorFor(credentialsOf([key('sk-example')]), { apiBaseUrl: upstream.url })
    expect(await executor.listModels({ signal: never })).toEqual({ data: [] })
    expect(upstream.requests[0]).toMatchObject({ path: '/models' })
    expect(upstream.requests[0]?.headers).not.toHaveProperty('chatgpt-account-id')
    expect(upstream.requests[0]?.headers).not.toHaveProperty('originator')
  })

  test('follows the same rules for errors', async () => {
    const { upstream, executor } = await chatgpt(
      (request, response) => {
        if (request.headers.authorization === 'Bearer token-2') response.end('[]')
        else sendError(response, 401, unauthorized('token_expired'))
      },
      ['token-1', 'token-2'],
    )
    expect(await executor.listModels({ signal: never })).toEqual([])
    expect(upstream.requests).toHaveLength(2)
    const page = await chatgpt((_, response) => response.end('<html>'))
    expect(await errorOf(page.executor.listModels({ signal: never }))).toMatchObject({ kind: 'upstream_unusable' })
  })

  test('that has changed is reported once for each version', async () => {
    let etag: string | undefined
    const etags: string[] = []
    const { executor } = await chatgpt(
      (request, response) => {
        if (request.url?.startsWith('/models') === true) response.writeHead(200, { etag: 'W/"a"' }).end('{}')
        else sendEvents(response, undefined, etag === undefined ? {} : { 'x-models-etag': etag })
      },
      ['token-1'],
      { onModelsEtag: (changed) => etags.push(changed) },
    )
    const replyNames = async (name: string | undefined) => {
      etag = name
      await ask(executor)
      return etags.splice(0)
    }
    await executor.listModels({ signal: never })
    expect(await replyNames(undefined)).toEqual([])
    expect(await replyNames('"a"')).toEqual([])
    expect(await replyNames('"b"')).toEqual(['b'])
    expect(await replyNames('"b"')).toEqual([])
    await executor.listModels({ signal: never })
    // The list says that it is still the old one: asking again would not end.
    expect(await replyNames('"b"')).toEqual([])
    expect(await replyNames('"c"')).toEqual(['c'])
  })

  test('without a version takes the version of the next reply', async () => {
    let etag = 'a'
    const etags: string[] = []
    const { executor } = await chatgpt(
      (_, response) => sendEvents(response, undefined, { 'x-models-etag': etag }),
      ['token-1'],
      { onModelsEtag: (changed) => etags.push(changed) },
    )
    await ask(executor)
    expect(etags).toEqual([])
    etag = 'b'
    await ask(executor)
    expect(etags).toEqual(['b'])
  })
})

/** Ways to say the same thing: with a status, or at the start of a 200 stream. */
const ways: readonly (readonly [string, (response: ServerResponse, code: string) => void])[] = [
  ['by its status', (response, code) => sendError(response, 401, unauthorized(code))],
  [
    'in response.failed',
    (response, code) => sendEvents(response, started + failed({ code, message: `about ${code}` })),
  ],
  [
    'in an error event',
    (response, code) => sendEvents(response, frame({ type: 'error', status: 401, ...unauthorized(code) })),
  ],
  ['as a 200', (response, code) => sendEvents(response, JSON.stringify(unauthorized(code)))],
]

describe.each(ways)('a refused token, %s', (_way, refuse) => {
  test('is replaced once, and the request is sent again with the other one', async () => {
    const { upstream, executor, credentials } = await chatgpt(
      (request, response) => {
        if (request.headers.authorization === 'Bearer token-2') sendEvents(response)
        else refuse(response, 'token_expired')
      },
      ['token-1', 'token-2'],
    )
    const { body } = await ask(executor)
    expect(await textOf(body)).toBe(started + output + completed)
    expect(credentials.refusals).toEqual(['token-1'])
    expect(upstream.requests.map(({ headers, body: sent }) => [headers['chatgpt-account-id'], sent])).toEqual([
      ['account-of-token-1', call.body],
      ['account-of-token-2', call.body],
    ])
  })

  test('is not sent again', async () => {
    const { upstream, executor } = await chatgpt((_, response) => refuse(response, 'token_expired'))
    expect(await errorOf(ask(executor))).toEqual({
      kind: 'upstream_unauthorized',
      upstreamMessage: 'about token_expired',
    })
    expect(upstream.requests).toHaveLength(1)
  })

  test('is replaced at most once', async () => {
    const { upstream, executor, credentials } = await chatgpt(
      (_, response) => refuse(response, 'token_expired'),
      ['token-1', 'token-2', 'token-3'],
    )
    expect(await errorOf(ask(executor))).toMatchObject({ kind: 'upstream_unauthorized' })
    expect(upstream.requests).toHaveLength(2)
    expect(credentials.refusals).toEqual(['token-1'])
  })

  test.each(['token_invalidated', 'token_revoked'])('that is dead ends the login: %s', async (code) => {
    const { upstream, executor, credentials } = await chatgpt((_, response) => refuse(response, code))
    expect(await errorOf(ask(executor))).toEqual({
      kind: 'codex_unavailable',
      detail: 'the login has ended',
      fix: 'Log in again.',
    })
    expect(credentials.revoked).toEqual([{ value: 'token-1', detail: `about ${code}` }])
    expect(credentials.refusals).toEqual([])
    expect(upstream.requests).toHaveLength(1)
  })
})

describe('a token that upstream accepts', () => {
  test('is reported after every answer, not after a refusal or a model list', async () => {
    const { executor, credentials } = await chatgpt(
      (request, response) => {
        if (request.method === 'GET') response.end('{"models":[]}')
        else if (request.headers.authorization === 'Bearer token-2') sendEvents(response)
        else sendError(response, 401, 'Unauthorized')
      },
      ['token-1', 'token-2'],
    )
    await executor.listModels({ signal: never })
    expect(credentials.accepted).toEqual([])
    await ask(executor)
    await ask(executor)
    expect(credentials.accepted).toEqual(['token-2', 'token-2'])
  })
})

describe('a dead login', () => {
  test.each([
    ['x-error-json', Buffer.from('{"error":{"code":"token_revoked"}}').toString('base64')],
    ['x-openai-authorization-error', 'token_revoked'],
  ])('is known by the header %s', async (name, value) => {
    const { executor, credentials } = await chatgpt((_, response) =>
      sendError(response, 401, 'Unauthorized', { [name]: value }),
    )
    expect(await errorOf(ask(executor))).toMatchObject({ kind: 'codex_unavailable' })
    expect(credentials.revoked).toEqual([{ value: 'token-1', detail: 'Unauthorized' }])
  })

  test('is replaced by another login, once', async () => {
    const { upstream, executor, credentials } = await chatgpt(
      (request, response) => {
        if (request.headers.authorization === 'Bearer token-2') sendEvents(response)
        else sendError(response, 401, unauthorized('token_revoked'))
      },
      ['token-1', 'token-2'],
    )
    await ask(executor)
    expect(upstream.requests).toHaveLength(2)
    expect(credentials.revoked).toHaveLength(1)

    const dead = await chatgpt(
      (_, response) => sendError(response, 401, unauthorized('token_revoked')),
      ['token-1', 'token-2', 'token-3'],
    )
    expect(await errorOf(ask(dead.executor))).toMatchObject({ kind: 'codex_unavailable' })
    expect(dead.upstream.requests).toHaveLength(2)
    expect(dead.credentials.revoked.map(({ value }) => value)).toEqual(['token-1', 'token-2'])
  })

  test('is not tried again when its source still offers it', async () => {
    const upstream = await startUpstream((_, response) => sendError(response, 401, unauthorized('token_revoked')))
    const stubborn = { ...credentialsOf([login('token-1')]), markRevoked: () => {} }
    const { executor } = executorFor(stubborn, { baseUrl: upstream.url })
    expect(await errorOf(ask(executor))).toMatchObject({
      kind: 'codex_unavailable',
      fix: 'Run `copilot-proxy login codex`.',
    })
    expect(upstream.requests).toHaveLength(1)
  })
})

describe('any other refusal is passed on without a retry', () => {
  const reached = { type: 'usage_limit_reached', message: 'Spent', resets_in_seconds: 60 }
  const reachedFault = { status: 429, code: 'usage_limit_reached', retryAfter: '60' }

  test.each([
    [400, { detail: 'Unsupported parameter: top_p' }, { status: 400, message: 'Unsupported parameter: top_p' }],
    [402, { detail: { code: 'deactivated_workspace' } }, { status: 402, code: 'deactivated_workspace' }],
    [403, { detail: { code: 'invalid_workspace_selected' } }, { status: 403, code: 'invalid_workspace_selected' }],
    [404, { detail: 'Model not found x' }, { status: 404, code: 'model_not_found' }],
    [413, 'too large', { status: 413, message: 'too large' }],
    [429, { error: reached }, reachedFault],
    [403, { error: reached }, reachedFault],
    [429, { error: { code: 'rate_limit_exceeded', message: 'slow' } }, { status: 429, retryAfter: '17' }],
    [500, '', { status: 500 }],
    [503, { error: { code: 'server_is_overloaded', message: 'busy' } }, { status: 503, code: 'server_is_overloaded' }],
  ])('%i %j', async (status, body, expected) => {
    const { upstream, executor } = await chatgpt((_, response) =>
      sendError(response, status, body, { 'retry-after': '17', 'cf-ray': 'ray-1', 'set-cookie': 'a=b' }),
    )
    const error = await errorOf(ask(executor))
    expect(error).toMatchObject({ kind: 'upstream_status', ...expected, headers: { 'cf-ray': 'ray-1' } })
    expect(JSON.stringify(error)).not.toContain('a=b')
    expect(upstream.requests).toHaveLength(1)
  })

  test.each([
    ['a spent plan', started + failed(reached), reachedFault],
    ['the same as an event', frame({ type: 'error', error: reached }), reachedFault],
    [
      'an overload',
      started + failed({ code: 'server_is_overloaded', message: 'busy' }),
      { status: 503, code: 'server_is_overloaded' },
    ],
    [
      'a full context, in the flat form',
      started + frame({ type: 'error', code: 'context_length_exceeded', message: 'full', param: 'input' }),
      { status: 400, code: 'context_length_exceeded', param: 'input' },
    ],
    [
      'a failure after everything else that may come first',
      `: hi\n\n${started}${frame({ type: 'response.queued' })}${frame({ type: 'codex.rate_limits' })}${frame({ type: 'response.metadata' })}${frame({ type: 'keepalive' })}${failed({ code: 'server_error', message: 'x' })}`,
      { status: 500, code: 'server_error' },
    ],
    ['a bare body', '{"detail":"Stream must be set to true","status":400}', { status: 400 }],
  ])('%s inside a 200', async (_, text, expected) => {
    const { upstream, executor } = await chatgpt((_request, response) =>
      sendEvents(response, text, { 'x-codex-plan-type': 'plus' }),
    )
    const error = await errorOf(ask(executor))
    expect(error).toMatchObject({ kind: 'upstream_status', ...expected, headers: { 'x-codex-plan-type': 'plus' } })
    expect(error).not.toHaveProperty('type', 'error')
    expect(upstream.requests).toHaveLength(1)
  })

  test('a failure inside a 200 without a known status keeps its message', async () => {
    const { executor } = await chatgpt((_, response) => sendEvents(response, failed(null)))
    expect(await errorOf(ask(executor))).toMatchObject({ kind: 'upstream_failed' })
  })

  test('a failure inside a 200 leaves the connection to the next request', async () => {
    const { upstream, executor } = await chatgpt((_, response) => {
      if (upstream.requests.length === 1) sendEvents(response, failed({ code: 'server_error', message: 'x' }))
      else sendEvents(response)
    })
    await errorOf(ask(executor))
    await expect.poll(() => upstream.sockets[0]?.bytesWritten).toBeGreaterThan(0)
    await new Promise(setImmediate)
    await ask(executor)
    expect(upstream.sockets).toHaveLength(1)
  })

  test('E30 a web page of a firewall is not passed on, but its support id is', async () => {
    const { executor } = await chatgpt((_, response) =>
      sendError(response, 403, '<html><body>secret page</body></html>', { 'cf-ray': 'ray-1' }),
    )
    const error = await errorOf(ask(executor))
    expect(error).toMatchObject({ kind: 'upstream_status', status: 403, headers: { 'cf-ray': 'ray-1' } })
    expect(JSON.stringify(error)).not.toContain('secret page')
  })

  test('E30 redirects are not followed', async () => {
    const elsewhere = await startUpstream((_, response) => sendEvents(response))
    const { executor } = await chatgpt((_, response) => response.writeHead(302, { location: elsewhere.url }).end())
    expect(await errorOf(ask(executor))).toMatchObject({ kind: 'upstream_unusable' })
    expect(elsewhere.requests).toEqual([])
  })

  test.each([
    ['a web page', { 'content-type': 'text/html' }],
    ['a web page in capitals', { 'content-type': 'TEXT/HTML; charset=utf-8' }],
    ['a compressed stream', { 'content-encoding': 'zstd' }],
  ])('%s in place of a stream is refused', async (_, headers) => {
    const { executor } = await chatgpt((_request, response) => sendEvents(response, started, headers))
    expect(await errorOf(ask(executor))).toMatchObject({ kind: 'upstream_unusable' })
  })

  test('no credential reaches the log or the caller', async () => {
    const token = `eyJhbGciOiJub25lIn0.${Buffer.from('{"sub":"test"}').toString('base64url')}.test`
    const { executor, log } = await chatgpt(
      (request, response) =>
        sendError(response, 500, { error: { message: `you sent ${request.headers.authorization}` } }),
      [token],
    )
    const error = await errorOf(ask(executor))
    expect(log.lines).toHaveLength(1)
    expect(JSON.stringify([error, log.lines])).not.toContain(token.slice(0, 20))
  })
})

describe('headers of a reply', () => {
  test('E29 reach the caller by name', async () => {
    const passed = {
      'x-codex-primary-used-percent': '12.5',
      'x-codex-primary-window-minutes': '300',
      'x-codex-secondary-reset-at': '1777936568',
      'x-codex-secondary-reset-after-seconds': '60',
      'x-codex-active-limit': 'codex',
      'x-codex-plan-type': 'plus',
      'x-codex-credits-has-credits': 'True',
      'x-codex-credits-balance': '5',
      'x-codex-rate-limit-reached-type': 'workspace_owner_credits_depleted',
      'x-ratelimit-remaining-tokens': '7',
      'cf-ray': 'ray-1',
      'x-should-retry': 'false',
      'retry-after-ms': '5',
    }
    const kept = {
      'x-request-id': 'upstream-1',
      'set-cookie': 'a=b',
      'x-codex-turn-state': 'opaque',
      'x-codex-promo-message': 'Buy',
      'x-codex-credits-unlimited': '',
      'x-codex-primary-reset-at': 'x'.repeat(300),
      'x-error-json': 'e30=',
      'openai-model': 'gpt-6-sol',
      'x-models-etag': '"a"',
      'access-control-allow-origin': '*',
      server: 'cloudflare',
    }
    const { executor } = await chatgpt((_, response) => sendEvents(response, undefined, { ...passed, ...kept }))
    const { headers } = await ask(executor)
    expect(headers).toEqual({ ...passed, 'x-oai-request-id': 'upstream-1' })
  })

  test('prefer x-oai-request-id to x-request-id', async () => {
    const { executor } = await chatgpt((_, response) =>
      sendEvents(response, undefined, { 'x-request-id': 'general', 'x-oai-request-id': 'particular' }),
    )
    expect((await ask(executor)).headers).toEqual({ 'x-oai-request-id': 'particular' })
  })
})

describe('a stream', () => {
  test('is handed on with its first output, byte by byte, while upstream goes on', async () => {
    let more: ServerResponse | undefined
    const { executor } = await chatgpt((_, response) => {
      more = response
      response.writeHead(200).write(started)
      setImmediate(() => response.write(output))
    })
    const { body } = await ask(executor)
    const text = textOf(body)
    more?.end(`data: not json\n\n${completed}`)
    expect(await text).toBe(`${started}${output}data: not json\n\n${completed}`)
  })

  test('is handed on when what comes first is not JSON', async () => {
    const { executor } = await chatgpt((_, response) => sendEvents(response, 'data: [DONE]\n\n'))
    expect(await textOf((await ask(executor)).body)).toBe('data: [DONE]\n\n')
  })

  test('passes on upstream’s message of a failure after the first output', async () => {
    const text = started + output + failed({ code: 'token_revoked', message: 'late' })
    const { executor, credentials } = await chatgpt((_, response) => sendEvents(response, text))
    expect(await textOf((await ask(executor)).body)).toBe(text)
    expect(credentials.revoked).toEqual([])
  })

  test('that ends or breaks before there is output is truncated', async () => {
    for (const end of [
      (response: ServerResponse) => response.end(),
      (response: ServerResponse) => response.destroy(),
    ]) {
      const { upstream, executor } = await chatgpt((_, response) => {
        response.writeHead(200).write(started)
        setImmediate(end, response)
      })
      expect(await errorOf(ask(executor))).toEqual({ kind: 'upstream_truncated' })
      expect(upstream.requests).toHaveLength(1)
    }
  })

  test('E04 that falls silent before there is output is given up', async () => {
    const { upstream, executor } = await chatgpt((_, response) => response.writeHead(200).write(started), ['token-1'], {
      idleMs: 50,
    })
    expect(await errorOf(ask(executor))).toEqual({ kind: 'upstream_silent', phase: 'idle', afterMs: 50 })
    await expect.poll(() => upstream.sockets[0]?.destroyed).toBe(true)
  })
})

/** One exchange to its end, so that a connection is kept. */
async function useOnce(executor: Executor): Promise<void> {
  await textOf((await ask(executor)).body)
  // The pool takes the connection back once its answer is complete.
  await new Promise(setImmediate)
}

describe('connections', () => {
  test('E19 a kept connection that closes as it is reused is replaced, once', async () => {
    const { upstream, executor } = await chatgpt((request, response) => {
      if (upstream.requests.length === 2) request.socket.destroy()
      else sendEvents(response)
    })
    await useOnce(executor)
    await ask(executor)
    expect(upstream.requests.map(({ body }) => body)).toEqual([call.body, call.body, call.body])
  })

  test('E19 a connection that breaks after upstream began to answer is not replaced', async () => {
    const { upstream, executor } = await chatgpt((_, response) => {
      if (upstream.requests.length === 1) sendEvents(response)
      else {
        response.writeHead(200).write(started)
        setImmediate(() => response.destroy())
      }
    })
    await useOnce(executor)
    expect(await errorOf(ask(executor))).toEqual({ kind: 'upstream_truncated' })
    expect(upstream.requests).toHaveLength(2)
  })

  test('E19 a new connection that breaks is not replaced', async () => {
    const { upstream, executor } = await chatgpt((request) => request.socket.destroy())
    expect(await errorOf(ask(executor))).toMatchObject({ kind: 'upstream_unreachable' })
    expect(upstream.requests).toHaveLength(1)
  })

  test('E04 missing response headers end in a timeout', async () => {
    const { executor } = await chatgpt(() => {}, ['token-1'], { headersMs: 50 })
    expect(await errorOf(ask(executor))).toEqual({ kind: 'upstream_silent', phase: 'headers', afterMs: 50 })
  })

  test.each([
    ['before the head', () => {}],
    ['while the stream is held', (response: ServerResponse) => response.writeHead(200).write(started)],
    ['while an error is read', (response: ServerResponse) => response.writeHead(500).write('{')],
  ])('an abort closes the connection %s', async (_, answer) => {
    const aborting = new AbortController()
    const { upstream, executor } = await chatgpt(
      (_request, response) => {
        answer(response)
        // The client has what was written by then, or nothing.
        setTimeout(() => aborting.abort(), 20)
      },
      ['token-1'],
      { idleMs: 5000, headersMs: 5000 },
    )
    expect(await errorOf(ask(executor, aborting.signal))).toMatchObject({ name: 'AbortError' })
    await expect.poll(() => upstream.sockets[0]?.destroyed).toBe(true)
  })

  test('an abort closes the connection while the stream is read', async () => {
    const aborting = new AbortController()
    const { upstream, executor } = await chatgpt((_, response) => response.writeHead(200).write(started + output))
    const { body } = await ask(executor, aborting.signal)
    const broken = errorOf(textOf(body))
    aborting.abort()
    expect(await broken).toMatchObject({ name: 'AbortError' })
    await expect.poll(() => upstream.sockets[0]?.destroyed).toBe(true)
  })

  test('a stalled error body does not delay the error', async () => {
    const { executor } = await chatgpt((_, response) => response.writeHead(503).write('{"e'), ['token-1'], {
      idleMs: 50,
    })
    expect(await errorOf(ask(executor))).toMatchObject({ kind: 'upstream_status', status: 503 })
  })

  test('without a login, no upstream request is sent', async () => {
    const upstream = await startUpstream((_, response) => sendEvents(response))
    const { executor } = executorFor(credentialsOf([]), { baseUrl: upstream.url })
    expect(await errorOf(ask(executor))).toMatchObject({ kind: 'codex_unavailable' })
    expect(upstream.requests).toEqual([])
  })
})
