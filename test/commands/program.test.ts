import { describe, expect, test } from 'vitest'
import { createUser } from './harness.ts'

const commands = [
  '',
  'login',
  'logout',
  'serve',
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
  'config show',
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
    ['config chek', '(Did you mean check?)'],
    ['login microsoft', 'does not know the provider "microsoft"'],
    ['status extra', 'too many arguments'],
    ['status extra', 'See copilot-proxy status --help'],
    ['config check extra', 'See copilot-proxy config check --help'],
    ['serv', 'See copilot-proxy --help'],
    ['--port 5 status', "option '--port' stands before the command 'status'; options of a command follow it"],
    ['--demo serve', "option '--demo' stands before the command 'serve'"],
    ['--config x.yaml --log-level info config path', "option '--log-level' stands before the command 'config'"],
    ['--json status', "unknown option '--json'"],
    ['serve --demo --json', "option '--json' goes with '--detach' only\nSee copilot-proxy serve --help"],
    ['serve --port', 'argument missing'],
    ['serve --port many', '--port  server.port  expected a whole number'],
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
    stderr: 'Nobody is logged in. Log in first: copilot-proxy login, or: copilot-proxy login codex\n',
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
  expect(await user.run('help config check')).toEqual(await user.run('config --help check'))
  expect((await user.run('help status')).stdout).toContain('Usage: copilot-proxy status')
})

describe('what was typed cannot steer the terminal or fill it', () => {
  test.each([
    'stat\u001B[2Jus',
    'status a\u001B]0;title\u0007\nb',
    '--\u001B[31mred',
    'login mi\u009Bcro',
    'status --config \u001B[2J/nowhere.yaml',
    'serve --host \u001B[2J',
    'login --host \u001B[2J',
  ])('%j', async (commandLine) => {
    const user = await createUser()
    const { code, stdout, stderr } = await user.run(commandLine)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr.replaceAll('\n', '')).not.toMatch(/\p{Cc}/u)
    expect(stderr).not.toMatch(/^b/m)
  })

  test.each(['', '--', 'login ', 'status --config ', 'status '])('%s and 100 kB', async (start) => {
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
    const sentence = 'This user has no home folder: set HOME or COPILOT_PROXY_HOME.\n'
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
      stderr: 'The working directory has been deleted: give --config a path that starts at the root.\n',
    })
  })
})
