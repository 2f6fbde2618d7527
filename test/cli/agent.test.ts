import { isThorough } from '../thorough.ts'
import { execFile } from 'node:child_process'
import { access } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test, vi } from 'vitest'
import { quickFix, quickShopFiles } from '../agent/shop.ts'
import { scriptOf } from '../agent/support.ts'
import { onTerminal, startCli, startShell } from './cli.ts'
import { openShopFolder } from './shop.ts'

// A process takes its time to start on a busy machine; nothing here waits for a time to pass.
vi.setConfig({ testTimeout: 60_000 })

const run = promisify(execFile)
const hasPython = await run('python3', ['-c', 'import pty']).then(
  () => true,
  () => false,
)

async function openShop() {
  const { root, env, total } = await openShopFolder({ COPILOT_PROXY_SERVER_PORT: '0' })
  const args = (goal: string, more: readonly string[]) => ['agent', '--demo', '--workspace', root, ...more, goal]
  return {
    root,
    env,
    total,
    exists: (path: string) =>
      access(join(root, path)).then(
        () => true,
        () => false,
      ),
    agent: (goal: string, ...more: readonly string[]) => startCli(args(goal, more), env),
    agentOnTerminal: (goal: string, ...more: readonly string[]) => startShell(onTerminal, args(goal, more), env),
  }
}

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
  expect(stdout).toContain('Cancelling the run. Press Ctrl-C again to exit immediately.')
  expect(stdout).toContain('The run was cancelled.')
  expect(stdout).toContain('  created src/new.js (+1 −0)')
  expect(code).toBe(130)
})

test.runIf(isThorough)('a reader that leaves, as head does, cancels the run', async () => {
  const { agent, exists } = await openShop()
  const patch = '--- /dev/null\n+++ b/src/new.js\n@@ -0,0 +1 @@\n+x\n'
  const cli = agent(
    `[demo:slow 100] ${scriptOf({
      text: 'word '.repeat(400),
      calls: [{ tool: 'edit_applyPatch', args: { unifiedDiff: patch } }],
    })}`,
    '--yes',
  )
  await cli.seen('stdout', /word word/)
  cli.child.stdout?.destroy()
  const { code, stderr } = await cli.ended
  expect({ code, stderr }).toEqual({ code: 130, stderr: '' })
  expect(await exists('src/new.js')).toBe(false)
})

// The other keys: test/commands/agent/agent.test.ts.
test.skipIf(!hasPython)('on a terminal, a key needs no Enter, and Ctrl-C is one (needs python3)', async () => {
  const { agentOnTerminal, total } = await openShop()
  const cli = agentOnTerminal(quickFix)
  await cli.seen('stdout', /Run node test\/total\.test\.js\?[\s\S]*\? help: /)
  cli.child.stdin?.write('y')
  await cli.seen('stdout', /Change src\/total\.js\?[\s\S]*\? help: /)
  cli.child.stdin?.write('\u0003')
  const { code, stdout } = await cli.ended
  expect(stdout).toContain('once')
  expect(stdout).toContain('\u001b[32m    +  return items.reduce')
  expect(stdout).toContain('The run was cancelled.')
  expect(code).toBe(130)
  expect(await total()).toBe(quickShopFiles['src/total.js'])
})

test('the command that a demo names undoes its change after its end', async () => {
  const { root, env, total } = await openShop()
  const cli = (...args: readonly string[]) => startCli(args, env, { cwd: root }).ended
  const ran = await cli('agent', '--demo', '--yes', quickFix)
  expect(await total()).toContain('item.quantity')
  const [, change = ''] = /^To undo: copilot-proxy undo (\S+)$/m.exec(ran.stdout) ?? []
  expect(await cli('undo', change, '--yes')).toMatchObject({ code: 0 })
  expect(await total()).toBe(quickShopFiles['src/total.js'])
})

test('undo --to takes the files and the conversation back to before a message', async () => {
  const { root, env, total } = await openShop()
  const serving = startCli(['serve', '--demo', '--workspace', root], env)
  const [url] = await serving.seen('stdout', /http:\/\/127\.0\.0\.1:\d+/)
  const at = { ...env, COPILOT_PROXY_SERVER_PORT: new URL(url).port }
  const cli = (...args: readonly string[]) => startCli(args, at, { cwd: root }).ended
  const ran = await cli('agent', '--yes', quickFix)
  expect(await total()).toContain('item.quantity')
  const [, change = ''] = /^To undo: copilot-proxy undo (\S+)$/m.exec(ran.stdout) ?? []
  const listed = JSON.parse((await cli('undo', '--json')).stdout) as { changes: { id: string; runId: string }[] }
  expect(listed.changes).toMatchObject([{ id: change }])
  const done = await cli('undo', '--to', listed.changes[0]?.runId ?? '', '--yes')
  expect(done).toMatchObject({ code: 0, stderr: '' })
  expect(done.stdout).toContain('Went back: 1 message removed, 1 file restored.')
  expect(await total()).toBe(quickShopFiles['src/total.js'])
  serving.child.kill('SIGTERM')
  await serving.ended
})
