import { spawn } from 'node:child_process'
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { findProcessStart } from '../../src/auth/records/process-start.ts'
import { readDaemonRecord } from '../../src/commands/background/background-daemon.ts'
import { createUser, githubVariables, inputOf, openGithub, recordOutput } from '../commands/harness.ts'
import type { TestUser } from '../commands/harness.ts'
import { createClient, dataOf, saying } from '../http/client.ts'
import { startCli } from './cli.ts'
import type { RunningCli } from './cli.ts'
import { isThorough } from '../thorough.ts'
import { listenForTest } from '../listen-for-test.ts'

// A process takes its time to start on a busy machine; nothing here waits for a time to pass.
vi.setConfig({ testTimeout: 60_000 })

const listening = /^copilot-proxy is (already )?running at (http:\/\/127\.0\.0\.1:\d+) \(process (\d+)\)$/m

interface Started {
  readonly state: string | undefined
  readonly url: string
  readonly pid: number
}

/** A user with an empty home; whatever runs in the background at the end of the test is killed. */
async function createBackgroundUser(variables: Record<string, string> = {}, user?: TestUser) {
  const { home, run } = user ?? (await createUser())
  const env = { COPILOT_PROXY_HOME: home, COPILOT_PROXY_SERVER_PORT: '0', PATH: process.env['PATH'], ...variables }
  const state = join(home, 'state')
  const recordFile = join(state, 'daemon.json')
  const recordOf = async (): Promise<Record<string, unknown>> => JSON.parse(await readFile(recordFile, 'utf8'))
  onTestFinished(async () => {
    // The tests write numbers of others there, too: only what is proven to be a daemon of theirs is ended.
    const record = await readDaemonRecord(recordFile)
    if (record !== undefined && (await startOf(record.pid)) === record.process_start) await killDaemon(record.pid)
  })
  const cli = (...args: readonly string[]): RunningCli => startCli(args, env)
  return {
    home,
    run,
    cli,
    logFile: join(state, 'daemon.log'),
    recordFile,
    recordOf,
    async detach(...args: readonly string[]): Promise<Started> {
      const { code, stdout, stderr } = await cli('start', ...args).ended
      const [, word, url = '', pid] = listening.exec(stdout) ?? []
      if (code !== 0) throw new Error(`start ended with ${code}: ${stdout}${stderr}`)
      return { state: word === undefined ? 'now' : 'already', url, pid: Number(pid) }
    },
  }
}

const modeOf = async (path: string): Promise<number> => (await stat(path)).mode & 0o777

const startOf = (pid: number) => findProcessStart(pid, { platform: process.platform, env: process.env })

/** Until it has ended. The numbers below 2 mean a whole group of processes, or everything, and never a daemon. */
async function killDaemon(pid: number): Promise<void> {
  if (!Number.isSafeInteger(pid) || pid < 2) throw new Error(`${pid} is no daemon`)
  process.kill(pid, 'SIGKILL')
  while ((await startOf(pid)) !== undefined) await delay(10)
}

const healthOf = async (url: string): Promise<unknown> => (await fetch(`${url}/healthz`)).json()

