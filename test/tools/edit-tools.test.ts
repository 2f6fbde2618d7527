import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { runAgent } from '../../src/agent/run-agent.ts'
import { openAgent, scriptOf } from '../agent/support.ts'
import { openWorkspaceRpc } from '../rpc/open-workspace.ts'

const policy = 'writes: { allow: ["src/**"] }\n'
const files = { 'src/a.js': 'const one = 1\nconst two = 2\n', 'b.js': 'const one = 1\n' }
const v4a = '*** Begin Patch\n*** Update File: src/a.js\n@@\n-const two = 2\n+const two = 3\n*** End Patch'

/** The same change, as models write it. */
const changes = [
  ['mcp.edit.replace', { path: 'src/a.js', oldText: 'two = 2', newText: 'two = 3' }],
  ['mcp.edit.applyPatch', { unifiedDiff: v4a }],
] as const

describe.each(changes)('%s over /rpc', (method, params) => {
  test('changes the file, is undone, and is in the record with its path', async () => {
    const { root, client, log } = await openWorkspaceRpc(files, policy)
    const path = join(root, 'src/a.js')
    expect(await client.ask(method, { ...params, dryRun: true })).toMatchObject({
      result: { ok: true, files: [{ path: 'src/a.js' }] },
    })
    expect(await readFile(path, 'utf8')).toBe(files['src/a.js'])
    expect(await client.ask(method, params)).toMatchObject({ result: { ok: true, id: expect.any(String) } })
    expect(await readFile(path, 'utf8')).toBe('const one = 1\nconst two = 3\n')
    expect(await client.ask(method, params)).toMatchObject({
      error: { code: -32002, data: { kind: 'conflict', conflicts: [{ path: 'src/a.js', line: 2 }] } },
    })
    expect(await client.ask('mcp.edit.undo', {})).toMatchObject({ result: { ok: true } })
    expect(await readFile(path, 'utf8')).toBe(files['src/a.js'])
    const calls = log.filter(({ fields }) => fields['tool'] === method)
    expect(calls.map(({ fields }) => [fields['outcome'], fields['paths']])).toEqual([
      ['ok', method === 'mcp.edit.replace' ? ['src/a.js'] : undefined],
      ['ok', ['src/a.js']],
      ['conflict', ['src/a.js']],
    ])
  })

  test('organises imports and formats when asked', async () => {
    const { root, client } = await openWorkspaceRpc(files, policy)
    await client.ask(method, { ...params, format: true })
    expect(await readFile(join(root, 'src/a.js'), 'utf8')).toBe('const one = 1;\nconst two = 3;\n')
  })
})

test.each([
  ['mcp.edit.replace', { path: 'b.js', oldText: 'one', newText: 'two' }],
  ['mcp.edit.applyPatch', { unifiedDiff: v4a.replace('src/a.js', 'b.js').replaceAll('two =', 'one =') }],
  ['mcp.edit.applyPatch', { unifiedDiff: '*** Begin Patch\n*** Delete File: b.js\n*** End Patch' }],
  [
    'mcp.edit.applyPatch',
    { unifiedDiff: '*** Begin Patch\n*** Update File: src/a.js\n*** Move to: b2.js\n*** End Patch' },
  ],
])('%s of a file that the policy does not allow is denied before a conflict', async (method, params) => {
  const { root, client } = await openWorkspaceRpc(files, policy)
  expect(await client.ask(method, params)).toMatchObject({ error: { code: -32001 } })
  expect(await readFile(join(root, 'b.js'), 'utf8')).toBe(files['b.js'])
})

describe.each([
  ['edit_replace', ...changes[0]],
  ['edit_applyPatch', ...changes[1]],
] as const)('a model that calls %s', (tool, method, args) => {
  test('changes the file after a person has seen the diff', async () => {
    const asked: unknown[] = []
    const { deps, task, root } = await openAgent({
      files: { ...files, '.agent-policy.yaml': policy },
      text: scriptOf({ calls: [{ tool, args }] }, { text: 'Done.' }),
      approve: async (request) => {
        asked.push([request.tool, request.paths, request.diff?.includes('-const two = 2\n+const two = 3\n')])
        return 'once'
      },
    })
    const outcome = await runAgent(deps, task)
    expect(asked).toEqual([[method, ['src/a.js'], true]])
    expect(outcome.files).toMatchObject([{ path: 'src/a.js', added: 1, removed: 1 }])
    expect(await readFile(join(root, 'src/a.js'), 'utf8')).toBe('const one = 1\nconst two = 3\n')
  })

  test('stays in the folders that it may use', async () => {
    const { deps, task, events } = await openAgent({
      files: { ...files, '.agent-policy.yaml': policy },
      text: scriptOf({ calls: [{ tool, args }] }, { text: 'Done.' }),
      settings: { allowedRoots: ['docs'] },
    })
    await runAgent(deps, task)
    expect(events.find((event) => event.type === 'tool' && event.state === 'ended')).toMatchObject({
      outcome: 'denied',
      message: expect.stringContaining('agent.allowed-roots'),
    })
  })
})

test('a model that replaces what is not there learns the nearest lines', async () => {
  const { deps, task, events } = await openAgent({
    files: { ...files, '.agent-policy.yaml': policy },
    text: scriptOf(
      { calls: [{ tool: 'edit_replace', args: { path: 'src/a.js', oldText: 'const two = 22', newText: '' } }] },
      { text: 'Done.' },
    ),
  })
  await runAgent(deps, task)
  const ended = events.find((event) => event.type === 'tool' && event.state === 'ended')
  expect(ended).toMatchObject({ outcome: 'conflict', message: expect.stringContaining('The nearest line is line 2') })
  expect(JSON.stringify(ended)).toContain('const two = 2')
})
