import type { UpstreamBody } from '../../src/executors/executor.ts'

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
