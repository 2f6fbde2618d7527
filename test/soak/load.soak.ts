import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { residentBytes, startNode, stop } from '../../bench/lib/process.ts'
import type { Job } from './lib/jobs.ts'
import { openStage } from './lib/processes.ts'
import type { Stage } from './lib/processes.ts'
import { faults } from './lib/plan.ts'
import type { Delays, Footprint, LoadReport, UpstreamStats } from './lib/reports.ts'

// Real processes on loopback: the daemon, a simulated Copilot that injects faults, and a load generator that knows every
// byte it has to get. Bounds are counts and ratios, so that a slow machine takes longer and fails nothing.

/** A run of this share of the full size, for trying things out. */
const scale = Number(process.env['SOAK_SCALE'] ?? 1)
const seed = Number(process.env['SOAK_SEED'] ?? 1)
const scaled = (full: number): number => Math.max(1, Math.round(full * scale))

async function stageFor(settings?: Readonly<Record<string, string>>): Promise<Stage> {
  const stage = await openStage(settings)
  onTestFinished(() => stage.close())
  return stage
}

// The load generator answers each job with its report.
async function load(stage: Stage, job: Job): Promise<LoadReport> {
  return (await stage.load.ask(job)) as LoadReport
}

const percent = (share: number): string => `${(share * 100).toFixed(2)} %`
const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(0)} MB`

function describeFootprint({ rssBytes, heapBytes, externalBytes, fds }: Footprint): string {
  return `RSS ${megabytes(rssBytes)}, heap ${megabytes(heapBytes)}, buffers ${megabytes(externalBytes)}, fds ${fds}`
}

function figures(title: string, ...lines: readonly string[]): void {
  process.stdout.write(
    `\n[soak] ${title} (seed ${seed}, scale ${scale})\n${lines.map((line) => `  ${line}\n`).join('')}`,
  )
}

function describeLoad({ asked, exact, faulted, left, wrong, mostOpen }: LoadReport): string {
  return `${asked} requests, ${mostOpen} open at most: ${exact} byte-exact, ${faulted} ended by a fault, ${left} left, ${wrong} wrong`
}

function describeDelays({ count, p50, p99, most }: Delays): string {
  return `${count} events, p50 ${p50.toFixed(2)}, p99 ${p99.toFixed(2)}, most ${most.toFixed(1)} ms`
}

function injectedSince(start: UpstreamStats, end: UpstreamStats): string {
  return faults
    .map((fault) => [fault, (end.injected[fault] ?? 0) - (start.injected[fault] ?? 0)] as const)
    .filter(([, count]) => count > 0)
    .map(([fault, count]) => `${count} × ${fault}`)
    .join(', ')
}

const socketsOf = ({ resources }: Footprint): number => resources['TCPSocketWrap'] ?? 0

/** The footprint once nothing of the load is open any more; waits for sockets to close, a minute at most. */
async function settled(stage: Stage, sockets: number): Promise<Footprint> {
  await stage.load.ask({ kind: 'idle' } satisfies Job)
  await stage.upstream('drop')
  for (let tries = 0; ; tries += 1) {
    const found = await stage.footprint()
    if (socketsOf(found) <= sockets || tries === 120) return found
    await sleep(500)
  }
}

/** Once nothing is asked, the daemon gives memory back by itself, which takes it half a minute; waits for two at most. */
async function givenBack(stage: Stage, sockets: number, rssBytes: number): Promise<Footprint> {
  await settled(stage, sockets)
  for (let tries = 0; tries < 120 && (await stage.rss()) > rssBytes; tries += 1) await sleep(1000)
  return stage.footprint()
}

/** The daemon begins to give memory back ten seconds after the last request, and is done within forty more. */
const shrinkMs = 55_000

/** The footprint of a daemon that nobody has asked anything for a while: at the start and at the end the same state. */
async function rested(stage: Stage, sockets: number): Promise<Footprint> {
  await settled(stage, sockets)
  await sleep(shrinkMs)
  return stage.footprint()
}

/** What every scenario asserts of the daemon: alive, serving, and nothing secret or inner in what it wrote. */
async function expectUnharmed(stage: Stage): Promise<void> {
  expect(stage.daemon.child.exitCode).toBeNull()
  const models = await fetch(`${stage.url}/v1/models`)
  expect(models.status).toBe(200)
  expectQuiet(stage)
}

function expectQuiet({ daemon, secrets }: Stage): void {
  const output = daemon.output()
  for (const secret of secrets) expect(output).not.toContain(secret)
  expect(output).not.toMatch(/MaxListenersExceeded|internal error|\n {4}at /)
}

/** Compiles the code, fills the pools: what a daemon that has run for a while looks like. */
async function warmUp(stage: Stage): Promise<Footprint> {
  await load(stage, { kind: 'calls', url: stage.url, seed: seed + 900_000, count: scaled(3000), parallel: 50 })
  await load(stage, { kind: 'aborts', url: stage.url, seed: seed + 800_000, count: scaled(500), parallel: 100 })
  while (!stage.hasTotals()) await sleep(500)
  return settled(stage, 0)
}

/** Lets every token die now and then for as long as the load goes on. */
async function whileTokensExpire(
  stage: Stage,
  working: Promise<LoadReport>,
): Promise<{ readonly report: LoadReport; readonly mostRss: number }> {
  let mostRss = 0
  const over = new AbortController()
  const watching = (async () => {
    // A token that was replaced less than five seconds ago is not replaced again, so they die more slowly than that.
    for (let tick = 1; !over.signal.aborted; tick += 1) {
      await sleep(1000)
      mostRss = Math.max(mostRss, await stage.rss())
      if (tick % 7 === 0) await stage.upstream('expire')
    }
  })()
  const report = await working
  over.abort()
  await watching
  return { report, mostRss }
}

test('P19 P25 1,000 concurrent streams with slow readers, disconnecting clients, expiring tokens and resets are answered exactly and leak nothing', async () => {
  const durationMs = 60_000 * Math.min(1, Math.max(0.15, scale))
  const stage = await stageFor({
    SOAK_REFRESH_SECONDS: '20',
    COPILOT_PROXY_COPILOT_REFRESH_SAFETY_MARGIN_SECONDS: '5',
  })
  const crowd = (jobSeed: number, jobMs: number): Job => ({
    kind: 'mixed',
    url: stage.url,
    seed: jobSeed,
    durationMs: jobMs,
    gapMs: 250,
    steady: scaled(700),
    slow: scaled(200),
    leaving: scaled(100),
  })
  await warmUp(stage)
  const before = await rested(stage, 0)
  const first = await load(stage, crowd(seed + 700_000, durationMs / 6))
  const { rssBytes } = await rested(stage, socketsOf(before))
  const start = await stage.upstream('stats')

  let mostRss = 0
  const reports: LoadReport[] = []
  const footprints: Footprint[] = []
  for (let pass = 0; pass < 3; pass += 1) {
    const job = crowd(seed + pass * 1000, pass === 0 ? durationMs : durationMs / 3)
    const watched = await whileTokensExpire(stage, load(stage, job))
    reports.push(watched.report)
    mostRss = Math.max(mostRss, watched.mostRss)
    footprints.push(await rested(stage, socketsOf(before)))
  }
  const end = await stage.upstream('stats')

  figures(
    `mixed load for ${durationMs / 1000} s, and twice for a third of that`,
    ...reports.map(describeLoad),
    `upstream: ${injectedSince(start, end)} injected, held back ${end.heldBack - start.heldBack} times, ${end.refusedTokens} expired tokens refused, ${end.exchanges - start.exchanges} exchanges`,
    `before: ${describeFootprint(before)}; RSS after a first crowd ${megabytes(rssBytes)}, most ${megabytes(mostRss)}`,
    ...footprints.map((after) => `after: ${describeFootprint(after)}`),
    ...reports.flatMap(({ wrongs }) => wrongs),
  )
  expect(first.wrongs).toEqual([])
  for (const { wrongs, mostOpen, faulted } of reports) {
    expect(wrongs).toEqual([])
    expect(mostOpen).toBeGreaterThanOrEqual(scaled(1000) * 0.9)
    expect(faulted).toBeGreaterThan(0)
  }
  expect(end.refusedTokens).toBeGreaterThan(0)
  expect(end.openStreams).toBe(0)
  for (const after of footprints) {
    expect(socketsOf(after)).toBeLessThanOrEqual(socketsOf(before))
    expect(after.fds).toBeLessThanOrEqual(before.fds)
    expect(after.heapBytes).toBeLessThan(before.heapBytes * 1.25)
    expect(after.externalBytes).toBeLessThan(before.externalBytes * 1.25 + 1e6)
    // V8 keeps a pool of pages, and the allocator what it cannot give back in whole pages. It is not more after every load.
    expect(after.rssBytes).toBeLessThan((footprints[0]?.rssBytes ?? 0) * 1.1)
  }
  await expectUnharmed(stage)
})

test('E26 500 concurrent streams for a minute come without errors and hardly later than through a raw pipe', async () => {
  const durationMs = 60_000 * Math.min(1, Math.max(0.1, scale))
  const stage = await stageFor()
  const before = await warmUp(stage)
  const pipe = await startNode([new URL('../../bench/pipe.ts', import.meta.url).pathname, stage.upstreamUrl], {
    BENCH_COPILOT_TOKEN: stage.pipeToken,
  })
  onTestFinished(() => stop(pipe))
  const { url: pipeUrl } = JSON.parse(pipe.firstLine) as { url: string }

  // The load generator answers this job with both.
  const { report, delays } = (await stage.load.ask({
    kind: 'latency',
    seed,
    durationMs,
    gapMs: 250,
    targets: [
      { url: stage.url, streams: scaled(500), anyDialect: true },
      { url: pipeUrl, streams: scaled(100), anyDialect: false },
    ],
  } satisfies Job)) as { report: LoadReport; delays: [Delays, Delays] }
  const [proxied, piped] = delays
  const loaded = await stage.rss()
  const pipeRss = residentBytes(pipe.pid)
  const mostKept = before.rssBytes * 1.1
  const after = await givenBack(stage, socketsOf(before), mostKept)

  figures(
    `E26 ${scaled(500)} streams for ${durationMs / 1000} s`,
    describeLoad(report),
    `through copilot-proxy: ${describeDelays(proxied)}`,
    `through a raw pipe:    ${describeDelays(piped)}`,
    `added: p50 ${(proxied.p50 - piped.p50).toFixed(2)} ms, p99 ${(proxied.p99 - piped.p99).toFixed(2)} ms`,
    `before: ${describeFootprint(before)}; loaded RSS ${megabytes(loaded)} (pipe ${megabytes(pipeRss)}); after: ${describeFootprint(after)}`,
    ...report.wrongs,
  )
  expect(report.wrongs).toEqual([])
  expect(proxied.count).toBeGreaterThan(scaled(500) * 10)
  // Both shared every stall of the machine; the floor keeps a pipe that is at rest from making a law of a millisecond.
  expect(proxied.p99).toBeLessThan(4 * Math.max(piped.p99, 25))
  expect(after.rssBytes).toBeLessThan(mostKept)
  expect(after.fds).toBeLessThanOrEqual(before.fds)
  await expectUnharmed(stage)
})

test.each([
  { title: 'E27 20,000 streams that their clients leave are forgotten', kind: 'aborts', parallel: 200 },
  {
    title: 'F12 20,000 mixed calls with faults at random give no wrong answer and no growth',
    kind: 'calls',
    parallel: 32,
  },
] as const)('$title', async ({ title, kind, parallel }) => {
  const stage = await stageFor()
  await warmUp(stage)
  const rounds = 20
  const perRound = scaled(1000)
  const reports: LoadReport[] = []
  const samples: Footprint[] = []
  for (let round = 0; round < rounds; round += 1) {
    reports.push(await load(stage, { kind, url: stage.url, seed: seed + round * 100_000, count: perRound, parallel }))
    samples.push(await settled(stage, 0))
  }
  const sum = (of: (report: LoadReport) => number): number => reports.reduce((all, one) => all + of(one), 0)
  const [asked, left] = [sum((report) => report.asked), sum((report) => report.left)]
  const wrongs = reports.flatMap((report) => report.wrongs)
  // The first quarter still warms up.
  const measured = samples.slice(rounds / 4)
  const growth = (of: (sample: Footprint) => number): number => slope(measured.map(of)) / (perRound / 1000)
  const rss = growth(({ rssBytes }) => rssBytes)
  const heap = growth(({ heapBytes }) => heapBytes)
  const fds = growth((sample) => sample.fds)

  figures(
    title,
    `${asked} asked, ${sum((report) => report.faulted)} ended by a fault of upstream's, ${left} left, ${wrongs.length} wrong`,
    `growth per 1,000: RSS ${percent(rss)}, heap ${percent(heap)}, fds ${percent(fds)}`,
    `RSS after each round: ${samples.map(({ rssBytes }) => megabytes(rssBytes)).join(', ')}`,
    ...wrongs,
  )
  expect(wrongs).toEqual([])
  if (kind === 'aborts') expect(left).toBe(asked)
  expect((await stage.upstream('stats')).openStreams).toBe(0)
  expect(rss).toBeLessThan(0.01)
  expect(heap).toBeLessThan(0.01)
  expect(fds).toBeLessThan(0.01)
  await expectUnharmed(stage)
})

