import { isThorough } from '../thorough.ts'
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { createUser, githubVariables, openGithub } from '../commands/harness.ts'
import { openProxy } from '../http/harness.ts'
import { startCli } from './cli.ts'
import type { RunningCli } from './cli.ts'
import { listenForTest } from '../listen-for-test.ts'

// A process takes its time to start on a busy machine; nothing here waits for a time to pass.
vi.setConfig({ testTimeout: 60_000 })

/** Prints what it was started with, then does what the script says. */
const client = (script: string): string => `#!${process.execPath}
const { argv, env } = process
console.log(JSON.stringify({ args: argv.slice(2), env }))
${script}
`

interface Machine {
  readonly home: string
  readonly env: Record<string, string>
  readonly launch: (...args: readonly string[]) => RunningCli
}

/** A machine on which a client of this name is installed. */
async function openMachine(name = 'claude', script = ''): Promise<Machine> {
  const { home } = await createUser()
  const bin = join(home, 'bin')
  await mkdir(bin)
  await writeFile(join(bin, name), client(script))
  await chmod(join(bin, name), 0o755)
  const env = { PATH: bin, HOME: home, COPILOT_PROXY_HOME: join(home, 'proxy') }
  return { home, env, launch: (...args) => startCli(['launch', ...args], env) }
}

interface Started {
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
}

function startedOf(stdout: string): Started {
  return JSON.parse(stdout)
}

test('runs the client with everything after --, and ends with its exit code', async () => {
  const { launch } = await openMachine('claude', 'process.exit(7)')
  const { code, stdout, stderr } = await launch('claude', '--demo', '--', '--print', '', 'two words', '--', '$HOME')
    .ended
  expect(stderr).toBe(
    'Starting Claude Code with claude-sonnet-5.5; small tasks use claude-haiku-5.5. All answers are simulated.\n',
  )
  const { args, env } = startedOf(stdout)
  expect(args).toEqual(['--settings', expect.any(String), '--print', '', 'two words', '--', '$HOME'])
  expect(env['ANTHROPIC_BASE_URL']).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/)
  expect(env['ANTHROPIC_MODEL']).toBe('claude-sonnet-5.5')
  expect(code).toBe(7)
})

test('an exit code of 130 is the client’s own', async () => {
  const { launch } = await openMachine('claude', 'process.exit(130)')
  expect(await launch('claude', '--demo').ended).toMatchObject({ code: 130 })
})

const untilRunning = 'process.stdin.resume()\nprocess.stderr.write("running\\n")\n'

test.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)(
  '%s is the client’s, which may do with it what it likes',
  async (signal) => {
    const script = `let count = 0; process.on('${signal}', () => { console.error('signal', ++count); if (count === 3) process.exit(9) })\n${untilRunning}`
    const { launch } = await openMachine('claude', script)
    const cli = launch('claude', '--demo')
    await cli.seen('stderr', /running/)
    for (const count of [1, 2, 3]) {
      cli.child.kill(signal)
      await cli.seen('stderr', new RegExp(`signal ${count}`))
    }
    expect(await cli.ended).toMatchObject({ code: 9 })
  },
)

test('a client that a signal ends gives 128 and the number of the signal', async () => {
  const { launch } = await openMachine('claude', untilRunning)
  const cli = launch('claude', '--demo')
  await cli.seen('stderr', /running/)
  cli.child.kill('SIGTERM')
  expect(await cli.ended).toMatchObject({ code: 143 })
})

test('the simulated daemon answers while the client runs, and is gone afterwards', async () => {
  const script = `fetch(env.ANTHROPIC_BASE_URL + '/healthz').then((r) => r.json()).then((body) => console.error(body.demo ? 'alive' : 'odd'))`
  const { launch } = await openMachine('claude', script)
  const { stdout, stderr } = await launch('claude', '--demo').ended
  expect(stderr).toContain('alive')
  await expect(fetch(`${startedOf(stdout).env['ANTHROPIC_BASE_URL']}/healthz`)).rejects.toThrow()
})

test.each([
  ['claude', 'npm install -g @anthropic-ai/claude-code'],
  ['codex', 'npm install -g @openai/codex'],
  ['opencode', 'npm install -g opencode-ai'],
])('%s that is not installed: the command that installs it', async (name, command) => {
  const { launch } = await openMachine('something-else')
  expect(await launch(name, '--demo').ended).toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringContaining(command),
  })
})

test('an option of the client’s in the wrong place: where it belongs', async () => {
  const { launch } = await openMachine()
  const { code, stderr } = await launch('claude', '-p', 'hello').ended
  expect(code).toBe(2)
  expect(stderr).toContain("Put the client's own arguments after --.")
})

test('a model that there is not: those that are near', async () => {
  const { launch } = await openMachine()
  const { code, stdout, stderr } = await launch('claude', '--demo', '--model', 'claude-sonet-5').ended
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toContain('claude-sonnet-5')
})

test.runIf(isThorough)('a model may be named in any of its ways', async () => {
  const { launch } = await openMachine()
  const { stdout } = await launch('claude', '--demo', '--model', 'claude-opus-4-8-20260101').ended
  expect(startedOf(stdout).env['ANTHROPIC_MODEL']).toBe('claude-opus-4.8')
})

test.each(['claude', 'something-else'])(
  'without a login: exit code 3, how to log in, and how to try it, with %s installed',
  async (installed) => {
    const { launch, env } = await openMachine(installed)
    env['COPILOT_PROXY_SERVER_PORT'] = '2'
    const { code, stdout, stderr } = await launch('claude').ended
    expect({ code, stdout }).toEqual({ code: 3, stdout: '' })
    expect(stderr).toContain('copilot-proxy login')
    expect(stderr).toContain('\nTo try it without an account: copilot-proxy launch claude --demo\n')
  },
)

