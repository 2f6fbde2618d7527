import { expect, test } from 'vitest'
import { openProxy } from '../http/harness.ts'
import { askClient } from './client.ts'
import { codex } from './codex.ts'
import { openPlace } from './place.ts'
import { generationsOf } from './upstream-view.ts'

test('Codex CLI compacts by a request for an answer, and calls no route that copilot-proxy does not offer', async () => {
  const proxy = await openProxy({ demo: { record: 100 } })
  const place = await openPlace()
  const settings = {
    url: proxy.url,
    model: 'gpt-5.3-codex',
    isThinking: true,
    key: 'not-a-key',
    // Far below its own prompt, so that it compacts before each turn but the first.
    first: 'model_auto_compact_token_limit = 2000\n',
  }
  expect(
    (await askClient(codex, place, settings, { prompt: `Say hello ${'and hello again '.repeat(500)}` })).exitCode,
  ).toBe(0)
  const { exitCode } = await askClient(codex, place, settings, { prompt: 'Say it once more', isResumed: true })
  expect(exitCode).toBe(0)
  const { requests } = JSON.parse((await proxy.send('/requests?limit=100')).text)
  const asked = requests.map(
    (row: Record<'method' | 'path' | 'status', string>) => `${row.method} ${row.path} ${row.status}`,
  )
  expect(new Set(asked)).toEqual(new Set(['POST /v1/responses 200']))
  const summaries = generationsOf(proxy).filter(({ text }) => text.includes('CONTEXT CHECKPOINT COMPACTION'))
  expect(summaries.length).toBeGreaterThan(0)
})
