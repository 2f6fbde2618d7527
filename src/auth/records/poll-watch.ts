/**
 * Calls back when `signature` changes; returns the function that stops it. Does not keep the process alive.
 *
 * Polls, because file events are missing on network file systems, run out with inotify limits and cannot watch a folder
 * that does not exist yet. The first check always reports a change, so that no change before it is missed.
 */
export function watchByPolling(signature: () => Promise<string>, everyMs: number, onChange: () => void): () => void {
  let last: string | undefined
  let looking = false
  let stopped = false
  const look = async (): Promise<void> => {
    if (looking) return
    looking = true
    // A folder that cannot be read for a moment is checked again. A read on demand reports the error.
    const now = await signature().catch(() => last)
    looking = false
    if (stopped || now === last) return
    last = now
    onChange()
  }
  const timer = setInterval(() => void look(), everyMs)
  timer.unref()
  return () => {
    stopped = true
    clearInterval(timer)
  }
}
