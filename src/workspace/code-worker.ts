import nodeProcess from 'node:process'
import { runCodeTask, type CodeTask } from './code-task.ts'

// Runs in a separate process: parsing 4 MB takes seconds (2.7 s with Node 24.21) and hundreds of MB, and only ending the
// process can stop it. If the daemon ends, the message channel closes, and the process ends when its task has ended.

// Ctrl-C in a terminal is for the daemon, which lets its calls finish.
nodeProcess.on('SIGINT', () => {})
nodeProcess.on('message', (task: CodeTask) => {
  void runCodeTask(task).then((answer) => nodeProcess.send?.(answer))
})
