import { setTimeout as sleep } from 'node:timers/promises'
import { askAndJudge, closeIdle, dialects, exchange, modelOf } from '../lib/client.ts'
import type { Call, ReadHow, Verdict } from '../lib/client.ts'
import type { Job } from '../lib/jobs.ts'
import { quietPlan, stampOf } from '../lib/plan.ts'
import type { PlannedFault } from '../lib/plan.ts'
import type { Delays, LoadReport } from '../lib/reports.ts'
import { pick, seededRandom } from '../lib/seeded.ts'

// The load generator, in a process of its own so that its memory and processor time are not the daemon's.

type JobOf<Kind extends Job['kind']> = Extract<Job, { readonly kind: Kind }>

/** Counts what happened. */
function createTally() {
  const counts = { exact: 0, faulted: 0, left: 0, wrong: 0 }
  const wrongs: string[] = []
  let asked = 0
  let open = 0
  let mostOpen = 0
  return {
    async count(work: Promise<Verdict>): Promise<void> {
      asked += 1
      open += 1
      mostOpen = Math.max(mostOpen, open)
      const verdict = await work.catch((error: unknown): Verdict => ({ kind: 'wrong', why: String(error) }))
      open -= 1
      counts[verdict.kind] += 1
      if (verdict.kind === 'wrong' && wrongs.length < 20) wrongs.push(verdict.why)
    },
    open: () => open,
    report: (): LoadReport => ({ ...counts, asked, wrongs, mostOpen }),
  }
}

function anyCall(random: () => number, seed: number): Call {
  return {
    caller: pick(random, dialects),
    upstream: pick(random, dialects),
    stream: random() < 0.8,
    plan: { ...quietPlan, seed, call: random() < 0.3 },
  }
}

const resets: readonly [PlannedFault, ...PlannedFault[]] = ['reset-first', 'reset-mid']
const everyFault: readonly [PlannedFault, ...PlannedFault[]] = [
  'reset-first',
  'reset-mid',
  'cut-mid',
  'error-mid',
  'status-500',
]

/** Workers that keep a number of streams open until the time is over. */
async function mixed({ url, seed, durationMs, steady, slow, leaving, gapMs }: JobOf<'mixed'>) {
  const tally = createTally()
  const endsAt = performance.now() + durationMs
  let next = seed * 1_000_000

  async function worker(kind: 'steady' | 'slow' | 'leaving', nth: number): Promise<void> {
    const random = seededRandom(seed + nth)
    // Not all at the same moment.
    await sleep(random() * 1000)
    while (performance.now() < endsAt) {
      next += 1
      const call = anyCall(random, next)
      const plan = { ...call.plan, gapMs, events: 12 + Math.floor(random() * 24), size: 40 }
      const how: ReadHow = {}
      if (kind === 'slow') {
        Object.assign(plan, { gapMs: 0, events: 40, size: 20_000 })
        Object.assign(how, { pauseMs: 200 })
      }
      if (kind === 'leaving') Object.assign(how, { leaveAfterMs: random() * 3000 })
      // Upstream resets one connection in fifty.
      if (random() < 0.02) Object.assign(plan, { fault: pick(random, resets) })
      else if (kind === 'leaving' && random() < 0.1) Object.assign(plan, { fault: 'silent' })
      await tally.count(askAndJudge(url, { ...call, stream: kind === 'slow' || call.stream, plan }, how))
    }
  }

  const kinds = [
    ...Array.from({ length: steady }, () => 'steady' as const),
    ...Array.from({ length: slow }, () => 'slow' as const),
    ...Array.from({ length: leaving }, () => 'leaving' as const),
  ]
  await Promise.all(kinds.map(worker))
  return tally.report()
}

/** Streams that the client leaves: before the headers, as they come, in the middle. */
async function aborts({ url, seed, count, parallel }: JobOf<'aborts'>) {
  const tally = createTally()
  const random = seededRandom(seed)
  let left = count
  async function worker(): Promise<void> {
    while (left > 0) {
      left -= 1
      const call = { ...anyCall(random, seed + left), stream: true }
      const plan = { ...call.plan, events: 1000, gapMs: 20, fault: left % 3 === 0 ? 'silent' : 'none' } as const
      await tally.count(askAndJudge(url, { ...call, plan }, { leaveAfterMs: random() * (left % 3 === 1 ? 5 : 120) }))
    }
  }
  await Promise.all(Array.from({ length: parallel }, worker))
  return tally.report()
}

/** Calls of every kind, one after the other on each of some connections, with faults at random. */
async function calls({ url, seed, count, parallel }: JobOf<'calls'>) {
  const tally = createTally()
  const random = seededRandom(seed)
  let left = count
  async function worker(): Promise<void> {
    while (left > 0) {
      left -= 1
      await tally.count(random() < 0.25 ? small(url, random) : large(url, random, seed + left))
    }
  }
  await Promise.all(Array.from({ length: parallel }, worker))
  return tally.report()
}

