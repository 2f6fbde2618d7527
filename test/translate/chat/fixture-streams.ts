import type { ChatNotes } from '../../../src/translate/chat/notes.ts'
import { chatDialect } from '../../../src/translate/chat/dialect.ts'
import { readdirSync, readFileSync } from 'node:fs'
import { Fault } from '../../../src/errors.ts'
import type { ProxyError } from '../../../src/errors.ts'
import { createSseDecoder } from '../../../src/sse/decode.ts'
import type { ReplySeed } from '../../../src/translate/dialect.ts'
import { asIs } from '../../as-is.ts'

const folder = new URL('../../fixtures/chat/', import.meta.url)

/** Names of the streams in test/fixtures/chat; the format is in test/fixtures/README.md. */
export const streamNames: readonly string[] = readdirSync(folder)
  .filter((name) => name.endsWith('.jsonl'))
  .map((name) => name.slice(0, -'.jsonl'.length))
  .toSorted()

/** A stream as upstream puts it on the wire. */
export function readStream(name: string): string {
  const lines = readFileSync(new URL(`${name}.jsonl`, folder), 'utf8').split('\n')
  return lines
    .filter((line) => line !== '')
    .map(toWire)
    .join('')
}

function toWire(line: string): string {
  const value: unknown = JSON.parse(line)
  if (typeof value === 'string') return `data: ${value}\n\n`
  if (!Array.isArray(value)) return `data: ${line}\n\n`
  const [name, data] = value
  if (name === null) return String(data)
  return `event: ${String(name)}\ndata: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`
}

export function seedOf(options: { readonly usage: boolean; readonly model?: string }): ReplySeed {
  const model = options.model ?? 'seed-model'
  const asked: ChatNotes = { dialect: 'chat', wantsUsage: options.usage, reasoningContent: false }
  return {
    id: 'seed-0001',
    createdSeconds: 1_700_000_000,
    nowSeconds: () => 1_700_000_007,
    model,
    requestedModel: 'seed-alias',
    traits: { id: model, family: model, supports: {} },
    notes: { tools: new Map(), stop: [], caller: asked, upstream: asked },
    redact: asIs,
  }
}

/** What a caller got: SSE text, and the failure it ended in. */
export interface Streamed {
  readonly text: string
  readonly fault?: ProxyError
  readonly skipped: number
  readonly usage: unknown
}

/** Runs upstream's bytes through decoder and reply, as the pipeline does. */
export function stream(chunks: Iterable<Uint8Array>, seed = seedOf({ usage: true })): Streamed {
  const decoder = createSseDecoder()
  const reply = chatDialect.upstream.createStream(seed)
  let text = ''
  const outcome = caught(() => {
    for (const chunk of chunks) for (const event of decoder.push(chunk)) text += reply.push(event)
    for (const event of decoder.end()) text += reply.push(event)
    text += reply.end()
  })
  return { text, ...outcome, skipped: reply.skipped(), usage: reply.usage() }
}

export interface Folded {
  readonly body?: unknown
  readonly fault?: ProxyError
}

export function fold(chunks: Iterable<Uint8Array>): Folded {
  const decoder = createSseDecoder()
  const reply = chatDialect.upstream.createFold(seedOf({ usage: false }))
  let body: unknown
  const outcome = caught(() => {
    for (const chunk of chunks) for (const event of decoder.push(chunk)) reply.push(event)
    for (const event of decoder.end()) reply.push(event)
    body = reply.end()
  })
  return 'fault' in outcome ? outcome : { body }
}

/** Only a Fault is an answer; any other exception is a bug and fails the test. */
function caught(run: () => void): { fault: ProxyError } | Record<string, never> {
  try {
    run()
    return {}
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    return { fault: error.error }
  }
}

/** The data of every event in SSE text that we wrote. */
export function dataOf(text: string): string[] {
  return createSseDecoder()
    .push(bytes(text))
    .map(({ data }) => data)
}

export function bytes(text: string): Uint8Array {
  return new TextEncoder().encode(text)
}

/** One piece of the wire per event, or per line of JSON. */
export function dataEvent(chunk: unknown): string {
  return `data: ${typeof chunk === 'string' ? chunk : JSON.stringify(chunk)}\n\n`
}
