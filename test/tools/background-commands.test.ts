import { existsSync } from 'node:fs'
import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import { runAgent } from '../../src/agent/run-agent.ts'
import { isObject } from '../../src/json/json.ts'
import { openAgent, scriptOf } from '../agent/support.ts'
import { openWorkspaceRpc } from '../rpc/open-workspace.ts'

const files = {
  // Tells its folder, and where it is when it was started.
  'where.js': 'console.log(process.cwd())\n',
  'serve.js':
    "process.on('SIGTERM', () => { require('fs').writeFileSync('stopped', ''); process.exit(0) })\n" +
    "console.log('ready'); setInterval(() => {}, 1000)\n",
  'once.js': "console.log('done'); process.exitCode = 3\n",
  Makefile: 'once:\n\t@node once.js\n',
  'sub/where.js': 'console.log(process.cwd())\n',
}
const policy =
  'shell:\n  allow:\n' +
  [
    'node serve.js',
    'node once.js',
    'make once',
    'node missing.js',
    'no-such-program',
    '{ run: node where.js, in: [., sub] }',
  ]
    .map((entry) => `    - ${entry}\n`)
    .join('')

async function open() {
  const rpc = await openWorkspaceRpc(files, policy)
  async function start(method: string, params: object): Promise<string> {
    const answer = await rpc.answerTo(method, { ...params, background: true })
    const result = isObject(answer) ? answer['result'] : undefined
    if (!isObject(result) || typeof result['id'] !== 'string') throw new Error(JSON.stringify(answer))
    return result['id']
  }
  /** Reads the output until it has a text. */
  async function outputOf(id: string, text: string): Promise<void> {
    await vi.waitFor(
      async () => {
        const answer = await rpc.answerTo('mcp.shell.output', { id })
        expect(answer).toMatchObject({ result: { isRunning: true, stdout: expect.stringContaining(text) } })
      },
      { timeout: 30_000 },
    )
  }
  return { ...rpc, start, outputOf }
}

describe('a command', () => {
  test('runs in a folder of the workspace that the policy allows for it', async () => {
    const { answerTo, root } = await open()
    const run = (cwd: string, argv = ['node', 'where.js']) => answerTo('mcp.shell.run', { argv, cwd })
    expect(await run('sub')).toMatchObject({ result: { exitCode: 0, stdout: expect.stringMatching(/\/sub\n$/) } })
    expect(await run('.')).toMatchObject({ result: { exitCode: 0 } })
    await mkdir(join(root, 'other'))
    for (const cwd of ['other', '..', '/', 'sub/../../x']) {
      expect(await run(cwd), cwd).toMatchObject({ error: { code: -32001 } })
    }
    expect(await run('sub', ['node', 'once.js'])).toMatchObject({ error: { code: -32001 } })
  })

  test('ends after timeoutMs, which may not be longer than the configured time', async () => {
    const { answerTo } = await open()
    expect(await answerTo('mcp.shell.run', { cmd: 'node serve.js', timeoutMs: 500 })).toMatchObject({
      result: { timedOut: true },
    })
    expect(await answerTo('mcp.shell.run', { cmd: 'node serve.js', timeoutMs: 61_000 })).toMatchObject({
      error: { code: -32602, data: { path: 'timeoutMs' } },
    })
  })
})

