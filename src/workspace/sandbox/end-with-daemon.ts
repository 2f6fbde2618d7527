import { spawn, type ChildProcess } from 'node:child_process'
import { platform } from 'node:process'

/** Waits for the end of its input, which is that of the daemon, and ends the process group. */
const script = 'read -r _; kill -s KILL -- "-$1"'

/**
 * Ends the process group of a program if this process ends without doing so, e.g. by `kill -9`. bubblewrap needs no such guard.
 * A process that has left the group is not ended. Returns a function that ends the guard: call it before the group may be gone,
 * because the system then reuses its id.
 */
export function endWithDaemon({ pid }: ChildProcess): () => void {
  if (platform === 'win32' || pid === undefined) return () => {}
  const guard = spawn('/bin/sh', ['-c', script, 'sh', String(pid)], {
    stdio: ['pipe', 'ignore', 'ignore'],
    env: {},
    detached: true,
  })
  guard.on('error', () => {})
  guard.stdin.on('error', () => {})
  guard.unref()
  return () => void guard.kill('SIGKILL')
}
