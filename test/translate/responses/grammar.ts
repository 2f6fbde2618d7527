import OpenAI from 'openai'
import { expect } from 'vitest'
import { emptyEcho } from '../../../src/translate/responses/response-object.ts'
import type { Got, Json } from './fixture-streams.ts'

/** What the events of one item said. */
interface Emitted {
  readonly id: unknown
  readonly type: unknown
  readonly parts: Map<string, { text: string; done?: unknown; closed: boolean }>
  input: string
  inputDone?: unknown
  item?: Json
}

/** Members that each response object must have, even if upstream omits them. */
const members = ['completed_at', 'output', 'usage', ...Object.keys(emptyEcho)].filter(
  (key) => key !== 'access_programs',
)

const wholes = ['text', 'refusal', 'arguments', 'input'] as const

/**
 * Reads a stream like the strictest client, and fails if it violates OpenAI's grammar: one id for the response and one for each
 * item; each item is added, has its content and is done once; parts are added before their deltas; the deltas concatenate to the
 * whole; events have numbers from 0 without gaps and their name on the `event:` line; response objects have all members.
 * @param exact whether the deltas concatenate to the wholes. They do not if upstream lost or repeated one
 */
export function expectGrammar(events: readonly Got[], { exact = true }: { exact?: boolean } = {}): void {
  const items = new Map<number, Emitted>()
  let responseId: unknown
  for (const [number, { name, event }] of events.entries()) {
    const context = `event ${number}, ${event.type}`
    expect(event.sequence_number, context).toBe(number)
    expect(name, context).toBe(event.type)
    if (event.response !== undefined) {
      responseId ??= event.response.id
      // Upstream's own failure keeps its words, the id included where upstream never opened the response.
      if (event.type !== 'response.failed') expect(event.response.id, context).toBe(responseId)
      expect(String(responseId).length).toBeLessThanOrEqual(64)
      expect(Object.keys(event.response), context).toEqual(expect.arrayContaining(members))
      expect(Number.isInteger(event.response.completed_at), context).toBe(event.type === 'response.completed')
    }
    readItemEvent(items, event, context, exact)
  }
  expect(events[0]?.event.type).toBe('response.created')
  const last = events.at(-1)?.event
  if (last.type === 'response.failed') return
  expect(['response.completed', 'response.incomplete']).toContain(last.type)
  const done = [...items.entries()].toSorted(([a], [b]) => a - b).map(([, { item }]) => item)
  expect(last.response.output).toEqual(done)
  expect(new Set(done.map(({ id }) => id)).size).toBe(done.length)
}

function readItemEvent(items: Map<number, Emitted>, event: Json, context: string, exact: boolean): void {
  const { type, output_index: index } = event
  if (type === 'response.output_item.added') {
    expect(items.has(index), context).toBe(false)
    const { id, type: itemType } = event.item
    expect(id, context).toMatch(/^.{1,64}$/)
    items.set(index, { id, type: itemType, parts: new Map(), input: '' })
    return
  }
  if (index === undefined || event.item_id === undefined) {
    if (type === 'response.output_item.done') readDone(items.get(index), event.item, context, exact)
    return
  }
  const emitted = items.get(index)
  expect(event.item_id, context).toBe(emitted?.id)
  // Others tell how far upstream has come with an item, and nothing of it.
  if (emitted !== undefined && /\.(delta|done|added)$/.test(type)) readInner(emitted, event, context, exact)
}

function readInner(emitted: Emitted, event: Json, context: string, exact: boolean): void {
  const { type, content_index: content, summary_index: summary } = event
  expect(emitted.item, context).toBeUndefined()
  const key = content === undefined ? `summary ${summary}` : `content ${content}`
  if (type.endsWith('part.added')) {
    expect(emitted.parts.has(key), context).toBe(false)
    emitted.parts.set(key, { text: '', closed: false })
    return
  }
  if (content === undefined && summary === undefined) {
    if (type.endsWith('.delta')) emitted.input += event.delta
    if (type.endsWith('arguments.done') || type.endsWith('input.done')) {
      if (exact) expect(emitted.input, context).toBe(event.arguments ?? event.input)
      emitted.inputDone = event.arguments ?? event.input
    }
    return
  }
  const part = emitted.parts.get(key)
  expect(part, context).toBeDefined()
  if (part === undefined) return
  if (type.endsWith('.delta')) {
    expect(part.done, context).toBeUndefined()
    part.text += event.delta
  } else if (type.endsWith('part.done')) {
    if (exact) expect(part.done, context).toBe(wholeOf(event.part))
    expect(part.closed, context).toBe(false)
    part.closed = true
  } else if (type.endsWith('.done')) {
    expect(part.done, context).toBeUndefined()
    part.done = wholeOf(event)
    if (exact) expect(part.text, context).toBe(part.done)
  }
}

function readDone(emitted: Emitted | undefined, item: Json, context: string, exact: boolean): void {
  expect(emitted, context).toBeDefined()
  if (emitted === undefined) return
  expect(emitted.item, context).toBeUndefined()
  emitted.item = item
  expect([item.id, item.type], context).toEqual([emitted.id, emitted.type])
  if (!exact) return
  if (item.type === 'message') expectParts(emitted, 'content', item.content, context)
  if (item.type === 'reasoning') expectParts(emitted, 'summary', item.summary, context)
  if (item.type === 'function_call') expect(emitted.inputDone, context).toBe(item.arguments)
  if (item.type === 'custom_tool_call') expect(emitted.inputDone, context).toBe(item.input)
}

function expectParts(emitted: Emitted, place: string, parts: readonly Json[], context: string): void {
  const texts = [...emitted.parts].filter(([key]) => key.startsWith(place)).map(([, part]) => part)
  expect(
    texts.map(({ done, closed }) => [done, closed]),
    context,
  ).toEqual(parts.map((part) => [wholeOf(part), true]))
}

function wholeOf(part: Json): unknown {
  return wholes.map((key) => part[key]).find((value) => value !== undefined)
}

/** The response that the official client's stream helper builds; it throws where a stream is not as OpenAI's are. */
export async function readWithOpenAI(text: string): Promise<Json> {
  const openai = new OpenAI({
    apiKey: 'unused',
    baseURL: 'http://127.0.0.1:9/v1',
    maxRetries: 0,
    fetch: () =>
      Promise.resolve(new Response(text, { headers: { 'content-type': 'text/event-stream; charset=utf-8' } })),
  })
  return openai.responses.stream({ model: 'any', input: 'any' }).finalResponse()
}

/** Without what the helper adds of its own. */
export function withoutParsed(response: unknown): Json {
  return JSON.parse(JSON.stringify(response), (key, value: unknown) =>
    key === 'parsed' || key === 'parsed_arguments' || key === 'output_parsed' || key === 'output_text'
      ? undefined
      : value,
  )
}
