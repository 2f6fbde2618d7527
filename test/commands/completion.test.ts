import { execFile, spawnSync } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { Argument, Command, Option } from 'commander'
import { describe, expect, onTestFinished, test } from 'vitest'
import { completionScript } from '../../src/commands/completion.ts'
import { createUser } from './harness.ts'

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
  const dir = await mkdtemp(join(tmpdir(), 'copilot-proxy-completion-'))
  onTestFinished(() => rm(dir, { recursive: true }))
  const file = join(dir, `script.${shell}`)
  await writeFile(file, stdout)
  return file
}

const hasShell = (shell: string): boolean => spawnSync(shell, ['-c', ':']).status === 0

describe.each(['bash', 'zsh', 'fish'])('%s', (shell) => {
  test.runIf(hasShell(shell))('can read the script of the whole program', async () => {
    expect((await promisify(execFile)(shell, ['-n', await scriptFile(shell)])).stderr).toBe('')
  })
})

/** What it offers for the last of these words. */
async function offered(file: string, words: readonly string[]): Promise<readonly string[]> {
  const script = `source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _copilot_proxy; printf '%s\\n' "\${COMPREPLY[@]}"`
  const { stdout } = await promisify(execFile)('bash', ['-c', script, 'bash', file, ...words])
  return stdout.split('\n').filter((line) => line !== '')
}

describe.runIf(hasShell('bash'))('in bash', () => {
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
    [['--config', 'serve', 'config', 's'], ['show']],
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

  test('options that are hidden are not offered', async () => {
    expect(await offered(await scriptFile('bash'), ['copilot-proxy', 'serve', '--backg'])).toEqual([])
  })
})

/** What fish offers for an unfinished line. */
async function offeredInFish(file: string, line: string, cwd: string): Promise<readonly string[]> {
  const script = `source ${file}; complete -C '${line}'`
  const { stdout } = await promisify(execFile)('fish', ['--no-config', '-c', script], { cwd })
  return stdout.split('\n').flatMap((row) => (row === '' ? [] : [row.split('\t')[0] ?? '']))
}

const zshProgram = fileURLToPath(new URL('children/offered.zsh', import.meta.url))

async function offeredInZsh(file: string, line: string, cwd: string): Promise<readonly string[]> {
  const { stdout } = await promisify(execFile)('zsh', ['-f', zshProgram, file, cwd, line])
  return [...stdout.matchAll(/offered ([^\r\n]+)/g)].map(([, word = '']) => word)
}

const lines: readonly (readonly [line: string, offered: readonly string[]])[] = [
  ['copilot-proxy lo', ['login', 'logout', 'logs']],
  ['copilot-proxy --dem', ['--demo']],
  ['copilot-proxy launch ', ['claude', 'codex', 'opencode']],
  ['copilot-proxy --config a.yaml config s', ['show']],
  ['copilot-proxy serve --log-format ', ['auto', 'json', 'pretty']],
  ['copilot-proxy serve --config my', ['my.yaml']],
  ['copilot-proxy completion ', ['bash', 'fish', 'zsh']],
  ['copilot-proxy launch claude -- --', []],
]

describe.each([
  ['fish', offeredInFish],
  ['zsh', offeredInZsh],
] as const)('in %s', (shell, ask) => {
  test.runIf(hasShell(shell)).each(lines)('%s', { timeout: 30_000 }, async (line, expected) => {
    const file = await scriptFile(shell)
    await writeFile(join(dirname(file), 'my.yaml'), '')
    expect((await ask(file, line, dirname(file))).toSorted()).toEqual(expected)
  })
})

test('another shell is wrong usage', async () => {
  const user = await createUser()
  expect(await user.run('completion tcsh')).toMatchObject({ code: 2, stdout: '' })
})
