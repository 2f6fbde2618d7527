import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { errors } from 'undici'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createLog } from '../../src/logging/create-log.ts'
import type { LogOptions } from '../../src/logging/create-log.ts'
import { startCli } from '../cli/cli.ts'
import type { RunningCli } from '../cli/cli.ts'
import { createUser } from '../commands/harness.ts'
import { canaries, leaksIn } from './canaries.ts'

async function emptyFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'copilot-proxy-crash-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  return folder
}

/** A daemon in a folder of its own, with secrets in its environment. */
async function startDaemon(folder: string, nodeOptions: string): Promise<RunningCli> {
  const { home } = await createUser()
  return startCli(
    ['serve', '--demo', '--port', '0'],
    {
      COPILOT_PROXY_HOME: home,
      COPILOT_GITHUB_TOKEN: canaries.githubToken,
      COPILOT_PROXY_SERVER_API_KEYS: canaries.callerKey,
      COPILOT_PROXY_CODEX_API_KEY: canaries.openaiKey,
      HTTPS_PROXY: `http://someone:${canaries.proxyPassword}@127.0.0.1:1`,
      NODE_OPTIONS: nodeOptions,
    },
    { cwd: folder },
  )
}

/** Code that runs in the daemon before the program, as a file that ships with nothing. */
function preload(code: string): string {
  return `--import "data:text/javascript,${encodeURIComponent(code).replaceAll("'", '%27')}"`
}

const secretsOfEnvironment = Object.values({
  token: canaries.githubToken,
  caller: canaries.callerKey,
  openai: canaries.openaiKey,
  proxy: canaries.proxyPassword,
})

describe('C10 a crash', { timeout: 30_000 }, () => {
  test.each([
    ['an uncaught exception', (error: string) => `process.once('SIGUSR2', () => { throw ${error} })`],
    ['an unhandled rejection', (error: string) => `process.once('SIGUSR2', () => void Promise.reject(${error}))`],
  ])('by %s tells no secret and leaves no file', async (_what, code) => {
    const folder = await emptyFolder()
    const words = JSON.stringify(`lost ${secretsOfEnvironment.join(' and ')}`)
    const cause = `new Error(${JSON.stringify(Buffer.from(canaries.githubToken).toString('base64'))})`
    const cli = await startDaemon(folder, preload(code(`new Error(${words}, { cause: ${cause} })`)))
    await cli.seen('stdout', /listening on/)
    cli.child.kill('SIGUSR2')
    const { code: exit, stdout, stderr } = await cli.ended
    expect(exit).toBe(1)
    expect(stderr).toContain('copilot-proxy: internal error\nError: lost [redacted]')
    expect(leaksIn(stdout + stderr, canaries)).toEqual([])
    expect(await readdir(folder)).toEqual([])
  })

  test.skipIf(process.platform === 'win32').each(['SIGUSR2', 'SIGQUIT', 'SIGABRT'] as const)(
    'by %s leaves no file: neither a report nor a snapshot of memory is made unless asked for',
    async (signal) => {
      const folder = await emptyFolder()
      const cli = await startDaemon(folder, '')
      await cli.seen('stdout', /listening on/)
      cli.child.kill(signal)
      const { stdout, stderr } = await cli.ended
      expect(leaksIn(stdout + stderr, canaries)).toEqual([])
      expect((await readdir(folder)).filter((name) => !name.startsWith('core'))).toEqual([])
    },
  )

  test.skipIf(process.platform === 'win32')(
    'whose report the user has asked for keeps the environment out of it',
    async () => {
      const folder = await emptyFolder()
      const cli = await startDaemon(folder, `--report-on-signal --report-signal=SIGUSR2 --report-directory=${folder}`)
      await cli.seen('stdout', /listening on/)
      cli.child.kill('SIGUSR2')
      await cli.seen('stderr', /Node\.js report completed/)
      cli.child.kill('SIGTERM')
      expect(await cli.ended).toMatchObject({ code: 0 })
      const [name = ''] = await readdir(folder)
      const report = await readFile(join(folder, name), 'utf8')
      expect(report).toContain('"javascriptStack"')
      expect(leaksIn(report, canaries)).toEqual([])
    },
  )
})

function logged(fields: Readonly<Record<string, unknown>>, options: Partial<LogOptions> = {}): string {
  const lines: string[] = []
  const createSink: LogOptions['createSink'] = (finish) => ({
    write: (line) => void lines.push(finish(line)),
    flush: () => Promise.resolve(),
  })
  const log = createLog({ level: 'trace', format: 'json', colors: false, createSink, ...options })
  log.error(fields, 'failed')
  return lines.join('')
}

function withoutKey(text: string): string {
  return text.replaceAll(canaries.openaiKey, '[redacted]')
}

describe('C09 an error in the log', () => {
  const authorization = `Bearer ${canaries.copilotToken}`
  const request = { method: 'POST', headers: { Authorization: authorization, cookie: canaries.cookie, accept: '*/*' } }

  test.each([
    ['headers as an object', Object.assign(new Error('refused'), { request })],
    [
      'headers as a flat list',
      Object.assign(new Error('refused'), { rawHeaders: ['accept', '*/*', 'Authorization', canaries.copilotToken] }),
    ],
    ['headers as pairs', Object.assign(new Error('refused'), { headers: [['set-cookie', canaries.cookie]] })],
    [
      'an undici error with headers and body',
      new errors.ResponseError('refused', 401, {
        headers: { 'set-cookie': `session=${canaries.cookie}`, authorization },
        body: JSON.stringify({ access_token: canaries.copilotToken }),
      }),
    ],
    [
      'a cause of a cause',
      new Error('outer', {
        cause: new Error('middle', { cause: Object.assign(new Error(`GET with ${authorization}`), { request }) }),
      }),
    ],
    [
      'headers as text',
      new Error(`POST / HTTP/1.1\r\nauthorization: token ${canaries.copilotToken}\r\ncookie: ${canaries.cookie}`),
    ],
  ])('with %s holds none of them', (_what, err) => {
    for (const format of ['json', 'pretty'] as const) {
      const line = logged({ err }, { format })
      expect(leaksIn(line, canaries)).toEqual([])
      expect(line).toMatch(/refused|outer|POST/)
    }
  })

  test('with a known secret in its words, stack and fields holds none of it', () => {
    const err = Object.assign(new Error(`no route for ${canaries.openaiKey}`), {
      detail: { list: [`${canaries.openaiKey}!`], [canaries.openaiKey]: 1 },
    })
    for (const format of ['json', 'pretty'] as const) {
      expect(leaksIn(logged({ err }, { format, redact: withoutKey }), canaries)).toEqual([])
    }
  })
})