function large(url: string, random: () => number, seed: number): Promise<Verdict> {
  const call = anyCall(random, seed)
  const fault = random() < 0.1 ? pick(random, everyFault) : 'none'
  const size = random() < 0.02 ? 100_000 : 40
  const plan = { ...call.plan, events: 4 + Math.floor(random() * 12), size, fault }
  const how = random() < 0.03 ? { leaveAfterMs: random() * 10 } : {}
  return askAndJudge(url, { ...call, plan }, how)
}

/** Requests that are answered without a stream, and what their answers must be. */
const smallCalls: readonly [SmallCall, ...SmallCall[]] = [
  { path: '/healthz', status: 200, holds: '"ok":true' },
  { path: '/v1/models', status: 200, holds: '"gpt-5-mini"' },
  { path: '/v1/nowhere', status: 404, holds: 'error' },
  { path: '/v1/chat/completions', body: '{"model":', status: 400, holds: 'error' },
  { path: '/v1/messages', body: '{"model":"x"}', status: 400, holds: '"type":"error"' },
  { path: '/v1/responses', body: '{"model":"gpt-nobody","input":"x"}', status: 404, holds: 'error' },
  {
    path: '/v1/embeddings',
    body: '{"model":"text-embedding-3-small","input":"x"}',
    status: 200,
    holds: '"embedding":[0.5,-1,',
  },
  {
    path: '/v1/messages/count_tokens',
    body: JSON.stringify({ model: modelOf.messages, messages: [{ role: 'user', content: 'x' }] }),
    status: 200,
    holds: 'input_tokens',
  },
  { path: '/v1/chat/completions', body: '[1]', status: 415, holds: 'error', type: 'text/plain' },
]

interface SmallCall {
  readonly path: string
  readonly body?: string
  readonly type?: string
  readonly status: number
  readonly holds: string
}

async function small(url: string, random: () => number): Promise<Verdict> {
  const { path, body, type, status, holds } = pick(random, smallCalls)
  const method = body === undefined ? 'GET' : 'POST'
  const answer = await exchange(url + path, {
    method,
    ...(body !== undefined && { body }),
    ...(type !== undefined && { headers: { 'content-type': type } }),
  })
  if (answer.status === status && answer.text.includes(holds)) return { kind: 'exact' }
  return { kind: 'wrong', why: `${method} ${path} answered ${answer.status}: ${answer.text.slice(0, 200)}` }
}

/** Streams that run until upstream ends them. Says so when each has had its first bytes. */
async function hold({ url, seed, plans }: JobOf<'hold'>) {
  const tally = createTally()
  const random = seededRandom(seed)
  let begun = 0
  const work = plans.map((plan, nth) => {
    const caller = dialects[nth % 3] ?? 'chat'
    const call = { ...anyCall(random, seed + nth), caller, stream: true }
    let isFirst = true
    return tally.count(
      askAndJudge(
        url,
        { ...call, plan: { ...call.plan, ...plan } },
        {
          onChunk() {
            if (!isFirst) return
            isFirst = false
            begun += 1
            if (begun === plans.length) process.send?.({ begun })
          },
        },
      ),
    )
  })
  await Promise.all(work)
  return tally.report()
}

/** From upstream's write to now. Ms; undefined for a chunk without a stamp. */
function delayOf(chunk: Uint8Array): number | undefined {
  const now = process.hrtime.bigint()
  const stamp = stampOf(Buffer.from(chunk).toString('latin1'))
  return stamp === undefined ? undefined : Number(now - stamp) / 1e6
}

function delaysOf(values: readonly number[]): Delays {
  const sorted = values.toSorted((a, b) => a - b)
  const of = (part: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0
  return { count: sorted.length, p50: of(0.5), p99: of(0.99), most: of(1) }
}

/** Streams through several targets at the same moment; how late their events come. */
async function latency({ seed, targets, durationMs, gapMs }: JobOf<'latency'>) {
  const tally = createTally()
  const perTarget = await Promise.all(
    targets.map(async ({ url, streams, anyDialect }) => {
      const found: number[] = []
      const random = seededRandom(seed)
      await Promise.all(
        Array.from({ length: streams }, async (_, nth) => {
          // Spread over the pause between two events, as strangers' streams are.
          await sleep(random() * gapMs)
          const upstream = pick(random, dialects)
          const caller = anyDialect ? pick(random, dialects) : upstream
          const plan = { ...quietPlan, seed: seed + nth, stamped: true, gapMs, events: Math.floor(durationMs / gapMs) }
          const how: ReadHow = {
            onChunk(chunk) {
              const delay = delayOf(chunk)
              if (delay !== undefined) found.push(delay)
            },
          }
          await tally.count(askAndJudge(url, { caller, upstream, stream: true, plan }, how))
        }),
      )
      return delaysOf(found)
    }),
  )
  return { report: tally.report(), delays: perTarget }
}

function run(job: Job): Promise<unknown> {
  switch (job.kind) {
    case 'mixed':
      return mixed(job)
    case 'aborts':
      return aborts(job)
    case 'calls':
      return calls(job)
    case 'hold':
      return hold(job)
    case 'latency':
      return latency(job)
    case 'idle':
      closeIdle()
      return Promise.resolve()
  }
}

process.on('message', (message: { readonly id: number } & Job) => {
  void run(message).then((value) => process.send?.({ id: message.id, value }))
})
process.send?.({ ready: true })
