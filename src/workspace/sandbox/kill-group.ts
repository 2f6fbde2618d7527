import { kill, platform } from 'node:process'

/** Signals a process group. It may outlive its first process, and the system does not reuse its id while it has a member. */
export function signalGroup(id: number | undefined, name: 'SIGTERM' | 'SIGKILL'): void {
  if (id === undefined) return
  try {
    kill(platform === 'win32' ? id : -id, name)
  } catch {
    // ESRCH: the group has ended. EPERM: its remaining processes run as another user.
  }
}

/**
 * Ends a program that was started with `detached`, and the processes of its group. bubblewrap has a second process, which does not
 * end with the first one until it is set up.
 */
export function killGroup({ pid }: { readonly pid?: number | undefined }): void {
  signalGroup(pid, 'SIGKILL')
}
