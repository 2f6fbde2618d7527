import type { UpstreamBody } from '../../src/executors/executor.ts'
import { receiveBody } from '../../src/executors/send-request.ts'

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
    putBack: () => {},
    pause: () => {},
    resume: () => {},
    finish: leave,
    destroy: leave,
  }
}

/** A received body that is filled by hand. `calls`: what its reader called, in order. */
export function handBody() {
  const ignored = { pause() {}, resume() {}, abort() {} }
  const received = receiveBody(ignored, () => {})
  const calls: string[] = []
  const noted =
    <Args extends unknown[]>(name: string, run: (...args: Args) => void) =>
    (...args: Args): void => {
      calls.push(name)
      run(...args)
    }
  const body: UpstreamBody = {
    read: received.read,
    putBack: noted('putBack', received.putBack),
    pause: noted('pause', received.pause),
    resume: noted('resume', received.resume),
    finish: noted('finish', received.finish),
    destroy: noted('destroy', received.destroy),
  }
  return {
    body,
    calls,
    say: (...texts: string[]) => texts.forEach((text) => received.data(Buffer.from(text))),
    bytes: received.data,
    end: received.end,
    fail: received.fail,
    abort: received.abort,
  }
}
