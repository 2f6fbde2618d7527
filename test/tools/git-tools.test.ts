import { execFileSync } from 'node:child_process'
import { appendFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { runAgent } from '../../src/agent/run-agent.ts'
import { openAgent, scriptOf } from '../agent/support.ts'
import { openWorkspaceRpc } from '../rpc/open-workspace.ts'

async function commit(root: string): Promise<void> {
  const run = (...args: readonly string[]) =>
    execFileSync('git', ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.com', ...args], { cwd: root })
  run('init', '-q')
  run('add', '-A')
  run('commit', '-qm', 'First')
  await appendFile(join(root, 'src/a.txt'), 'more\n')
}

test('git is read over /rpc, also in a workspace that nobody may change', async () => {
  const { root, client, log } = await openWorkspaceRpc({ 'src/a.txt': 'a\n' }, '')
  expect(await client.ask('mcp.git.status', {})).toMatchObject({
    error: { code: -32000, message: 'This workspace is not the folder of a git repository.' },
  })
  await commit(root)
  expect(await client.ask('mcp.git.status', {})).toMatchObject({
    result: { changes: [{ path: 'src/a.txt', unstaged: 'modified' }] },
  })
  expect(await client.ask('mcp.git.diff', { path: 'src' })).toMatchObject({
    result: { diff: expect.stringContaining('\n+more\n'), omitted: 0 },
  })
  expect(await client.ask('mcp.git.log', {})).toMatchObject({ result: { commits: [{ message: 'First' }] } })
  expect(log.filter(({ fields }) => fields['tool'] === 'mcp.git.diff')).toMatchObject([
    { fields: { paths: ['src'], outcome: 'ok' } },
  ])
})

test.each(['chat', 'agent'] as const)('a model in a %s reads git and nobody is asked', async (mode) => {
  const { deps, task, root, events } = await openAgent({
    mode,
    files: { 'src/a.txt': 'a\n' },
    text: scriptOf(
      {
        calls: [
          { tool: 'git_status', args: {} },
          { tool: 'git_diff', args: {} },
          { tool: 'git_log', args: { limit: 1 } },
        ],
      },
      { text: 'Done.' },
    ),
    approve: () => Promise.reject(new Error('asked')),
  })
  await commit(root)
  await runAgent(deps, task)
  const ended = events.filter((event) => event.type === 'tool' && event.state === 'ended')
  expect(ended).toMatchObject([
    { tool: 'mcp.git.status', outcome: 'ok', result: expect.stringContaining('src/a.txt') },
    { tool: 'mcp.git.diff', outcome: 'ok', result: expect.stringContaining('\n+more\n') },
    { tool: 'mcp.git.log', outcome: 'ok', result: expect.stringContaining('First') },
  ])
})

test.each([
  [['docs'], 'Nothing has changed'],
  [['docs', 'src'], 'Name the path'],
])('a model that may use %j sees nothing of other folders', async (allowedRoots, expected) => {
  const { deps, task, root, events } = await openAgent({
    files: { 'src/a.txt': 'a\n', 'docs/b.md': 'b\n' },
    text: scriptOf({ calls: [{ tool: 'git_diff', args: {} }] }, { text: 'Done.' }),
    settings: { allowedRoots },
  })
  await commit(root)
  await runAgent(deps, task)
  const ended = events.find((event) => event.type === 'tool' && event.state === 'ended')
  expect(ended).toMatchObject({ result: expect.stringContaining(expected) })
})