/** Of the line through the values (least squares), as a share of the first value of that line. */
function slope(values: readonly number[]): number {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length
  const middle = (values.length - 1) / 2
  let above = 0
  let below = 0
  for (const [at, value] of values.entries()) {
    above += (at - middle) * (value - mean)
    below += (at - middle) ** 2
  }
  const perStep = above / below
  return perStep / (mean - perStep * middle)
}

test('F01 SIGTERM under load lets streams finish in the grace period and ends the others with their error event', async () => {
  const graceSeconds = 4
  const stage = await stageFor({ COPILOT_PROXY_SERVER_SHUTDOWN_GRACE_SECONDS: String(graceSeconds) })
  const count = scaled(300)
  // Half of them have a second left to say, half a minute.
  const plans = Array.from({ length: count }, (_, nth) =>
    nth % 2 === 0
      ? { gapMs: 100, events: 15, size: 40 }
      : { gapMs: 100, events: 600, size: 40, fault: 'cut-mid' as const },
  )
  const begun = new Promise<void>((resolve) => {
    stage.load.child.on('message', (message: { readonly begun?: number }) => {
      if (message.begun === count) resolve()
    })
  })
  const working = load(stage, { kind: 'hold', url: stage.url, seed, plans })
  await Promise.race([begun, once(stage.daemon.child, 'exit')])
  stage.daemon.child.kill('SIGTERM')
  const report = await working
  const { code } = await stage.daemon.ended

  figures(
    `SIGTERM with ${count} streams, grace ${graceSeconds} s`,
    `${report.exact} finished, ${report.faulted} ended with an error event, ${report.wrong} otherwise; exit code ${code}`,
    ...report.wrongs,
  )
  expect(report.wrongs).toEqual([])
  expect(report.exact).toBe(Math.ceil(count / 2))
  expect(report.faulted).toBe(Math.floor(count / 2))
  expect(code).toBe(0)
  expectQuiet(stage)
})
