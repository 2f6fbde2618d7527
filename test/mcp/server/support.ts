import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { onTestFinished } from 'vitest'
import { fakeWorkspaces, openRpcApp } from '../../rpc/support.ts'
import type { FakeWorkspaces, RpcApp } from '../../rpc/support.ts'

export interface McpApp extends FakeWorkspaces, Pick<RpcApp, 'app' | 'configure' | 'log'> {
  /** E.g. `http://127.0.0.1:5/mcp`. */
  readonly url: string
}

/** Opens the real app on loopback with fake tools. */
export async function openMcpApp(names: readonly string[] = ['foo'], file = ''): Promise<McpApp> {
  const fake = fakeWorkspaces(names)
  const { url, app, configure, log } = await openRpcApp({ workspaces: () => fake.workspaces, file })
  return { ...fake, app, configure, log, url: toMcp(url) }
}

export function toMcp(rpcUrl: string): string {
  return rpcUrl.replace('ws:', 'http:').replace('/rpc', '/mcp')
}

/** The last version of the protocol with sessions, and the first one without. */
export const protocols = ['2025-11-25', '2026-07-28'] as const
export type ProtocolVersion = (typeof protocols)[number]

export interface Connected {
  readonly client: Client
  readonly transport: StreamableHTTPClientTransport
}

/** Connects the client of the official SDK. */
export async function connectMcp(
  url: string,
  { protocol = '2025-11-25', key }: { readonly protocol?: ProtocolVersion; readonly key?: string } = {},
): Promise<Connected> {
  const client = new Client(
    { name: 'test', version: '1' },
    { versionNegotiation: { mode: protocol === '2025-11-25' ? 'legacy' : { pin: protocol } } },
  )
  const headers = key === undefined ? {} : { authorization: `Bearer ${key}` }
  const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } })
  await client.connect(transport)
  onTestFinished(() => client.close())
  return { client, transport }
}

const accept = 'application/json, text/event-stream'

export const initialize = {
  jsonrpc: '2.0',
  id: 0,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'raw', version: '1' } },
}

/** Sends a request without an SDK. */
export async function post(
  url: string,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
  signal: AbortSignal | null = null,
): Promise<Response> {
  return await fetch(url, {
    method: 'POST',
    headers: { accept, 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
    signal,
  })
}

/** Begins an MCP session and returns its id. */
export async function begin(url: string, headers: Readonly<Record<string, string>> = {}): Promise<string> {
  const response = await post(url, initialize, headers)
  await response.text()
  const id = response.headers.get('mcp-session-id')
  if (id === null) throw new Error(`no session: ${response.status}`)
  return id
}

/** Opens the notification stream of an MCP session. */
export async function listen(
  url: string,
  session: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> {
  return await fetch(url, { headers: { accept: 'text/event-stream', 'mcp-session-id': session, ...headers } })
}
