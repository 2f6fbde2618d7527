import { open } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { isIPv4, isIPv6 } from 'node:net'
import { endianness } from 'node:os'
import { join } from 'node:path'
import { canonicalHost } from '../../config/loopback.ts'

/** Linux's tables of TCP sockets over IPv4 and over IPv6, in `/proc/net`. A socket over IPv6 may have mapped IPv4 addresses. */
const tableNames = ['tcp', 'tcp6'] as const
type TableName = (typeof tableNames)[number]

/** The tables that this system has, open for reading. */
export interface SocketTables {
  /**
   * Calls `visit` with each line of a table, the heading included, until it returns false. One scan at a time: a table
   * has one place of reading.
   * @throws the error of the file system
   */
  readonly scan: (name: TableName, visit: (line: string) => boolean) => Promise<void>
  readonly close: () => Promise<void>
}

/** States of a socket (Linux: include/net/tcp_states.h). */
const socketStates = { connecting: '02', listening: '0A' } as const

export interface SocketRow {
  /** Address and port in hexadecimal, as `pairsOf` writes them. */
  readonly local: string
  readonly state: string
  /** The user that created the socket; 0 if no process has it open. */
  readonly uid: number
  /** `0`: no process has the socket open. */
  readonly inode: string
}

/** The kernel hands out at most a page at a time (fs/seq_file.c). Bytes. */
const chunkBytes = 16 * 1024

/** A table that is absent or unreadable counts as empty; without any, the result is undefined. */
export async function openSocketTables(procDir = '/proc'): Promise<SocketTables | undefined> {
  const opened = new Map<TableName, FileHandle>()
  for (const name of tableNames) {
    const handle = await open(join(procDir, 'net', name)).catch(() => undefined)
    if (handle !== undefined) opened.set(name, handle)
  }
  if (opened.size === 0) return undefined
  return {
    async scan(name, visit) {
      const handle = opened.get(name)
      if (handle !== undefined) await scanLines(handle, visit)
    },
    async close() {
      await Promise.all(Array.from(opened.values(), (handle) => handle.close()))
    },
  }
}

async function scanLines(handle: FileHandle, visit: (line: string) => boolean): Promise<void> {
  const buffer = Buffer.allocUnsafe(chunkBytes)
  let position = 0
  let text = ''
  for (;;) {
    const { bytesRead } = await handle.read(buffer, 0, chunkBytes, position)
    if (bytesRead === 0) return
    position += bytesRead
    text += buffer.toString('latin1', 0, bytesRead)
    let start = 0
    for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', start)) {
      if (!visit(text.slice(start, end))) return
      start = end + 1
    }
    text = text.slice(start)
  }
}

/** Undefined for the heading. A line is `sl: local:port remote:port state queues timer retransmits uid timeout inode …`. */
function parseRow(line: string): SocketRow | undefined {
  const [, local, , state, , , , uid, , inode] = line.trim().split(/\s+/)
  if (local === undefined || state === undefined || inode === undefined || !local.includes(':')) return undefined
  return { local, state, uid: Number(uid), inode }
}

function listenerOn(port: number, line: string): SocketRow | undefined {
  const row = parseRow(line)
  return row?.state === socketStates.listening && row.local.endsWith(`:${hexPort(port)}`) ? row : undefined
}

/** The sockets that listen on a port. @throws as `scan` */
export async function findListeners(tables: SocketTables, port: number): Promise<readonly SocketRow[]> {
  const found: SocketRow[] = []
  for (const name of tableNames) {
    await tables.scan(name, (line) => {
      const row = listenerOn(port, line)
      if (row !== undefined) found.push(row)
      return true
    })
  }
  return found
}

/** As `findListeners`, without reading on after the first: listening sockets are at the start. @throws as `scan` */
export async function hasListener(tables: SocketTables, port: number): Promise<boolean> {
  let isFound = false
  for (const name of tableNames) {
    await tables.scan(name, (line) => {
      isFound ||= listenerOn(port, line) !== undefined
      return !isFound
    })
    if (isFound) return true
  }
  return false
}

