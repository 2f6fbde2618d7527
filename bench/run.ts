import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { eventsPerSecond, stallMs } from './lib/agents.ts'
import { askMany, dialects, hold, load, longChat } from './lib/load.ts'
import type { DialectName } from './lib/load.ts'
import { askProbe, cpuMicros, median, residentBytes, startNode, stop } from './lib/process.ts'
import type { Running } from './lib/process.ts'

// The speed table: copilot-proxy and a raw node:http byte pipe in front of the same simulated Copilot, on loopback,
// in turns. CPU time is the operating system's count for the process, so the load generator does not disturb it.
// Needs Linux (/proc) and a build: `npm run bench` makes one.

const rounds = Number(process.argv[2] ?? 5)
const root = new URL('..', import.meta.url).pathname
const home = mkdtempSync(join(tmpdir(), 'copilot-proxy-bench-'))

interface Target extends Running {
  readonly url: string
}

const upstream = await startNode([join(root, 'bench/upstream.ts')])
const { url, githubToken, copilotToken } = JSON.parse(upstream.firstLine) as Record<string, string>

const probe = ['--import', join(root, 'bench/lib/probe.ts')]

async function startPipe(flags: readonly string[] = []): Promise<Target> {
  const running = await startNode([...flags, join(root, 'bench/pipe.ts'), url ?? ''], {
    BENCH_COPILOT_TOKEN: copilotToken ?? '',
  })
  return { ...running, ...(JSON.parse(running.firstLine) as { url: string }) }
}

async function startProxy(flags: readonly string[] = []): Promise<Target> {
  const running = await startNode([...flags, join(root, 'bin/copilot-proxy.cjs'), 'serve', '--port', '0'], {
    COPILOT_PROXY_HOME: home,
    COPILOT_GITHUB_TOKEN: githubToken ?? '',
    COPILOT_PROXY_COPILOT_OAUTH_GITHUB_BASE_URL: url ?? '',
    COPILOT_PROXY_COPILOT_OAUTH_GITHUB_API_BASE_URL: url ?? '',
    COPILOT_PROXY_SERVER_MAX_CONCURRENT_REQUESTS: '1000',
  })
  return { ...running, url: /http:\S+/.exec(running.firstLine)?.[0] ?? '' }
}

/** CPU time that `target` spends on `work`, divided by `units`. Microseconds. */
async function cpuPer(target: Target, units: number, work: () => Promise<unknown>): Promise<number> {
  const before = cpuMicros(target.pid)
  await work()
  return (cpuMicros(target.pid) - before) / units
}

const short = load('chat', '[demo:frames 3 1]')
const eventCount = 300
const streamPrompt = `[demo:frames ${eventCount} 1][demo:slow 4]`
const history = longChat('[demo:frames 3 1]', 8 * 1024 * 1024)
const historyMegabytes = history.body.length / 1024 / 1024

async function measure(target: Target) {
  const perRequest = await cpuPer(target, 8000, () => askMany(target.url, short, 8000, 8))
  const perMegabyte = await cpuPer(target, 10 * historyMegabytes, () => askMany(target.url, history, 10, 1))
  const firstBytes = await askMany(target.url, short, 300, 1)
  return { perRequest, perMegabyte, firstByteMs: median(firstBytes.map((answer) => answer.firstByteMs)) }
}

/** CPU time of one upstream event on its way to a caller. Microseconds. */
function cpuPerEvent(target: Target, caller: DialectName, behind: DialectName): Promise<number> {
  const what = load(caller, streamPrompt, behind)
  return cpuPer(target, 32 * eventCount, () => askMany(target.url, what, 32, 32))
}

/**
 * Every caller in front of every upstream, beside the pipe, which gives each upstream's stream as it is. What comes first
 * does not count: it is charged with what the work before it has left to collect and to compile.
 */
async function measureEvents() {
  for (const target of [pipe, proxy]) await cpuPerEvent(target, 'chat', 'chat')
  const cells = new Map<string, { readonly pipe: number; readonly proxy: number }>()
  for (const behind of dialects) {
    const base = await cpuPerEvent(pipe, behind, behind)
    for (const caller of dialects) {
      cells.set(`${caller} > ${behind}`, { pipe: base, proxy: await cpuPerEvent(proxy, caller, behind) })
    }
  }
  return cells
}

type DeskFigures = readonly [perSecond: number, stallMs: number]

async function sitDown(target: Target): Promise<DeskFigures> {
  return [await eventsPerSecond(target), await stallMs(target, history)]
}

/** The desk of agents, in processes of their own: the probe in them is not what is measured elsewhere. */
async function measureAgents() {
  const [pipe, proxy] = [await startPipe(probe), await startProxy(probe)]
  for (const target of [pipe, proxy]) for (let i = 0; i < 3; i++) await stallMs(target, history)
  const seen: { pipe: DeskFigures; proxy: DeskFigures }[] = []
  for (let round = 0; round < rounds; round++) seen.push({ pipe: await sitDown(pipe), proxy: await sitDown(proxy) })
  await Promise.all([stop(pipe), stop(proxy)])
  return seen
}

async function startSeconds(): Promise<number> {
  const startedAt = performance.now()
  const proxy = await startProxy()
  const answer = await fetch(`${proxy.url}/healthz`)
  const seconds = (performance.now() - startedAt) / 1000
  // Ended as a user ends it, so that the compiled code is kept for the next start.
  await stop(proxy, 'SIGTERM')
  if (!answer.ok) throw new Error(`/healthz answered ${answer.status}`)
  return seconds
}

