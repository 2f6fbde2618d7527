import { do_not_optimize } from 'mitata'
import { createSseDecoder } from '../src/sse/decode.ts'
import { createChatFold, createChatStream } from '../src/translate/chat/reply.ts'
import { seedOf } from '../test/translate/chat/fixture-streams.ts'
import { perEvent, printHeading } from './per-event.ts'
import { longStreams, toChunks } from './streams.ts'

// Events to the reply. `JSON.parse` is the floor: every event is looked at. `whole way` is what a streamed event costs
// beside the sockets: decode, mend, encode. Run with: node bench/mend.bench.ts

const seed = seedOf({ usage: true })

for (const [name, wire] of Object.entries(longStreams)) {
  const chunks = toChunks(wire)
  const decoder = createSseDecoder()
  const events = chunks.flatMap((chunk) => decoder.push(chunk))
  printHeading(name)
  await perEvent('JSON.parse', events.length, () => {
    for (const { data } of events) if (data !== '[DONE]') do_not_optimize(JSON.parse(data))
  })
  await perEvent('mend', events.length, () => {
    const reply = createChatStream(seed)
    for (const event of events) do_not_optimize(reply.push(event))
    do_not_optimize(reply.end())
  })
  await perEvent('fold', events.length, () => {
    const reply = createChatFold(seed)
    for (const event of events) reply.push(event)
    do_not_optimize(reply.end())
  })
  await perEvent('whole way', events.length, () => {
    const wholeWay = createSseDecoder()
    const reply = createChatStream(seed)
    for (const chunk of chunks) for (const event of wholeWay.push(chunk)) do_not_optimize(reply.push(event))
    do_not_optimize(reply.end())
  })
}
