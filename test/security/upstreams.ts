import { readFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { onTestFinished } from 'vitest'
import { accessToken } from '../auth/codex/support.ts'
import { listen } from '../auth/support.ts'
import { canaries } from './canaries.ts'

/** One request as an upstream got it. */
interface Received {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

interface Place {
  readonly url: string
  readonly received: readonly Received[]
}

/**
 * All services that the program talks to, each on its own port, so that tests see the destination of each request. A prompt
 * selects the answer: `[reflect 500]` and the like repeat all credentials of the request in texts and headers.
 */
export interface Upstreams {
  readonly githubPages: Place
  readonly githubApi: Place
  readonly copilot: Place
  readonly issuer: Place
  readonly chatgpt: Place
  readonly openaiApi: Place
  /** Copilot and Codex tokens given out so far. */
  readonly issued: readonly string[]
  /** The next token calls fail, and tell what they were asked with. */
  readonly refuseTokens: (refuse: boolean) => void
  /** From now on every place answers with this redirect. */
  readonly redirect: (status: number, location: string) => void
  /** Settings that point a copilot-proxy here. */
  readonly env: Readonly<Record<string, string>>
}

type Answer = (request: Received, response: ServerResponse) => void

export async function startUpstreams(): Promise<Upstreams> {
  const issued: string[] = []
  let refuses = false
  let redirection: { readonly status: number; readonly location: string } | undefined

  const open = async (answer: Answer): Promise<Place> => {
    const received: Received[] = []
    const server = await listen((request, response) => {
      void readRequest(request).then((read) => {
        received.push(read)
        if (redirection === undefined) answer(read, response)
        else response.writeHead(redirection.status, { location: redirection.location + read.path }).end()
        return undefined
      })
    })
    onTestFinished(() => server.close())
    return { url: server.url, received }
  }

  const copilot = await open((request, response) => {
    if (request.path === '/models') return json(response, 200, copilotModels)
    // The first token is refused once, so that a second one is fetched.
    if (request.body.includes('[expired]') && tokenOf(request) === issued[0]) return reflect(request, response, 401)
    return answerPrompt(request, response)
  })
  const githubApi = await open((request, response) => {
    if (tokenOf(request) === canaries.otherGithubToken || refuses) return reflect(request, response, 401)
    if (request.path === '/user') return json(response, 200, { login: 'somebody' })
    if (request.path !== '/copilot_internal/v2/token') return reflect(request, response, 500)
    const token = `${canaries.copilotToken}${issued.length}`
    issued.push(token)
    const api = copilot.url
    return json(response, 200, { token, expires_at: nowSeconds() + 1800, refresh_in: 1500, endpoints: { api } })
  })
  const githubPages = await open((request, response) => reflect(request, response, 500))
  const issuer = await open((request, response) => {
    if (request.path !== '/oauth/token' || refuses) return reflect(request, response, 401)
    const access = accessToken({ issuedAtSeconds: nowSeconds(), name: 'renewed' })
    issued.push(access)
    return json(response, 200, { access_token: access, refresh_token: canaries.renewedRefreshToken })
  })
  const codexAnswer: Answer = (request, response) => {
    if (request.path.split('?')[0]?.endsWith('/models')) return json(response, 200, codexModels)
    const isRenewed = issued.includes(tokenOf(request)) || tokenOf(request) === canaries.openaiKey
    if (request.body.includes('[expired]') && !isRenewed) return reflect(request, response, 401)
    return answerPrompt(request, response)
  }
  const chatgpt = await open(codexAnswer)
  const openaiApi = await open(codexAnswer)

  return {
    githubPages,
    githubApi,
    copilot,
    issuer,
    chatgpt,
    openaiApi,
    issued,
    refuseTokens(refuse) {
      refuses = refuse
    },
    redirect(status, location) {
      redirection = { status, location }
    },
    env: {
      COPILOT_PROXY_COPILOT_OAUTH_GITHUB_BASE_URL: githubPages.url,
      COPILOT_PROXY_COPILOT_OAUTH_GITHUB_API_BASE_URL: githubApi.url,
      COPILOT_PROXY_COPILOT_OAUTH_AUTH_URL: `${githubPages.url}/login/oauth/authorize`,
      COPILOT_PROXY_COPILOT_OAUTH_TOKEN_URL: `${githubPages.url}/login/oauth/access_token`,
      COPILOT_PROXY_CODEX_BASE_URL: chatgpt.url,
      COPILOT_PROXY_CODEX_API_BASE_URL: openaiApi.url,
      COPILOT_PROXY_CODEX_ISSUER: issuer.url,
    },
  }
}

export const placesOf = ['githubPages', 'githubApi', 'copilot', 'issuer', 'chatgpt', 'openaiApi'] as const

const copilotModels = {
  data: [
    ['gpt-5-mini', '/chat/completions'],
    ['gpt-5.3-codex', '/responses'],
    ['claude-sonnet-4.5', '/v1/messages'],
  ].map(([id, endpoint]) => ({ id, name: id, capabilities: { type: 'chat' }, supported_endpoints: [endpoint] })),
}

const codexModels: unknown = JSON.parse(readFileSync(new URL('../fixtures/models/codex.json', import.meta.url), 'utf8'))

function nowSeconds(): number {
  return Math.floor(Date.now() / 1000)
}

async function readRequest(request: IncomingMessage): Promise<Received> {
  const chunks: Uint8Array[] = []
  for await (const chunk of request) chunks.push(Buffer.from(chunk))
  const headers = Object.fromEntries(
    Object.entries(request.headers).map(([name, value]) => [name, [value].flat().join(', ')]),
  )
  return {
    method: request.method ?? '',
    path: request.url ?? '',
    headers,
    body: Buffer.concat(chunks).toString(),
  }
}

function tokenOf({ headers }: Received): string {
  return headers['authorization']?.replace(/^\S+ /, '') ?? ''
}

function json(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(JSON.stringify(body))
}

/** Everything secret in a request, written in several ways. */
function secretsOf(request: Received): string {
  const token = tokenOf(request)
  const authorization = request.headers['authorization'] ?? ''
  const all = `${token} ${authorization} ${/\/(?:oauth|login|deviceauth)\//.test(request.path) ? request.body : ''}`
  return [
    all,
    encodeURIComponent(all),
    JSON.stringify({ seen: all }),
    Buffer.from(token).toString('base64'),
    Buffer.from(authorization).toString('base64url'),
    Buffer.from(token).toString('hex'),
  ].join(' | ')
}

function reflect(request: Received, response: ServerResponse, status: number): void {
  const token = tokenOf(request)
  response.writeHead(status, {
    'content-type': 'application/json',
    'x-github-request-id': token,
    'x-request-id': token,
    'retry-after': token,
    'x-ratelimit-remaining': token,
    'x-quota-snapshot-chat': token,
    'openai-processing-ms': token,
    'www-authenticate': `Bearer realm="${token}"`,
    'set-cookie': `session=${token}`,
  })
  const words = `Refused: ${secretsOf(request)}`
  response.end(
    JSON.stringify({ message: words, error: { message: words, code: token.slice(0, 60), type: token.slice(0, 60) } }),
  )
}

function answerPrompt(request: Received, response: ServerResponse): void {
  const status = /\[reflect (\d+)\]/.exec(request.body)?.[1]
  if (status !== undefined) return reflect(request, response, Number(status))
  if (request.body.includes('[reflect html]')) {
    response.writeHead(502, { 'content-type': 'text/html' })
    response.end(`<html><body>${secretsOf(request)}</body></html>`)
    return
  }
  if (request.body.includes('[reflect text]')) {
    response.writeHead(400, { 'content-type': 'text/plain' })
    response.end(secretsOf(request))
    return
  }
  if (request.body.includes('[reset]')) return void response.destroy()
  if (request.path.endsWith('/embeddings')) {
    return json(response, 200, { data: [{ index: 0, embedding: [0.5] }], usage: { prompt_tokens: 1 } })
  }
  if (request.path.endsWith('/count_tokens')) return json(response, 200, { input_tokens: 3 })
  const events = streamOf(request.path)
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  if (!request.body.includes('[reflect late]')) {
    response.end(events.join(''))
    return
  }
  const error = { message: secretsOf(request), code: 'server_error', type: 'server_error' }
  const failure = request.path.endsWith('/responses')
    ? { type: 'response.failed', response: { id: 'r', status: 'failed', error } }
    : { type: 'error', error }
  response.end(`${events.slice(0, 3).join('')}event: ${failure.type}\ndata: ${JSON.stringify(failure)}\n\n`)
}

/** A short answer in the dialect of a path. */
function streamOf(path: string): readonly string[] {
  if (path.endsWith('/messages')) {
    return [
      { type: 'message_start', message: { id: 'm', role: 'assistant', content: [], usage: { input_tokens: 1 } } },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hello' } },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 1 } },
      { type: 'message_stop' },
    ].map(named)
  }
  if (path.endsWith('/responses')) {
    const item = { id: 'i', type: 'message', role: 'assistant', status: 'completed' }
    const content = [{ type: 'output_text', text: 'Hello', annotations: [] }]
    return [
      { type: 'response.created', response: { id: 'r', status: 'in_progress', output: [] } },
      { type: 'response.output_item.added', output_index: 0, item: { ...item, content: [] } },
      { type: 'response.output_text.delta', item_id: 'i', output_index: 0, content_index: 0, delta: 'Hello' },
      { type: 'response.output_item.done', output_index: 0, item: { ...item, content } },
      { type: 'response.completed', response: { id: 'r', status: 'completed', output: [{ ...item, content }] } },
    ].map(named)
  }
  const chunk = { id: 'c', object: 'chat.completion.chunk', created: 1, model: 'gpt-5-mini' }
  const choice = (delta: object, finish_reason: string | null) => ({
    ...chunk,
    choices: [{ index: 0, delta, finish_reason }],
  })
  return [
    ...[choice({ role: 'assistant', content: 'Hel' }, null), choice({ content: 'lo' }, null), choice({}, 'stop')].map(
      (event) => `data: ${JSON.stringify(event)}\n\n`,
    ),
    'data: [DONE]\n\n',
  ]
}

function named(event: { readonly type: string }): string {
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`
}
