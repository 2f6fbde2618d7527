import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { scriptOf } from '../agent/support.ts'
import { shopFiles } from '../agent/shop.ts'
import { createUser } from '../commands/harness.ts'
import { makeFolder } from '../tools/session.ts'
import { startCli, startShell } from './cli.ts'
import type { RunningCli } from './cli.ts'

// A process takes its time to start on a busy machine; nothing here waits for a time to pass.
vi.setConfig({ testTimeout: 60_000 })

const run = promisify(execFile)
const hasPython = await run('python3', ['-c', 'import pty']).then(
  () => true,
  () => false,
)

/** Runs the program on a terminal of its own; what is written to its stdin are keys. */
const onTerminal = `exec python3 -c 'import os, pty, sys
sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))' "$@"`

async function openShop(settings: Readonly<Record<string, string>> = {}) {
  const root = await makeFolder(shopFiles)
  const { home } = await createUser()
  const env = {
    PATH: process.env['PATH'],
    HOME: home,
    COPILOT_PROXY_HOME: join(home, 'proxy'),
    COPILOT_PROXY_SERVER_PORT: '0',
    COPILOT_PROXY_WORKSPACE_READ_ONLY: 'false',
    ...settings,
  }
  const args = (goal: string, more: readonly string[]) => ['agent', '--demo', '--workspace', root, ...more, goal]
  return {
    root,
    env,
    total: () => readFile(join(root, 'src/total.js'), 'utf8'),
    agent: (goal: string, ...more: readonly string[]) => startCli(args(goal, more), env),
    agentOnTerminal: (goal: string, ...more: readonly string[]) => startShell(onTerminal, args(goal, more), env),
  }
}

const fix = 'The test fails. Fix it. [demo:script fix-test]'

test('with --yes it does what the policy allows, and tells it in lines of 80 characters', async () => {
  const { agent, total } = await openShop()
  const { code, stdout, stderr } = await agent(fix, '--yes').ended
  expect(stderr).toBe('')
  expect(code).toBe(0)
  expect(await total()).toContain('item.price * item.quantity')
  expect(stdout).toContain('-- Step 1 of 30 --')
  expect(stdout).toContain('> shell.run npm test\n    ... ')
  expect(stdout).toMatch(/ {2}exit code 1 \(.*\)\n[\s\S]* {2}exit code 0 \(/)
  expect(stdout).toContain('    -  return items.reduce((sum, item) => sum + item.price, 0)\n    +  return')
  expect(stdout).toMatch(
    /The model gave its final answer\.\nChanged 1 file:\n {2}modified src\/total\.js \(\+1 −1\)\nTo undo: \S+\.\nCommands/,
  )
  expect(stdout.split('\n').filter((line) => line.length > 80)).toEqual([])
})

test('--yes does not pass by the policy', async () => {
  const { agent, root } = await openShop()
  const { code, stdout } = await agent(
    scriptOf(
      { calls: [{ tool: 'createFile', args: { path: 'evil.js', content: 'x' } }] },
      { calls: [{ tool: 'shell_run', args: { argv: ['touch', 'evil.js'] } }] },
      { text: 'I created evil.js.' },
    ),
    '--yes',
  ).ended
  expect(code).toBe(0)
  expect(stdout.match(/^ {2}denied: /gm)).toHaveLength(2)
  expect(stdout).toContain('No file was changed.')
  await expect(readFile(join(root, 'evil.js'))).rejects.toThrow('ENOENT')
})

test('without a terminal and without --yes, changes and commands are refused, and it says why', async () => {
  const { agent, total } = await openShop()
  const { code, stdout } = await agent(fix).ended
  expect(stdout).toContain('  Refused: there is no terminal to ask for your approval.')
  expect(stdout).toContain('3 approvals in a row were refused.')
  expect(stdout).not.toContain('You refused')
  expect(stdout.replaceAll('\n', ' ')).toContain(
    'Changes and commands were refused, because there is no terminal to ask for your approval.',
  )
  expect(code).toBe(1)
  expect(await total()).toBe(shopFiles['src/total.js'])
})

test('--json prints the events of the run on stdout, and everything else on stderr', async () => {
  const { agent } = await openShop()
  const { code, stdout, stderr } = await agent(fix, '--yes', '--json').ended
  const events: { type: string; state?: string; outcome?: string }[] = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(code).toBe(0)
  expect(events.at(-1)).toMatchObject({ type: 'done', outcome: 'completed', files: [{ path: 'src/total.js' }] })
  expect(new Set(events.map(({ type }) => type))).toEqual(new Set(['fragment', 'tool', 'approval', 'diff', 'done']))
  expect(stderr).toContain('Changed 1 file:')
})

test('what the model and files say cannot control the terminal', async () => {
  const { agent } = await openShop()
  const { stdout } = await agent(
    scriptOf(
      { text: 'a\u001b[31mred\u001b]0;title\u0007', calls: [{ tool: 'fs_read', args: { path: 'x\u001b[2J' } }] },
      { text: '\u009b2J\u202edone' },
    ),
  ).ended
  // oxlint-disable-next-line no-control-regex -- control characters are what it looks for
  expect(stdout).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/)
  expect(stdout).toContain(String.raw`a\u001b[31mred`)
})

