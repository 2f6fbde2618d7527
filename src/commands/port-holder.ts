import { readdir, readFile, readlink } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { isForeign } from '../auth/record-fs.ts'
import { askHealth, daemonUrl } from './ask-daemon.ts'

export type PortHolder =
  | {
      readonly kind: 'copilot-proxy'
      readonly version: string
      readonly demo: boolean
      readonly isConfigRefused: boolean
    }
  | { readonly kind: 'process'; readonly pid: number; readonly name: string }
  | { readonly kind: 'unknown' }

export interface PortHolderQuery {
  readonly host: string
  readonly port: number
  readonly fetch: typeof globalThis.fetch
  /** Linux's process file system. Elsewhere it does not exist, and only another copilot-proxy can be named. */
  readonly procDir: string
}

/** Who listens on a port that is in use, as far as an ordinary user may know. Never throws. */
export async function findPortHolder(query: PortHolderQuery): Promise<PortHolder> {
  const health = await askHealth(daemonUrl(query), query.fetch)
  if (health !== undefined && !(await isForeignListener(query.port, query.procDir))) {
    const { version, demo, isConfigRefused } = health
    return { kind: 'copilot-proxy', version, demo, isConfigRefused }
  }
  try {
    const inodes = new Set((await listenersOn(query.port, query.procDir)).map(({ inode }) => inode))
    return (await findSocketOwner(inodes, query.procDir)) ?? { kind: 'unknown' }
  } catch {
    return { kind: 'unknown' }
  }
}

/** State of a listening socket in `/proc/net/tcp` (Linux: include/net/tcp_states.h, TCP_LISTEN). */
const listening = '0A'

/**
 * Whether it is other users of this machine who listen on a port; not known, hence false, where there is no process file
 * system. Never throws.
 */
export async function isForeignListener(port: number, procDir = '/proc'): Promise<boolean> {
  const listeners = await listenersOn(port, procDir)
  return listeners.length > 0 && listeners.every(({ uid }) => isForeign(uid))
}

interface Listener {
  readonly inode: string
  readonly uid: number
}

/** Sockets that listen on a port, from lines `sl local:port remote:port state queues timer retransmits uid timeout inode …`. */
async function listenersOn(port: number, procDir: string): Promise<readonly Listener[]> {
  const portHex = port.toString(16).toUpperCase().padStart(4, '0')
  const tables = await Promise.all(
    ['tcp', 'tcp6'].map((table) => readFile(join(procDir, 'net', table), 'utf8').catch(() => '')),
  )
  const fields = tables.flatMap((table) => table.split('\n').map((line) => line.trim().split(/\s+/)))
  return fields.flatMap(([, local, , state, , , , uid, , inode]) =>
    state === listening && local?.endsWith(`:${portHex}`) && inode !== undefined ? [{ inode, uid: Number(uid) }] : [],
  )
}

/** The process that has one of the sockets open. Other users' processes cannot be looked into and are passed over. */
async function findSocketOwner(inodes: ReadonlySet<string>, procDir: string): Promise<PortHolder | undefined> {
  if (inodes.size === 0) return undefined
  const links = new Set([...inodes].map((inode) => `socket:[${inode}]`))
  for (const pid of await readdir(procDir)) {
    if (!/^\d+$/.test(pid)) continue
    // One process at a time: a machine can have thousands, and this runs once, on the way to an error message.
    if (await hasOpen(links, join(procDir, pid, 'fd'))) {
      return { kind: 'process', pid: Number(pid), name: await nameOf(join(procDir, pid)) }
    }
  }
  return undefined
}

/** What a runtime calls its first thread, which is what Linux tells as the name of the process. Source: Node.js 24. */
const threadName = /^(?:node-)?MainThread$/

/** Of the program; of its command line the first word alone is read, as the others can hold a secret. */
async function nameOf(processDir: string): Promise<string> {
  const read = (file: string): Promise<string> => readFile(join(processDir, file), 'utf8').catch(() => '')
  const name = (await read('comm')).trim()
  if (!threadName.test(name)) return name
  const [program = ''] = (await read('cmdline')).split('\0')
  return basename(program) || name
}

async function hasOpen(links: ReadonlySet<string>, fdDir: string): Promise<boolean> {
  const fds = await readdir(fdDir).catch(() => [])
  const targets = await Promise.all(fds.map((fd) => readlink(join(fdDir, fd)).catch(() => '')))
  return targets.some((target) => links.has(target))
}
