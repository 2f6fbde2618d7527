import { describe, expect, it, vi } from 'vitest'
import { runInWorker } from '../../src/workspace/run-code-task.ts'
import { failureOf } from './tree.ts'

it('says what the single file lacks, where there is no worker', async () => {
  const { signal } = new AbortController()
  const missing = new URL('no-worker.ts', import.meta.url)
  const task = { do: 'imports', text: '', grammar: 'typescript' } as const
  expect(await failureOf(runInWorker(task, signal, missing))).toEqual({
    kind: 'failed',
    detail:
      'The single file of copilot-proxy has no grammars, formatter or organiser of imports. ' +
      'Use the npm package instead, or a formatter of the workspace.',
  })
})

describe('a worker', () => {
  const file = new URL('children/counting-worker.ts', import.meta.url)
  const run = (text: string, signal = new AbortController().signal) =>
    runInWorker({ do: 'imports', text, grammar: '' }, signal, file)
  const first = { is: 'text', text: '1' }

  it('does one task after the other', async () => {
    expect(await Promise.all([run(''), run('')])).toEqual([first, { is: 'text', text: '2' }])
    await run('x'.repeat(1_000_000))
    expect(await run('')).toEqual(first)
  })

  it('is followed by a new one when it was stopped or has ended', async () => {
    await run('')
    const caller = new AbortController()
    const waiting = run('wait', caller.signal)
    setImmediate(() => caller.abort())
    expect(await failureOf(waiting)).toEqual({ kind: 'cancelled' })
    expect(await run('')).toEqual(first)
    expect(await failureOf(run('exit'))).toEqual({ kind: 'failed', detail: 'The file is too complex.' })
    expect(await run('')).toEqual(first)
    await run('exit later')
    await vi.waitFor(async () => expect(await run('')).toEqual(first))
  })
})
