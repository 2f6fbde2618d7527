import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { execPath } from 'node:process'
import { onTestFinished } from 'vitest'

/**
 * Starts a process that swaps a folder for a link, until the test ends.
 * @param restMs the longest time between two swaps; 0 for none
 */
export async function startSwapping(folder: string, target: string, restMs = 0): Promise<ChildProcess> {
  const args = [join(import.meta.dirname, 'children/swap-for-link.ts'), folder, target, String(restMs)]
  const racer = spawn(execPath, args)
  onTestFinished(() => void racer.kill('SIGKILL'))
  await once(racer.stdout, 'data')
  return racer
}
