import type { BodyReader, UpstreamBody } from '../../src/executors/executor.ts'

/** What a body says, to its end. Rejects with what it fails with. */
export function textOf(body: UpstreamBody): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Uint8Array[] = []
    body.read({
      data: (chunk) => chunks.push(chunk),
      end: () => resolve(Buffer.concat(chunks).toString()),
      fail: reject,
    })
  })
}

/** A body that is all there: handed over whole, whatever its reader pauses. */
export function bodyOf(text: string): UpstreamBody {
  let left = false
  const leave = (): void => {
    left = true
  }
  return {
    read(reader) {
      reader.data(Buffer.from(text))
      if (!left) reader.end()
    },
    pause: () => {},
    resume: () => {},
    finish: leave,
    destroy: leave,
  }
}

/**
 * A body that is filled by hand. Of a received one it keeps that nothing is said before `read` and while paused, that an
 * abort is said at once, and that a reader which left hears no more.
 */
export function handBody() {
  let reader: BodyReader | undefined
  let paused = true
  let waiting: ((reader: BodyReader) => void)[] = []
  const calls: string[] = []

  function flush(): void {
    if (paused || reader === undefined) return
    const next = waiting.shift()
    if (next === undefined) return
    next(reader)
    flush()
  }
  function say(what: (reader: BodyReader) => void): void {
    waiting.push(what)
    flush()
  }
  const body: UpstreamBody = {
    read(newReader) {
      reader = newReader
      paused = false
      flush()
    },
    pause() {
      calls.push('pause')
      paused = true
    },
    resume() {
      calls.push('resume')
      paused = false
      flush()
    },
    finish() {
      calls.push('finish')
      reader = undefined
    },
    destroy() {
      calls.push('destroy')
      reader = undefined
    },
  }
  return {
    body,
    calls,
    say: (...texts: string[]) => texts.forEach((text) => say((to) => to.data(Buffer.from(text)))),
    bytes: (chunk: Uint8Array) => say((to) => to.data(chunk)),
    end: () => say((to) => to.end()),
    fail: (error: unknown) => say((to) => to.fail(error)),
    abort(error: unknown) {
      waiting = []
      reader?.fail(error)
    },
  }
}
