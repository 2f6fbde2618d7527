// A worker that answers each task with the number of its tasks, unless the text says otherwise.
import nodeProcess, { exit } from 'node:process'

let tasks = 0
nodeProcess.on('message', ({ text }: { readonly text: string }) => {
  tasks += 1
  if (text === 'exit') exit()
  // 768 MB, in pieces so large that V8 ends the process at the limit.
  if (text === 'fill memory') Array.from({ length: 12 }, (_, at) => Array.from<number>({ length: 8_000_000 }).fill(at))
  if (text.startsWith('wait')) return
  nodeProcess.send?.({ is: 'text', text: String(tasks) }, () => {
    if (text === 'answer and exit') exit()
  })
})
