import { existsSync } from 'node:fs'
import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'
import type { CodeAnswer, CodeTask } from './code-task.ts'
import { ToolError } from './tool-error.ts'

/** The worker is beside this file, in the sources and in the build. The single file (release/build-sea.ts) has none. */
const workerFile = new URL(`code-worker${extname(import.meta.url)}`, import.meta.url)

/** Of the heap of a worker; a grammar's memory is outside of it. MB. */
const maxHeapMb = 512

/** How long a worker waits for another task: a series of tasks loads a grammar or prettier once. Ms. */
const idleMs = 10_000

/** A text that takes less than a second, even if it is made to be slow. Characters. */
const maxShortText = 200_000

/**
 * Runs a task in a worker. Each takes a processor, so one runs at a time, and one with a long text beside it, which may
 * take seconds and hundreds of MB.
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
  const run = task.text.length <= maxShortText ? runShort : runLong
  const answer = await run(signal, () => askWorker(task, signal, file))
  if (answer.is !== 'missing package') return answer
  const name = task.do === 'format' ? 'prettier' : '@vscode/tree-sitter-wasm'
  const detail = `The optional package ${name} is not installed. Run: npm install -g copilot-proxy --include=optional`
  throw new ToolError({ kind: 'failed', detail })
}

const runShort = createQueue()
const runLong = createQueue()

/** Starts one call after the other has ended. */
function createQueue() {
  let last: Promise<unknown> = Promise.resolve()
  return async <Value>(signal: AbortSignal, start: () => Promise<Value>): Promise<Value> => {
    const turn = last.then(start)
    last = turn.catch(() => {})
    const { promise, reject } = Promise.withResolvers<never>()
    const cancel = (): void => reject(new ToolError({ kind: 'cancelled' }))
    signal.addEventListener('abort', cancel)
    try {
      return await Promise.race([turn, promise])
    } finally {
      signal.removeEventListener('abort', cancel)
    }
  }
}

/** A worker that has done its task and waits for another one. */
let idle: { readonly file: string; readonly take: () => Worker } | undefined

async function askWorker(task: CodeTask, signal: AbortSignal, file: URL): Promise<CodeAnswer> {
  if (signal.aborted) throw new ToolError({ kind: 'cancelled' })
  const isShort = task.text.length <= maxShortText
  const worker = isShort && idle?.file === file.href ? idle.take() : startWorker(file)
  const { promise, resolve, reject } = Promise.withResolvers<CodeAnswer>()
  const cancel = (): void => reject(new ToolError({ kind: 'cancelled' }))
  const fail = (cause?: Error): void => {
    const detail = `The file is too complex${cause === undefined ? '' : `: ${cause.message}`}.`
    reject(new ToolError({ kind: 'failed', detail }, { cause }))
  }
  let hasEnded = false
  const end = (): void => {
    hasEnded = true
    fail()
  }
  signal.addEventListener('abort', cancel)
  worker.once('message', resolve).once('error', fail).once('exit', end)
  worker.ref()
  try {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a worker of Node.js has no origin
    worker.postMessage(task)
    const answer = await promise
    worker.off('error', fail).off('exit', end)
    // The memory of a grammar never shrinks, and may be damaged after a failure. A worker may end as soon as it has answered.
    if (isShort && answer.is !== 'failure' && !hasEnded) keepIdle(worker, file.href)
    else void worker.terminate()
    return answer
  } catch (error) {
    await worker.terminate()
    throw error
  } finally {
    signal.removeEventListener('abort', cancel)
  }
}

function startWorker(file: URL): Worker {
  return new Worker(file, { env: {}, execArgv: [], resourceLimits: { maxOldGenerationSizeMb: maxHeapMb } })
}

function keepIdle(worker: Worker, file: string): void {
  void idle?.take().terminate()
  const take = (): Worker => {
    idle = undefined
    clearTimeout(timer)
    return worker.off('error', end).off('exit', end)
  }
  const end = (): void => void take().terminate()
  const timer = setTimeout(end, idleMs).unref()
  idle = { file, take }
  worker.once('error', end).once('exit', end).unref()
}
