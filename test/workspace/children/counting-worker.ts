// A worker that answers each task with the number of its tasks, unless the text says otherwise.
import { exit } from 'node:process'
import { parentPort } from 'node:worker_threads'

let tasks = 0
parentPort?.on('message', ({ text }: { readonly text: string }) => {
  tasks += 1
  if (text === 'exit') exit()
  // 720 MB, in pieces so small that V8 ends this thread at the limit, and not the process.
  if (text === 'fill memory') Array.from({ length: 90 }, (_, at) => Array.from<number>({ length: 1_000_000 }).fill(at))
  if (text.startsWith('wait')) return
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a port of Node.js has no origin
  parentPort?.postMessage({ is: 'text', text: String(tasks) })
  if (text === 'answer and exit') exit()
  if (text === 'exit later') setImmediate(exit)
})
