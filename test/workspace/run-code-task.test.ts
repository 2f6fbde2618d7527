import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { runInWorker } from '../../src/workspace/run-code-task.ts'
import { failureOf } from './tree.ts'

const folder = { root: '/workspace' }

it('without a worker, names what the single file lacks', async () => {
  const { signal } = new AbortController()
  const missing = new URL('no-worker.ts', import.meta.url)
  const task = { do: 'imports', text: '', grammar: 'typescript' } as const
  expect(await failureOf(runInWorker(task, { folder, signal, file: missing }))).toEqual({
    kind: 'failed',
    detail:
      'The single file of copilot-proxy has no grammars, formatter or organiser of imports. ' +
      'Use the npm package instead, or a formatter of the workspace.',
  })
})

describe('a worker', () => {
  const file = new URL('children/counting-worker.ts', import.meta.url)
  /** Runs a task. Returns the number of tasks that its worker has run. */
  const run = async (text: string, signal = new AbortController().signal, inFolder = folder): Promise<number> => {
    const answer = await runInWorker({ do: 'imports', text, grammar: '' }, { folder: inFolder, signal, file })
    return answer.is === 'text' ? Number(answer.text) : Number.NaN
  }
  const long = 'x'.repeat(1_000_000)
  const tooComplex = 'The file is too complex: it needs more than 256 MB of memory.'

  it('runs one task after the other', async () => {
    expect([await run(''), await run('')]).toEqual([1, 2])
  })

  it('for a long text does not delay others, and ends after it', async () => {
    const before = await run('')
    const caller = new AbortController()
    const waiting = run('wait'.padEnd(1_000_000), caller.signal)
    expect(await run('')).toBe(before + 1)
    const queued = new AbortController()
    const later = run(long, queued.signal)
    queued.abort()
    expect(await failureOf(later)).toEqual({ kind: 'cancelled' })
    caller.abort()
    expect(await failureOf(waiting)).toEqual({ kind: 'cancelled' })
    expect(await Promise.all([run(long), run(long)])).toEqual([1, 1])
  })

  it('that is busy delays no other workspace', async () => {
    const caller = new AbortController()
    const busy = Array.from({ length: 10 }, () => run('wait', caller.signal, { root: '/busy' }))
    expect(await run('')).toBeGreaterThan(0)
    caller.abort()
    expect(await Promise.all(busy.map((call) => failureOf(call)))).toEqual(busy.map(() => ({ kind: 'cancelled' })))
    expect(await run('', undefined, { root: '/busy' })).toBeGreaterThan(0)
  })

  it('gets nothing of the environment', async () => {
    vi.stubEnv('TEST_SECRET', 'secret')
    onTestFinished(() => void vi.unstubAllEnvs())
    // A long text, which gets a worker that is started now.
    expect(await run('secrets'.padEnd(1_000_000))).toBe(0)
  })

  it('may take 256 MB, and ends alone if it needs more', async () => {
    expect(await failureOf(run('fill memory'))).toEqual({
      kind: 'failed',
      detail: tooComplex,
    })
    expect(await run('')).toBe(1)
  })

  it('is replaced after it was stopped or has ended', async () => {
    await run('')
    const caller = new AbortController()
    const waiting = run('wait', caller.signal)
    setImmediate(() => caller.abort())
    expect(await failureOf(waiting)).toEqual({ kind: 'cancelled' })
    expect(await run('')).toBe(1)
    expect(await failureOf(run('exit'))).toEqual({ kind: 'failed', detail: tooComplex })
    expect(await run('')).toBe(1)
    const answer = run('answer and exit')
    // This thread is busy until the worker has ended: it finds the answer and the end at the same time.
    setImmediate(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200))
    await answer
    await vi.waitFor(async () => expect(await run('')).toBe(1), { timeout: 15_000 })
  })
})
