import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openProxy } from '../../http/harness.ts'
import { makeFolder } from '../../tools/session.ts'
import { connectMcp, protocols } from './support.ts'

async function openReal(protocol: (typeof protocols)[number]) {
  const root = await makeFolder()
  await writeFile(join(root, 'a.txt'), 'one\ntwo\n')
  await writeFile(join(root, '.agent-policy.yaml'), `writes: { allow: ['*.txt'] }\nshell: { allow: ['node -p 1'] }\n`)
  const { daemon } = await openProxy({ file: `workspaces: ['${root}']\nworkspace: { read-only: false }` })
  return { root, client: (await connectMcp(`${daemon.url}/mcp`, { protocol })).client }
}

test('each tool of a workspace states its effects in annotations', async () => {
  const { client } = await openReal('2025-11-25')
  const { tools } = await client.listTools()
  const rows = tools.map(({ name, title, annotations = {} }) => {
    expect(title).toBeTruthy()
    expect(annotations.title).toBe(title)
    const { readOnlyHint, destructiveHint, idempotentHint, openWorldHint } = annotations
    return [name, readOnlyHint, destructiveHint, idempotentHint, openWorldHint]
  })
  expect(rows).toEqual([
    ['fs_read', true, undefined, undefined, false],
    ['fs_list', true, undefined, undefined, false],
    ['search_code', true, undefined, undefined, false],
    ['edit_applyPatch', false, true, false, false],
    ['edit_replace', false, true, false, false],
    ['edit_undo', false, true, false, false],
    ['git_status', true, undefined, undefined, false],
    ['git_diff', true, undefined, undefined, false],
    ['git_log', true, undefined, undefined, false],
    ['shell_run', false, true, false, true],
    ['task_run', false, true, false, true],
    ['shell_output', true, undefined, undefined, false],
    ['shell_stop', false, true, false, true],
    ['symbols_list', true, undefined, undefined, false],
    ['format_apply', false, true, true, true],
    ['imports_organize', false, true, true, true],
    ['policy_get', true, undefined, undefined, false],
    ['session_list', true, undefined, undefined, false],
  ])
})

test.each(protocols)('reads, searches, patches, undoes and runs (%s)', async (protocol) => {
  const { root, client } = await openReal(protocol)
  const call = (name: string, args: Record<string, unknown>) => client.callTool({ name, arguments: args })
  expect(await call('fs_read', { path: 'a.txt' })).toMatchObject({ structuredContent: { content: 'one\ntwo\n' } })
  expect(await call('search_code', { query: 'two' })).toMatchObject({
    structuredContent: { hits: [{ file: 'a.txt', line: 2 }] },
  })
  const unifiedDiff = '--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+three\n'
  expect(await call('edit_applyPatch', { unifiedDiff })).toMatchObject({ structuredContent: { ok: true } })
  expect(await readFile(join(root, 'a.txt'), 'utf8')).toBe('one\nthree\n')
  const conflict = await call('edit_applyPatch', { unifiedDiff })
  expect(conflict).toMatchObject({ isError: true, structuredContent: { error: { kind: 'conflict' } } })
  expect(JSON.stringify(conflict.content)).toContain('three')
  await call('edit_undo', {})
  expect(await readFile(join(root, 'a.txt'), 'utf8')).toBe('one\ntwo\n')
  expect(await call('shell_run', { argv: ['node', '-p', '1'] })).toMatchObject({
    structuredContent: { exitCode: 0, stdout: '1\n' },
  })
  expect(await call('shell_run', { cmd: 'node -p 2' })).toMatchObject({
    isError: true,
    structuredContent: { error: { kind: 'denied' } },
  })
  const wrong = await call('fs_read', { path: 'a.txt', range: { start: 0, end: 1 } })
  expect(wrong).toMatchObject({
    isError: true,
    structuredContent: { error: { kind: 'invalid_arguments', path: 'range.start' } },
  })
  expect(await call('fs_read', { path: '../a.txt' })).toMatchObject({ isError: true })
})

test('the output of a command arrives as progress', async () => {
  const { client } = await openReal('2025-11-25')
  const parts: (string | undefined)[] = []
  await client.callTool(
    { name: 'shell_run', arguments: { cmd: 'node -p 1' } },
    { onprogress: ({ message }) => parts.push(message) },
  )
  expect(parts.join('')).toBe('1\n')
})
