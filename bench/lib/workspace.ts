import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { hash } from 'node:crypto'
import { join } from 'node:path'
import { rgPath } from '@vscode/ripgrep'
import { connect } from '../../docs/rpc-client.ts'
import { cpuMicros, askProbe, median, stop } from './process.ts'
import type { Running } from './process.ts'
import { confirmPolicies } from '../../test/workspace/policy/confirm.ts'

// The tools of a workspace over /rpc, against the same work done directly.

type Client = Awaited<ReturnType<typeof connect>>

/** Twenty in 20,000 files have a line with this word. */
const word = 'needle'

/** 20,000 files of 4 KB in 200 folders, and one of 10 KB. */
function createSources(root: string): void {
  for (let folder = 0; folder < 200; folder += 1) {
    const dir = join(root, `package${folder % 20}`, `module${folder}`)
    mkdirSync(dir, { recursive: true })
    for (let file = 0; file < 100; file += 1) {
      const lines = Array.from(
        { length: 60 },
        (_, line) => `  const value${line} = compute(${folder}, ${file}, ${line}) // text`,
      )
      if ((folder * 100 + file) % 1000 === 7) lines[30] = `  const ${word} = ${file}`
      writeFileSync(join(dir, `file${file}.ts`), `${lines.join('\n')}\n`)
    }
  }
  writeFileSync(join(root, '.agent-policy.yaml'), 'writes: { allow: [large.txt] }\nshell: { allow: ["true"] }\n')
  writeFileSync(join(root, 'ten.txt'), 'ten kilobytes of text\n'.repeat(466))
}

/** A million empty files in 1,000 folders. */
function createMillion(root: string): void {
  for (let folder = 0; folder < 1000; folder += 1) {
    const dir = join(root, `folder${folder}`)
    mkdirSync(dir, { recursive: true })
    for (let file = 0; file < 1000; file += 1) writeFileSync(join(dir, `file${file}`), '')
  }
}

interface Pair {
  readonly direct: number
  readonly tool: number
}

/** Medians. Ms. */
async function measureRead(url: string, root: string): Promise<Pair> {
  const path = join(root, 'ten.txt')
  return inTurns(url, 300, {
    // The tool gives the hash of the file too.
    direct: async () => void hash('sha256', readFileSync(path, 'utf8')),
    tool: (client) => client.call('mcp.fs.read', { path: 'ten.txt' }),
  })
}

/** The start of a program without the sandbox and in it. */
async function measureCommand(plainUrl: string, sandboxUrl: string): Promise<Pair> {
  const plain = await connect(plainUrl)
  const argv = ['true']
  const pair = await inTurns(sandboxUrl, 40, {
    direct: () => plain.call('mcp.shell.run', { argv }),
    tool: (client) => client.call('mcp.shell.run', { argv }),
  })
  plain.close()
  return pair
}

async function measureSearch(url: string, root: string): Promise<Pair> {
  return inTurns(url, 15, {
    direct: () => searchDirectly(root),
    tool: async (client) => {
      const { hits } = await client.call('mcp.search.code', { query: word })
      if (hits.length !== 20) throw new Error(`found ${hits.length}`)
    },
  })
}

