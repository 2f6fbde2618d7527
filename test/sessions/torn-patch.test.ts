import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { describe, expect, onTestFinished, test } from 'vitest'
import { makeFolder } from '../tools/session.ts'
import { callTool, serve, stop, type DaemonPlace, type DaemonProcess } from './daemon-process.ts'
import { confirmPolicies } from '../workspace/policy/confirm.ts'

const program = fileURLToPath(new URL('../../bin/copilot-proxy.cjs', import.meta.url))

/** Makes a process print `torn` and stop working when it is about to put a new `two.txt` in place. */
const stopsInTheMiddle = {
  NODE_OPTIONS: `--import "data:text/javascript,${encodeURIComponent(
    `import fs from 'node:fs'; import { syncBuiltinESMExports } from 'node:module';
     const { rename } = fs.promises;
     fs.promises.rename = (from, to) => {
       if (!String(to).endsWith('/two.txt')) return rename(from, to)
       fs.writeSync(2, 'torn\\n')
       return new Promise(() => setInterval(() => {}, 1e6))
     };
     syncBuiltinESMExports()`,
  ).replaceAll("'", '%27')}"`,
}

const policy = "writes: { allow: ['*.txt'] }\n"

async function makePlace(): Promise<DaemonPlace> {
  const home = await makeFolder({ 'config.yaml': 'workspace: { read-only: false }\n' })
  const root = await makeFolder({
    '.agent-policy.yaml': policy,
    'one.txt': 'old\n',
    'two.txt': 'old\n',
    'zero.txt': 'old\n',
  })
  await confirmPolicies(join(home, 'workspaces'), root)
  return { home, root }
}

const changeOf = (path: string): string => `--- a/${path}\n+++ b/${path}\n@@ -1 +1 @@\n-old\n+new\n`
const torn = { unifiedDiff: changeOf('one.txt') + changeOf('two.txt') }

/** Returns the contents of the three files on disk. */
const filesOf = ({ root }: DaemonPlace): Promise<readonly string[]> =>
  Promise.all(['zero', 'one', 'two'].map(async (name) => (await readFile(join(root, `${name}.txt`), 'utf8')).trim()))

/** Starts a patch in `copilot-proxy mcp`, and kills the process in the middle of the patch. */
async function tearWithMcp({ home, root }: DaemonPlace): Promise<void> {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [program, 'mcp', '--workspace', root],
    env: { COPILOT_PROXY_HOME: home, PATH: process.env['PATH'] ?? '', ...stopsInTheMiddle },
    stderr: 'pipe',
  })
  const isTorn = new Promise<void>((resolve) =>
    transport.stderr?.on('data', (text: Buffer) => void (/^torn$/m.test(text.toString()) && resolve())),
  )
  const client = new Client({ name: 'test', version: '1' })
  await client.connect(transport)
  onTestFinished(() => client.close())
  const call = client.callTool({ name: 'edit_applyPatch', arguments: torn }).catch(() => undefined)
  await isTorn
  process.kill(transport.pid ?? 0, 'SIGKILL')
  await call
}

async function read(daemon: DaemonProcess, path: string): Promise<unknown> {
  const reply = (await callTool(daemon, 'mcp.fs.read', { path })) as { result?: { content?: string } }
  return reply.result?.content?.trim() ?? reply
}

describe.skipIf(process.platform === 'win32')('a patch whose process was killed', { timeout: 120_000 }, () => {
  test('beside a running daemon is rolled back before the daemon reads a file, and no undo takes more back', async () => {
    const place = await makePlace()
    const daemon = await serve(place)
    const first = (await callTool(daemon, 'mcp.edit.applyPatch', { unifiedDiff: changeOf('zero.txt') })) as {
      result: { id: string }
    }
    await tearWithMcp(place)
    expect(await filesOf(place)).toEqual(['new', 'new', 'old'])
    expect(await read(daemon, 'one.txt')).toBe('old')
    expect(await filesOf(place)).toEqual(['new', 'old', 'old'])
    for (let times = 0; times < 2; times += 1) {
      expect(await callTool(daemon, 'mcp.edit.undo', {})).toMatchObject({
        error: { data: { kind: 'failed' }, message: expect.stringContaining('was interrupted and is rolled back') },
      })
    }
    expect(await filesOf(place)).toEqual(['new', 'old', 'old'])
    // The refusal names this change.
    expect(await callTool(daemon, 'mcp.edit.undo', {})).toMatchObject({
      error: { message: expect.stringContaining(first.result.id) },
    })
    expect(await callTool(daemon, 'mcp.edit.undo', { id: first.result.id })).toMatchObject({ result: { ok: true } })
    expect(await filesOf(place)).toEqual(['old', 'old', 'old'])
    expect(await stop(daemon)).toMatch(/an interrupted change was rolled back/)
  })

  test('is rolled back by an undo that is the first call after it', async () => {
    const place = await makePlace()
    const daemon = await serve(place)
    await callTool(daemon, 'mcp.edit.applyPatch', { unifiedDiff: changeOf('zero.txt') })
    await tearWithMcp(place)
    expect(await callTool(daemon, 'mcp.edit.undo', {})).toMatchObject({ error: { data: { kind: 'failed' } } })
    expect(await filesOf(place)).toEqual(['new', 'old', 'old'])
    // After the next change, an undo without an id takes that one back.
    expect(await callTool(daemon, 'mcp.edit.applyPatch', torn)).toMatchObject({ result: { ok: true } })
    expect(await filesOf(place)).toEqual(['new', 'new', 'new'])
    expect(await callTool(daemon, 'mcp.edit.undo', {})).toMatchObject({ result: { ok: true } })
    expect(await filesOf(place)).toEqual(['new', 'old', 'old'])
  })

  test('is rolled back before the next daemon serves the workspace', async () => {
    const place = await makePlace()
    const killed = await serve(place, { env: stopsInTheMiddle })
    await callTool(killed, 'mcp.edit.applyPatch', { unifiedDiff: changeOf('zero.txt') })
    const call = callTool(killed, 'mcp.edit.applyPatch', torn).catch(() => undefined)
    await killed.cli.seen('stderr', /^torn$/m)
    killed.cli.child.kill('SIGKILL')
    await call
    expect(await filesOf(place)).toEqual(['new', 'new', 'old'])
    const daemon = await serve(place)
    expect(await filesOf(place)).toEqual(['new', 'old', 'old'])
    expect(await callTool(daemon, 'mcp.edit.undo', {})).toMatchObject({ error: { data: { kind: 'failed' } } })
    expect(await filesOf(place)).toEqual(['new', 'old', 'old'])
  })
})

test('without an interruption, an undo without an id takes back the last change', { timeout: 60_000 }, async () => {
  const place = await makePlace()
  const daemon = await serve(place)
  await callTool(daemon, 'mcp.edit.applyPatch', torn)
  expect(await callTool(daemon, 'mcp.edit.undo', {})).toMatchObject({ result: { ok: true } })
  expect(await filesOf(place)).toEqual(['old', 'old', 'old'])
})
