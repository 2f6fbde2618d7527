import { expect, it } from 'vitest'
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