describe('start', () => {
  test('starts a daemon that goes on after the command, says where, and is there once', async () => {
    const user = await createBackgroundUser()
    const first = await user.detach('--demo')
    expect(first.state).toBe('now')
    expect(await healthOf(first.url)).toMatchObject({ ok: true, demo: true })
    expect(await user.recordOf()).toMatchObject({ pid: first.pid, url: first.url, starter: 'detach' })
    expect(await user.detach('--demo')).toEqual({ ...first, state: 'already' })

    const asJson = await user.cli('serve', '--detach', '--demo', '--json').ended
    expect(JSON.parse(asJson.stdout)).toMatchObject({ pid: first.pid, url: first.url, was_running: true })
    const status = await user.cli('status').ended
    expect(status.stdout).toMatch(new RegExp(`^Daemon +running at ${first.url},`, 'm'))
    expect(status.stdout).toMatch(new RegExp(`^Background +process ${first.pid} since .*, log: ${user.logFile}$`, 'm'))
  })

  test.runIf(isThorough)('serve --detach does the same', async () => {
    const user = await createBackgroundUser()
    const { code, stdout } = await user.cli('serve', '--detach', '--demo').ended
    expect(code).toBe(0)
    const [, , url, pid] = listening.exec(stdout) ?? []
    expect(await user.detach('--demo')).toEqual({ state: 'already', url, pid: Number(pid) })
  })

  test.runIf(process.platform !== 'win32')('keeps its files to its user', async () => {
    const user = await createBackgroundUser()
    await user.detach('--demo')
    expect(await Promise.all([join(user.home, 'state'), user.recordFile, user.logFile].map(modeOf))).toEqual([
      0o700, 0o600, 0o600,
    ])
  })

  test('F10 two at once make one daemon', async () => {
    const user = await createBackgroundUser()
    const all = await Promise.all([user.detach('--demo'), user.detach('--demo'), user.detach('--demo')])
    expect(new Set(all.map(({ pid }) => pid)).size).toBe(1)
    expect(all.filter(({ state }) => state === 'now')).toHaveLength(1)
  })

  test.runIf(isThorough)(
    'does not take a simulated daemon for a real one, or one at another port for the one asked for',
    async () => {
      const user = await createBackgroundUser()
      const { url } = await user.detach('--demo')
      for (const args of [[], ['--demo', '--port', '2']]) {
        const { code, stdout, stderr } = await user.cli('serve', '--detach', ...args).ended
        expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
        expect(stderr).toContain(`is already running at ${url}`)
        expect(stderr).toContain('copilot-proxy stop')
      }
    },
  )

  test('prints the output of a daemon that does not start, and exits with its code', async () => {
    const user = await createBackgroundUser()
    const port = await listenForTest(createServer((_request, response) => response.end('{}')))
    const { code, stdout, stderr } = await user.cli('serve', '--detach', '--demo', '--port', String(port)).ended
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toMatch(new RegExp(`^Port ${port} is in use by .*\\n$`))
    expect(stderr).not.toContain('"level"')

    const invalid = await user.cli('serve', '--detach', '--port', 'many').ended
    expect(invalid).toMatchObject({ code: 2, stdout: '' })
  })

  test.runIf(isThorough)('is found by every command, at a port of its own', async () => {
    const user = await createBackgroundUser({ COPILOT_PROXY_SERVER_PORT: '2' })
    const { url } = await user.detach('--demo', '--port', '0')
    const models = await user.cli('models', '--json').ended
    expect(models.code).toBe(0)
    expect(JSON.parse(models.stdout).data.length).toBeGreaterThan(0)
    expect(JSON.parse((await user.cli('usage', '--json').ended).stdout)).toMatchObject({ demo: true })
    expect((await user.cli('usage', '--line').ended).stdout).toContain('%')
    expect((await user.cli('setup', '--print', 'curl').ended).stdout).toContain(url)
    const setup = await user.cli('setup', 'openai-sdk').ended
    expect(setup).toMatchObject({ code: 0, stdout: expect.stringContaining(`OPENAI_BASE_URL=${url}/v1`) })

    const named = join(user.home, 'other.yaml')
    await writeFile(named, '{}\n')
    expect((await user.cli('models', '--config', named).ended).code).toBe(3)
  })

  test.runIf(isThorough && process.platform !== 'win32')(
    'does not answer: is not taken for one that runs',
    async () => {
      const user = await createBackgroundUser()
      const { url, pid } = await user.detach('--demo')
      process.kill(pid, 'SIGSTOP')
      const again = await user.cli('serve', '--detach', '--demo').ended
      expect(again).toMatchObject({ code: 1, stdout: '' })
      expect(again.stderr).toContain(`copilot-proxy at ${url} (process ${pid}) does not answer.`)
      const { stdout } = await user.cli('status').ended
      expect(stdout).toContain(`does not answer at ${url}. Run: copilot-proxy restart`)
    },
  )

  test.runIf(isThorough)('status finds it when its configuration has become invalid', async () => {
    const user = await createBackgroundUser()
    const { url } = await user.detach('--demo')
    await writeFile(join(user.home, 'config.yaml'), 'server: { prot: 1 }\n')
    const { code, stdout } = await user.cli('status').ended
    expect(code).toBe(2)
    expect(stdout).toContain(`running at ${url}`)
    expect(stdout).toContain('unknown key `prot`')
  })

  test.runIf(isThorough)('uses at once what config set writes', async () => {
    const user = await createBackgroundUser()
    await user.detach('--demo')
    const { code, stdout, stderr } = await user.cli('config', 'set', 'log.level', 'debug').ended
    expect({ code, stderr }).toEqual({ code: 0, stderr: 'The running copilot-proxy uses it now.\n' })
    expect(stdout).toBe(`Set log.level to "debug" in ${user.home}/config.yaml\n`)
    await user.cli('logs', '-f').seen('stdout', /configuration reloaded/)
  })

  test('refuses a form of the log that it would not have', async () => {
    const user = await createBackgroundUser()
    const { code, stderr } = await user.cli('serve', '--detach', '--log-format', 'pretty').ended
    expect(code).toBe(2)
    expect(stderr).toContain("cannot be used with option '--log-format <format>'")
  })

  test('says that nobody is logged in, and gives the token of the environment to the daemon unseen', async () => {
    const nobody = await createBackgroundUser()
    expect((await nobody.cli('serve', '--detach').ended).stderr).toContain('Not logged in. Run: copilot-proxy login')

    const github = await openGithub()
    const token = github.tokens.issueGithub()
    const user = await createBackgroundUser({ ...githubVariables(github), COPILOT_GITHUB_TOKEN: token })
    const { url, pid } = await user.detach()
    const client = createClient(url)
    expect((await client.chat()).status).toBe(200)
    if (process.platform === 'linux') {
      expect(await readFile(`/proc/${pid}/cmdline`, 'utf8')).not.toContain(token)
    }
    expect(await readFile(user.logFile, 'utf8')).not.toContain(token)
    expect(await readFile(user.recordFile, 'utf8')).not.toContain(token)
  })

  test('F10 after kill -9 it starts again, and nothing is taken for the old one', async () => {
    const user = await createBackgroundUser()
    const first = await user.detach('--demo')
    await killDaemon(first.pid)
    expect((await user.cli('stop').ended).stdout).toContain('is not running in the background')
    const second = await user.detach('--demo')
    expect(second.state).toBe('now')
    expect(second.pid).not.toBe(first.pid)
  })
})

