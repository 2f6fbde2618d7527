// Swaps a folder for a link to another one, and back, until the test kills it. Prints `swapping` at the start. Arguments: the
// folder, the target of the link, and the longest time between two swaps in ms.
import { renameSync, rmSync, symlinkSync, unlinkSync } from 'node:fs'

const [, , folder = '', target = '', restMs = ''] = process.argv
const aside = `${folder}.aside`

/** A step may fail, because the writer may create the folder while it is missing. */
const attempt = (step: () => void): boolean => {
  try {
    step()
    return true
  } catch {
    return false
  }
}

const word = new Int32Array(new SharedArrayBuffer(4))
const rest = (): void => void (Number(restMs) > 0 && Atomics.wait(word, 0, 0, Math.random() * Number(restMs)))

for (let swaps = 0; ; swaps += 1) {
  attempt(() => renameSync(folder, aside))
  attempt(() => symlinkSync(target, folder))
  rest()
  attempt(() => unlinkSync(folder))
  if (!attempt(() => renameSync(aside, folder))) attempt(() => rmSync(aside, { recursive: true, force: true }))
  rest()
  if (swaps === 100) process.stdout.write('swapping\n')
}
