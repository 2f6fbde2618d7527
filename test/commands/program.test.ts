import { describe, expect, test } from 'vitest'
import { createUser } from './harness.ts'

const commands = [
  '',
  'login',
  'logout',
  'serve',
  'status',
  'models',
  'usage',
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
    ['login microsoft', 'Allowed choices are copilot, codex'],
    ['status extra', 'too many arguments'],
    ['serve --port', 'argument missing'],
    ['serve --port many', '--port  server.port  expected a whole number'],
    ['serve --host 0.0.0.0', 'server.api-keys'],
  ])('%s', async (commandLine, words) => {
    const user = await createUser()
    const { code, stdout, stderr } = await user.run(commandLine)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain(words)
  })
})

test('without a command and a terminal, somebody who is not logged in is told how to', async () => {
  const user = await createUser()
  expect(await user.run('')).toEqual({
    code: 3,
    stdout: '',
    stderr: 'Nobody is logged in. Log in first: copilot-proxy login\n',
  })
})

test('prints the version', async () => {
  const user = await createUser()
  expect(await user.run('--version')).toEqual({ code: 0, stdout: '0.0.0-test\n', stderr: '' })
})
