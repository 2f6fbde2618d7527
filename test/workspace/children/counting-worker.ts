// A worker that answers each task with the number of tasks so far. Some texts select another behaviour.
import nodeProcess, { env, exit } from 'node:process'

let tasks = 0
nodeProcess.on('message', ({ text }: { readonly text: string }) => {
  tasks += 1
  if (text === 'exit') exit()
  // 512 MB, in pieces so large that V8 ends the process at the limit.
  // oxlint-disable-next-line unicorn/no-new-array -- filling it is several times faster than `Array.from`
  if (text === 'fill memory') Array.from({ length: 4 }, (_, at) => new Array<number>(16_000_000).fill(at))
  if (text.startsWith('wait')) return
  const answer = text.startsWith('secrets') ? Object.keys(env).filter((name) => name === 'TEST_SECRET').length : tasks
  nodeProcess.send?.({ is: 'text', text: String(answer) }, () => {
    if (text === 'answer and exit') exit()
  })
})
