import { StringDecoder } from 'node:string_decoder'
import { readMessages } from './read-message.ts'

/** Maximum size of an answer, or of one event of a stream. Bytes. */
const maxBytes = 10 * 1024 * 1024

/**
 * Wraps `fetch`, so that an answer fails if it, or one event of its stream, is too large, and so that the SDK can read the messages
 * in it.
 */
export function readableFetch(fetch: typeof globalThis.fetch): typeof globalThis.fetch {
  return async (input, init) => {
    const response = await fetch(input, init)
    if (response.body === null) return response
    const isStream = response.headers.get('content-type')?.includes('text/event-stream') === true
    let bytes = 0
    const limited = response.body.pipeThrough(
      new TransformStream<Uint8Array, Uint8Array>({
        transform(chunk, controller) {
          // A stream may last for days, so count the bytes of each event. A blank line ends an event.
          const text = isStream ? Buffer.from(chunk) : undefined
          bytes = text?.includes('\n\n') === true || text?.includes('\r\n\r\n') === true ? 0 : bytes + chunk.length
          if (bytes > maxBytes) throw new Error('The answer is longer than 10 MB.')
          controller.enqueue(chunk)
        },
      }),
    )
    const { ok, status, statusText, headers } = response
    if (!ok) return new Response(limited, { status, statusText, headers })
    if (isStream) return new Response(limited.pipeThrough(readableEvents()), { status, statusText, headers })
    const text = await new Response(limited).text()
    return new Response(toReadable(text) ?? text, { status, statusText, headers: withoutLength(headers) })
  }
}

/** Returns undefined for a text that is no message. */
function toReadable(text: string): string | undefined {
  const messages = readMessages(text)
  return messages.length === 0 ? undefined : JSON.stringify(messages.length === 1 ? messages[0] : messages)
}

function toReadableLine(line: string): string {
  const message = line.startsWith('data:') ? toReadable(line.slice('data:'.length)) : undefined
  return message === undefined ? line : `data: ${message}${line.endsWith('\r') ? '\r' : ''}`
}

/** Normalises the messages in the events of a stream. A message is one line with `data:`, unless a server breaks it up. */
function readableEvents(): TransformStream<Uint8Array, Uint8Array> {
  const decoder = new StringDecoder('utf8')
  const encoder = new TextEncoder()
  let partial: string[] = []
  return new TransformStream({
    transform(chunk, controller) {
      const [first = '', ...others] = decoder.write(chunk).split('\n')
      partial.push(first)
      const last = others.pop()
      if (last === undefined) return
      const lines = [partial.join(''), ...others]
      partial = [last]
      controller.enqueue(encoder.encode(lines.map((line) => `${toReadableLine(line)}\n`).join('')))
    },
    flush(controller) {
      controller.enqueue(encoder.encode(toReadableLine(partial.join(''))))
    },
  })
}

/** The message may have another length, and is no longer compressed. */
function withoutLength(headers: Headers): Headers {
  const others = new Headers(headers)
  for (const name of ['content-length', 'content-encoding']) others.delete(name)
  return others
}
