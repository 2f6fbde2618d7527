import { expect, test } from 'vitest'
import { Fault } from '../../src/errors.ts'
import { creditsHeader } from '../../src/http/serve.ts'
import { createMetrics } from '../../src/usage/metrics.ts'
import { createRequestMeter } from '../../src/pipeline/request-meter.ts'
import type { RequestMeter } from '../../src/pipeline/request-meter.ts'
import type { UsageEntry } from '../../src/usage/tally.ts'
import { readExposition } from '../http/read-exposition.ts'

function measure(times: readonly number[]) {
  const clock = [...times]
  const noted: UsageEntry[] = []
  const metrics = createMetrics()
  const now = (): number => clock.shift() ?? times.at(-1) ?? 0
  const lines: Readonly<Record<string, unknown>>[] = []
  const log = (fields: string | Readonly<Record<string, unknown>>) => {
    if (typeof fields !== 'string') lines.push(fields)
  }
  const totals = { note: (entry: UsageEntry) => void noted.push(entry) }
  const meter = createRequestMeter(
    { metrics, totals, requests: { note: () => {} }, log: { info: log, warn: log, error: log }, now },
    { id: 'request-1', kind: 'chat', key: { name: 'work', id: 'a1' } },
  )
  const text = () => metrics.render({ withKeys: true, active: 0, queued: 0, version: '1', nodeVersion: 'v1' })
  return {
    meter,
    noted,
    line: () => lines.at(-1),
    samples: () => readExposition(text()).flatMap(({ samples }) => samples),
  }
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
  meter.used({ inputTokens: stated, outputTokens: stated, cachedInputTokens: stated, cacheWriteTokens: stated })
  meter.finish('answered')
  expect(noted).toEqual([
    {
      provider: 'copilot',
      model: 'gpt-5-mini',
      key: 'work',
      keyId: 'a1',
      client: '',
      session: '',
      failed: false,
      inputTokens: counted,
      outputTokens: counted,
      cachedInputTokens: counted,
      cacheWriteTokens: counted,
      premiumRequests: null,
      measuredNanoAiu: null,
      estimatedNanoAiu: null,
    },
  ])
  const values = samples().flatMap(({ name, value }) => (name.endsWith('tokens_total') ? [value] : []))
  // Four by model, and input and output by key.
  expect(values).toEqual(Array.from({ length: 6 }, () => counted))
})

test('a request ends once, and a clock that is set back makes no time negative', () => {
  const { meter, noted, samples, line } = measure([5000, 4000, 1000])
  route(meter)
  meter.firstByte()
  meter.finish('left')
  meter.finish(new Fault({ kind: 'internal' }))
  expect(noted).toMatchObject([{ failed: false }])
  const sums = samples().filter(({ name }) => name.endsWith('_sum'))
  expect(sums.map(({ value }) => value)).toEqual([0, 0])
  expect(line()).toMatchObject({ model: 'gpt-5-mini', route: 'copilot/chat', status: 499, ttfbMs: 0, ms: 0 })
})

const usage = { inputTokens: 100, outputTokens: 10, cachedInputTokens: 60 }
const prices = { default: { input: 300, output: 1500, cacheRead: 30 } }

test.each([
  ['stated by upstream', { ...usage, nanoAiu: 1_500_000_000 }, prices, '1.5', { credits: 1.5 }],
  ['estimated from prices', usage, prices, '0.0288;estimated', { credits: 0.0288, estimated: true }],
  ['of the smallest amount', { ...usage, nanoAiu: 1 }, prices, '0.000000001', { credits: 1e-9 }],
  ['of nothing', { ...usage, nanoAiu: 0 }, prices, '0', { credits: 0 }],
  ['of 100', { ...usage, nanoAiu: 1e11 }, prices, '100', { credits: 100 }],
  ['beyond all measure', { ...usage, nanoAiu: 1e300 }, prices, '1000000', { credits: 1e6 }],
  ['that make no sense', { ...usage, nanoAiu: Number.NaN }, prices, '0', { credits: 0 }],
  ['that nobody knows', usage, undefined, undefined, { credits: undefined, estimated: undefined }],
])('credits %s are in header, log, metrics and totals', (_what, used, of, header, facts) => {
  const { meter, noted, samples, line } = measure([0])
  meter.routed({ ...model, prices: of }, 'copilot/chat')
  meter.used(used)
  meter.finish('answered')
  expect(creditsHeader(meter)).toEqual(header === undefined ? {} : { 'x-copilot-proxy-credits': header })
  expect(line()).toMatchObject(facts)
  const counted = samples().filter(({ name }) => name === 'copilot_proxy_credits_total')
  const kind = line()?.['estimated'] === true ? 'estimated' : 'measured'
  expect(counted.map(({ labels, value }) => [labels['kind'], value])).toEqual(
    facts.credits === undefined ? [] : [[kind, facts.credits]],
  )
  const nanoAiu = facts.credits === undefined ? null : expect.closeTo(facts.credits * 1e9, 3)
  expect(noted).toEqual([
    expect.objectContaining({
      measuredNanoAiu: kind === 'measured' ? nanoAiu : null,
      estimatedNanoAiu: kind === 'estimated' ? nanoAiu : null,
    }),
  ])
})

test.each([
  ['user', 3, 3],
  ['agent', 3, 0],
  ['user', 0, 0],
  ['user', undefined, null],
  [undefined, 3, null],
] as const)('a request of %s to a model of multiplier %s is %s premium requests', (initiator, multiplier, expected) => {
  const { meter, noted, samples } = measure([0])
  meter.routed({ ...model, premiumMultiplier: multiplier }, 'copilot/chat')
  if (initiator !== undefined) meter.accepted(initiator)
  meter.finish(initiator === undefined ? new Fault({ kind: 'queue_full', retryAfterSeconds: 1 }) : 'answered')
  expect(noted).toMatchObject([{ premiumRequests: expected }])
  const counted = samples().filter(({ name }) => name === 'copilot_proxy_premium_requests_total')
  expect(counted.map(({ value }) => value)).toEqual(expected === null ? [] : [expected])
})

test('the share of the input that came from a cache is a figure of its own, from the first input on', () => {
  const { meter, samples } = measure([0])
  route(meter)
  const hits = () => samples().filter(({ name }) => name === 'copilot_proxy_cache_hit_ratio')
  meter.used({ ...usage, inputTokens: 0 })
  meter.finish('answered')
  expect(hits()).toEqual([])
  const next = measure([0])
  route(next.meter)
  next.meter.used(usage)
  next.meter.finish('answered')
  expect(next.samples()).toContainEqual({
    name: 'copilot_proxy_cache_hit_ratio',
    labels: { provider: 'copilot', model: 'gpt-5-mini' },
    value: 0.6,
  })
})
