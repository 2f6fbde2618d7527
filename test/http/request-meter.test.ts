import { expect, test } from 'vitest'
import { createMetrics } from '../../src/http/metrics.ts'
import { createRequestMeter } from '../../src/http/request-meter.ts'
import type { RequestMeter } from '../../src/http/request-meter.ts'
import type { UsageEntry } from '../../src/totals/tally.ts'
import { readExposition } from './read-exposition.ts'

function measure(times: readonly number[]) {
  const clock = [...times]
  const noted: UsageEntry[] = []
  const metrics = createMetrics()
  const now = (): number => clock.shift() ?? times.at(-1) ?? 0
  const meter = createRequestMeter({ metrics, totals: { note: (entry) => void noted.push(entry) }, now }, 'chat')
  const text = () => metrics.render({ active: 0, queued: 0, version: '1', nodeVersion: 'v1' })
  return { meter, noted, samples: () => readExposition(text()).flatMap(({ samples }) => samples) }
}

const model = { provider: 'copilot', id: 'gpt-5-mini' } as const

function route(meter: RequestMeter): void {
  meter.routed(model, 'copilot/chat')
}

test.each([
  [-5, 0],
  [1.5, 2],
  [1e300, 1e9],
  [Number.NaN, 0],
  [Number.POSITIVE_INFINITY, 0],
  [2 ** 60, 1e9],
])('upstream may state %d tokens: %d are counted', (stated, counted) => {
  const { meter, noted, samples } = measure([0])
  route(meter)
  meter.used({ inputTokens: stated, outputTokens: stated, cachedInputTokens: stated })
  meter.end(200)
  expect(noted).toEqual([
    {
      provider: 'copilot',
      model: 'gpt-5-mini',
      failed: false,
      inputTokens: counted,
      outputTokens: counted,
      cachedInputTokens: counted,
    },
  ])
  const values = samples().flatMap(({ name, value }) => (name.endsWith('tokens_total') ? [value] : []))
  expect(values).toEqual([counted, counted, counted])
})

test('a request ends once, and a clock that is set back makes no time negative', () => {
  const { meter, noted, samples } = measure([5000, 4000, 1000])
  route(meter)
  meter.firstByte()
  meter.end(499)
  meter.end(500)
  expect(noted).toMatchObject([{ failed: false }])
  const sums = samples().filter(({ name }) => name.endsWith('_sum'))
  expect(sums.map(({ value }) => value)).toEqual([0, 0])
  expect(meter.facts()).toEqual({ model: 'gpt-5-mini', route: 'copilot/chat', ttfbMs: 0, ms: 0 })
})