/** By the same rules: hidden files and ignore files count, `.git` and large files do not. */
async function searchDirectly(root: string): Promise<void> {
  const rules = ['--hidden', '--glob=!.git', '--no-require-git', '--max-filesize=32M']
  const child = spawn(rgPath, ['--json', '--context=3', '--fixed-strings', ...rules, '--', word, './'], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  child.stdout.resume()
  await once(child, 'close')
}

/** Alternates, so that a busy machine slows both. */
async function inTurns(
  url: string,
  times: number,
  work: { readonly direct: () => Promise<unknown>; readonly tool: (client: Client) => Promise<unknown> },
): Promise<Pair> {
  const client = await connect(url)
  const direct: number[] = []
  const tool: number[] = []
  for (let round = -3; round < times; round += 1) {
    const directMs = await timed(work.direct)
    const toolMs = await timed(() => work.tool(client))
    if (round < 0) continue
    direct.push(directMs)
    tool.push(toolMs)
  }
  client.close()
  return { direct: median(direct), tool: median(tool) }
}

/** The longest of three lists of the million files. Ms. */
async function measureList(url: string): Promise<number> {
  const client = await connect(url)
  let longest = 0
  for (let round = 0; round < 3; round += 1) {
    const listMs = await timed(async () => {
      const { truncated } = await client.call('mcp.fs.list', {})
      if (!truncated) throw new Error('listed all of a million')
    })
    longest = Math.max(longest, listMs)
  }
  client.close()
  return longest
}

/** Searches, lists and patches of a new file of 495,000 lines, while `streaming` goes on. */
async function workDuring(url: string, streaming: Promise<unknown>): Promise<void> {
  const client = await connect(url)
  const unifiedDiff = `--- /dev/null\n+++ b/large.txt\n@@ -0,0 +1,495000 @@\n${'+line ab\n'.repeat(495_000)}`
  const state = { isOver: false }
  const end = streaming.then(() => (state.isOver = true))
  do {
    await client.call('mcp.edit.applyPatch', { unifiedDiff })
    await client.call('mcp.search.code', { query: 'compute', maxResults: 2000 })
    await client.call('mcp.fs.list', { limit: 10_000 })
    await client.call('mcp.edit.undo', {})
  } while (!state.isOver)
  await end
  client.close()
}

interface Target extends Running {
  readonly url: string
}

export interface WorkspaceBench {
  readonly rounds: number
  /** A folder for the workspaces. Created. */
  readonly files: string
  /** The folder of the daemon's data on workspaces. */
  readonly workspacesDir: string
  /** Of a daemon with these arguments. */
  readonly idleBytes: (args?: readonly string[]) => Promise<number>
  /** A daemon with the probe. */
  readonly start: (workspace: string, settings?: Record<string, string>) => Promise<Target>
  /** Resolves when 16 agents have read their streams. */
  readonly stream: (target: Target) => Promise<unknown>
}

/** The rows of the speed table. */
export async function workspaceRows({ rounds, files, workspacesDir, idleBytes, start, stream }: WorkspaceBench) {
  const [sources, million] = [join(files, 'sources'), join(files, 'million')]
  createSources(sources)
  await confirmPolicies(workspacesDir, sources)
  createMillion(million)
  const bytes: { readonly none: number; readonly one: number }[] = []
  for (let round = 0; round < rounds; round += 1) {
    bytes.push({ none: await idleBytes(), one: await idleBytes(['--workspace', sources]) })
  }
  const many = await start(million)
  const listMs = await measureList(rpcOf(many))
  await stop(many)
  const target = await start(sources)
  const read = await measureRead(rpcOf(target), sources)
  const search = await measureSearch(rpcOf(target), sources)
  const plain = await start(sources, { COPILOT_PROXY_WORKSPACE_SANDBOX: 'off' })
  const command = await measureCommand(rpcOf(plain), rpcOf(target))
  await stop(plain)
  const stalls: number[] = []
  for (let round = -1; round < rounds; round += 1) {
    await askProbe(target, 'stall')
    await workDuring(rpcOf(target), stream(target))
    const stallMs = await askProbe(target, 'stall')
    if (round >= 0) stalls.push(stallMs)
  }
  const pages = await measurePages(target, rounds, stream)
  await stop(target)
  const [none, one] = [median(bytes.map((round) => round.none)), median(bytes.map((round) => round.one))]
  return [
    pairRow('`mcp.fs.read` of 10 KB over /rpc, against `fs.readFile`', read),
    pairRow('`mcp.search.code` in 20,000 files over /rpc, against ripgrep', search),
    [
      'start of a program with `mcp.shell.run`, without and in the sandbox',
      `${command.direct.toFixed(1)} ms`,
      `${command.tool.toFixed(1)} ms`,
      `+ ${(command.tool - command.direct).toFixed(1)} ms`,
      '≤ + 30 ms',
    ],
    ['list in a million files over /rpc, longest of 3', '', `${listMs.toFixed(0)} ms`, '', '≤ 2000 ms'],
    [
      'longest stall of the event loop, 16 agents streaming, tools at work',
      '',
      `${median(stalls).toFixed(0)} ms`,
      `at most ${Math.max(...stalls).toFixed(0)} ms`,
      '≤ 100 ms',
    ],
    [
      'CPU of 16 agents streaming, with the page open in 5 tabs, against none',
      `${(pages.without / 1000).toFixed(0)} ms`,
      `${(pages.open / 1000).toFixed(0)} ms`,
      `${(pages.open / pages.without).toFixed(2)} ×`,
      '≤ 1.05 ×',
    ],
    [
      'memory idle with a workspace',
      '',
      `${(one / 1e6).toFixed(0)} MB`,
      `+ ${((one - none) / 1e6).toFixed(1)} MB`,
      // The thread of src/daemon/watchdog.ts takes most of it.
      '≤ + 20 MB',
    ],
  ]
}

/** CPU time of the streams of 16 agents, without and with open pages, in turns. Microseconds, medians. */
async function measurePages(target: Target, rounds: number, stream: WorkspaceBench['stream']) {
  const seen: { readonly without: number; readonly open: number }[] = []
  // The first round pays for compilation.
  for (let round = -1; round < rounds; round += 1) {
    const figures = { without: 0, open: 0 }
    // Each goes first as often as the other.
    for (const which of round % 2 === 0 ? (['without', 'open'] as const) : (['open', 'without'] as const)) {
      const closePages = await openPages(target.url, which === 'open' ? 5 : 0)
      figures[which] = await cpuOf(target, stream)
      await closePages()
    }
    if (round >= 0) seen.push(figures)
  }
  return { without: median(seen.map((each) => each.without)), open: median(seen.map((each) => each.open)) }
}

async function cpuOf(target: Target, stream: WorkspaceBench['stream']): Promise<number> {
  const before = cpuMicros(target.pid)
  await stream(target)
  return cpuMicros(target.pid) - before
}

/** What a browser does with the page: loads it and follows the events. Returns a function that closes the pages. */
async function openPages(url: string, count: number): Promise<() => Promise<void>> {
  const left = new AbortController()
  const reading: Promise<unknown>[] = []
  for (let page = 0; page < count; page += 1) {
    for (const path of ['/', '/page/main.js', '/page/page.css', '/sessions']) await (await fetch(url + path)).text()
    const events = await fetch(`${url}/events`, { signal: left.signal })
    reading.push(events.text().catch(() => undefined))
  }
  return async () => {
    left.abort()
    await Promise.all(reading)
  }
}

function pairRow(label: string, { direct, tool }: Pair): readonly string[] {
  return [
    label,
    `${direct.toFixed(2)} ms`,
    `${tool.toFixed(2)} ms`,
    `${(tool / direct).toFixed(2)} ×, + ${(tool - direct).toFixed(2)} ms`,
    '≤ 1.3 × or + 1 ms',
  ]
}

function rpcOf({ url }: Target): string {
  return `${url.replace('http:', 'ws:')}/rpc`
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now()
  await work()
  return performance.now() - startedAt
}