/** The two ends of a connection, as one of them sees it. */
export interface Ends {
  readonly localAddress: string
  readonly localPort: number
  readonly remoteAddress: string
  readonly remotePort: number
}

/** A connection as a table shows it: `local:port remote:port`. */
export interface Pair {
  readonly table: TableName
  readonly text: string
}

/**
 * The lines in which a connection may stand. The other end of a connection over IPv4 may be a socket over IPv6 with
 * mapped addresses. Empty if an address cannot be read.
 */
export function pairsOf({ localAddress, localPort, remoteAddress, remotePort }: Ends): readonly Pair[] {
  const [local, remote] = [bytesOf(localAddress), bytesOf(remoteAddress)]
  if (local === undefined || remote === undefined) return []
  const pair = (from: readonly number[], to: readonly number[]): string =>
    `${hexAddress(from)}:${hexPort(localPort)} ${hexAddress(to)}:${hexPort(remotePort)}`
  const wide: Pair = { table: 'tcp6', text: pair(mapped(local), mapped(remote)) }
  return local.length === 4 && remote.length === 4 ? [{ table: 'tcp', text: pair(local, remote) }, wide] : [wide]
}

/**
 * The users of the given connections' sockets, each given by the lines in which it may stand. Connections without a socket that a
 * process has open are absent: a socket that its program has closed keeps its line for a while, with user 0 and inode 0.
 * @throws as `scan`
 */
export async function findUsers(
  tables: SocketTables,
  connections: readonly (readonly Pair[])[],
): Promise<ReadonlyMap<readonly Pair[], number>> {
  const users = new Map<readonly Pair[], number>()
  for (const name of tableNames) {
    // The kernel takes milliseconds for a table, so the second one is read only for what the first has not shown.
    const missing = connections.filter((lines) => !users.has(lines))
    const wanted = new Map(
      missing.flatMap((lines) => lines.flatMap(({ table, text }) => (table === name ? [[text, lines] as const] : []))),
    )
    if (wanted.size === 0) continue
    const pairLength = name === 'tcp' ? 27 : 75
    await tables.scan(name, (line) => {
      const start = line.indexOf(': ') + 2
      const text = line.slice(start, start + pairLength)
      const connection = wanted.get(text)
      if (connection === undefined) return true
      const row = parseRow(line)
      // The program of a socket that is still connecting has sent nothing: the connection belongs to another socket.
      if (row === undefined || row.inode === '0' || row.state === socketStates.connecting) return true
      users.set(connection, row.uid)
      wanted.delete(text)
      return wanted.size > 0
    })
  }
  return users
}

/** In network order: 4 bytes for IPv4, also if it is mapped, else 16. */
function bytesOf(address: string): readonly number[] | undefined {
  const host = canonicalHost(address) ?? ''
  if (isIPv4(host)) return host.split('.').map(Number)
  if (!isIPv6(host)) return undefined
  const [head = '', tail = ''] = (host.split('%')[0] ?? '').split('::')
  const [left, right] = [head, tail].map((part) => part.split(':').filter((group) => group !== ''))
  const groups = [
    ...(left ?? []),
    ...Array<string>(8 - (left?.length ?? 0) - (right?.length ?? 0)).fill('0'),
    ...(right ?? []),
  ]
  return groups.flatMap((group) => [Number.parseInt(group, 16) >> 8, Number.parseInt(group, 16) & 255])
}

function mapped(bytes: readonly number[]): readonly number[] {
  return bytes.length === 4 ? [...Array<number>(10).fill(0), 255, 255, ...bytes] : bytes
}

/** The kernel prints each word of 32 bits in the byte order of the machine. */
function hexAddress(bytes: readonly number[]): string {
  const buffer = Buffer.from(bytes)
  if (endianness() === 'LE') buffer.swap32()
  return buffer.toString('hex').toUpperCase()
}

function hexPort(port: number): string {
  return port.toString(16).toUpperCase().padStart(4, '0')
}
