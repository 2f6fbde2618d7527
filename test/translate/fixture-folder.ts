import { readdirSync, readFileSync } from 'node:fs'
import { createSseDecoder } from '../../src/sse/decode.ts'
import type { SseEvent } from '../../src/sse/decode.ts'
import { textOf } from '../../src/json/json.ts'

/**
 * The streams of a folder of test/fixtures; their format is in test/fixtures/README.md.
 * @param nameOf the name that upstream gives an event; '' for none
 */
export function fixtureFolder(dialect: 'chat' | 'messages' | 'responses', nameOf: (event: unknown) => string) {
  const folder = new URL(`../fixtures/${dialect}/`, import.meta.url)
  const streamNames: readonly string[] = readdirSync(folder)
    .filter((name) => name.endsWith('.jsonl'))
    .map((name) => name.slice(0, -'.jsonl'.length))
    .toSorted()

  const readLines = (name: string): readonly string[] =>
    readFileSync(new URL(`${name}.jsonl`, folder), 'utf8')
      .split('\n')
      .filter((line) => line !== '')

  /** A line as upstream puts it on the wire. */
  function toWire(line: string): string {
    const value: unknown = JSON.parse(line)
    if (typeof value === 'string') return framed('', value)
    if (!Array.isArray(value)) return framed(nameOf(value), line)
    const [name, data] = value
    if (name === null) return String(data)
    return framed(String(name), typeof data === 'string' ? data : JSON.stringify(data))
  }

  return { streamNames, readLines, toWire, readStream: (name: string) => readLines(name).map(toWire).join('') }
}

function framed(name: string, data: string): string {
  return `${name === '' ? '' : `event: ${name}\n`}data: ${data}\n\n`
}

export function typeOf(value: unknown): string {
  const type: unknown = typeof value === 'object' && value !== null && 'type' in value ? value.type : ''
  return textOf(type)
}

/** The events in chunks of a stream, at its end too. */
export function* sse(chunks: Iterable<Uint8Array>): Generator<SseEvent> {
  const decoder = createSseDecoder()
  for (const chunk of chunks) yield* decoder.push(chunk)
  yield* decoder.end()
}

export function bytes(text: string): Uint8Array {
  return new TextEncoder().encode(text)
}
