import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { eventsPerSecond, stallMs } from './lib/agents.ts'
import { newConnectionRows } from './lib/connections.ts'
import { unstreamed, askMany, dialects, hold, load, longChat, withTools } from './lib/load.ts'
import type { DialectName, Load } from './lib/load.ts'
import { gatewayRows } from './lib/gateway.ts'
import { workspaceRows } from './lib/workspace.ts'
import { askProbe, cpuMicros, median, residentBytes, startNode, stop } from './lib/process.ts'
import type { Running } from './lib/process.ts'

// The speed table: compares copilot-proxy with a raw node:http byte pipe, in turns, in front of the same simulated
// Copilot on loopback. CPU time is the operating system's count for the process and excludes the load generator.
// Needs Linux (/proc) and a build: `npm run bench` makes one. `node bench/run.ts 5 workspace` measures workspaces only,
// `node bench/run.ts 5 connections` new connections, `node bench/run.ts 5 tools` a request with many tools.

const rounds = Number(process.argv[2] ?? 5)
const root = new URL('..', import.meta.url).pathname
const files = mkdtempSync(join(tmpdir(), 'copilot-proxy-bench-'))
/** No workspace may hold the daemon's own files, or lie among them. */
const home = join(files, 'home')

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

async function startProxy(
  flags: readonly string[] = [],
  args: readonly string[] = [],
  settings: Record<string, string> = {},
): Promise<Target> {
  const program = [join(root, 'bin/copilot-proxy.cjs'), 'serve', '--port', '0', ...args]
  const running = await startNode([...flags, ...program], {
    COPILOT_PROXY_HOME: home,
    COPILOT_GITHUB_TOKEN: githubToken ?? '',
    COPILOT_PROXY_COPILOT_OAUTH_GITHUB_BASE_URL: url ?? '',
    COPILOT_PROXY_COPILOT_OAUTH_GITHUB_API_BASE_URL: url ?? '',
    COPILOT_PROXY_SERVER_MAX_CONCURRENT_REQUESTS: '1000',
    COPILOT_PROXY_WORKSPACE_READ_ONLY: 'false',
    ...settings,
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
const unstreamedShort = unstreamed(short)
const eventCount = 300
const streamPrompt = `[demo:frames ${eventCount} 1][demo:slow 4]`
const history = longChat('[demo:frames 3 1]', 8 * 1024 * 1024)
const historyMegabytes = history.body.length / 1024 / 1024

async function measure(target: Target, single: Load) {
  // While the other side is measured, V8 drops compiled code and shrinks the heap.
  const perRequestRested = await cpuPer(target, 8000, () => askMany(target.url, short, 8000, 8))
  const perRequest = await cpuPer(target, 8000, () => askMany(target.url, short, 8000, 8))
  const perSingleRequest = await cpuPer(target, 3000, () => askMany(target.url, single, 3000, 1))
  const perMegabyte = await cpuPer(target, 10 * historyMegabytes, () => askMany(target.url, history, 10, 1))
  const firstBytes = await askMany(target.url, short, 300, 1)
  return {
    perRequest,
    perRequestRested,
    perSingleRequest,
    perMegabyte,
    firstByteMs: median(firstBytes.map((answer) => answer.firstByteMs)),
  }
}

/** CPU time per upstream event that reaches a caller. Microseconds. */
function cpuPerEvent(target: Target, caller: DialectName, upstreamDialect: DialectName): Promise<number> {
  const request = load(caller, streamPrompt, upstreamDialect)
  return cpuPer(target, 32 * eventCount, () => askMany(target.url, request, 32, 32))
}

/**
 * Measures each caller dialect with each upstream dialect, and the pipe with each upstream dialect. The first run does not
 * count, because it includes garbage collection and compilation for earlier work.
 */
async function measureEvents() {
  for (const target of [pipe, proxy]) await cpuPerEvent(target, 'chat', 'chat')
  const cells = new Map<string, { readonly pipe: number; readonly proxy: number }>()
  for (const upstreamDialect of dialects) {
    const base = await cpuPerEvent(pipe, upstreamDialect, upstreamDialect)
    for (const caller of dialects) {
      cells.set(`${caller} > ${upstreamDialect}`, {
        pipe: base,
        proxy: await cpuPerEvent(proxy, caller, upstreamDialect),
      })
    }
  }
  return cells
}

type DeskFigures = readonly [perSecond: number, stallMs: number]

async function measureDesk(target: Target): Promise<DeskFigures> {
  return [await eventsPerSecond(target), await stallMs(target, history)]
}

/** Many agents at once. Uses processes of its own, because the probe in them would disturb other figures. */
async function measureAgents() {
  const [pipe, proxy] = [await startPipe(probe), await startProxy(probe)]
  for (const target of [pipe, proxy]) for (let i = 0; i < 3; i++) await stallMs(target, history)
  const seen: { pipe: DeskFigures; proxy: DeskFigures }[] = []
  for (let round = 0; round < rounds; round++)
    seen.push({ pipe: await measureDesk(pipe), proxy: await measureDesk(proxy) })
  await Promise.all([stop(pipe), stop(proxy)])
  return seen
}

async function startSeconds(): Promise<number> {
  const startedAt = performance.now()
  const proxy = await startProxy()
  const answer = await fetch(`${proxy.url}/healthz`)
  const seconds = (performance.now() - startedAt) / 1000
  // SIGTERM lets the process save its compiled code for the next start.
  await stop(proxy, 'SIGTERM')
  if (!answer.ok) throw new Error(`/healthz answered ${answer.status}`)
  return seconds
}

async function idleBytes(args: readonly string[] = []): Promise<number> {
  const proxy = await startProxy([], args)
  await sleep(1500)
  const idle = residentBytes(proxy.pid)
  await stop(proxy)
  return idle
}

/** CPU time per request, for the first requests of a new process, one at a time. Microseconds. */
async function firstRequests(start: () => Promise<Target>): Promise<number> {
  const target = await start()
  await sleep(1000)
  const micros = await cpuPer(target, 300, () => askMany(target.url, short, 300, 1))
  await stop(target)
  return micros
}

const heldStreams = 300

/** Memory that one more open stream takes, without garbage. Bytes. */
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

const workspaces = {
  rounds,
  files: join(files, 'workspaces'),
  workspacesDir: join(home, 'workspaces'),
  idleBytes,
  start: (workspace: string, settings?: Record<string, string>) =>
    startProxy(probe, ['--workspace', workspace], settings),
  stream: (target: Target) => askMany(target.url, load('chat', '[demo:frames 200 1][demo:slow 4]'), 16, 16),
}
const manyTools = withTools(short)
const toolCost = (target: Target) => cpuPer(target, 200, () => askMany(target.url, manyTools, 200, 1))

/** CPU time for a request with many tools. The first requests do not count: they are slower, because V8 compiles. */
async function toolRows(): Promise<readonly (readonly string[])[]> {
  const [pipe, proxy] = [await startPipe(), await startProxy()]
  for (const target of [pipe, proxy]) for (let i = 0; i < 3; i++) await toolCost(target)
  const costs: { pipe: number; proxy: number }[] = []
  for (let round = 0; round < rounds; round++) costs.push({ pipe: await toolCost(pipe), proxy: await toolCost(proxy) })
  await Promise.all([stop(pipe), stop(proxy)])
  const [base, ours] = (['pipe', 'proxy'] as const).map(
    (side) => `${median(costs.map((each) => each[side])).toFixed(1)} µs`,
  )
  const ratio = median(costs.map((each) => each.proxy / each.pipe))
  return [['CPU per request, 120 tools, 250 KB', base ?? '', ours ?? '', `${ratio.toFixed(2)} ×`, '']]
}

const print = (table: readonly (readonly string[])[]) =>
  process.stdout.write(`${table.map((row) => `| ${row.join(' | ')} |`).join('\n')}\n`)
if (process.argv[3] === 'workspace') {
  print([...(await workspaceRows(workspaces)), ...(await gatewayRows())])
  await stop(upstream)
  rmSync(files, { recursive: true, force: true })
  process.exit(0)
}

if (process.argv[3] === 'tools') {
  print(await toolRows())
  await stop(upstream)
  rmSync(files, { recursive: true, force: true })
  process.exit(0)
}

const newConnections = {
  start: (checkPeer: boolean) => startProxy([], [], { COPILOT_PROXY_SERVER_CHECK_PEER: String(checkPeer) }),
}
if (process.argv[3] === 'connections') {
  print(await newConnectionRows(newConnections))
  await stop(upstream)
  rmSync(files, { recursive: true, force: true })
  process.exit(0)
}

const pipe = await startPipe()
const proxy = await startProxy()
/**
 * Rounds that do not count: a daemon runs for days, so the cost of compiled code matters. V8 keeps compiling on other
 * threads until it has seen some 40,000 requests of all kinds.
 */
const warmUps = 3
const events: Awaited<ReturnType<typeof measureEvents>>[] = []
const seen: { pipe: Awaited<ReturnType<typeof measure>>; proxy: Awaited<ReturnType<typeof measure>> }[] = []
for (let round = 1 - warmUps; round <= rounds; round++) {
  // The pipe can only stream.
  const figures = { pipe: await measure(pipe, short), proxy: await measure(proxy, unstreamedShort) }
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
const fresh: { pipe: number; proxy: number }[] = []
for (let i = 0; i < rounds; i++) {
  fresh.push({ pipe: await firstRequests(startPipe), proxy: await firstRequests(startProxy) })
}
const idle = await idleBytes()
const held: { pipe: number; proxy: number }[] = []
for (let i = 0; i < rounds; i++) {
  held.push({ pipe: await heldBytes(await startPipe(probe)), proxy: await heldBytes(await startProxy(probe)) })
}
const desk = await measureAgents()
const tools = await toolRows()
const companion = await workspaceRows(workspaces)
const gateway = await gatewayRows()
const connections = await newConnectionRows(newConnections)
await stop(upstream)
rmSync(files, { recursive: true, force: true })

type Figure = keyof (typeof seen)[number]['pipe']
const of = (side: 'pipe' | 'proxy', figure: Figure) => median(seen.map((round) => round[side][figure]))
const ratioRow = (label: string, figure: Figure, unit: string, budget: string) => {
  const [base, ours] = [of('pipe', figure), of('proxy', figure)]
  return [label, `${base.toFixed(1)} ${unit}`, `${ours.toFixed(1)} ${unit}`, `${(ours / base).toFixed(2)} ×`, budget]
}
/** The median over rounds of the ratio within a round: a slow machine slows both sides of a round. */
const eventRow = (pair: string) => {
  const cells = events.flatMap((round) => round.get(pair) ?? [])
  const [base, ours] = [median(cells.map((cell) => cell.pipe)), median(cells.map((cell) => cell.proxy))]
  const ratio = median(cells.map((cell) => cell.proxy / cell.pipe))
  const [caller, upstreamDialect] = pair.split(' > ')
  return [
    `CPU per streamed event, ${pair}`,
    `${base.toFixed(1)} µs`,
    `${ours.toFixed(1)} µs`,
    `${ratio.toFixed(2)} ×`,
    caller === upstreamDialect ? '≤ 1.5 ×' : '≤ 2.5 ×',
  ]
}
const deskRow = (label: string, figure: 0 | 1, unit: string) => {
  const [base, ours] = (['pipe', 'proxy'] as const).map((side) => median(desk.map((round) => round[side][figure])))
  return [label, `${base?.toFixed(0)}${unit}`, `${ours?.toFixed(0)}${unit}`, '', '']
}
const rows = [
  ['figure', 'pipe', 'copilot-proxy', 'result', 'budget'],
  ['---', '---', '---', '---', '---'],
  ratioRow('CPU per request, one short answer', 'perRequest', 'µs', '≤ 2 ×'),
  ratioRow('CPU per request, the first 8,000 after a pause', 'perRequestRested', 'µs', ''),
  ratioRow('CPU per request, one after the other, not streamed', 'perSingleRequest', 'µs', ''),
  [
    'CPU per request, the first 300 of a new process',
    ...(['pipe', 'proxy'] as const).map((side) => `${median(fresh.map((round) => round[side])).toFixed(1)} µs`),
    `${median(fresh.map((round) => round.proxy / round.pipe)).toFixed(2)} ×`,
    '',
  ],
  [
    'time to first byte, median',
    `${of('pipe', 'firstByteMs').toFixed(2)} ms`,
    `${of('proxy', 'firstByteMs').toFixed(2)} ms`,
    `+ ${(of('proxy', 'firstByteMs') - of('pipe', 'firstByteMs')).toFixed(2)} ms`,
    '≤ + 0.5 ms',
  ],
  ratioRow('CPU per MB of request body (8 MB of history)', 'perMegabyte', 'µs', '≤ 4 ×'),
  ...tools,
  ...[...(events[0]?.keys() ?? [])].map(eventRow),
  deskRow('events per second, 16 agents', 0, ''),
  deskRow('longest stall of the event loop, 16 agents streaming, 8 MB arriving', 1, ' ms'),
  ['memory idle', '', `${(idle / 1e6).toFixed(0)} MB`, '', '≤ 90 MB'],
  [
    'memory per held stream, collected',
    ...(['pipe', 'proxy'] as const).map((side) => `${(median(held.map((each) => each[side])) / 1e3).toFixed(0)} KB`),
    '',
    '≤ 60 KB',
  ],
  ['start to /healthz', '', `${(median(starts) * 1000).toFixed(0)} ms`, '', '≤ 300 ms'],
]
print([...rows, ...companion, ...gateway, ...connections])
