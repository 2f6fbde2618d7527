import { existsSync } from 'node:fs'
import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'
import type { CodeAnswer, CodeTask } from './code-task.ts'
import { ToolError } from './tool-error.ts'

/** The worker is in the folder of this file, in the sources and in the build. The single file (release/build-sea.ts) has none. */
const workerFile = new URL(`code-worker${extname(import.meta.url)}`, import.meta.url)

/** Maximum heap of a worker, without the memory of a grammar. MB. */
const maxHeapMb = 512

/** A worker waits this long for another task, so that a series of tasks loads a grammar or prettier once. Ms. */
const idleMs = 10_000

/** A text of this length takes less than a second, even if it is malicious. Characters. */
const maxShortText = 200_000

/**
 * Runs a task in a worker. A task uses a whole processor, so only one with a short text and one with a long text run at a time.
 * A long text may take seconds and hundreds of MB.
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

/** Starts each call after the previous one has ended. */
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

/** A worker that has finished its task and waits for another one. */
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
  const end = (): void => fail()
  signal.addEventListener('abort', cancel)
  worker.once('message', resolve).once('error', fail).once('exit', end)
  worker.ref()
  try {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a worker of Node.js has no origin
    worker.postMessage(task)
    const answer = await promise
    worker.off('error', fail).off('exit', end)
    // Do not keep it otherwise: the memory of a grammar never shrinks, and a failure may have corrupted it.
    if (isShort && answer.is !== 'failure') keepIdle(worker, file.href)
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
