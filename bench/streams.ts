import { readStream } from '../test/translate/chat/fixture-streams.ts'

const deltas = 1000

/**
 * A long answer: the events of a fixture, with one delta repeated.
 * @param at index of the repeated event
 */
export function longStream(name: string, at: number): string[] {
  const events = readStream(name).split(/(?<=\n\n)/)
  const delta = events[at] ?? ''
  return [...events.slice(0, at), ...Array.from({ length: deltas }, () => delta), ...events.slice(at + 1)]
}

/** One chunk per event, as upstream flushes them. */
export function toChunks(events: readonly string[]): Uint8Array[] {
  return events.map((event) => Buffer.from(event))
}

/** Deltas that differ in cost: forwarded unchanged, with filter results, rewritten, and of a tool call. */
export const longStreams = {
  'GPT text': longStream('gpt-text', 3),
  'GPT arguments': longStream('gpt-tools', 2),
  'GPT filter results': longStream('quirk-10-extra-keys', 1),
  'Grok text': longStream('grok-text', 3),
  'Claude text': longStream('claude-text', 3),
  'Gemini text': longStream('gemini-text', 0),
}
