/** Maximum size of an answer, or of one event of a stream. Bytes. */
const maxBytes = 10 * 1024 * 1024

/** Wraps `fetch`, so that an answer fails if it, or one event of its stream, is too large. */
export function limitFetch(fetch: typeof globalThis.fetch): typeof globalThis.fetch {
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
    const { status, statusText, headers } = response
    return new Response(limited, { status, statusText, headers })
  }
}
