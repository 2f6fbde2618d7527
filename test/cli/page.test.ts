import { isThorough } from '../thorough.ts'
import { chmod, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { createUser, recordOutput } from '../commands/harness.ts'
import { makeFolder } from '../tools/session.ts'
import { startCli } from './cli.ts'
import type { RunningCli } from './cli.ts'

// A process takes its time to start on a busy machine; nothing here waits for a time to pass.
vi.setConfig({ testTimeout: 240_000 })

const key = 'laptop-key-0123456789'

/** Commands of one home, without a key in their environment. */
async function openHome(variables: Readonly<Record<string, string>> = {}) {
  const { home, run } = await createUser()
  const folder = await makeFolder()
  const env = { COPILOT_PROXY_HOME: home, COPILOT_PROXY_SERVER_PORT: '0', PATH: process.env['PATH'], ...variables }
  const cli = (...args: readonly string[]): RunningCli => startCli(args, env)
  const file = join(home, 'owner-token')
  return {
    home,
    folder,
    env,
    run,
    cli,
    file,
    token: async () => (await readFile(file, 'utf8')).trim(),
    async serve(...args: readonly string[]) {
      const running = startCli(['serve', '--demo', ...args], env)
      const [, url = ''] = await running.seen('stdout', /listening on (\S+)/)
      const command = (...given: readonly string[]) =>
        startCli(given, { ...env, COPILOT_PROXY_SERVER_PORT: new URL(url).port }).ended
      return { ...running, url, command }
    },
  }
}

async function stop({ child, ended }: RunningCli): Promise<void> {
  child.kill('SIGTERM')
  await ended
}

const ownerFiles = async (home: string) =>
  (await readdir(home)).filter((name) => name.startsWith('owner-token')).toSorted()

const modeOf = async (path: string): Promise<number> => (await stat(path)).mode & 0o777

async function callerOf(url: string, secret: string): Promise<unknown> {
  const response = await fetch(`${url}/caller`, { headers: { authorization: `Bearer ${secret}` } })
  return response.ok ? response.json() : response.status
}

test('the token is in a private file while the daemon runs, in no log, and the commands of this home need no key', async () => {
  const home = await openHome({ COPILOT_PROXY_SERVER_API_KEYS: `laptop:sha256:${'0'.repeat(64)}` })
  await chmod(home.home, 0o755)
  const daemon = await home.serve('--workspace', home.folder, '--log-level', 'trace')
  const token = await home.token()
  expect([await modeOf(home.file), await modeOf(home.home)]).toEqual([0o600, 0o700])
  expect(await callerOf(daemon.url, token)).toMatchObject({ key: null, owner: true })
  for (const command of [['models'], ['usage'], ['requests'], ['doctor', '--cache'], ['page', '--print']]) {
    // On a busy machine, a command may not hear of the daemon within its second.
    const outcome = async () => {
      const { code, stdout, stderr } = await daemon.command(...command)
      return [command, code, stdout === '', stderr]
    }
    await expect.poll(outcome, { timeout: 60_000 }).toEqual([command, 0, false, ''])
  }
  expect((await daemon.command('status')).stdout).not.toMatch(/key/i)
  daemon.child.kill('SIGTERM')
  const { stdout, stderr } = await daemon.ended
  expect(stdout + stderr).not.toContain(token)
  expect(stdout + stderr).not.toContain('#code=')
  expect(stderr).toContain('to open the page, run: copilot-proxy page')
  expect(await ownerFiles(home.home)).toEqual([])
})

test('page --print prints an address that makes a page the owner once', async () => {
  const home = await openHome()
  const daemon = await home.serve('--workspace', home.folder)
  const { code, stdout, stderr } = await daemon.command('page', '--print')
  expect([code, stderr, stdout]).toEqual([
    0,
    '',
    expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/#code=[\w-]{43}\n$/),
  ])
  const given = { code: new URL(stdout).hash.replace('#code=', ''), token: 'a'.repeat(43) }
  const redeem = async (): Promise<number> => {
    const headers = { 'content-type': 'application/json' }
    return (await fetch(`${daemon.url}/page/tokens`, { method: 'POST', headers, body: JSON.stringify(given) })).status
  }
  expect([await redeem(), await redeem()]).toEqual([204, 403])
  expect(await callerOf(daemon.url, given.token)).toMatchObject({ key: null, owner: true })
  // Without a browser, as over SSH, it prints the address too.
  const overSsh = await daemon.command('page')
  expect([overSsh.code, overSsh.stdout]).toEqual([0, expect.stringContaining('/#code=')])
  expect(overSsh.stderr).toContain('It works once')
})

test('page says what is missing and what to do', async () => {
  const home = await openHome()
  const absent = await home.cli('page').ended
  expect([absent.code, absent.stderr]).toEqual([1, expect.stringContaining('Run: copilot-proxy start')])
  const daemon = await home.serve()
  const bare = await daemon.command('page', '--print')
  expect([bare.code, bare.stdout]).toEqual([0, expect.stringContaining('/#code=')])
  // The daemon of another home: its token is not in this one.
  const other = await openHome()
  const port = new URL(daemon.url).port
  const foreign = await startCli(['page'], { ...other.env, COPILOT_PROXY_SERVER_PORT: port }).ended
  expect([foreign.code, foreign.stderr]).toEqual([1, expect.stringContaining('another COPILOT_PROXY_HOME')])
})

test.runIf(isThorough)('commands use a key for the daemon of another home', async () => {
  const [theirs, mine] = [await openHome({ COPILOT_PROXY_SERVER_API_KEYS: key }), await openHome()]
  const daemon = await theirs.serve()
  await mine.serve()
  const env = { ...mine.env, COPILOT_PROXY_SERVER_PORT: new URL(daemon.url).port }
  expect((await startCli(['models'], env).ended).stderr).toContain('No key: copilot-proxy at')
  expect((await startCli(['models'], { ...env, COPILOT_PROXY_API_KEY: key }).ended).code).toBe(0)
})

test.runIf(isThorough)(
  'a second daemon of this home has a file of its own, and commands find the token of each',
  async () => {
    const home = await openHome({ COPILOT_PROXY_SERVER_API_KEYS: key })
    const first = await home.serve('--workspace', home.folder)
    const token = await home.token()
    const second = await home.serve('--workspace', home.folder)
    expect(await home.token()).toBe(token)
    expect(await ownerFiles(home.home)).toHaveLength(4)
    for (const daemon of [first, second]) {
      const { stdout, stderr } = await daemon.command('page', '--print')
      expect([stderr, stdout]).toEqual(['', expect.stringContaining(`${daemon.url}/#code=`)])
    }
    await stop(second)
    expect(await ownerFiles(home.home)).toEqual(['owner-token', 'owner-token.json'])
    expect((await first.command('page', '--print')).code).toBe(0)
    // The first stops while another runs: the other keeps its file.
    const third = await home.serve('--workspace', home.folder)
    await stop(first)
    expect((await third.command('page', '--print')).code).toBe(0)
  },
)

test('the next start replaces the file of a killed daemon', async () => {
  const home = await openHome()
  const killed = await home.serve()
  const old = await home.token()
  killed.child.kill('SIGKILL')
  await killed.ended
  expect(await home.token()).toBe(old)
  const next = await home.serve()
  expect(await home.token()).not.toBe(old)
  expect(await ownerFiles(home.home)).toEqual(['owner-token', 'owner-token.json'])
  expect(await callerOf(next.url, old)).toMatchObject({ key: null, owner: false })
})

test('a link in place of the file is neither followed nor replaced, and the daemon serves', async () => {
  const home = await openHome()
  const target = join(home.home, 'target')
  await writeFile(target, 'kept')
  await symlink(target, home.file)
  const daemon = await home.serve('--workspace', home.folder)
  expect(await readFile(target, 'utf8')).toBe('kept')
  await daemon.seen('stderr', /owner-token cannot be written, so commands need a key.*not a plain file/)
  expect((await daemon.command('models')).code).toBe(0)
  expect((await daemon.command('page')).code).toBe(1)
  await stop(daemon)
  expect((await readFile(home.file, 'utf8')).trim()).toBe('kept')
})

test.each([
  [true, 'pretty', 'info', true],
  [false, 'pretty', 'info', false],
  [true, 'pretty', 'silent', false],
])('serve shows the code on a terminal (%s) only (format %s, level %s)', async (isTerminal, format, level, isShown) => {
  const home = await openHome()
  const stopping = new AbortController()
  const stderr = { ...recordOutput(), isTerminal }
  const stdout = {
    ...recordOutput(),
    write: (text: string) => {
      if (text.includes('listening on')) stopping.abort('SIGTERM')
    },
  }
  const line = `serve --demo --workspace ${home.folder} --log-format ${format} --log-level ${level}`
  const change = { stdout, stderr, signal: stopping.signal, env: home.env }
  expect((await home.run(line, change)).code).toBe(0)
  expect(/http:\/\/127\.0\.0\.1:\d+\/#code=[\w-]{43}\n/.test(stderr.text())).toBe(isShown)
})

test('start names the command that opens the page, and its log has no code', async () => {
  const home = await openHome()
  const started = await home.cli('start', '--demo', '--workspace', home.folder).ended
  expect([started.code, started.stdout + started.stderr]).toEqual([0, expect.not.stringContaining('#code=')])
  expect(started.stderr).toContain('Open its page: copilot-proxy page')
  const shown = await home.cli('page', '--print').ended
  expect(shown.stdout).toContain('/#code=')
  const log = await readFile(join(home.home, 'state', 'daemon.log'), 'utf8')
  for (const secret of ['#code=', await home.token()]) expect(log).not.toContain(secret)
  // On a terminal it prints the address itself, also for the daemon that runs already.
  const stdout = { ...recordOutput(), isTerminal: true }
  expect((await home.run(`start --demo --workspace ${home.folder}`, { stdout, env: home.env })).code).toBe(0)
  expect(stdout.text()).toMatch(/\/#code=[\w-]{43}\n/)
  expect((await home.cli('stop').ended).code).toBe(0)
})
