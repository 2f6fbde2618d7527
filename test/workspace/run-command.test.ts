import { existsSync, readFileSync } from 'node:fs'
import { chmod, mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, describe, expect, it, test, vi } from 'vitest'
import { commandEnvironment } from '../../src/workspace/run-command.ts'
import { createRunner, printMuch } from './runner.ts'
import { failureOf } from './tree.ts'

afterEach(() => void vi.unstubAllEnvs())

/** Returns false for a zombie too, because init may be slow to collect it. */
function isRunning(pid: number): boolean {
  try {
    return !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}

async function putProgram(path: string, text: string): Promise<void> {
  await writeFile(path, text)
  await chmod(path, 0o755)
}

test('returns exit code and output', async () => {
  const { run } = await createRunner()
  expect(await run(['sh', '-c', 'echo out; echo err >&2; exit 3'])).toEqual({
    exitCode: 3,
    stdout: 'out\n',
    stderr: 'err\n',
    truncated: false,
    timedOut: false,
    sandbox: 'none',
  })
})

test('passes arguments unchanged, without a shell', async () => {
  const { run } = await createRunner()
  const words = ['a b', '$HOME', '`x`', '; touch canary', '*', '', '\n', '"', 'ü']
  const { stdout } = await run(['printf', String.raw`%s\0`, ...words])
  expect(stdout.split('\0').slice(0, -1)).toEqual(words)
})

test('runs in a folder of the workspace, and follows no link', async () => {
  const { run, root, outside } = await createRunner()
  await mkdir(join(root, 'sub'))
  await symlink('sub', join(root, 'inside'))
  await symlink(outside, join(root, 'leak'))
  expect(await run(['pwd', '-P'])).toMatchObject({ stdout: `${root}\n` })
  expect(await run(['pwd', '-P'], { cwd: 'sub' })).toMatchObject({ stdout: `${root}/sub\n` })
  expect(await failureOf(run(['pwd'], { cwd: 'inside' }))).toMatchObject({ kind: 'denied' })
  expect(await failureOf(run(['pwd'], { cwd: 'leak' }))).toMatchObject({ kind: 'denied' })
  expect(await failureOf(run(['pwd'], { cwd: '..' }))).toMatchObject({ kind: 'denied' })
  expect(await failureOf(run(['pwd'], { cwd: 'missing' }))).toMatchObject({ kind: 'failed' })
})

describe('the program', () => {
  it('is never found in the workspace by its name', async () => {
    const { run, root } = await createRunner()
    await mkdir(join(root, 'bin'))
    await putProgram(join(root, 'ls'), '#!/bin/sh\necho mine\n')
    await putProgram(join(root, 'bin', 'ls'), '#!/bin/sh\necho mine\n')
    await putProgram(join(root, 'bin', 'own'), '#!/bin/sh\necho mine\n')
    vi.stubEnv('PATH', `:.:./bin:${root}:${join(root, 'bin')}:${process.env['PATH']}`)
    expect((await run(['ls', 'bin'])).stdout).toBe('ls\nown\n')
    expect(await failureOf(run(['own']))).toEqual({
      kind: 'failed',
      detail: 'The program "own" is not installed: no folder of PATH has it.',
    })
    const { stdout } = await run(['printenv', 'PATH'])
    expect(stdout.split(':').filter((folder) => !folder.startsWith('/') || folder.startsWith(root))).toEqual([])
  })

  it('with a slash is a path relative to the working folder', async () => {
    const { run, root, outside } = await createRunner()
    await mkdir(join(root, 'sub'))
    await putProgram(join(root, 'own.sh'), '#!/bin/sh\necho mine $0\n')
    await putProgram(join(outside, 'other.sh'), '#!/bin/sh\necho other\n')
    await symlink(join(outside, 'other.sh'), join(root, 'leak.sh'))
    expect((await run(['./own.sh'])).stdout).toContain('mine')
    expect((await run(['../own.sh'], { cwd: 'sub' })).stdout).toContain('mine')
    expect((await run([join(root, 'own.sh')])).stdout).toContain('mine')
    expect((await run([join(outside, 'other.sh')])).stdout).toBe('other\n')
    expect(await failureOf(run(['./leak.sh']))).toMatchObject({ kind: 'denied' })
    expect(await failureOf(run(['../outside/other.sh']))).toMatchObject({ kind: 'denied' })
    expect(await failureOf(run(['./own.sh'], { cwd: 'sub' }))).toMatchObject({ kind: 'failed' })
    expect(await failureOf(run(['./sub']))).toMatchObject({ kind: 'failed' })
  })

  it('whose interpreter is missing is named', async () => {
    const { run, root } = await createRunner()
    await putProgram(join(root, 'x'), '#!/missing/interpreter\n')
    expect(await failureOf(run(['./x']))).toEqual({
      kind: 'failed',
      detail: 'The program "./x" could not be started: it needs an interpreter that is not installed.',
    })
  })

  it('is refused with a NUL or without a name', async () => {
    const { run } = await createRunner()
    expect(await failureOf(run(['ls', 'a\0b']))).toMatchObject({ kind: 'failed' })
    expect(await failureOf(run([]))).toMatchObject({ kind: 'failed' })
    expect(await failureOf(run(['ls', 'x'.repeat(3_000_000)]))).toEqual({
      kind: 'failed',
      detail: 'The program "ls" could not be started: its arguments are too long.',
    })
  })
})

describe('G26: the environment is minimal', () => {
  it('has only PATH and HOME of the daemon', async () => {
    const { run } = await createRunner()
    const names = ['NODE_OPTIONS', 'LD_PRELOAD', 'BASH_ENV', 'GIT_SSH_COMMAND', 'TAP_PROVIDER_TOKEN', 'LC_ALL', 'LANG']
    for (const name of names) vi.stubEnv(name, '/tmp/x')
    const { stdout } = await run(['env'])
    const variables = stdout.trim().split('\n')
    expect(new Set(variables.map((line) => line.split('=', 1)[0]))).toEqual(new Set(['HOME', 'LANG', 'PATH', 'TERM']))
    expect(variables).toEqual(expect.arrayContaining(['LANG=C.UTF-8', 'TERM=dumb']))
  })

  it('has the variables that Windows needs', () => {
    const own = { SystemRoot: 'C:\\Windows', NODE_OPTIONS: 'x', GH_TOKEN: 'x' }
    expect(Object.keys(commandEnvironment(['C:\\a', 'C:\\b'], own, 'win32')).toSorted()).toEqual([
      'HOME',
      'LANG',
      'PATH',
      'SystemRoot',
      'TERM',
    ])
    expect(commandEnvironment(['C:\\a', 'C:\\b'], own, 'win32')).toMatchObject({ PATH: 'C:\\a;C:\\b' })
  })
})

describe('G27: a command that resists is stopped with its process group', () => {
  it('stops a command that forks, ignores SIGTERM and never ends', async () => {
    const { run, root } = await createRunner()
    const script = 'trap "" TERM; (trap "" TERM; while :; do sleep 1; done) & echo $! > fork; echo $$ > own; cat; wait'
    const end = await run(['sh', '-c', script], { timeoutMs: 500 })
    expect(end).toMatchObject({ timedOut: true, exitCode: 128 + 9 })
    const pids = ['fork', 'own'].map((name) => Number(readFileSync(join(root, name), 'utf8')))
    await vi.waitFor(() => expect(pids.filter(isRunning)).toEqual([]))
  })

  it('gives a command time to end by itself', async () => {
    const { run } = await createRunner()
    const script = 'trap "echo bye; exit 5" TERM; echo ready; while :; do sleep 0.05; done'
    const end = await run(['sh', '-c', script], { timeoutMs: 500, graceMs: 10_000 })
    expect(end).toMatchObject({ timedOut: true, exitCode: 5, stdout: 'ready\nbye\n' })
  })

  it('stops background processes and does not wait for them', async () => {
    const { run } = await createRunner()
    const end = await run(['sh', '-c', 'sleep 600 & echo $!; (trap "" TERM; exec sleep 600 >/dev/null 2>&1) & echo $!'])
    expect(end).toMatchObject({ exitCode: 0, timedOut: false })
    const pids = end.stdout.trim().split('\n').map(Number)
    expect(pids).toHaveLength(2)
    await vi.waitFor(() => expect(pids.filter(isRunning)).toEqual([]))
  })

  it('does not wait for a process that has left the group', async () => {
    const { run } = await createRunner()
    const script = 'setsid sh -c "touch up; exec sleep 5" & while [ ! -e up ]; do :; done; echo started'
    const { stdout, exitCode } = await run(['sh', '-c', script])
    expect({ stdout, exitCode }).toEqual({ stdout: 'started\n', exitCode: 0 })
  })

  // `npm run test:soak` prints 1 GB.
  it('keeps the start and the end of 30 MB of output', async () => {
    const { run } = await createRunner()
    await printMuch(run, 30_000_000)
  })

  it('reads an empty input', async () => {
    const { run } = await createRunner()
    expect(await run(['cat'])).toMatchObject({ exitCode: 0, stdout: '' })
  })

  it('is cancelled', async () => {
    const { run } = await createRunner()
    const controller = new AbortController()
    let pid = 0
    const onOutput = ({ text }: { text: string }): void => {
      pid = Number(text)
      controller.abort()
    }
    const call = run(['sh', '-c', 'trap "" TERM; echo $$; while :; do sleep 1; done'], {
      signal: controller.signal,
      onOutput,
    })
    expect(await failureOf(call)).toEqual({ kind: 'cancelled' })
    await vi.waitFor(() => expect(isRunning(pid)).toBe(false))
    expect(pid).toBeGreaterThan(1)
  })

  it('does not start after a cancel', async () => {
    const { run, root } = await createRunner()
    expect(await failureOf(run(['touch', 'canary'], { signal: AbortSignal.abort() }))).toEqual({ kind: 'cancelled' })
    expect(existsSync(join(root, 'canary'))).toBe(false)
  })
})

describe('output', () => {
  it('is decoded over the borders of chunks', async () => {
    const { run } = await createRunner()
    const parts: string[] = []
    const script = String.raw`printf 'a\342'; sleep 0.05; printf '\202'; sleep 0.05; printf '\254b\377'`
    const { stdout } = await run(['sh', '-c', script], { onOutput: ({ text }) => void parts.push(text) })
    expect(stdout).toBe('a€b\ufffd')
    expect(parts.join('')).toBe('a€b\ufffd')
  })

  it('is cut between characters', async () => {
    const { run } = await createRunner()
    const { stdout, truncated } = await run(['printf', '€'.repeat(10)], { maxOutputBytes: 10 })
    expect({ stdout, truncated }).toEqual({ stdout: '€\n… 20 bytes left out …\n€', truncated: true })
  })

  it('is whole at the limit', async () => {
    const { run } = await createRunner()
    expect(await run(['printf', '0123456789'], { maxOutputBytes: 10 })).toMatchObject({
      stdout: '0123456789',
      truncated: false,
    })
  })
})
