import { parentPort } from 'node:worker_threads'
import { runCodeTask, type CodeTask } from './code-task.ts'

// Runs in a separate thread: parsing 4 MB takes seconds (2.7 s with Node 24.21), and only ending the thread can stop it.

parentPort?.on('message', (task: CodeTask) => {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a port of Node.js has no origin
  void runCodeTask(task).then((answer) => parentPort?.postMessage(answer))
})
