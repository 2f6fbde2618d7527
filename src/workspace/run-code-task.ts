import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { extname } from 'node:path'
import type { CodeAnswer, CodeTask } from './code-task.ts'
import { processorTime } from './code-time.ts'
import type { Folder } from './folder.ts'
import { createLanes } from './lanes.ts'
import { ToolError } from './tool-error.ts'

/** The worker is in the folder of this file, in the sources and in the build. The single file (release/build-sea.ts) has none. */
const workerFile = new URL(`code-worker${extname(import.meta.url)}`, import.meta.url)

/** Maximum heap of a worker, without the memory of a grammar. MB. */
const maxHeapMb = 256

/** A worker waits this long for another task, so that a series of tasks loads a grammar or prettier once. Ms. */
const idleMs = 10_000

/** Usually, a text of this length takes less than a second. Characters. */
const maxShortText = 200_000

/** A task uses a whole processor. A task that runs until its time limit leaves a place for others, also in its own workspace. */
const runShort = createLanes({ perKey: 2, total: 4 })

/** A long text may take hundreds of MB. */
const runLong = createLanes({ perKey: 1, total: 2 })

export interface CodeTaskOptions {
  /** The workspace of the task. Its tasks cannot delay those of other workspaces for long. */
  readonly folder: Pick<Folder, 'root'>
  readonly signal: AbortSignal
  /** The program of the worker. */
  readonly file?: URL
}

/**
 * Runs a task in a worker process, which ends if it takes too long or too much memory. The text may be malicious: nothing of the
 * task runs in this process.
 * @throws ToolError `cancelled`; `failed` if the worker or an optional package is missing, or the worker was stopped
 */
export async function runInWorker(
  task: CodeTask,
  { folder, signal, file = workerFile }: CodeTaskOptions,
): Promise<Exclude<CodeAnswer, { is: 'missing package' }>> {
  if (!existsSync(file)) {
    const detail =
      task.do === 'policy'
        ? 'The single file of copilot-proxy cannot read a policy of this length. Shorten it, or use the npm package.'
        : 'The single file of copilot-proxy has no grammars, formatter or organiser of imports. ' +
          'Use the npm package instead, or a formatter of the workspace.'
    throw new ToolError({ kind: 'failed', detail })
  }
  const run = task.text.length <= maxShortText ? runShort : runLong
  const answer = await run(folder.root, signal, () => askWorker(task, signal, file))
  if (answer.is !== 'missing package') return answer
  const name = task.do === 'format' ? 'prettier' : '@vscode/tree-sitter-wasm'
  const detail = `The optional package ${name} is not installed. Run: npm install -g copilot-proxy --include=optional`
  throw new ToolError({ kind: 'failed', detail })
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
  const end = (_code: number | null, ending: NodeJS.Signals | null): void => {
    // The worker ends itself by SIGKILL after its time (code-watchdog.ts), and V8 aborts it if it needs too much memory.
    const seconds = Math.round(processorTime(task.text) / 1000)
    const reason =
      ending === 'SIGKILL'
        ? `it takes more than ${seconds} s of processor time`
        : `it needs more than ${maxHeapMb} MB of memory`
    reject(new ToolError({ kind: 'failed', detail: `The file is too complex: ${reason}.` }))
  }
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
