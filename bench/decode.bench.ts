import { do_not_optimize } from 'mitata'
import { createSseDecoder } from '../src/sse/decode.ts'
import { perEvent, printHeading } from './per-event.ts'
import { longStreams, toChunks } from './streams.ts'

// Bytes to events. Run with: node bench/decode.bench.ts

const wires = Object.entries(longStreams)

printHeading('decode, one event per chunk')
for (const [name, events] of wires) await perEvent(name, events.length, decodeAll(toChunks(events)))

for (const [name, events] of wires.slice(0, 1)) {
  printHeading(`decode ${name} in chunks`)
  for (const size of [64, 1400, 65_536]) {
    const chunks = cut(Buffer.from(events.join('')), size)
    await perEvent(`${size} bytes`, events.length, decodeAll(chunks))
  }
}

function decodeAll(chunks: readonly Uint8Array[]): () => void {
  return () => {
    const decoder = createSseDecoder()
    for (const chunk of chunks) do_not_optimize(decoder.push(chunk))
    do_not_optimize(decoder.end())
  }
}

function cut(bytes: Uint8Array, size: number): Uint8Array[] {
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) => bytes.subarray(i * size, (i + 1) * size))
}
