import { do_not_optimize } from 'mitata'
import { createSseDecoder } from '../src/sse/decode.ts'
import { createChatFold, createChatStream } from '../src/translate/chat/read-stream/forward-stream.ts'
import type { ReplyFold, ReplyStream } from '../src/translate/dialect.ts'
import { createResponsesFold, createResponsesStream } from '../src/translate/responses/read-stream/forward-stream.ts'
import { seedOf } from '../test/translate/chat/fixture-streams.ts'
import { readLines, seed as responsesSeed, toStream } from '../test/translate/responses/fixture-streams.ts'
import { perEvent, printHeading } from './per-event.ts'
import { longStreams, toChunks } from './streams.ts'

// Upstream events to the reply. `JSON.parse` is the least that an event without a template can cost. `decode and
// normalise` is the cost of a streamed event without the sockets. Run with: node bench/normalise.bench.ts

const seed = seedOf({ usage: true })

for (const [name, wire] of Object.entries(longStreams)) {
  await printTable(
    name,
    wire,
    () => createChatStream(seed),
    () => createChatFold(seed),
  )
}

/** Deltas forwarded unchanged, with sequence numbers to correct, and with a different id each, as Copilot sends them. */
const longResponses = {
  'Responses text': longResponse('text', 4),
  'Responses arguments': longResponse('incomplete-arguments', 9),
  'Responses text, other numbers': longResponse('text', 4, 1),
  'Responses text, changing ids': longResponse('quirk-01-changing-ids', 10),
  'Responses arguments, changing ids': longResponse('quirk-01-changing-ids', 16),
}

for (const [name, wire] of Object.entries(longResponses)) {
  await printTable(
    name,
    wire,
    () => createResponsesStream(responsesSeed),
    () => createResponsesFold(responsesSeed),
  )
}

/**
 * A long answer: the events of a fixture, with one delta repeated.
 * @param at index of the repeated event
 */
function longResponse(name: string, at: number, firstNumber = 0): string[] {
  const events: Record<string, unknown>[] = readLines(name).map((line) => JSON.parse(line))
  const delta = events[at] ?? {}
  const id = String(delta['item_id'])
  const isChanging = id.length > 64
  const deltas = Array.from({ length: 1000 }, (_, nth): Record<string, unknown> => {
    const turn = nth % id.length
    return { ...delta, item_id: isChanging ? id.slice(turn) + id.slice(0, turn) : id, obfuscation: 'k2Jd81LsQx' }
  })
  const all = [...events.slice(0, at), ...deltas, ...events.slice(at + 1)]
  for (const [nth, event] of all.entries()) event['sequence_number'] = firstNumber + nth
  return toStream(all).split(/(?<=\n\n)/)
}

async function printTable(
  name: string,
  wire: readonly string[],
  startStream: () => ReplyStream,
  startFold: () => ReplyFold,
): Promise<void> {
  const chunks = toChunks(wire)
  const decoder = createSseDecoder()
  const events = chunks.flatMap((chunk) => decoder.push(chunk))
  printHeading(name)
  await perEvent('JSON.parse', events.length, () => {
    for (const { data } of events) if (data !== '[DONE]') do_not_optimize(JSON.parse(data))
  })
  await perEvent('normalise', events.length, () => {
    const reply = startStream()
    for (const event of events) do_not_optimize(reply.push(event))
    do_not_optimize(reply.end())
  })
  await perEvent('fold', events.length, () => {
    const reply = startFold()
    for (const event of events) reply.push(event)
    do_not_optimize(reply.end())
  })
  await perEvent('decode and normalise', events.length, () => {
    const streamDecoder = createSseDecoder()
    const reply = startStream()
    for (const chunk of chunks) for (const event of streamDecoder.push(chunk)) do_not_optimize(reply.push(event))
    do_not_optimize(reply.end())
  })
}
