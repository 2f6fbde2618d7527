import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openProxy } from '../http/harness.ts'
import { makeFolder } from '../tools/session.ts'
import { connect } from './support.ts'

async function open() {
  const root = await makeFolder({ 'a.ts': 'export class PaymentClient {}\n' })
  const file = `workspaces: [{ path: ${root}, name: shop }]`
  const proxy = await openProxy({ file })
  const url = `${proxy.daemon.url.replace('http:', 'ws:')}/rpc`
  return { ...proxy, file, url, client: await connect(url) }
}

test('the tools of a workspace list, read and search its files', async () => {
  const { client, log } = await open()
  expect(await client.ask('mcp.fs.list', { glob: '**/*.ts' })).toMatchObject({ result: { files: ['a.ts'] } })
  expect(await client.ask('mcp.fs.read', { path: 'a.ts' })).toMatchObject({
    result: { content: 'export class PaymentClient {}\n' },
  })
  expect(await client.ask('mcp.search.code', { query: 'class PaymentClient' })).toMatchObject({
    result: { hits: [{ file: 'a.ts', line: 1 }] },
  })
  expect(await client.ask('mcp.tools.call', { name: 'mcp.session.list' })).toMatchObject({
    result: { sessions: [{ name: 'shop' }] },
  })
  expect(log.filter(({ fields }) => fields['caller'] === 'rpc:local')).toHaveLength(4)
})

test('each call is in the record of its session, with its paths and its outcome and without contents', async () => {
  const { client, daemon } = await open()
  await client.ask('mcp.fs.read', { path: 'a.ts' })
  await client.ask('mcp.fs.read', { path: '../secret' })
  const answer = await fetch(`${daemon.url}/sessions/shop/streams/tool-calls`)
  const call = { id: expect.any(String), tool: 'mcp.fs.read', caller: 'rpc:local', ms: expect.any(Number) }
  expect(await answer.json()).toEqual({
    entries: [
      { ...call, paths: ['a.ts'], outcome: 'ok', time: expect.any(String) },
      { ...call, paths: ['../secret'], outcome: 'denied', time: expect.any(String) },
    ],
  })
})

test.each([
  ['mcp.fs.read', { path: '../secret' }, -32001, { kind: 'denied' }],
  ['mcp.fs.read', {}, -32602, { kind: 'invalid_arguments' }],
  ['mcp.fs.read', { path: 1 }, -32602, { path: 'path' }],
  ['mcp.fs.read', { path: 'missing' }, -32000, { kind: 'failed' }],
  ['mcp.edit.applyPatch', { unifiedDiff: '--- a/a.ts\n+++ b/a.ts\n@@ -1 +1 @@\n-x\n+y\n' }, expect.any(Number), {}],
] as const)('%s of %j fails with its code', async (method, params, code, data) => {
  const { client } = await open()
  expect(await client.ask(method, params)).toMatchObject({ error: { code, data } })
})

test('a workspace that leaves the configuration takes /rpc with it', async () => {
  const { client, daemon, configure } = await open()
  daemon.reconfigure(configure(''))
  expect(await client.ask('mcp.fs.list')).toMatchObject({ error: { code: -32602, data: { path: 'session' } } })
})

test('disabling /rpc closes its connections', async () => {
  const { client, daemon, configure, file } = await open()
  const closed = once(client.socket, 'close')
  daemon.reconfigure(configure(`${file}\nrpc: { enabled: false }`))
  const [code, reason] = await closed
  expect([code, String(reason)]).toEqual([1001, '/rpc was disabled'])
})

test('G24 no shell reads a command: a canary stays, and no process starts', async () => {
  const root = await makeFolder({
    'canary.txt': 'alive',
    '.agent-policy.yaml': 'shell:\n  allow: ["true"]\n',
  })
  const proxy = await openProxy({
    file: `workspaces: [{ path: ${root}, name: shop }]\nworkspace: { read-only: false }`,
  })
  const client = await connect(`${proxy.daemon.url.replace('http:', 'ws:')}/rpc`)
  expect(await client.ask('mcp.shell.run', { cmd: 'true' })).toMatchObject({ result: { exitCode: 0 } })
  for (const end of [
    '; rm canary.txt',
    '&& rm canary.txt',
    '| rm canary.txt',
    '$(rm canary.txt)',
    '`rm canary.txt`',
    '\nrm canary.txt',
    '> canary.txt',
  ]) {
    expect(await client.ask('mcp.shell.run', { cmd: `true ${end}` })).toMatchObject({ error: { code: -32001 } })
    expect(await client.ask('mcp.shell.run', { argv: ['true', end] })).toMatchObject({ error: { code: -32001 } })
  }
  expect(await readFile(join(root, 'canary.txt'), 'utf8')).toBe('alive')
})

test('a file that is missing gets a plain sentence', async () => {
  const { client } = await open()
  for (const method of ['mcp.fs.read', 'mcp.symbols.list']) {
    expect(await client.ask(method, { path: 'gone.ts' })).toMatchObject({
      error: { code: -32000, message: expect.stringMatching(/^"gone\.ts" does not exist\./) },
    })
  }
})

test('a glob of many stars and braces ends, with an answer or an error', async () => {
  const { client } = await open()
  for (const glob of [`${'*a'.repeat(60)}*b`, `${'**/'.repeat(200)}x`, '{a,b}'.repeat(40)]) {
    for (const params of [
      { method: 'mcp.fs.list', glob },
      { method: 'mcp.search.code', query: 'x', glob },
    ]) {
      const { method, ...args } = params
      expect(await client.ask(method, args)).toHaveProperty('id')
    }
  }
})
