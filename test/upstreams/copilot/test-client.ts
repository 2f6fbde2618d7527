import { onTestFinished } from 'vitest'
import { startCopilot } from '../copilot.ts'
import type { CopilotOptions, CopilotUpstream } from '../copilot.ts'

/** An editor's headers with a live Copilot token, as every inference call needs them. */
export function editorHeaders(demo: CopilotUpstream, more: Record<string, string> = {}): Record<string, string> {
  const { token } = demo.tokens.issueCopilot({ lifetimeSeconds: 1800, sku: 'demo', proxyEp: 'proxy.example' })
  return {
    authorization: `Bearer ${token}`,
    'editor-version': 'vscode/1.126.0',
    'content-type': 'application/json',
    ...more,
  }
}

/** A running server that is closed when the test ends. */
export async function openCopilot(options: CopilotOptions = {}): Promise<CopilotUpstream> {
  const demo = await startCopilot(options)
  onTestFinished(() => demo.close())
  return demo
}

export interface PostOptions {
  readonly headers?: Record<string, string>
  readonly signal?: AbortSignal
}

export function post(demo: CopilotUpstream, path: string, body: unknown, options: PostOptions = {}): Promise<Response> {
  return fetch(`${demo.url}${path}`, {
    method: 'POST',
    headers: { ...editorHeaders(demo), ...options.headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
    ...(options.signal !== undefined && { signal: options.signal }),
  })
}

/** A streaming chat request of one user message. */
export function ask(
  demo: CopilotUpstream,
  text: string,
  more: Record<string, unknown> = {},
  options: PostOptions = {},
): Promise<Response> {
  const body = { model: 'gpt-4.1', messages: [{ role: 'user', content: text }], stream: true, ...more }
  return post(demo, '/chat/completions', body, options)
}

export interface Chunk {
  readonly choices: readonly {
    readonly index?: number
    readonly delta?: { readonly content?: string | null; readonly tool_calls?: readonly CallDelta[] }
    readonly finish_reason?: string | null
  }[]
  readonly usage?: unknown
}

export interface CallDelta {
  readonly index?: number
  readonly id?: string
  readonly function: { readonly name?: string; readonly arguments: string }
}

/** The JSON events of a stream; `[DONE]` is left out. */
export function chunksOf(stream: string): readonly Chunk[] {
  return stream
    .split('\n')
    .filter((line) => line.startsWith('data:') && !line.includes('[DONE]'))
    .map((line): Chunk => JSON.parse(line.slice('data:'.length)))
}

/** All content of all choices, in order. */
export function contentOf(stream: string): string {
  return chunksOf(stream)
    .flatMap((chunk) => chunk.choices.map((choice) => choice.delta?.content ?? ''))
    .join('')
}

export function finishesOf(stream: string): readonly string[] {
  return chunksOf(stream).flatMap((chunk) => chunk.choices.flatMap((choice) => choice.finish_reason ?? []))
}

/** Reads one network chunk as text; '' at the end. */
export async function readPiece(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<string> {
  const { value } = await reader.read()
  return value === undefined ? '' : new TextDecoder().decode(value)
}

/** Everything up to the end of the body; rejects when the connection breaks first. */
export async function readRest(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<string> {
  const piece = await readPiece(reader)
  return piece === '' ? '' : piece + (await readRest(reader))
}
