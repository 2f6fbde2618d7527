import { readFile } from 'node:fs/promises'
import { Socket } from 'node:net'
import { join } from 'node:path'
import { isForeign } from '../../auth/records/record-fs.ts'
import type { Config } from '../../config/schema.ts'
import { Fault } from '../../errors.ts'
import { isConnected } from '../connections.ts'
import { findUsers, hasListener, openSocketTables, pairsOf } from './socket-table.ts'
import type { Ends, Pair, SocketTables } from './socket-table.ts'

/** Tells callers of this user (and the superuser) from callers of other users, by the owner of their end of the connection. */
export interface PeerCheck {
  /** Call when the daemon listens. Requests wait until this has ended. */
  readonly start: (port: number) => Promise<void>
  /** False: the system does not show its sockets, as only Linux does, so that every caller is accepted. */
  readonly isPossible: () => boolean
  /** The fault of a foreign caller. A promise only for the first request of a connection. */
  readonly refusalOf: (socket: Socket) => Fault | undefined | Promise<Fault | undefined>
  readonly close: () => Promise<void>
}

/** Who may call the daemon. Programs of the superuser always may. */
export type Openness =
  /** Holders of a key. */
  | 'keys'
  /** Programs of this user. */
  | 'own-user'
  /** Programs of every user of this machine: `server.check-peer` is false. */
  | 'switched-off'
  /** Programs of every user of this machine: it does not show who calls. */
  | 'not-shown'

const everyUser = 'Programs of every user of this machine can use your models and workspaces without a key'

/** For the log and `doctor`: a sentence without its period. */
export const opennessTexts = {
  keys: 'Every caller needs a key',
  'own-user': 'Only programs of your user and root can call copilot-proxy without a key',
  'switched-off': `${everyUser}, because server.check-peer is false`,
  'not-shown': `${everyUser}, because this system does not show which user calls`,
} as const satisfies Record<Openness, string>

/** @param isPossible whether the system shows who calls */
export function opennessOf({ apiKeys, checkPeer }: Config['server'], isPossible: boolean): Openness {
  if (apiKeys.length > 0) return 'keys'
  if (!checkPeer) return 'switched-off'
  return isPossible ? 'own-user' : 'not-shown'
}

export const opennessFix = 'To require a key, run: copilot-proxy key add NAME'

/** The user of a caller's socket; `unknown` if no process has it open. */
type User = number | 'unknown'

interface Waiting {
  readonly pairs: readonly Pair[]
  readonly resolve: (user: User) => void
}

/** @param procDir Linux's process file system */
export function createPeerCheck(procDir = '/proc'): PeerCheck {
  const started = Promise.withResolvers<void>()
  let isStarted = false
  /** Undefined after the start: nothing is checked. Kept open, because a caller can use up the descriptors of the process. */
  let tables: SocketTables | undefined
  const users = new WeakMap<Socket, User | Promise<User | undefined>>()
  let waiting: Waiting[] = []
  let isReading = false
  let isOutside: (user: number) => boolean = isForeign

  /** Reads the tables for all that wait. Who comes during a read waits for the next: its line may have been passed. */
  async function readAll(opened: SocketTables): Promise<void> {
    if (isReading) return
    isReading = true
    while (waiting.length > 0) {
      const batch = waiting
      waiting = []
      const connections = batch.map((each) => each.pairs)
      const found = await findUsers(opened, connections).catch(() => new Map<readonly Pair[], number>())
      for (const { pairs, resolve } of batch) resolve(found.get(pairs) ?? 'unknown')
    }
    isReading = false
  }

  function refusalOfUser(user: User | undefined): Fault | undefined {
    if (user === undefined) return undefined
    return user === 'unknown' || isOutside(user) ? toRefusal(user) : undefined
  }

  function read(opened: SocketTables, pairs: readonly Pair[]): Promise<User> {
    const { promise, resolve } = Promise.withResolvers<User>()
    waiting.push({ pairs, resolve })
    void readAll(opened)
    return promise
  }

  /** Undefined if nothing is checked. */
  async function findUser(socket: Socket): Promise<User | undefined> {
    // Before anything else: later, a closed connection has no addresses.
    const ends = endsOf(socket)
    if (!isStarted) await started.promise
    if (tables === undefined) return undefined
    const pairs = ends === undefined ? [] : pairsOf(ends)
    let user = await read(tables, pairs)
    // A line can be passed over while other connections come and go.
    if (user === 'unknown') user = await read(tables, pairs)
    // Otherwise, the line may be that of a later connection from the same port.
    if (!isConnected(socket)) user = 'unknown'
    users.set(socket, user)
    return user
  }

  return {
    async start(port) {
      const opened = await openSocketTables(procDir)
      // Some systems that emulate Linux have empty tables.
      const isListed = opened !== undefined && (await hasListener(opened, port).catch(() => false))
      if (isListed) tables = opened
      else await opened?.close()
      if (await isNamespace(procDir)) isOutside = (user) => isForeign(user) || user === unmappedUser
      isStarted = true
      started.resolve()
    },
    isPossible: () => tables !== undefined,
    refusalOf(socket) {
      // A request that did not come through a socket is one of this process.
      if (!(socket instanceof Socket) || (isStarted && tables === undefined)) return undefined
      const known = users.get(socket)
      if (known !== undefined && !(known instanceof Promise)) return refusalOfUser(known)
      const pending = known ?? findUser(socket)
      users.set(socket, pending)
      return pending.then(refusalOfUser)
    },
    // Later requests are refused, because a closed table shows nobody.
    close: async () => tables?.close(),
  }
}

/** The caller's end. Undefined if the connection is gone. */
function endsOf({ localAddress, localPort, remoteAddress, remotePort }: Socket): Ends | undefined {
  if (localAddress === undefined || localPort === undefined) return undefined
  if (remoteAddress === undefined || remotePort === undefined) return undefined
  return { localAddress: remoteAddress, localPort: remotePort, remoteAddress: localAddress, remotePort: localPort }
}

const fixes = 'Create a key for it (server.api-keys) with: copilot-proxy key add NAME. Or set server.check-peer: false'

function toRefusal(user: User): Fault {
  const problem =
    user === 'unknown'
      ? 'the caller closed its connection, so its user is unknown.'
      : `the caller runs as another user of this machine (uid ${user}).`
  return new Fault({ kind: 'forbidden', detail: `${problem} ${fixes}` })
}

/** In a user namespace, all users from outside have this number (Linux: kernel/sys.c, `overflowuid`). */
const unmappedUser = 65_534

async function isNamespace(procDir: string): Promise<boolean> {
  const map = await readFile(join(procDir, 'self/uid_map'), 'utf8').catch(() => '')
  return map !== '' && !/^\s*0\s+0\s+4294967295\s*$/.test(map)
}
