import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { extname } from 'node:path'
import type { CodeAnswer, CodeTask } from './code-task.ts'
import { ToolError } from './tool-error.ts'

/** The worker is in the folder of this file, in the sources and in the build. The single file (release/build-sea.ts) has none. */
const workerFile = new URL(`code-worker${extname(import.meta.url)}`, import.meta.url)

/** Maximum heap of a worker, without the memory of a grammar. MB. */
const maxHeapMb = 512

const tooComplex = `The file is too complex: it needs more than ${maxHeapMb} MB of memory.`

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
let idle: { readonly file: string; readonly take: () => ChildProcess } | undefined

async function askWorker(task: CodeTask, signal: AbortSignal, file: URL): Promise<CodeAnswer> {
  if (signal.aborted) throw new ToolError({ kind: 'cancelled' })
  const isShort = task.text.length <= maxShortText
  const worker = isShort && idle?.file === file.href ? idle.take() : startWorker(file)
  const { promise, resolve, reject } = Promise.withResolvers<CodeAnswer>()
  const cancel = (): void => reject(new ToolError({ kind: 'cancelled' }))
  const fail = (cause: Error): void => {
    const detail = `The process for the file failed: ${cause.message}.`
    reject(new ToolError({ kind: 'failed', detail }, { cause }))
  }
  // `close`, because an answer may still arrive after `exit`.
  const end = (): void => reject(new ToolError({ kind: 'failed', detail: tooComplex }))
  signal.addEventListener('abort', cancel)
  worker.on('error', fail).once('message', resolve).once('close', end)
  worker.ref()
  worker.channel?.ref()
  try {
    worker.send(task)
    const answer = await promise
    worker.off('close', end)
    // Do not keep it otherwise: the memory of a grammar never shrinks, and a failure may have corrupted it.
    if (isShort && answer.is !== 'failure' && isAlive(worker)) keepIdle(worker, file.href)
    else stopWorker(worker)
    return answer
  } catch (error) {
    const closed = isAlive(worker) ? once(worker, 'close') : undefined
    stopWorker(worker)
    await closed
    throw error
  } finally {
    worker.off('error', fail)
    signal.removeEventListener('abort', cancel)
  }
}

/**
 * A process, because V8 ends the whole process if the allocation that exceeds the limit is a large one: a thread would take
 * the daemon with it.
 */
function startWorker(file: URL): ChildProcess {
  return fork(file, {
    env: {},
    execArgv: [`--max-old-space-size=${maxHeapMb}`],
    serialization: 'advanced',
    // V8 prints a report when it runs out of memory, which would be in the log.
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  }).on('error', () => {})
}

function stopWorker(worker: ChildProcess): void {
  worker.kill('SIGKILL')
}

/** `pid` is undefined if the process could not be started. */
function isAlive({ pid, exitCode, signalCode, connected }: ChildProcess): boolean {
  return pid !== undefined && exitCode === null && signalCode === null && connected
}

function keepIdle(worker: ChildProcess, file: string): void {
  if (idle !== undefined) stopWorker(idle.take())
  const take = (): ChildProcess => {
    idle = undefined
    clearTimeout(timer)
    return worker.off('close', end)
  }
  const end = (): void => stopWorker(take())
  const timer = setTimeout(end, idleMs).unref()
  idle = { file, take }
  worker.once('close', end).unref()
  worker.channel?.unref()
}