describe('a daemon that runs', () => {
  test('is used, with its key, which no command line shows', async () => {
    const proxy = await openProxy({ file: 'server: { api-keys: [right-key-of-mine] }' })
    for (const [name, variable] of [
      ['claude', 'ANTHROPIC_AUTH_TOKEN'],
      ['codex', 'COPILOT_PROXY_API_KEY'],
      ['opencode', 'COPILOT_PROXY_API_KEY'],
    ] as const) {
      const { launch, env } = await openMachine(name)
      Object.assign(env, {
        COPILOT_PROXY_SERVER_PORT: new URL(proxy.url).port,
        COPILOT_PROXY_SERVER_API_KEYS: 'right-key-of-mine',
        COPILOT_GITHUB_TOKEN: 'ghu_somebody',
      })
      const { code, stdout, stderr } = await launch(name, '--', 'hello').ended
      const { args, env: given } = startedOf(stdout)
      expect(given[variable]).toBe('right-key-of-mine')
      expect(given).not.toHaveProperty('COPILOT_GITHUB_TOKEN')
      expect(args.join(' ')).not.toContain('right-key-of-mine')
      expect(args.at(-1)).toBe('hello')
      expect(stderr).not.toContain('right-key-of-mine')
      expect(code).toBe(0)
    }
  })

  test.runIf(isThorough)('can use no login: it starts no client and prints the reason', async () => {
    const proxy = await openProxy({ login: 'revoked' })
    const { launch, env } = await openMachine()
    Object.assign(env, { COPILOT_PROXY_SERVER_PORT: new URL(proxy.url).port, COPILOT_GITHUB_TOKEN: 'ghu_somebody' })
    const { code, stdout, stderr } = await launch('claude').ended
    expect(stdout).toBe('')
    expect(stderr).toMatch(/cannot use any model\. GitHub does not accept the token/)
    expect(code).toBe(1)
  })

  test('asks for a key that is in no configuration here: that of the variable is sent', async () => {
    const proxy = await openProxy({ file: 'server: { api-keys: [right-key-of-mine] }' })
    const { launch, env } = await openMachine()
    Object.assign(env, { COPILOT_PROXY_SERVER_PORT: new URL(proxy.url).port, COPILOT_GITHUB_TOKEN: 'ghu_somebody' })
    const refused = await launch('claude').ended
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('Set COPILOT_PROXY_API_KEY') })
    env['COPILOT_PROXY_API_KEY'] = 'right-key-of-mine'
    const { code, stdout } = await launch('claude').ended
    expect(code).toBe(0)
    expect(startedOf(stdout).env['ANTHROPIC_AUTH_TOKEN']).toBe('right-key-of-mine')
  })

  test('and is somebody else’s program: says so', async () => {
    const other = createServer((_request, response) => response.end('{"ok":true}'))
    const port = await listenForTest(other)
    const { launch, env } = await openMachine()
    Object.assign(env, { COPILOT_PROXY_SERVER_PORT: String(port), COPILOT_GITHUB_TOKEN: 'ghu_somebody' })
    const { code, stdout, stderr } = await launch('claude').ended
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toContain(`Port ${port} is in use by`)
  })
})

test('starts a daemon that stays, waits for the account’s own models, and finds it the next time', async () => {
  const github = await openGithub()
  const { launch, env, home } = await openMachine()
  Object.assign(env, {
    ...githubVariables(github),
    COPILOT_PROXY_SERVER_PORT: '0',
    COPILOT_PROXY_COPILOT_BASE_URL: github.url,
    COPILOT_GITHUB_TOKEN: github.tokens.issueGithub(),
  })
  onTestFinished(async () => {
    await startCli(['stop'], env).ended
  })
  const first = await launch('claude').ended
  expect(first.stderr).toMatch(/Started copilot-proxy in the background at http:\S+\. To stop it: copilot-proxy stop\n/)
  expect(startedOf(first.stdout).env['ANTHROPIC_MODEL']).toBe('claude-sonnet-5.5')
  const second = await launch('claude').ended
  expect(second.stderr).not.toContain('in the background')
  const url = startedOf(first.stdout).env['ANTHROPIC_BASE_URL']
  expect(startedOf(second.stdout).env['ANTHROPIC_BASE_URL']).toBe(url)
  expect(await readFile(join(home, 'proxy/config.yaml'), 'utf8').catch(() => 'none')).toBe('none')
})

test('what settings files of Claude Code say is laid over, by a file that is gone afterwards', async () => {
  const script = `const at = argv.indexOf('--settings') + 1; console.error(require('node:fs').readFileSync(argv[at], 'utf8'), argv[at])`
  const { launch, home } = await openMachine('claude', script)
  await mkdir(join(home, '.claude'))
  await writeFile(join(home, '.claude/settings.json'), '\uFEFF{"env":{"HTTP_PROXY":"http://theirs.example"}}')
  const { stderr, stdout } = await launch('claude', '--demo').ended
  expect(stderr).toMatch(/"ANTHROPIC_BASE_URL":"http:\/\/127\.0\.0\.1:\d+"/)
  expect(stderr).toContain('"NO_PROXY":"127.0.0.1,localhost"')
  const path = startedOf(stdout).args[1] ?? ''
  await expect(readFile(path)).rejects.toThrow(/ENOENT/)
})
