import { chmod, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { call, openAgentDaemon, patch } from './agent-daemon.ts'

// An approval names every file of a change, and allows no other one.

const policy = `writes: { allow: ['**', .vscode/tasks.json] }\n`

const files = {
  '.agent-policy.yaml': policy,
  'README.md': 'one\n',
  'build.sh': 'echo\n',
  'run.sh': 'echo\n',
  'empty.txt': '',
  'old.ts': 'text\n',
}

const textOf = (path: string, from: string, to: string) =>
  `diff --git a/${path} b/${path}\n--- a/${path}\n+++ b/${path}\n@@ -1 +1 @@\n-${from}\n+${to}\n`

const hidden =
  textOf('README.md', 'one', 'two') +
  'diff --git a/build.sh b/build.sh\nold mode 100644\nnew mode 100755\n' +
  `diff --git a/run.sh b/run.sh\nold mode 100644\nnew mode 100755\n${textOf('run.sh', 'echo', 'rm').split('\n').slice(1).join('\n')}` +
  'diff --git a/empty.txt b/empty.txt\ndeleted file mode 100644\n' +
  'diff --git a/tool.sh b/tool.sh\nnew file mode 100755\n' +
  'diff --git a/old.ts b/new.ts\nsimilarity index 100%\nrename from old.ts\nrename to new.ts\n'

test('an approval lists each file with what happens to it, also without a line of text', async () => {
  const { start, events, root } = await openAgentDaemon(files)
  const run = await start([patch(hidden), { text: 'Done' }])
  const approval = await run.approval()
  const rows = [
    { path: 'README.md', change: 'modified', added: 1, removed: 1 },
    { path: 'build.sh', change: 'modified', executable: true, added: 0, removed: 0 },
    { path: 'run.sh', change: 'modified', executable: true, added: 1, removed: 1 },
    { path: 'empty.txt', change: 'deleted', added: 0, removed: 0 },
    { path: 'tool.sh', change: 'created', executable: true, added: 0, removed: 0 },
    { path: 'new.ts', change: 'renamed', from: 'old.ts', added: 0, removed: 0 },
  ]
  expect(approval?.['files']).toEqual(rows)
  expect(approval?.['paths']).toEqual(['README.md', 'build.sh', 'run.sh', 'empty.txt', 'tool.sh', 'new.ts', 'old.ts'])
  await run.decide(approval, 'once')
  expect(await run.outcomes()).toEqual(['ok'])
  const asked = (await events()).find(({ type, data }) => type === 'approval' && data['state'] === 'pending')
  expect(asked?.data['files']).toEqual(rows)
  expect((await stat(join(root, 'build.sh'))).mode & 0o111).not.toBe(0)
})

test('an undo lists what comes back, what goes, and which mode changes', async () => {
  const { start } = await openAgentDaemon(files)
  const run = await start([patch(hidden), call('edit_undo', {}), { text: 'Done' }])
  await run.decide(await run.approval(), 'once')
  const undo = await run.approval()
  expect(undo?.['files']).toEqual([
    { path: 'README.md', change: 'modified', added: 1, removed: 1 },
    { path: 'build.sh', change: 'modified', executable: false, added: 0, removed: 0 },
    { path: 'run.sh', change: 'modified', executable: false, added: 1, removed: 1 },
    { path: 'empty.txt', change: 'created', added: 0, removed: 0 },
    { path: 'tool.sh', change: 'deleted', added: 0, removed: 0 },
    { path: 'new.ts', change: 'deleted', added: 0, removed: 1 },
    { path: 'old.ts', change: 'created', added: 1, removed: 0 },
  ])
  await run.decide(undo, 'once')
  expect(await run.outcomes()).toEqual(['ok', 'ok'])
})

test('a renamed file whose old name gets a new file is shown as a copy and a change', async () => {
  const { start } = await openAgentDaemon(files)
  const swap =
    'diff --git a/old.ts b/new.ts\nrename from old.ts\nrename to new.ts\n' +
    'diff --git a/old.ts b/old.ts\nnew file mode 100755\n--- /dev/null\n+++ b/old.ts\n@@ -0,0 +1 @@\n+other\n'
  const run = await start([patch(swap), { text: 'Done' }])
  const approval = await run.approval()
  const rows = approval?.['files']
  expect(rows).toHaveLength(2)
  expect(rows).toContainEqual(expect.objectContaining({ path: 'new.ts', change: 'copied', from: 'old.ts' }))
  expect(rows).toContainEqual(expect.objectContaining({ path: 'old.ts', change: 'modified', executable: true }))
  await run.decide(approval, 'refuse')
  expect(await run.outcomes()).toEqual(['approval_refused'])
})

test('the result of a formatter is shown as the file that it changes', async () => {
  const { start } = await openAgentDaemon({ ...files, 'a.json': '{"a":1}' })
  const run = await start([call('format_apply', { path: 'a.json' }), { text: 'Done' }])
  const approval = await run.approval()
  expect(approval?.['files']).toEqual([{ path: 'a.json', change: 'modified', added: 1, removed: 1 }])
  await run.decide(approval, 'once')
  expect(await run.outcomes()).toEqual(['ok'])
})

test('an approval of a secret names its path', async () => {
  const { start } = await openAgentDaemon({ ...files, '.env': 'KEY=1\n' })
  const run = await start([call('fs_read', { path: '.env' }), { text: 'Done' }])
  const approval = await run.approval()
  expect(approval).toMatchObject({ tool: 'mcp.fs.read', reads: ['.env'] })
  await run.decide(approval, 'once')
  expect(await run.outcomes()).toEqual(['ok'])
})

describe('an approval for the run', () => {
  test('covers other texts of the files that were shown, and asks for everything else', async () => {
    const { start, root } = await openAgentDaemon(files)
    const run = await start([
      patch(textOf('README.md', 'one', 'two')),
      patch(textOf('README.md', 'two', 'three')),
      patch(textOf('build.sh', 'echo', 'rm')),
      patch(textOf('README.md', 'three', 'four') + textOf('build.sh', 'echo', 'rm')),
      patch('diff --git a/README.md b/README.md\nold mode 100644\nnew mode 100755\n'),
      patch('diff --git a/README.md b/x.md\nrename from README.md\nrename to x.md\n'),
      patch('--- a/README.md\n+++ /dev/null\n@@ -1 +0,0 @@\n-three\n'),
      patch(textOf('README.md', 'three', 'five')),
      { text: 'Done' },
    ])
    await run.decide(await run.approval(), 'run')
    for (const [paths, decision] of [
      [['build.sh'], 'refuse'],
      [['README.md', 'build.sh'], 'refuse'],
      [['README.md'], 'once'],
      [['x.md', 'README.md'], 'refuse'],
      [['README.md'], 'refuse'],
    ] as const) {
      const approval = await run.approval()
      expect(approval?.['paths']).toEqual(paths)
      await run.decide(approval, decision)
    }
    expect(await run.approval()).toBeUndefined()
    const refused = 'approval_refused'
    expect(await run.outcomes()).toEqual(['ok', 'ok', refused, refused, 'ok', refused, refused, 'ok'])
    expect(await readFile(join(root, 'README.md'), 'utf8')).toBe('five\n')
  })

  test('is not offered for a protected file, and counts once there', async () => {
    const { start } = await openAgentDaemon({ ...files, '.vscode/tasks.json': 'a\n' })
    const run = await start([
      patch(textOf('README.md', 'one', 'two') + textOf('.vscode/tasks.json', 'a', 'b')),
      patch(textOf('.vscode/tasks.json', 'b', 'c')),
      patch(textOf('README.md', 'two', 'three')),
      { text: 'Done' },
    ])
    const first = await run.approval()
    expect(first?.['decisions']).toEqual(['once', 'refuse'])
    await run.decide(first, 'run')
    const second = await run.approval()
    expect(second?.['paths']).toEqual(['.vscode/tasks.json'])
    await run.decide(second, 'once')
    const third = await run.approval()
    expect(third).toMatchObject({ paths: ['README.md'], decisions: ['once', 'run', 'always', 'refuse'] })
    await run.decide(third, 'once')
    expect(await run.outcomes()).toEqual(['ok', 'ok', 'ok'])
  })
})

test('a file that changes between the question and the answer is not written', async () => {
  const { start, root } = await openAgentDaemon(files)
  const run = await start([patch(textOf('README.md', 'one', 'two')), { text: 'Done' }])
  const approval = await run.approval()
  await writeFile(join(root, 'README.md'), 'mine\n')
  await run.decide(approval, 'once')
  expect(await run.outcomes()).toEqual(['conflict'])
  expect(await readFile(join(root, 'README.md'), 'utf8')).toBe('mine\n')
})

test('a file that becomes executable between the question and the answer is not written', async () => {
  const { start, root } = await openAgentDaemon(files)
  const run = await start([patch(textOf('build.sh', 'echo', 'rm')), { text: 'Done' }])
  const approval = await run.approval()
  await chmod(join(root, 'build.sh'), 0o755)
  await run.decide(approval, 'once')
  expect(await run.outcomes()).toEqual(['conflict'])
  expect(await readFile(join(root, 'build.sh'), 'utf8')).toBe('echo\n')
})
