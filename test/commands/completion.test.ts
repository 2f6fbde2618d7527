import { execFile, spawnSync } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { Argument, Command, Option } from 'commander'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { completionScript } from '../../src/commands/completion.ts'
import { openProxy } from '../http/harness.ts'
import { createUser } from './harness.ts'
import { makeFolder } from '../tools/session.ts'

/** Has one of each kind of thing, so that the golden files do not change with every command of the real one. */
function smallProgram(): Command {
  const program = new Command('copilot-proxy')
    .option('--config <file>', 'read this [file]: "yours"')
    .configureHelp({ showGlobalOptions: true })
    .helpCommand('help [command]', 'show help')
  program
    .command('login')
    .description("connect an account; it's easy")
    .addArgument(new Argument('[provider]', 'whose'))
    .option('--host <host>', 'which host')
    .addOption(new Option('--secret').hideHelp())
  program
    .command('serve')
    .description('answer requests')
    .option('--log-level <level>', 'how much')
    .option('-f, --follow', 'go on')
    .option('--model <model>', 'which model')
  program.command('key').description('keys').command('add').description('make one').argument('[name]')
  program
    .command('completion')
    .description('this')
    .addArgument(new Argument('<shell>').choices(['bash', 'zsh']))
  return program
}

test.each(['bash', 'zsh', 'fish'] as const)('the script for %s is what it was', async (shell) => {
  const script = completionScript(shell, smallProgram(), [])
  await expect(script).toMatchFileSnapshot(`../golden/completion/copilot-proxy.${shell}`)
})

async function scriptFile(shell: string): Promise<string> {
  const user = await createUser()
  const { code, stdout } = await user.run(`completion ${shell}`)
  expect(code).toBe(0)
  const dir = await makeFolder()
  const file = join(dir, `script.${shell}`)
  await writeFile(file, stdout)
  return file
}

const hasShell = (shell: string): boolean => spawnSync(shell, ['-c', ':']).status === 0

test.for(['bash', 'zsh', 'fish'])('%s can read the script of the whole program', async (shell, { skip }) => {
  skip(!hasShell(shell), `${shell} is not installed, so it does not read its script`)
  expect((await promisify(execFile)(shell, ['-n', await scriptFile(shell)])).stderr).toBe('')
})

