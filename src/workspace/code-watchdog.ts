// A thread of code-worker.ts. A task may keep the main thread busy for ever, e.g. in a regular expression, so this thread ends
// the process if the task takes too much processor time or the daemon is gone.
import nodeProcess from 'node:process'
import { workerData } from 'node:worker_threads'

/** How often the thread looks. Ms. */
const intervalMs = 200

/** The processor time of this process at which the task must have ended, in ms. 0 without a task. */
const limit = workerData instanceof SharedArrayBuffer ? new Float64Array(workerData) : []
const { ppid } = nodeProcess

setInterval(() => {
  const { user, system } = nodeProcess.cpuUsage()
  const limitMs = limit[0] ?? 0
  const isLate = limitMs > 0 && (user + system) / 1000 > limitMs
  // Without its parent, a process gets another one.
  if (isLate || nodeProcess.ppid !== ppid) nodeProcess.kill(nodeProcess.pid, 'SIGKILL')
}, intervalMs)
