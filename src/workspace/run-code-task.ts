import { existsSync } from 'node:fs'
import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'
import type { CodeAnswer, CodeTask } from './code-task.ts'
import { ToolError } from './tool-error.ts'

/** The worker is beside this file, in the sources and in the build. The single file (release/build-sea.ts) has none. */
const workerFile = new URL(`code-worker${extname(import.meta.url)}`, import.meta.url)

/** Of the heap of a worker; a grammar's memory is outside of it. MB. */
const maxHeapMb = 512

/**
 * Runs a task in a worker that lives as long as the task. One runs at a time, because each takes a processor and much memory.
 * @throws ToolError `cancelled`; `failed` if the worker or an optional package is missing, or the worker ran out of memory
 */
export async function runInWorker(
  task: CodeTask,
  signal: AbortSignal,
  file = workerFile,
): Promise<Exclude<CodeAnswer, { is: 'missing package' }>> {
  if (!existsSync(file)) {
    const detail =
      'The single file of copilot-proxy has no grammars, formatter or organiser of imports. ' +
      'Use the npm package instead, or a formatter of the workspace.'
    throw new ToolError({ kind: 'failed', detail })
  }
  const answer = await inTurn(() => startWorker(task, signal, file))
  if (answer.is !== 'missing package') return answer
  const name = task.do === 'format' ? 'prettier' : '@vscode/tree-sitter-wasm'
  const detail = `The optional package ${name} is not installed. Run: npm install -g copilot-proxy --include=optional`
  throw new ToolError({ kind: 'failed', detail })
}

let last: Promise<unknown> = Promise.resolve()

function inTurn<Value>(start: () => Promise<Value>): Promise<Value> {
  const turn = last.then(start, start)
  last = turn.catch(() => {})
  return turn
}

async function startWorker(task: CodeTask, signal: AbortSignal, file: URL): Promise<CodeAnswer> {
  if (signal.aborted) throw new ToolError({ kind: 'cancelled' })
  const worker = new Worker(file, {
    workerData: task,
    env: {},
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: maxHeapMb },
  })
  const { promise, resolve, reject } = Promise.withResolvers<CodeAnswer>()
  const cancel = (): void => reject(new ToolError({ kind: 'cancelled' }))
  signal.addEventListener('abort', cancel)
  worker.once('message', resolve)
  worker.once('error', (cause) => {
    reject(new ToolError({ kind: 'failed', detail: `The file is too complex: ${cause.message}` }, { cause }))
  })
  worker.once('exit', () => reject(new ToolError({ kind: 'failed', detail: 'The file is too complex.' })))
  try {
    return await promise
  } finally {
    signal.removeEventListener('abort', cancel)
    await worker.terminate()
  }
}