async function idleBytes(): Promise<number> {
  const proxy = await startProxy()
  await sleep(1500)
  const idle = residentBytes(proxy.pid)
  await stop(proxy)
  return idle
}

const heldStreams = 300

/** What one more stream keeps in memory while its model thinks; garbage of its beginning does not count. */
async function heldBytes(target: Target): Promise<number> {
  await askMany(target.url, short, 300, 8)
  await askProbe(target, 'collect')
  const before = residentBytes(target.pid)
  const release = await hold(target.url, load('chat', '[demo:frames 3 1][demo:slow 60000]'), heldStreams)
  await sleep(500)
  await askProbe(target, 'collect')
  const held = residentBytes(target.pid)
  release()
  await stop(target)
  return (held - before) / heldStreams
}

const pipe = await startPipe()
const proxy = await startProxy()
/**
 * Rounds that do not count: a daemon runs for days, and what counts is what it costs once its code is compiled. V8 goes on
 * compiling, on other threads, until the different kinds of work have come in turns for some 40,000 requests.
 */
const warmUps = 3
const events: Awaited<ReturnType<typeof measureEvents>>[] = []
const seen: { pipe: Awaited<ReturnType<typeof measure>>; proxy: Awaited<ReturnType<typeof measure>> }[] = []
for (let round = 1 - warmUps; round <= rounds; round++) {
  const figures = { pipe: await measure(pipe), proxy: await measure(proxy) }
  const cells = await measureEvents()
  if (round < 1) continue
  seen.push(figures)
  events.push(cells)
  process.stderr.write(`round ${round} of ${rounds}\n`)
}
await Promise.all([stop(pipe), stop(proxy)])
const starts: number[] = []
await startSeconds()
for (let i = 0; i < rounds; i++) starts.push(await startSeconds())
const idle = await idleBytes()
const held = { pipe: await heldBytes(await startPipe(probe)), proxy: await heldBytes(await startProxy(probe)) }
const desk = await measureAgents()
await stop(upstream)
rmSync(home, { recursive: true, force: true })

type Figure = keyof (typeof seen)[number]['pipe']
const of = (side: 'pipe' | 'proxy', figure: Figure) => median(seen.map((round) => round[side][figure]))
const ratioRow = (label: string, figure: Figure, unit: string, budget: string) => {
  const [base, ours] = [of('pipe', figure), of('proxy', figure)]
  return [label, `${base.toFixed(1)} ${unit}`, `${ours.toFixed(1)} ${unit}`, `${(ours / base).toFixed(2)} ×`, budget]
}
/** The median over rounds of the ratio within a round: the machine's mood touches both sides of it. */
const eventRow = (pair: string) => {
  const cells = events.flatMap((round) => round.get(pair) ?? [])
  const [base, ours] = [median(cells.map((cell) => cell.pipe)), median(cells.map((cell) => cell.proxy))]
  const ratio = median(cells.map((cell) => cell.proxy / cell.pipe))
  const [caller, behind] = pair.split(' > ')
  return [
    `CPU per streamed event, ${pair}`,
    `${base.toFixed(1)} µs`,
    `${ours.toFixed(1)} µs`,
    `${ratio.toFixed(2)} ×`,
    caller === behind ? '≤ 1.3 ×' : '≤ 2.5 ×',
  ]
}
const deskRow = (label: string, figure: 0 | 1, unit: string) => {
  const [base, ours] = (['pipe', 'proxy'] as const).map((side) => median(desk.map((round) => round[side][figure])))
  return [label, `${base?.toFixed(0)}${unit}`, `${ours?.toFixed(0)}${unit}`, '', '']
}
const rows = [
  ['figure', 'pipe', 'copilot-proxy', 'result', 'budget'],
  ['---', '---', '---', '---', '---'],
  ratioRow('CPU per request, one short answer', 'perRequest', 'µs', '≤ 1.5 ×'),
  [
    'time to first byte, median',
    `${of('pipe', 'firstByteMs').toFixed(2)} ms`,
    `${of('proxy', 'firstByteMs').toFixed(2)} ms`,
    `+ ${(of('proxy', 'firstByteMs') - of('pipe', 'firstByteMs')).toFixed(2)} ms`,
    '≤ + 0.3 ms',
  ],
  ratioRow('CPU per MB of request body (8 MB of history)', 'perMegabyte', 'µs', '≤ 4 ×'),
  ...[...(events[0]?.keys() ?? [])].map(eventRow),
  deskRow('events per second, 16 agents', 0, ''),
  deskRow('longest stall of the event loop, 16 agents streaming, 8 MB arriving', 1, ' ms'),
  ['memory idle', '', `${(idle / 1e6).toFixed(0)} MB`, '', '≤ 90 MB'],
  [
    'memory per held stream, collected',
    `${(held.pipe / 1e3).toFixed(0)} KB`,
    `${(held.proxy / 1e3).toFixed(0)} KB`,
    '',
    '≤ 60 KB',
  ],
  ['start to /healthz', '', `${(median(starts) * 1000).toFixed(0)} ms`, '', '≤ 300 ms'],
]
process.stdout.write(`${rows.map((row) => `| ${row.join(' | ')} |`).join('\n')}\n`)
