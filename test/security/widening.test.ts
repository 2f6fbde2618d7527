import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { enclosureOfMachine } from '../../src/workspace/sandbox/create-sandbox.ts'
import { connect } from '../rpc/support.ts'
import { call, openAgentDaemon } from './agent-daemon.ts'

const { kind } = await enclosureOfMachine()

const policy = 'shell: { allow: [sh hook.sh, sh fails.sh, sh fetch.sh] }\n'
const files = {
  '.agent-policy.yaml': policy,
  '.git/config': '[core]\n',
  'hook.sh': 'echo "[alias]" >> .git/config\n',
  'fails.sh': 'echo no such test; exit 3\n',
  // What curl says without a network. With one, it has a proxy.
  'fetch.sh': 'echo "$HTTPS_PROXY" > proxy; [ -n "$HTTPS_PROXY" ] || { echo Could not resolve host; exit 6; }\n',
}
const hook = call('shell_run', { cmd: 'sh hook.sh' })
const done = { text: 'Done.' }

describe.skipIf(kind === 'none')('a command that fails in the sandbox (needs bubblewrap)', () => {
  test('runs without it after a person has allowed that, and only then', async () => {
    const { root, start } = await openAgentDaemon(files)
    const config = () => readFile(join(root, '.git/config'), 'utf8')
    const run = await start([hook, hook, hook, done])

    await run.decide(await run.approval(), 'run')
    const offered = await run.approval()
    expect(offered).toMatchObject({ argv: ['sh', 'hook.sh'], widening: 'unsandboxed', decisions: ['once', 'refuse'] })
    expect(await config()).toBe('[core]\n')
    await run.decide(offered, 'run')

    // The command itself is allowed for the run. What it does beyond the sandbox is asked for each time, until it is refused.
    const again = await run.approval()
    expect(again).toMatchObject({ widening: 'unsandboxed' })
    expect(await config()).toBe('[core]\n[alias]\n')
    await run.decide(again, 'refuse')
    expect(await run.approval()).toBeUndefined()

    expect(await run.outcomes()).toEqual(['ok', 'ok', 'ok'])
    expect(await config()).toBe('[core]\n[alias]\n')
  })

  test('is offered again with the names of files that its first run has changed', async () => {
    const { start } = await openAgentDaemon({
      ...files,
      '.agent-policy.yaml': 'shell: { allow: [sh hook.sh, sh swaps.sh] }\n',
      'swaps.sh':
        'echo "touch ../HIT" > swaps.sh; mkdir .vscode; echo {} > .vscode/tasks.json; echo Read-only file system; exit 1\n',
    })
    const swapped = await start([call('shell_run', { cmd: 'sh swaps.sh' }), done])
    await swapped.decide(await swapped.approval(), 'once')
    const offered = await swapped.approval()
    const notes = expect.arrayContaining([
      'Files that the command names have changed meanwhile: "swaps.sh".',
      expect.stringContaining('".vscode/tasks.json"'),
    ])
    expect(offered).toMatchObject({ argv: ['sh', 'swaps.sh'], widening: 'unsandboxed', notes })
    await swapped.decide(offered, 'refuse')

    const honest = await start([hook, done])
    await honest.decide(await honest.approval(), 'once')
    const again = await honest.approval()
    expect(again).toMatchObject({ widening: 'unsandboxed' })
    expect(JSON.stringify(again)).not.toContain('meanwhile')
    await honest.decide(again, 'refuse')
  })

  test('gets a network if that is what it needs, and stays in the sandbox', async () => {
    const { root, start } = await openAgentDaemon(files)
    const proxyOf = () => readFile(join(root, 'proxy'), 'utf8')
    const run = await start([call('shell_run', { cmd: 'sh fetch.sh' }), done])
    await run.decide(await run.approval(), 'once')
    const network = await run.approval()
    expect(network).toMatchObject({ argv: ['sh', 'fetch.sh'], widening: 'network', decisions: ['once', 'refuse'] })
    expect(await proxyOf()).toBe('\n')
    await run.decide(network, 'once')
    expect(await run.outcomes()).toEqual(['ok'])
    expect(await proxyOf()).toMatch(/^http:\/\/127\.0\.0\.1:\d+\n$/)
  })

  test('is not offered more if it failed for another reason', async () => {
    const { start } = await openAgentDaemon(files)
    const run = await start([call('shell_run', { cmd: 'sh fails.sh' }), done])
    await run.decide(await run.approval(), 'once')
    expect(await run.approval()).toBeUndefined()
    expect(await run.outcomes()).toEqual(['ok'])
  })

  test.each([
    ['workspace.sandbox is required', { workspace: { 'read-only': false, sandbox: 'required' } }],
    ['nobody is asked', { agent: { 'require-approval': false } }],
  ])('stays in the sandbox if %s', async (_why, settings) => {
    const { root, start } = await openAgentDaemon(files, settings)
    const run = await start([hook, done])
    const first = await run.approval()
    if (first !== undefined) await run.decide(first, 'once')
    expect(await run.approval()).toBeUndefined()
    expect(await run.outcomes()).toEqual(['ok'])
    expect(await readFile(join(root, '.git/config'), 'utf8')).toBe('[core]\n')
  })

  test('stays in the sandbox for a caller without a person, who is told why it failed', async () => {
    const { root, url, key } = await openAgentDaemon(files)
    const client = await connect(`${url.replace('http:', 'ws:')}/rpc`, { headers: { authorization: `Bearer ${key}` } })
    let answer: unknown = await client.ask('mcp.shell.run', { cmd: 'sh hook.sh' })
    while (!JSON.stringify(answer).includes('"exitCode"')) answer = await client.next()
    expect(answer).toMatchObject({
      result: { sandbox: 'bubblewrap', notes: [expect.stringContaining('change only the workspace')] },
    })
    expect(answer).not.toHaveProperty('result.needs')
    expect(await readFile(join(root, '.git/config'), 'utf8')).toBe('[core]\n')
  })
})
