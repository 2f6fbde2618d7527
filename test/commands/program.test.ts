import { describe, expect, test } from 'vitest'
import { createUser } from './harness.ts'

const commands = [
  '',
  'login',
  'logout',
  'serve',
  'start',
  'launch',
  'setup',
  'stop',
  'restart',
  'logs',
  'service',
  'service install',
  'service uninstall',
  'service status',
  'completion',
  'status',
  'models',
  'usage',
  'requests',
  'doctor',
  'key',
  'key add',
  'key list',
  'key remove',
  'config',
  'config path',
  'config check',
  'config get',
  'config set',
  'config unset',
  'config edit',
  'config init',
  'config show',
  'gateway',
  'gateway status',
  'gateway token',
  'gateway programs',
  'policy',
  'policy check',
  'policy init',
  'mcp',
  'acp',
  'agent',
  'undo',
]

test.each(commands)('help of "%s" fits 80 columns and stays as it is', async (command) => {
  const user = await createUser()
  const { code, stdout, stderr } = await user.run(`${command} --help`)
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout.split('\n').filter((line) => line.length > 80)).toEqual([])
  await expect(stdout).toMatchFileSnapshot(`../golden/help/${command.replaceAll(' ', '-') || 'copilot-proxy'}.txt`)
})

describe('wrong usage exits with 2', () => {
  test.each([
    ['serv', "unknown command 'serv'\n(Did you mean serve?)"],
    ['serve --prot 1', "unknown option '--prot'\n(Did you mean --port?)"],
    ['--prot', "unknown option '--prot'"],
    ['--prot 33', "unknown option '--prot'\n(Did you mean --port?)"],
    ['--prot=33', "unknown option '--prot'\n(Did you mean --port?)"],
    ['--verison', '(Did you mean --version?)'],
    ['config --jsno check', "unknown option '--jsno'"],
    ['config --jsno chek', "unknown option '--jsno'"],
    ['config chek', '(Did you mean check?)'],
    ['login microsoft', 'Unknown provider "microsoft"'],
    ['status extra', 'too many arguments'],
    ['status extra', "Run 'copilot-proxy status --help' for usage."],
    ['config check extra', "Run 'copilot-proxy config check --help' for usage."],
    ['serv', "Run 'copilot-proxy --help' for usage."],
    ['--port 5 status', "the command 'status' has no option '--port'"],
    ['--port 5 statsu', "unknown command 'statsu'\n(Did you mean status?)"],
    ['--demo serve', "put option '--demo' after the command: copilot-proxy serve --demo"],
    ['-p 5 serve', "put option '-p' after the command: copilot-proxy serve -p"],
    ['--config x.yaml --log-level info config path', "the command 'config path' has no option '--log-level'"],
    ['--json config show', "put option '--json' after the command: copilot-proxy config show --json"],
    ['--foo status', "unknown option '--foo'"],
    ['help nope', "unknown command 'nope'\nRun 'copilot-proxy --help' for usage."],
    ['help statsu', "unknown command 'statsu'\n(Did you mean status?)"],
    ['help config chek', "unknown command 'chek'\n(Did you mean check?)\nRun 'copilot-proxy config --help' for usage."],
    ['config help chek', '(Did you mean check?)'],
    ['nope --help', "unknown command 'nope'"],
    ['serve --demo --json', "option '--json' needs '--detach'\nRun 'copilot-proxy serve --help' for usage."],
    ['serve --port', 'argument missing'],
    ['serve --port many', '--port: expected a whole number from 0 to 65535, got "many"'],
    ['start -p many', '--port: expected a whole number'],
    ['--port abc', '--port: expected a whole number from 0 to 65535, got "abc"'],
    ['serve --host 0.0.0.0', 'Run: copilot-proxy key add NAME'],
  ])('%s', async (commandLine, words) => {
    const user = await createUser()
    const { code, stdout, stderr } = await user.run(commandLine)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain(words)
  })
})

test('without a command and a terminal, prints how to log in if nobody is logged in', async () => {
  const user = await createUser()
  expect(await user.run('')).toEqual({
    code: 3,
    stdout: '',
    stderr: 'Not logged in. Run: copilot-proxy login (for ChatGPT: copilot-proxy login codex)\n',
  })
})

test('--config may stand before the command', async () => {
  const user = await createUser()
  expect(await user.run('--config /x.yaml config path')).toEqual({ code: 0, stdout: '/x.yaml\n', stderr: '' })
})

test.each(['--version', '-v', '-V', 'version'])('%s prints the version', async (commandLine) => {
  const user = await createUser()
  expect(await user.run(commandLine)).toEqual({ code: 0, stdout: '0.0.0-test\n', stderr: '' })
})

test('help of a command can be asked for both ways', async () => {
  const user = await createUser()
  expect(await user.run('help config check')).toEqual(await user.run('config check --help'))
  expect((await user.run('help status')).stdout).toContain('Usage: copilot-proxy status')
})

describe('what was typed cannot steer the terminal or fill it', () => {
  test.each([
    'stat\u001B[2Jus',
    'status a\u001B]0;title\u0007\nb',
    '--\u001B[31mred',
    'login mi\u009Bcro',
    'models --config \u001B[2J/nowhere.yaml',
    'serve --host \u001B[2J',
    'login --host \u001B[2J',
  ])('%j', async (commandLine) => {
    const user = await createUser()
    const { code, stdout, stderr } = await user.run(commandLine)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr.replaceAll('\n', '')).not.toMatch(/\p{Cc}/u)
    expect(stderr).not.toMatch(/^b/m)
  })

  test.each(['', '--', 'login ', 'models --config ', 'status '])('%s and 100 kB', async (start) => {
    const user = await createUser()
    const { code, stderr } = await user.run(`${start}${'x'.repeat(100_000)}`)
    expect(code).toBe(2)
    expect(stderr.length).toBeLessThan(1500)
  })
})

const missing = (): never => {
  throw new Error('ENOENT')
}

describe('folders of the process', () => {
  test('without a home folder, one sentence says what to set, where it is needed', async () => {
    const user = await createUser()
    delete user.env['COPILOT_PROXY_HOME']
    const sentence = 'You have no home folder. Set HOME or COPILOT_PROXY_HOME.\n'
    for (const homeDir of [missing, () => '']) {
      expect(await user.run('config path', { homeDir })).toEqual({ code: 1, stdout: '', stderr: sentence })
    }
    user.env['COPILOT_PROXY_HOME'] = user.home
    expect(await user.run('config path', { homeDir: missing })).toMatchObject({ code: 0 })
  })

  test('a deleted working directory matters to a relative --config only', async () => {
    const user = await createUser()
    expect(await user.run('config path', { workingDir: missing })).toMatchObject({ code: 0 })
    expect(await user.run('config path --config x.yaml', { workingDir: missing })).toEqual({
      code: 1,
      stdout: '',
      stderr: 'The working directory was deleted. Use an absolute path for --config.\n',
    })
  })
})
