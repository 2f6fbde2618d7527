import type { ChatNotes } from '../../../src/translate/chat/notes.ts'
import { chatDialect } from '../../../src/translate/chat/dialect.ts'
import type { ProxyError } from '../../../src/errors.ts'
import { createSseDecoder } from '../../../src/sse/decode.ts'
import type { ReplySeed } from '../../../src/translate/dialect.ts'
import { asIs } from '../../as-is.ts'
import { caught } from '../faults.ts'
import { bytes, fixtureFolder, sse } from '../fixture-folder.ts'

export const { streamNames, readStream } = fixtureFolder('chat', () => '')

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
  const reply = chatDialect.upstream.createStream(seed)
  let text = ''
  const outcome = caught(() => {
    for (const event of sse(chunks)) text += reply.push(event)
    text += reply.end()
  })
  return { text, ...outcome, skipped: reply.skipped(), usage: reply.usage() }
}

export interface Folded {
  readonly body?: unknown
  readonly fault?: ProxyError
}

export function fold(chunks: Iterable<Uint8Array>): Folded {
  const reply = chatDialect.upstream.createFold(seedOf({ usage: false }))
  let body: unknown
  const outcome = caught(() => {
    for (const event of sse(chunks)) reply.push(event)
    body = reply.end()
  })
  return 'fault' in outcome ? outcome : { body }
}

/** The data of every event in SSE text that we wrote. */
export function dataOf(text: string): string[] {
  return createSseDecoder()
    .push(bytes(text))
    .map(({ data }) => data)
}

/** One piece of the wire per event, or per line of JSON. */
export function dataEvent(chunk: unknown): string {
  return `data: ${typeof chunk === 'string' ? chunk : JSON.stringify(chunk)}\n\n`
}
