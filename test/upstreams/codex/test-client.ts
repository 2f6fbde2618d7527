import { createHash } from 'node:crypto'
import { onTestFinished } from 'vitest'
import { startCodex } from '../codex.ts'
import type { CodexOptions, CodexUpstream } from '../codex.ts'
import type { CodexLogin } from './account.ts'

export type Fields = Readonly<Record<string, unknown>>

/** A running server that is closed when the test ends. */
export async function openCodex(options: CodexOptions = {}): Promise<CodexUpstream> {
  const codex = await startCodex(options)
  onTestFinished(() => codex.close())
  return codex
}

/** Headers of an honest program with a login. */
export function loginHeaders(login: CodexLogin, more: Record<string, string> = {}): Record<string, string> {
  return {
    authorization: `Bearer ${login.accessToken}`,
    'chatgpt-account-id': login.accountId,
    'content-type': 'application/json',
    accept: 'text/event-stream',
    originator: 'test-program',
    'user-agent': 'test-program/1.0',
    ...more,
  }
}

export function keyHeaders(codex: CodexUpstream, more: Record<string, string> = {}): Record<string, string> {
  return {
    authorization: `Bearer ${codex.apiKey}`,
    'content-type': 'application/json',
    'user-agent': 'test-program/1.0',
    ...more,
  }
}

/** A body that the ChatGPT backend takes. */
export function promptOf(text: string, more: Fields = {}): Fields {
  return {
    model: 'gpt-5.5',
    instructions: 'Be brief.',
    input: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text }] }],
    store: false,
    stream: true,
    ...more,
  }
}

/** One prompt to the ChatGPT backend, with a login of its own unless headers are given. */
export function ask(codex: CodexUpstream, body: Fields, headers = loginHeaders(codex.login())): Promise<Response> {
  return fetch(`${codex.baseUrl}/responses`, { method: 'POST', headers, body: JSON.stringify(body) })
}

/** One prompt to the key API, streamed unless the body says otherwise. */
export function askWithKey(codex: CodexUpstream, body: Fields, headers = keyHeaders(codex)): Promise<Response> {
  return fetch(`${codex.apiBaseUrl}/responses`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ stream: true, ...body }),
  })
}

/** A reply that is no stream. */
export async function replyOf(response: Response): Promise<{ readonly status: number; readonly body: unknown }> {
  const text = await response.text()
  return { status: response.status, body: text.startsWith('{') ? JSON.parse(text) : text }
}

export interface Item extends Fields {
  readonly id: string
  readonly type: string
  readonly encrypted_content?: string
}

export interface Event extends Fields {
  readonly type: string
  readonly output_index?: number
  readonly delta?: string
  readonly item?: Item
  readonly response?: {
    readonly output: readonly Item[]
    readonly error: Fields | null
    readonly [key: string]: unknown
  }
}

/** The events of a stream; comments are left out. */
export function eventsOf(stream: string): readonly Event[] {
  return stream
    .split('\n')
    .filter((line) => line.startsWith('data: '))
    .map((line): Event => JSON.parse(line.slice('data: '.length)))
}

/** Items as their done events have them, which is what a client sends back. */
export function doneItems(events: readonly Event[]): readonly Item[] {
  return events.flatMap(({ type, item }) => (type === 'response.output_item.done' && item !== undefined ? [item] : []))
}

/** The claims of a token. */
export function claimsOf(token: string): Fields {
  return JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())
}

export const VERIFIER = 'a-verifier-that-is-long-enough-for-the-test-of-pkce'

/** The query of a right login in the browser; null takes a parameter away. */
export function authorizeUrl(codex: CodexUpstream, change: Record<string, string | null> = {}): string {
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: 'app_EMoamEEZ73f0CkXaXp7hrann',
    redirect_uri: 'http://localhost:1455/auth/callback',
    scope: 'openid profile email offline_access',
    code_challenge: createHash('sha256').update(VERIFIER).digest('base64url'),
    code_challenge_method: 'S256',
    state: 'the-state',
    id_token_add_organizations: 'true',
    codex_cli_simplified_flow: 'true',
    originator: 'test-program',
  })
  for (const [name, value] of Object.entries(change)) {
    if (value === null) query.delete(name)
    else query.set(name, value)
  }
  return `${codex.issuer}/oauth/authorize?${query.toString()}`
}
