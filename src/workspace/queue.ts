import { cancelled } from './tool-error.ts'

/**
 * Calls `run` when no other call holds one of the keys.
 * @throws ToolError `cancelled` if the signal aborts meanwhile, and the errors of `run`
 */
export type Queue = <Result>(
  keys: readonly string[],
  signal: AbortSignal | undefined,
  run: () => Promise<Result>,
) => Promise<Result>

export function createQueue(): Queue {
  const tails = new Map<string, Promise<unknown>>()
  const forget = async (tail: Promise<unknown>, keys: readonly string[]): Promise<void> => {
    await tail
    for (const key of keys) if (tails.get(key) === tail) tails.delete(key)
  }
  return async (keys, signal, run) => {
    const earlier = Promise.all(keys.flatMap((key) => tails.get(key) ?? []))
    const gate = Promise.withResolvers<undefined>()
    // Include `earlier`: if this call is cancelled while it waits, later calls must still wait for the earlier ones.
    const tail = Promise.all([earlier, gate.promise])
    for (const key of keys) tails.set(key, tail)
    try {
      await (signal === undefined ? earlier : untilAborted(earlier, signal))
      return await run()
    } finally {
      gate.resolve(undefined)
      void forget(tail, keys)
    }
  }
}

async function untilAborted(promise: Promise<unknown>, signal: AbortSignal): Promise<void> {
  if (signal.aborted) throw cancelled()
  const aborted = Promise.withResolvers<never>()
  const stop = (): void => aborted.reject(cancelled())
  signal.addEventListener('abort', stop, { once: true })
  try {
    await Promise.race([promise, aborted.promise])
  } finally {
    signal.removeEventListener('abort', stop)
  }
}