describe('stop', () => {
  test('ends it, and is done where there is none', async () => {
    const user = await createBackgroundUser()
    const { url, pid } = await user.detach('--demo')
    const { code, stdout } = await user.cli('stop').ended
    expect({ code, stdout }).toEqual({ code: 0, stdout: `Stopped copilot-proxy at ${url}.\n` })
    await expect(healthOf(url)).rejects.toThrow()
    expect(await readFile(user.recordFile, 'utf8').catch(() => 'gone')).toBe('gone')
    expect(await user.cli('stop').ended).toEqual({
      code: 0,
      stdout: 'copilot-proxy is not running in the background.\n',
      stderr: '',
    })
    expect(JSON.parse((await user.cli('stop', '--json').ended).stdout)).toEqual({ stopped: null, killed: false })
    expect(pid).toBeGreaterThan(0)
  })

  test.runIf(isThorough)(
    'ends it also where the settings are not valid any more, as long as its own settings allow',
    async () => {
      const user = await createBackgroundUser()
      const named = join(user.home, 'named.yaml')
      await writeFile(named, 'server: { shutdown-grace-seconds: 0 }\n')
      await user.detach('--demo', '--config', named)
      await writeFile(named, 'server: { prot: 1 }\n')
      expect(await user.cli('stop').ended).toMatchObject({ code: 0, stdout: expect.stringContaining('Stopped') })
      await writeFile(join(user.home, 'config.yaml'), 'server: { prot: 1 }\n')
      expect(await user.cli('stop').ended).toMatchObject({ code: 0, stdout: expect.stringContaining('is not running') })
    },
  )

  test.runIf(isThorough)('F01 lets a stream finish first', async () => {
    const user = await createBackgroundUser()
    const client = createClient((await user.detach('--demo')).url)
    const stream = await client.openChat(saying('[demo:long 20][demo:slow 50]'))
    expect(await stream.next()).toContain('data: ')
    const stopping = user.cli('stop')
    expect(dataOf(await stream.rest()).at(-1)).toBe('[DONE]')
    expect(await stopping.ended).toMatchObject({ code: 0 })
  })

  test('F01 ends a stream that takes longer than the grace with an error event', async () => {
    const user = await createBackgroundUser({ COPILOT_PROXY_SERVER_SHUTDOWN_GRACE_SECONDS: '0' })
    const client = createClient((await user.detach('--demo')).url)
    const stream = await client.openChat(saying('[demo:long 500][demo:slow 1000]'))
    await stream.next()
    const stopping = user.cli('stop', '--json')
    expect(JSON.parse(dataOf(await stream.rest()).at(-1) ?? '')).toMatchObject({ error: { code: 'shutting_down' } })
    expect(JSON.parse((await stopping.ended).stdout)).toMatchObject({ killed: false })
  })

  test('F10 never ends a process that got the number of one that is gone', async () => {
    const user = await createBackgroundUser()
    const { pid, url } = await user.detach('--demo')
    const record = await user.recordOf()
    await user.cli('stop').ended
    const stranger = spawn(process.execPath, ['-e', 'process.stdin.resume()'], { stdio: ['pipe', 'ignore', 'ignore'] })
    onTestFinished(() => void stranger.kill('SIGKILL'))
    await writeFile(user.recordFile, JSON.stringify({ ...record, pid: stranger.pid }))

    const { code, stdout } = await user.cli('stop').ended
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'copilot-proxy is not running in the background.\n' })
    const again = await user.detach('--demo')
    expect(again.state).toBe('now')
    expect([pid, stranger.pid]).not.toContain(again.pid)
    expect(again.url).not.toBe(url)
    expect({ code: stranger.exitCode, signal: stranger.signalCode }).toEqual({ code: null, signal: null })
  })

  test.each(['', '{', '[]', '{"pid": 7}', '{"pid": 7, "process_start": "x", "url": "x"}'])(
    'takes a record that is none (%j) for no daemon',
    async (text) => {
      const user = await createBackgroundUser()
      await mkdir(join(user.home, 'state'))
      await writeFile(user.recordFile, text)
      expect((await user.run('stop')).stdout).toBe('copilot-proxy is not running in the background.\n')
    },
  )

  test.runIf(isThorough)('says of one in a terminal that it is ended there', async () => {
    const user = await createBackgroundUser()
    const cli = user.cli('serve', '--demo')
    const [, port] = await cli.seen('stdout', /listening on http:\/\/127\.0\.0\.1:(\d+)/)
    const env = { COPILOT_PROXY_HOME: user.home, COPILOT_PROXY_SERVER_PORT: port }
    const { code, stdout } = await startCli(['stop'], env).ended
    expect(code).toBe(0)
    expect(stdout).toMatch(/is not running in the background\. The one at \S+ runs in a terminal/)
    cli.child.kill('SIGTERM')
    expect((await cli.ended).code).toBe(0)
  })
})

