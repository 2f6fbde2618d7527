import { extname } from 'node:path'
import nodeProcess from 'node:process'
import { Worker } from 'node:worker_threads'
import { runCodeTask, type CodeTask } from './code-task.ts'
import { processorTime } from './code-time.ts'

// Runs in a separate process: parsing 4 MB takes seconds (2.7 s with Node 24.21) and hundreds of MB, and only ending the
// process can stop it.

/** Read by code-watchdog.ts. */
const limit = new Float64Array(new SharedArrayBuffer(Float64Array.BYTES_PER_ELEMENT))

function usedMs(): number {
  const { user, system } = nodeProcess.cpuUsage()
  return (user + system) / 1000
}

new Worker(new URL(`code-watchdog${extname(import.meta.url)}`, import.meta.url), { workerData: limit.buffer }).unref()
// Ctrl-C in a terminal is for the daemon, which lets its calls finish.
nodeProcess.on('SIGINT', () => {})
nodeProcess.on('message', (task: CodeTask) => void answer(task))

async function answer(task: CodeTask): Promise<void> {
  limit[0] = usedMs() + processorTime(task.text)
  const answered = await runCodeTask(task)
  limit[0] = 0
  nodeProcess.send?.(answered)
}
