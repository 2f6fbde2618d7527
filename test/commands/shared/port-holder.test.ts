import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { RequestListener } from 'node:http'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { askHealth, daemonUrl, findPortHolder, isForeignListener } from '../../../src/commands/shared/find-daemon.ts'
import { listenForTest } from '../../listen-for-test.ts'
import { makeFolder } from '../../tools/session.ts'

async function listen(answer: RequestListener): Promise<number> {
  return listenForTest(createServer(answer))
}

const host = '127.0.0.1'

test('names another copilot-proxy and its version', async () => {
  const port = await listen((_request, reply) =>
    reply.end(JSON.stringify({ ok: true, copilot: 'ok', version: '1.2.3' })),
  )
  expect(await findPortHolder(fetch, { host, port })).toEqual({
    kind: 'copilot-proxy',
    version: '1.2.3',
    demo: false,
  })
})

test.runIf(process.platform === 'linux')('names the process that listens, on Linux', async () => {
  const port = await listen((_request, reply) => reply.end('hello'))
  expect(await findPortHolder(fetch, { host, port })).toEqual({
    kind: 'process',
    pid: process.pid,
    name: expect.any(String),
  })
})

/** A process file system with one process, which listens on port 4141. */
async function procWith(comm: string, args: readonly string[], uid = 1000): Promise<string> {
  const procDir = await makeFolder()
  await mkdir(join(procDir, 'net'))
  await writeFile(
    join(procDir, 'net', 'tcp'),
    '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n' +
      '   0: 0100007F:102D 00000000:0000 0A 00000000:00000000 00:00000000 00000000 ' +
      ` ${uid}        0 777 1\n`,
  )
  await mkdir(join(procDir, '7', 'fd'), { recursive: true })
  await symlink('socket:[777]', join(procDir, '7', 'fd', '3'))
  await writeFile(join(procDir, '7', 'comm'), `${comm}\n`)
  await writeFile(join(procDir, '7', 'cmdline'), args.map((arg) => `${arg}\0`).join(''))
  return procDir
}

const healthy = () => Promise.resolve(Response.json({ ok: true, copilot: 'ok', version: '1.2.3' }))

test.runIf(process.getuid !== undefined)('knows a copilot-proxy of another user from one’s own', async () => {
  const own = process.getuid?.() ?? 0
  for (const [uid, isForeign] of [
    [own, false],
    // Of the system's own: a published port of a container is.
    [0, false],
    [own + 1, true],
  ] as const) {
    const procDir = await procWith('node', ['node'], uid)
    expect(await isForeignListener(4141, procDir)).toBe(isForeign)
    const holder = await findPortHolder(healthy, { host, port: 4141 }, procDir)
    expect(holder.kind).toBe(isForeign ? 'process' : 'copilot-proxy')
  }
  expect(await isForeignListener(4141, '/nonexistent')).toBe(false)
})

const nobody = () => Promise.reject(new Error('nobody answers'))

test.skipIf(process.platform === 'win32').each<readonly [string, readonly string[], string]>([
  ['nginx', ['nginx: master process'], 'nginx'],
  ['MainThread', ['/usr/bin/node', '--secret=example', 'server.js'], 'node'],
  ['node-MainThread', ['node', 'server.js'], 'node'],
  ['MainThread', ['vite'], 'vite'],
  // Of another user, or gone by now.
  ['MainThread', [], 'MainThread'],
])('a process whose thread is called %s and which was started as %j is named %s', async (comm, args, name) => {
  const procDir = await procWith(comm, args)
  expect(await findPortHolder(nobody, { host, port: 4141 }, procDir)).toEqual({
    kind: 'process',
    pid: 7,
    name,
  })
})

test('a copilot-proxy says that its configuration file is not what is in force', async () => {
  const port = await listen((_request, reply) =>
    reply.end(JSON.stringify({ ok: true, copilot: 'ok', version: '1.2.3', config: 'invalid' })),
  )
  expect(await askHealth(daemonUrl({ host, port }), fetch)).toMatchObject({ isConfigRefused: true })
})

test('admits that it does not know', async () => {
  const port = await listen((_request, reply) => reply.destroy())
  expect(await findPortHolder(fetch, { host, port }, '/nonexistent')).toEqual({ kind: 'unknown' })
})

test.each([
  [{ host: '127.0.0.1', port: 1 }, 'http://127.0.0.1:1'],
  [{ host: '0.0.0.0', port: 2 }, 'http://127.0.0.1:2'],
  [{ host: '::', port: 3 }, 'http://[::1]:3'],
  [{ host: '::1', port: 4 }, 'http://[::1]:4'],
  [{ host: 'localhost', port: 5 }, 'http://localhost:5'],
])('a daemon on %o is asked at %s', (server, url) => {
  expect(daemonUrl(server)).toBe(url)
})