describe('restart', () => {
  test.runIf(isThorough)('takes the options it was started with, and starts one where there is none', async () => {
    const user = await createBackgroundUser()
    const first = await user.detach('--demo', '--log-level', 'debug')
    const { code, stdout } = await user.cli('restart').ended
    expect(code).toBe(0)
    const [, , url = '', pid] = listening.exec(stdout) ?? []
    expect(Number(pid)).not.toBe(first.pid)
    expect(await healthOf(url)).toMatchObject({ demo: true })
    expect(await user.recordOf()).toMatchObject({ flags: { demo: true, logLevel: 'debug' } })
    await user.cli('stop').ended
    expect(JSON.parse((await user.cli('restart', '--json').ended).stdout)).toMatchObject({ was_running: false })
  })

  test.runIf(isThorough)('leaves it running when the settings are not valid any more', async () => {
    const user = await createBackgroundUser()
    const { url } = await user.detach('--demo')
    await writeFile(join(user.home, 'config.yaml'), 'server: { prot: 1 }\n')
    expect(await user.cli('restart').ended).toMatchObject({ code: 2, stdout: '' })
    expect(await healthOf(url)).toMatchObject({ ok: true })
  })
})

describe('logs', () => {
  test('prints the last lines as they are, and follows, until it is interrupted', async () => {
    const user = await createBackgroundUser()
    const none = await user.cli('logs').ended
    expect(none).toMatchObject({ code: 1, stdout: '' })
    expect(none.stderr).toContain(`No log at ${user.logFile}`)

    const following = user.cli('logs', '-f')
    await following.seen('stderr', /No log at .*\. Waiting for it to start\.\n/)
    const { url } = await user.detach('--demo')
    await following.seen('stdout', /a simulated Copilot and Codex answer/)
    await createClient(url).chat()
    await following.seen('stdout', /"msg":"request served"/)
    following.child.kill('SIGINT')
    const followed = await following.ended
    expect(followed.code).toBe(130)
    expect(followed.stderr.match(/Waiting/g)).toHaveLength(1)

    await user.cli('stop').ended
    const { stdout } = await user.cli('logs', '-n', '2').ended
    const lines = stdout.trimEnd().split('\n')
    expect(lines.map((line) => JSON.parse(line).msg)).toEqual([expect.stringMatching(/^stopping /), 'stopped'])
  })

  test('is for people on a terminal, and shows control characters there', async () => {
    const user = await createBackgroundUser()
    await mkdir(join(user.home, 'state'))
    await writeFile(user.logFile, '{"level":"warn","time":0,"msg":"be\\u001b[31mware"}\nnot\u001b[31m of the log\n')
    const written: string[] = []
    const stdout = { ...recordOutput(), isTerminal: true, write: (text: string) => void written.push(text) }
    await user.run('logs', { stdout })
    expect(written.join('')).toMatch(
      /^19(70-01-01|69-12-31)\n\d\d:\d\d:\d\d\.000 {2}WARN be\\u001b\[31mware\nnot\\u001b\[31m of the log\n$/,
    )
  })

  test.each(['logs --json', 'logs'])('%s converts lines for people to objects, and loses nothing', async (line) => {
    const user = await createBackgroundUser()
    await mkdir(join(user.home, 'state'))
    const own = '{"level":"warn","time":0,"msg":"beware"}'
    const others = ['copilot-proxy 0.1.0 is already running at "x".', '', '[1]', '7', 'null', '{"level":']
    await writeFile(user.logFile, `${own}\n${others.join('\n')}\n`)
    const { stdout } = await user.run(line)
    const [first, ...rest] = stdout.trimEnd().split('\n')
    expect(first).toBe(own)
    expect(rest.map((text) => JSON.parse(text))).toEqual(others.map((msg) => ({ level: 'info', msg })))
  })

  test('takes whole numbers of lines only', async () => {
    const user = await createBackgroundUser()
    const stderr = '--lines must be a whole number, got "many".\n'
    expect(await user.run('logs -n many')).toEqual({ code: 2, stdout: '', stderr })
  })
})

test('a stored login serves in the background', async () => {
  const github = await openGithub()
  const user = await createUser(github)
  await user.run('login --token-stdin', { stdin: inputOf(github.tokens.issueGithub()) })
  const background = await createBackgroundUser(githubVariables(github), user)
  const { stdout, stderr } = await background.cli('serve', '--detach', '--json').ended
  const { url } = JSON.parse(stdout)
  expect(stderr).toBe('')
  expect((await createClient(url).chat()).status).toBe(200)
  expect((await background.cli('stop').ended).code).toBe(0)
})
