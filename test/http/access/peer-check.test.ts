import { some } from '../../thorough.ts'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { once } from 'node:events'
import { createServer as createHttpServer } from 'node:http'
import { connect, createServer } from 'node:net'
import type { AddressInfo, Server, Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { createPeerCheck } from '../../../src/http/access/peer-check.ts'
import type { PeerCheck } from '../../../src/http/access/peer-check.ts'
import { runDaemon } from '../../security/running-daemon.ts'
import { makeFolder } from '../../tools/session.ts'
import { chatBody } from '../client.ts'
import { chatsOf, openProxy } from '../harness.ts'
import type { Proxy } from '../harness.ts'
import { openInMemory } from '../in-memory.ts'
import { callAs, canBeFalseRoot, canSwitchUser, otherUid, thirdUid } from './other-user.ts'
import type { CallAs } from './other-user.ts'

// Programs take their time to start on a busy machine; nothing here waits for a time to pass.
vi.setConfig({ testTimeout: 120_000 })

const ownUid = process.geteuid?.() ?? 0

function httpText(method: string, path: string, body = '', headers = ''): string {
  return (
    `${method} ${path} HTTP/1.1\r\nHost: localhost\r\n${headers}` +
    (body === '' ? '\r\n' : `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`)
  )
}

const closing = 'Connection: close\r\n'
const chat = httpText('POST', '/v1/chat/completions', chatBody(), closing)

/** Without the interim responses, by which the daemon probes half-closed connections. */
const statusesOf = (received: string): readonly number[] =>
  Array.from(received.matchAll(/HTTP\/1\.1 (\d{3})/g), ([, status]) => Number(status)).filter(
    (status) => status !== 100,
  )

/** How often the daemon has refused a caller with 403. */
async function refusals({ send }: Proxy): Promise<number> {
  const { text } = await send('/metrics')
  return Number(/^copilot_proxy_refused_requests_total\{status="403"\} (\d+)$/m.exec(text)?.[1] ?? 0)
}

/** The forms in which a program can connect. */
const forms: readonly (readonly [string, Pick<CallAs, 'after' | 'host' | 'from'>])[] = [
  ['waits', {}],
  ['half-closes', { after: 'half-close' }],
  ['connects to ::1', { host: '::1' }],
  ['connects to ::ffff:127.0.0.1', { host: '::ffff:127.0.0.1' }],
  ['connects from 127.0.0.9', { from: '127.0.0.9' }],
]

const openOnLocalhost = () => openProxy({ file: 'server: { host: localhost }' })

/** Starts a daemon as `thirdUid`. Returns the answers that programs of other users get from it. */
async function openAsThird(through = '') {
  const switchUser = `setpriv --reuid=${thirdUid} --regid=${thirdUid} --clear-groups`
  const script = `chown ${thirdUid} "$COPILOT_PROXY_HOME" && exec ${switchUser} ${through} "$@"`
  const { client } = await runDaemon({ script })
  return async (uid: number) => statusesOf(await callAs({ uid, url: client.url, text: chat }))
}

describe.skipIf(!canSwitchUser)('without keys (needs root, to start programs as another user)', () => {
  test.each(some(forms, 2))('a program of another user that %s is refused', async (_name, form) => {
    const proxy = await openOnLocalhost()
    const received = await callAs({ uid: otherUid, url: proxy.url, text: chat, ...form })
    expect(statusesOf(received)).toEqual([403])
    expect(received).toContain('another user of this machine (uid 65534)')
    expect(received).toContain('copilot-proxy key add NAME')
    expect(received).toContain('server.check-peer')
    expect(chatsOf(proxy.demo)).toEqual([])
  })

  test.each(some(forms, 2, 1))('a program of this user that %s gets its answer', async (_name, form) => {
    const { url } = await openOnLocalhost()
    expect(statusesOf(await callAs({ uid: ownUid, url, text: chat, ...form }))).toEqual([200])
  })

  test.each(['close', 'reset'] as const)(
    'a program of another user that sends and does a %s is refused',
    async (after) => {
      const proxy = await openProxy()
      for (let i = 0; i < 8; i++) await callAs({ uid: otherUid, url: proxy.url, text: chat, after })
      // A reset may reach the daemon before the request.
      if (after === 'close') await expect.poll(() => refusals(proxy)).toBe(8)
      expect((await proxy.chat()).status).toBe(200)
      expect(chatsOf(proxy.demo)).toHaveLength(1)
    },
  )

  test.skipIf(!canBeFalseRoot)(
    'a program that is root in a user namespace of its own only is refused (needs user namespaces)',
    async () => {
      const { url } = await openProxy()
      const received = await callAs({ uid: otherUid, url, text: chat, through: ['unshare', '-r'] })
      expect(statusesOf(received)).toEqual([403])
    },
  )

  test('every route that does anything refuses another user, on one connection with pipelined requests', async () => {
    const { url } = await openProxy({
      file: JSON.stringify({ workspaces: [await makeFolder({ '.env': 'SECRET=1' })] }),
    })
    const open = new Set(['/healthz', '/readyz', '/api/hello', '/', '/page/some-id'])
    const routes = (await openInMemory().routes()).filter(({ method }) => method !== 'HEAD')
    const asks = [...routes, { method: 'GET', path: '/nowhere' }]
    const text = asks.map(({ method, path }) => httpText(method, path, method === 'POST' ? '{}' : '')).join('')
    const received = await callAs({ uid: otherUid, url, text: text + httpText('GET', '/usage', '', closing) })
    const statuses = statusesOf(received)
    expect(statuses).toHaveLength(asks.length + 1)
    const admitted = asks.filter((_, i) => statuses[i] !== 403).map(({ path }) => path)
    expect(new Set(admitted)).toEqual(open)
  })

  test('another user opens no WebSocket, and this user does', async () => {
    const { url } = await openProxy({ file: JSON.stringify({ workspaces: [await makeFolder({})] }) })
    const headers =
      'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n'
    const text = httpText('GET', '/rpc', '', headers)
    expect(statusesOf(await callAs({ uid: otherUid, url, text }))).toEqual([403])
    expect(statusesOf(await callAs({ uid: ownUid, url, text, after: 'leave' }))).toEqual([101])
  })

  test('with 2,000 open sockets and 100 callers at once, this user is served and another is not', async () => {
    const { url, socket, chat: ask } = await openProxy()
    for (let i = 0; i < 10; i++) await Promise.all(Array.from({ length: 100 }, socket))
    const [other, ...own] = await Promise.all([
      callAs({ uid: otherUid, url, text: chat }),
      ...Array.from({ length: 100 }, () => ask()),
    ])
    expect(statusesOf(other)).toEqual([403])
    expect(new Set(own.map(({ status }) => status))).toEqual(new Set([200]))
  })

  test('server.check-peer: false admits another user, at once', async () => {
    const { url, daemon, configure } = await openProxy()
    expect(statusesOf(await callAs({ uid: otherUid, url, text: chat }))).toEqual([403])
    daemon.reconfigure(configure('server: { check-peer: false }'))
    expect(statusesOf(await callAs({ uid: otherUid, url, text: chat }))).toEqual([200])
  })

  test('with a key, another user is served, and without it refused as before', async () => {
    const { url } = await openProxy({ file: 'server: { api-keys: [example-key] }' })
    const withKey = httpText('POST', '/v1/chat/completions', chatBody(), `x-api-key: example-key\r\n${closing}`)
    expect(statusesOf(await callAs({ uid: otherUid, url, text: withKey }))).toEqual([200])
    expect(statusesOf(await callAs({ uid: otherUid, url, text: chat }))).toEqual([401])
  })

  test('a daemon of an ordinary user serves this user and root, and no other', async () => {
    const statusesFor = await openAsThird()
    expect(await statusesFor(otherUid)).toEqual([403])
    expect(await statusesFor(thirdUid)).toEqual([200])
    expect(await statusesFor(0)).toEqual([200])
  })

  test.skipIf(!canBeFalseRoot)(
    'a daemon in a user namespace refuses users whom it cannot tell apart (needs user namespaces)',
    async () => {
      const asRoot = await openAsThird('unshare -r')
      expect(await asRoot(thirdUid)).toEqual([200])
      expect(await asRoot(otherUid)).toEqual([403])
      const asNobody = await openAsThird(`unshare --map-user=${otherUid}`)
      expect(await asNobody(otherUid)).toEqual([403])
    },
  )
})

interface Row {
  readonly uid: number
  readonly inode?: number
  readonly state?: string
}

const hex = (port: number): string => port.toString(16).toUpperCase().padStart(4, '0')
const line = (local: number, remote: number, { uid, inode = 17, state = '01' }: Row): string =>
  `   1: 0100007F:${hex(local)} 0100007F:${hex(remote)} ${state} 00000000:00000000 00:00000000 00000000 ${uid} 0 ${inode} 1\n`

const isRefused = async (check: PeerCheck, socket: Socket) => (await check.refusalOf(socket)) !== undefined

async function emptyTables(): Promise<string> {
  const procDir = await makeFolder()
  await mkdir(join(procDir, 'net'))
  for (const name of ['tcp', 'tcp6'])
    await writeFile(join(procDir, 'net', name), '  sl  local_address rem_address   st\n')
  return procDir
}

describe('by the tables of the system', () => {
  /** A server whose system shows the rows that the test writes. */
  async function openChecked(server: Server) {
    const procDir = await mkdtemp(join(tmpdir(), 'copilot-proxy-proc-'))
    await mkdir(join(procDir, 'net'))
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    // A server that listens on an address and a port has them as its address.
    const { port } = server.address() as AddressInfo
    const write = (text: string) => writeFile(join(procDir, 'net/tcp'), text)
    const listener = line(port, 0, { uid: ownUid, state: '0A' })
    await write(listener)
    const check = createPeerCheck(procDir)
    await check.start(port)
    onTestFinished(async () => {
      server.close()
      await check.close()
      await rm(procDir, { recursive: true })
    })
    return { check, port, write: (client: number, row: Row) => write(listener + line(client, port, row)), clear: write }
  }

  /** A connection to such a server, seen from the server, which does not read from it. */
  async function openConnection() {
    const server = createServer({ pauseOnConnect: true })
    const opened = await openChecked(server)
    const accepted = once(server, 'connection')
    const client = connect(opened.port, '127.0.0.1')
    onTestFinished(() => void client.destroy())
    // The event has the socket as its only argument.
    const [socket] = (await accepted) as [Socket]
    onTestFinished(() => void socket.destroy())
    socket.on('error', () => {})
    return { ...opened, client, socket, see: (row: Row) => opened.write(socket.remotePort ?? 0, row) }
  }

  test.each<readonly [string, Row, boolean]>([
    ['of this user', { uid: ownUid }, false],
    ['of root', { uid: 0 }, false],
    ['of another user', { uid: thirdUid }, true],
    ['that nobody has open any more, which shows root', { uid: 0, inode: 0, state: '05' }, true],
    ['of this user, which is still connecting', { uid: ownUid, state: '02' }, true],
  ])('a socket %s', async (_name, row, refused) => {
    const { check, socket, see } = await openConnection()
    await see(row)
    expect(await isRefused(check, socket)).toBe(refused)
  })

  test('a connection that the system does not show is refused', async () => {
    const { check, socket } = await openConnection()
    expect(await isRefused(check, socket)).toBe(true)
    expect((await check.refusalOf(socket))?.error).toMatchObject({
      kind: 'forbidden',
      detail: expect.stringMatching(/its user is unknown.*server\.api-keys.*server\.check-peer/),
    })
  })

  test('a connection that is gone is refused, whoever has its port now', async () => {
    const { check, socket, client, see } = await openConnection()
    await see({ uid: ownUid })
    client.resetAndDestroy()
    await once(client, 'close')
    expect(socket.destroyed).toBe(false)
    expect(await isRefused(check, socket)).toBe(true)
  })

  test('the requests of a connection cause one read', async () => {
    const statuses: boolean[] = []
    const server = createHttpServer((request, response) => {
      void (async () => {
        const { remotePort = 0 } = request.socket
        if (statuses.length === 0) await write(remotePort, { uid: ownUid })
        statuses.push(await isRefused(check, request.socket))
        await write(remotePort, { uid: thirdUid })
        response.end()
      })()
    })
    const { check, port, write } = await openChecked(server)
    const client = connect(port, '127.0.0.1')
    for (let i = 0; i < 3; i++) {
      client.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n')
      await once(client, 'data')
    }
    client.destroy()
    expect(statuses).toEqual([false, false, false])
  })

  test('a system that does not show its sockets is not checked', async () => {
    const { port } = await openConnection()
    for (const procDir of ['/nonexistent', await emptyTables()]) {
      const check = createPeerCheck(procDir)
      await check.start(port)
      expect(check.isPossible()).toBe(false)
      const socket = connect(port, '127.0.0.1')
      await once(socket, 'connect')
      expect(await isRefused(check, socket)).toBe(false)
      socket.destroy()
    }
  })

  test('the log says once when every user of the machine can call, and what to do', async () => {
    const { daemon, configure, log } = await openProxy()
    const warnings = () => log.filter(({ message }) => message.includes('every user of this machine'))
    expect(warnings()).toEqual([])
    for (let i = 0; i < 2; i++) daemon.reconfigure(configure('server: { check-peer: false }'))
    expect(warnings()).toEqual([
      expect.objectContaining({
        level: 'warn',
        message: expect.stringMatching(/because server\.check-peer is false\. .*copilot-proxy key add NAME$/),
      }),
    ])
    daemon.reconfigure(configure('server: { check-peer: false, api-keys: [example-key] }'))
    expect(warnings()).toHaveLength(1)
  })

  test('a request waits until it is known whether the system shows its sockets', async () => {
    const { socket, port } = await openConnection()
    const check = createPeerCheck('/nonexistent')
    let isDecided = false
    const decided = Promise.resolve(check.refusalOf(socket)).then((refusal) => {
      isDecided = true
      return refusal
    })
    await new Promise(setImmediate)
    expect(isDecided).toBe(false)
    await check.start(port)
    expect(await decided).toBeUndefined()
  })
})
