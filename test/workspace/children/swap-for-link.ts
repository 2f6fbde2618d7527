// Swaps a folder for a link to another one, and back, until it is killed. Arguments: folder, target of the link.
// Prints `swapping` once it has begun.
import { renameSync, rmSync, symlinkSync, unlinkSync } from 'node:fs'

const [, , folder = '', target = ''] = process.argv
const aside = `${folder}.aside`

/** The writer may make the folder in a moment in which it is missing. */
const attempt = (step: () => void): boolean => {
  try {
    step()
    return true
  } catch {
    return false
  }
}

for (let swaps = 0; ; swaps += 1) {
  attempt(() => renameSync(folder, aside))
  attempt(() => symlinkSync(target, folder))
  attempt(() => unlinkSync(folder))
  if (!attempt(() => renameSync(aside, folder))) attempt(() => rmSync(aside, { recursive: true, force: true }))
  if (swaps === 100) process.stdout.write('swapping\n')
}
