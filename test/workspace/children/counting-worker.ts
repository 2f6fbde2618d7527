// A worker that answers each task with the number of tasks so far. Some texts select another behaviour.
import { exit } from 'node:process'
import { parentPort } from 'node:worker_threads'

let tasks = 0
parentPort?.on('message', ({ text }: { readonly text: string }) => {
  tasks += 1
  if (text === 'exit') exit()
  if (text.startsWith('wait')) return
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a port of Node.js has no origin
  parentPort?.postMessage({ is: 'text', text: String(tasks) })
  if (text === 'exit later') setImmediate(exit)
})
