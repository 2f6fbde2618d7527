import { symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { call, openAgentDaemon } from './agent-daemon.ts'

// A command that the policy allows in its folder runs no code of another folder.

const task = (label: string, cwd: string) => ({
  label,
  type: 'process',
  command: 'node',
  args: ['run.js'],
  options: { cwd },
})

const files = {
  '.agent-policy.yaml':
    "writes: { allow: ['docs/**'] }\nshell: { allow: [node run.js, { run: node run.js, in: app }] }\n",
  '.vscode/tasks.json': JSON.stringify({
    version: '2.0.0',
    tasks: [
      task('root', ''),
      task('app', '${workspaceFolder}/app'),
      task('docs', 'docs'),
      task('dependency', 'node_modules/x'),
      task('link to docs', 'linked'),
      task('link to app', 'other'),
    ],
  }),
  'run.js': '',
  'app/run.js': '',
  'docs/run.js': '',
  'node_modules/x/run.js': '',
  'node_modules/x/.agent-policy.yaml': 'shell: { allow: [node run.js] }\n',
}

test('a task runs in the folder of the policy and in those that an entry names, by their real paths', async () => {
  const { start, root } = await openAgentDaemon(files, { agent: { 'require-approval': false } })
  await symlink('docs', join(root, 'linked'))
  await symlink('app', join(root, 'other'))
  const names = ['root', 'app', 'link to app', 'docs', 'dependency', 'link to docs']
  const run = await start([...names.map((name) => call('task_run', { name })), { text: 'Done' }])
  expect(await run.outcomes()).toEqual(['ok', 'ok', 'ok', 'denied', 'denied', 'denied'])
})

test('an approval of a command shows the real path of its folder, and holds in no other', async () => {
  const { start, root } = await openAgentDaemon(files)
  await symlink('app', join(root, 'other'))
  const run = await start([
    call('task_run', { name: 'link to app' }),
    call('task_run', { name: 'app' }),
    call('task_run', { name: 'root' }),
    { text: 'Done' },
  ])
  const approval = await run.approval()
  expect(approval).toMatchObject({ argv: ['node', 'run.js'], cwd: 'app' })
  await run.decide(approval, 'run')
  const other = await run.approval()
  expect(other).toMatchObject({ argv: ['node', 'run.js'], cwd: '' })
  await run.decide(other, 'refuse')
  expect(await run.outcomes()).toEqual(['ok', 'ok', 'approval_refused'])
})
