import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { globSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Footprint, UpstreamStats } from './reports.ts'

/** A program of the soak run that answers questions over its IPC channel. */
export interface Helper {
  readonly child: ChildProcess
  readonly ask: (question: object) => Promise<unknown>
  /** Everything it wrote to stdout and stderr. */
  readonly output: () => string
  readonly ended: Promise<{ readonly code: number | null; readonly signal: string | null }>
}

function start(args: readonly string[], env: Readonly<Record<string, string | undefined>>): Helper {
  const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'pipe', 'ipc'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (chunk: string) => {
      output += chunk
    })
  }
  const waiting = new Map<number, PromiseWithResolvers<unknown>>()
  let asked = 0
  child.on('message', (message: { readonly id?: number; readonly value?: unknown }) => {
    if (message.id === undefined) return
    waiting.get(message.id)?.resolve(message.value)
    waiting.delete(message.id)
  })
  const ended = new Promise<{ code: number | null; signal: string | null }>((resolve) => {
    child.once('close', (code, signal) => {
      for (const { reject } of waiting.values())
        reject(new Error(`the process ended with ${code ?? signal}:\n${output}`))
      resolve({ code, signal })
    })
  })
  return {
    child,
    ended,
    output: () => output,
    ask(question) {
      const { promise, resolve, reject } = Promise.withResolvers<unknown>()
      asked += 1
      waiting.set(asked, { promise, resolve, reject })
      child.send({ id: asked, ...question })
      return promise
    },
  }
}

const folder = new URL('../../../', import.meta.url)

function path(name: string): string {
  return fileURLToPath(new URL(name, folder))
}

/** A program of test/soak/programs, and what it says once it is ready. */
export async function startProgram(
  name: string,
  env: Readonly<Record<string, string>> = {},
): Promise<{ readonly helper: Helper; readonly ready: unknown }> {
  const helper = start([path(`test/soak/programs/${name}.ts`)], { ...process.env, ...env })
  const ready = await new Promise((resolve, reject) => {
    helper.child.on('message', (message: { readonly ready?: unknown }) => {
      if (message.ready !== undefined) resolve(message.ready)
    })
    void helper.ended.then(() => reject(new Error(helper.output())))
  })
  return { helper, ready }
}

interface UpstreamReady {
  readonly url: string
  readonly githubUrl: string
  readonly githubToken: string
  readonly pipeToken: string
}

/** The daemon in front of the simulated upstream, and the load generator, each in a process of its own. */
export interface Stage {
  readonly url: string
  readonly daemon: Helper
  readonly load: Helper
  /** Credentials that no output may hold. */
  readonly secrets: readonly string[]
  readonly upstreamUrl: string
  readonly pipeToken: string
  readonly upstream: (ask: 'stats' | 'expire' | 'drop') => Promise<UpstreamStats>
  /** After garbage is collected. */
  readonly footprint: () => Promise<Footprint>
  /** The daemon has opened the file of its totals, which it does some seconds after its first request. */
  readonly hasTotals: () => boolean
  /** As it is. Bytes. */
  readonly rss: () => Promise<number>
  readonly close: () => Promise<void>
}

/** Starts all three. The daemon is the built program. */
export async function openStage(settings: Readonly<Record<string, string>> = {}): Promise<Stage> {
  const home = mkdtempSync(join(tmpdir(), 'copilot-proxy-soak-'))
  const { SOAK_REFRESH_SECONDS = '1500', ...rest } = settings
  const { helper: upstream, ready } = await startProgram('upstream', { SOAK_REFRESH_SECONDS })
  // The program above says so.
  const { url: upstreamUrl, githubUrl, githubToken, pipeToken } = ready as UpstreamReady
  const daemon = start(
    [
      '--expose-gc',
      '--import',
      path('test/soak/programs/probe.ts'),
      path('bin/copilot-proxy.cjs'),
      'serve',
      '--port',
      '0',
    ],
    {
      PATH: process.env['PATH'],
      HOME: home,
      COPILOT_PROXY_HOME: home,
      COPILOT_GITHUB_TOKEN: githubToken,
      COPILOT_PROXY_COPILOT_OAUTH_GITHUB_BASE_URL: githubUrl,
      COPILOT_PROXY_COPILOT_OAUTH_GITHUB_API_BASE_URL: githubUrl,
      COPILOT_PROXY_CODEX_ENABLED: 'false',
      COPILOT_PROXY_LOG_LEVEL: 'warn',
      COPILOT_PROXY_SERVER_MAX_CONCURRENT_REQUESTS: '20000',
      COPILOT_PROXY_SERVER_MAX_CONNECTIONS: '20000',
      ...rest,
    },
  )
  const url = await new Promise<string>((resolve, reject) => {
    daemon.child.stdout?.on('data', () => {
      const found = /listening on (http:\S+)/.exec(daemon.output())?.[1]
      if (found !== undefined) resolve(found)
    })
    void daemon.ended.then(() => reject(new Error(daemon.output())))
  })
  const { helper: load } = await startProgram('load')
  return {
    url,
    daemon,
    load,
    upstreamUrl,
    pipeToken,
    secrets: [githubToken, 'tid=demo', pipeToken],
    upstream: async (ask) => (await upstream.ask({ ask })) as UpstreamStats,
    footprint: async () => (await daemon.ask({ ask: 'footprint' })) as Footprint,
    hasTotals: () => globSync('**/usage.sqlite-wal', { cwd: home }).length > 0,
    rss: async () => (await daemon.ask({ ask: 'rss' })) as number,
    async close() {
      const all = [daemon, load, upstream]
      for (const { child } of all) child.kill('SIGKILL')
      await Promise.all(all.map(({ ended }) => ended))
      rmSync(home, { recursive: true, force: true })
    },
  }
}
