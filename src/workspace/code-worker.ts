import nodeProcess from 'node:process'
import { runCodeTask, type CodeTask } from './code-task.ts'

// A process of its own: to parse 4 MB takes seconds (2.7 s with Node 24.21) and hundreds of MB, and to end the process is the
// way to stop it. It ends with the daemon, which closes the channel of its messages.

// Ctrl-C in a terminal is for the daemon, which lets its calls finish.
nodeProcess.on('SIGINT', () => {})
nodeProcess.on('message', (task: CodeTask) => {
  void runCodeTask(task).then((answer) => nodeProcess.send?.(answer))
})
