import { expect, test } from 'vitest'
import { copilotModelEntry } from '../../src/models/wire.ts'
import { jsonReply } from '../upstreams/http/outcome.ts'
import type { Outcome } from '../upstreams/http/outcome.ts'
import { openProxy } from '../http/harness.ts'

const list = (text: string): Outcome => ({
  kind: 'whole',
  status: 200,
  headers: { 'content-type': 'application/json' },
  body: text,
})

test.each([
  [
    'more models than any provider has',
    jsonReply(200, { data: Array.from({ length: 100_000 }, (_, at) => ({ id: `m${at}` })) }),
    '100000 models',
  ],
  ['more bytes', list(`{"data":[{"id":"m","name":"${'x'.repeat(9 * 1024 * 1024)}"}]}`), 'larger than'],
  ['more values', list(`{"data":[${'{},'.repeat(2_000_000)}{}]}`), 'more values'],
])('a model list of %s is refused, and the models stay', async (_what, outcome, problem) => {
  const proxy = await openProxy({ prepare: (demo) => demo.script('/models', { outcome }) })
  await expect
    .poll(() => proxy.log.filter(({ level }) => level === 'warn').map(({ fields }) => fields?.['problem']), {
      timeout: 10_000,
    })
    .toContainEqual(expect.stringContaining(problem))
  expect((await proxy.chat()).status).toBe(200)
})

test('300 models with long descriptions are listed', async () => {
  const entries = Array.from({ length: 300 }, (_, at) => ({
    ...copilotModelEntry.parse({ id: `m${at}`, capabilities: { type: 'chat' }, model_picker_enabled: true }),
    description: 'x'.repeat(10_000),
  }))
  const outcome = jsonReply(200, { data: entries })
  const proxy = await openProxy({ prepare: (demo) => demo.script('/models', { outcome, times: 5 }) })
  const ids = async (): Promise<readonly string[]> =>
    JSON.parse((await proxy.send('/v1/models')).text).data.map(({ id }: { id: string }) => id)
  await expect.poll(ids, { timeout: 10_000 }).toEqual(expect.arrayContaining(entries.map(({ id }) => id)))
})
