import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
const collect: unknown = runInNewContext('gc')

/** Whether nothing holds the object any more. Several rounds: promises let go a turn later. */
export async function isCollected(ref: WeakRef<object>): Promise<boolean> {
  if (typeof collect !== 'function') throw new Error('this runtime does not collect on demand')
  for (let round = 0; round < 10 && ref.deref() !== undefined; round += 1) {
    await new Promise((resolve) => setImmediate(resolve))
    collect()
  }
  return ref.deref() === undefined
}