test('read-only workspaces, and a limit of steps', async () => {
  const { agent } = await openShop({ COPILOT_PROXY_WORKSPACE_READ_ONLY: 'true' })
  const { code, stdout } = await agent(fix, '--yes', '--max-steps', '2').ended
  expect(stdout).toContain('copilot-proxy config set workspace.read-only false')
  expect(stdout).toContain('-- Step 2 of 2 --')
  expect(stdout).toContain('The run reached its limit of 2 steps.')
  expect(code).toBe(1)
})

test('exits with 2 for wrong usage, with 3 without a login, and with 1 for a folder that is none', async () => {
  const { env, agent } = await openShop()
  expect(await agent('x', '--max-steps', '0').ended).toMatchObject({ code: 2 })
  expect(await startCli(['agent'], env).ended).toMatchObject({ code: 2 })
  const { code, stderr } = await startCli(['agent', 'Do it'], env).ended
  expect(stderr).toContain('Not logged in.')
  expect(code).toBe(3)
  expect(await agent('x', '--workspace', '/no/such/folder').ended).toMatchObject({ code: 1 })
})

test('Ctrl-C cancels the run, and tells what was changed', async () => {
  const { agent } = await openShop()
  const cli = agent(
    `[demo:slow 300] ${scriptOf(
      {
        calls: [
          { tool: 'edit_applyPatch', args: { unifiedDiff: '--- /dev/null\n+++ b/src/new.js\n@@ -0,0 +1 @@\n+x\n' } },
        ],
      },
      { text: 'word '.repeat(500) },
    )}`,
    '--yes',
  )
  await cli.seen('stdout', /Step 2 of 30/)
  cli.child.kill('SIGINT')
  const { code, stdout } = await cli.ended
  expect(stdout).toContain('Cancelling the run. Press Ctrl-C again to leave at once.')
  expect(stdout).toContain('The run was cancelled.')
  expect(stdout).toContain('  created src/new.js (+1 −0)')
  expect(code).toBe(130)
})

describe.skipIf(!hasPython)('on a terminal (needs python3)', () => {
  const question = /y once, a for this run, n refuse, d whole diff, \? help: /

  /** Waits for the question of that number, then presses a key. */
  async function answer(cli: RunningCli, number: number, key: string): Promise<void> {
    await cli.seen('stdout', new RegExp(`(?:${question.source}[\\s\\S]*){${number}}`))
    cli.child.stdin?.write(key)
  }

  test('one key allows a command for the run, shows help and the whole diff, and allows a change once', async () => {
    const { agentOnTerminal, total } = await openShop()
    const cli = agentOnTerminal(fix)
    await answer(cli, 1, '?')
    await answer(cli, 2, 'a')
    await answer(cli, 3, 'd')
    await answer(cli, 4, 'y')
    const { code, stdout } = await cli.ended
    expect(stdout).toContain('allow for this run')
    expect(stdout.match(/Run npm test\?/g)).toHaveLength(1)
    expect(stdout).toContain('Change src/total.js?')
    // Coloured.
    expect(stdout).toContain('\u001b[32m    +  return items.reduce')
    expect(code).toBe(0)
    expect(await total()).toContain('item.price * item.quantity')
  })

  test('Ctrl-C at the question cancels the run', async () => {
    const { agentOnTerminal, total } = await openShop()
    const cli = agentOnTerminal(fix)
    await answer(cli, 1, '\u0003')
    const { code, stdout } = await cli.ended
    expect(stdout).toContain('The run was cancelled.')
    expect(code).toBe(130)
    expect(await total()).toBe(shopFiles['src/total.js'])
  })
})

test('uses the running copilot-proxy if it serves the folder', async () => {
  const { root, env, total } = await openShop()
  const serve = startCli(['serve', '--demo', '--workspace', root, '--port', '0'], env)
  const [, port = ''] = await serve.seen('stdout', /127\.0\.0\.1:(\d+)/)
  const running = { ...env, COPILOT_PROXY_SERVER_PORT: port }
  const { code, stdout } = await startCli(['agent', '--yes', '--workspace', root, fix], running).ended
  expect(stdout).toContain('Changed 1 file:')
  expect(code).toBe(0)
  expect(await total()).toContain('item.price * item.quantity')
  const address = `http://127.0.0.1:${port}/sessions`
  const listed = z
    .object({ sessions: z.tuple([z.object({ id: z.string() })]) })
    .parse(await (await fetch(address)).json())
  const messages = await (await fetch(`${address}/${listed.sessions[0].id}/messages`)).json()
  expect(messages).toMatchObject({ messages: [{ text: fix, mode: 'agent', outcome: 'completed' }] })
})