describe('a command in the background', () => {
  test('goes on, is read while it runs, and is stopped', async () => {
    const { answerTo, start, outputOf, root } = await open()
    const id = await start('mcp.shell.run', { cmd: 'node serve.js' })
    await outputOf(id, 'ready')
    expect(await answerTo('mcp.shell.stop', { id })).toMatchObject({
      result: { id, isRunning: false, stdout: 'ready\n', problem: 'The command was stopped.' },
    })
    expect(existsSync(join(root, 'stopped'))).toBe(true)
    expect(await answerTo('mcp.shell.output', { id })).toMatchObject({ result: { isRunning: false } })
  })

  test.each([
    ['mcp.shell.run', { cmd: 'node once.js' }, 3],
    ['mcp.task.run', { name: 'once' }, 2],
  ])('%s is waited for, and its end is read', async (method, params, exitCode) => {
    const { answerTo, start } = await open()
    const id = await start(method, params)
    expect(await answerTo('mcp.shell.output', { id, waitMs: 30_000 })).toMatchObject({
      result: { id, isRunning: false, exitCode, stdout: 'done\n', timedOut: false, truncated: false },
    })
  })

  test('ends at its time limit', async () => {
    const { answerTo, start } = await open()
    const id = await start('mcp.shell.run', { cmd: 'node serve.js', timeoutMs: 500 })
    expect(await answerTo('mcp.shell.output', { id, waitMs: 30_000 })).toMatchObject({
      result: { isRunning: false, timedOut: true },
    })
  })

  test('ends with its workspace', async () => {
    const { daemon, configure, start, outputOf, root } = await open()
    const id = await start('mcp.shell.run', { cmd: 'node serve.js' })
    await outputOf(id, 'ready')
    daemon.reconfigure(configure(''))
    await vi.waitFor(() => expect(existsSync(join(root, 'stopped'))).toBe(true), { timeout: 30_000 })
  })

  test.each([
    ['what the policy denies', { cmd: 'node -e 1' }, -32001],
    ['a program that does not exist', { cmd: 'no-such-program' }, -32000],
    ['a folder outside', { cmd: 'node once.js', cwd: '..' }, -32001],
  ])('does not start %s', async (_title, params, code) => {
    const { answerTo } = await open()
    expect(await answerTo('mcp.shell.run', { ...params, background: true })).toMatchObject({ error: { code } })
  })

  test('is one of eight at most', async () => {
    const { answerTo, start } = await open()
    const ids = await Promise.all(Array.from({ length: 8 }, () => start('mcp.shell.run', { cmd: 'node serve.js' })))
    const ninth = { cmd: 'node serve.js', background: true }
    expect(await answerTo('mcp.shell.run', ninth)).toMatchObject({
      error: { code: -32000, message: expect.stringContaining('8 commands run in the background') },
    })
    await answerTo('mcp.shell.stop', { id: ids[0] })
    await start('mcp.shell.run', { cmd: 'node serve.js' })
  })

  test('with an unknown id is neither read nor stopped', async () => {
    const { answerTo } = await open()
    for (const method of ['mcp.shell.output', 'mcp.shell.stop']) {
      expect(await answerTo(method, { id: 'x' })).toMatchObject({ error: { code: -32000 } })
    }
  })
})

test('a command that a model starts is asked for, and ends with the run', async () => {
  const asked: unknown[] = []
  const { deps, task, root, events } = await openAgent({
    files: { ...files, '.agent-policy.yaml': policy },
    text: scriptOf(
      { calls: [{ tool: 'shell_run', args: { cmd: 'node serve.js', background: true } }] },
      { calls: [{ tool: 'shell_run', args: { cmd: 'node where.js', cwd: 'sub' } }] },
      { text: 'Done.' },
    ),
    approve: async ({ argv, cwd }) => {
      asked.push([argv, cwd])
      return 'once'
    },
  })
  const outcome = await runAgent(deps, task)
  expect(asked).toEqual([
    [['node', 'serve.js'], ''],
    [['node', 'where.js'], 'sub'],
  ])
  const first = events.find((event) => event.type === 'tool' && event.state === 'ended')
  expect(first).toMatchObject({
    outcome: 'ok',
    result: expect.stringContaining('running in the background with the id'),
  })
  expect(outcome.summary).toContain('node serve.js → started in the background')
  await vi.waitFor(async () => expect(await readFile(join(root, 'stopped'), 'utf8')).toBe(''), { timeout: 30_000 })
})