/** What it offers for the last of these words. */
async function offered(
  file: string,
  words: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<readonly string[]> {
  const script = `source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _copilot_proxy; printf '%s\\n' "\${COMPREPLY[@]}"`
  const { stdout } = await promisify(execFile)('bash', ['-c', script, 'bash', file, ...words], {
    env: { ...process.env, ...env },
  })
  return stdout.split('\n').filter((line) => line !== '')
}

describe('in bash', () => {
  beforeEach(({ skip }) => skip(!hasShell('bash'), 'bash is not installed, so its completion is not tested'))

  test.each([
    [['lo'], ['login', 'logout', 'logs']],
    [
      ['login', ''],
      ['copilot', 'codex'],
    ],
    [['login', 'copilot', ''], []],
    [['login', '--host', ''], []],
    [
      ['login', '--host', 'octocorp.ghe.com', 'co'],
      ['copilot', 'codex'],
    ],
    [['--config', 'serve', 'config', 'sh'], ['show']],
    [['config', 'show', '--j'], ['--json']],
    [
      ['serve', '--d'],
      ['--demo', '--detach'],
    ],
    [['--dem'], ['--demo']],
    [
      ['serve', '--log-format', ''],
      ['auto', 'pretty', 'json'],
    ],
    [['serve', '--log-level', 'd'], ['debug']],
    [['serve', '--log-level', '=', 'd'], ['debug']],
    [
      ['serve', '--log-level', '='],
      ['trace', 'debug', 'info', 'warn', 'error', 'silent'],
    ],
    [['serve', '--log-level', '=', 'debug', '--dem'], ['--demo']],
    [['logs', '-f', '--li'], ['--lines']],
    [['service', 'i'], ['install']],
    [
      ['completion', ''],
      ['bash', 'zsh', 'fish'],
    ],
    [['help', 'comp'], ['completion']],
    [['launch', 'claude', '--', ''], []],
    [['nothing', 'lo'], []],
  ])('%j', async (words, expected) => {
    expect(await offered(await scriptFile('bash'), ['copilot-proxy', ...words])).toEqual(expected)
  })

  test.each([
    [['launch', 'claude', '--model', 'gpt'], 'models gpt-5-mini gpt-4.1', ['gpt-5-mini', 'gpt-4.1']],
    [['requests', '--key', ''], 'keys laptop', ['laptop']],
    [['key', 'remove', 'l'], 'keys laptop phone', ['laptop']],
    [['requests', '--model', ''], 'nothing', []],
  ])('%j asks the program', async (words, answer, expected) => {
    const file = await scriptFile('bash')
    const [kind = '', ...values] = answer.split(' ')
    const stub = `#!/bin/sh\n[ "$1 $2" = "__complete ${kind}" ] && printf '%s\\n' ${values.join(' ')}\n`
    await writeFile(join(dirname(file), 'copilot-proxy'), stub, { mode: 0o755 })
    const env = { PATH: `${dirname(file)}:${process.env['PATH']}` }
    expect(await offered(file, ['copilot-proxy', ...words], env)).toEqual(expected)
  })

  test('settings are offered to config set', async () => {
    const words = ['copilot-proxy', 'config', 'set', 'server.po']
    expect(await offered(await scriptFile('bash'), words)).toEqual(['server.port'])
  })

  test('options that are hidden are not offered', async () => {
    expect(await offered(await scriptFile('bash'), ['copilot-proxy', 'serve', '--backg'])).toEqual([])
  })
})

/** What fish offers for each unfinished line. */
async function offeredInFish(file: string, lines: readonly string[], env: NodeJS.ProcessEnv) {
  const script = 'source $argv[1]; for line in $argv[2..]; complete -C $line; echo has answered; end'
  const { stdout } = await promisify(execFile)('fish', ['--no-config', '-c', script, file, ...lines], {
    cwd: dirname(file),
    env,
  })
  return answers(stdout).map((text) => text.split('\n').flatMap((row) => row.split('\t')[0] || []))
}

const zshProgram = fileURLToPath(new URL('children/offered.zsh', import.meta.url))

async function offeredInZsh(file: string, lines: readonly string[], env: NodeJS.ProcessEnv) {
  const { stdout } = await promisify(execFile)('zsh', ['-f', zshProgram, file, dirname(file), ...lines], { env })
  return answers(stdout).map((text) => [...text.matchAll(/offered ([^\r\n]+)/g)].map(([, word = '']) => word))
}

function answers(stdout: string): readonly string[] {
  return stdout.split('has answered').slice(0, -1)
}

const lines: readonly (readonly [line: string, offered: readonly string[]])[] = [
  ['copilot-proxy lo', ['login', 'logout', 'logs']],
  ['copilot-proxy --dem', ['--demo']],
  ['copilot-proxy launch ', ['claude', 'codex', 'opencode']],
  ['copilot-proxy --config a.yaml config sh', ['show']],
  ['copilot-proxy serve --log-format ', ['auto', 'json', 'pretty']],
  ['copilot-proxy serve --config my', ['my.yaml']],
  ['copilot-proxy config set server.po', ['server.port']],
  ['copilot-proxy completion ', ['bash', 'fish', 'zsh']],
  ['copilot-proxy launch claude --model gpt', ['gpt-4.1', 'gpt-5-mini']],
  ['copilot-proxy models gpt-5', ['gpt-5-mini']],
  ['copilot-proxy requests --key ', ['laptop', 'phone']],
  ['copilot-proxy key remove l', ['laptop']],
  ['copilot-proxy launch claude -- --', []],
]

/** Answers of `copilot-proxy __complete` for the scripts. */
const stubProgram = `#!/bin/sh
case "$1 $2" in
  "__complete models") printf '%s\\n' gpt-5-mini gpt-4.1 claude-sonnet-4.5 ;;
  "__complete keys") printf '%s\\n' laptop phone ;;
esac
`

// One process answers all lines: zsh takes seconds to load its completion system.
test.for([
  { shell: 'fish', ask: offeredInFish },
  { shell: 'zsh', ask: offeredInZsh },
])(
  '$shell offers commands, options, files, models, keys and settings',
  { timeout: 120_000 },
  async ({ shell, ask }, { skip }) => {
    skip(!hasShell(shell), `${shell} is not installed, so its completion is not tested`)
    const file = await scriptFile(shell)
    await writeFile(join(dirname(file), 'my.yaml'), '')
    await writeFile(join(dirname(file), 'copilot-proxy'), stubProgram, { mode: 0o755 })
    const env = { ...process.env, PATH: `${dirname(file)}:${process.env['PATH']}` }
    const offers = await ask(
      file,
      lines.map(([line]) => line),
      env,
    )
    expect(lines.map(([line], at) => [line, offers[at]?.toSorted()])).toEqual(lines)
  },
)

describe('the values of a completion', () => {
  test('are the models of the running daemon and the aliases, without anything that a shell could interpret', async () => {
    const proxy = await openProxy()
    const user = await createUser()
    user.env['COPILOT_PROXY_SERVER_PORT'] = String(proxy.port)
    user.env['COPILOT_PROXY_MODELS_ALIASES'] = '{ "fast": gpt-4.1, "$(touch x)": gpt-4.1, "a b": gpt-4.1 }'
    const { code, stdout } = await user.run('__complete models')
    expect(code).toBe(0)
    expect(stdout.split('\n')).toEqual(expect.arrayContaining(['gpt-4.1', 'fast']))
    expect(stdout).not.toMatch(/touch|a b/)
  })

  test('are the names of the keys', async () => {
    const user = await createUser()
    user.env['COPILOT_PROXY_SERVER_API_KEYS'] = `laptop:sha256:${'a'.repeat(64)}, example-key-0123456789`
    expect((await user.run('__complete keys')).stdout).toBe('laptop\nplain-2\n')
  })

  test('are none where no daemon runs, where only another machine could answer, or where the settings are invalid', async () => {
    const user = await createUser()
    const none = { code: 0, stdout: '', stderr: '' }
    expect(await user.run('__complete models')).toEqual(none)
    const asked = vi.fn<typeof fetch>()
    const variables = {
      COPILOT_PROXY_SERVER_HOST: '192.0.2.1',
      COPILOT_PROXY_SERVER_API_KEYS: 'example-key-0123456789',
    }
    const env = { ...user.env, ...variables }
    expect(await user.run('__complete models', { env, fetch: asked })).toEqual(none)
    expect(asked).not.toHaveBeenCalled()
    await writeFile(join(user.home, 'config.yaml'), 'nonsense: 1\n')
    expect(await user.run('__complete keys')).toEqual(none)
  })
})

test('another shell is wrong usage', async () => {
  const user = await createUser()
  expect(await user.run('completion tcsh')).toMatchObject({ code: 2, stdout: '' })
})
