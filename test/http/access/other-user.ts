import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { text as textOf } from 'node:stream/consumers'

/** Two users of this machine that own nothing; 65534 is `nobody`. */
export const otherUid = 65_534
export const thirdUid = 65_533

export interface CallAs {
  readonly uid: number
  readonly url: string
  /** Sent as it is. */
  readonly text: string
  /**
   * What the program does after it has sent the text. `wait` reads until the server closes, `leave` until something
   * arrives. Default: `wait`.
   */
  readonly after?: 'wait' | 'leave' | 'close' | 'half-close' | 'reset'
  /** The host to connect to. Default: that of `url`. */
  readonly host?: string
  /** The address to connect from. */
  readonly from?: string
  /** A command that starts the program. */
  readonly through?: readonly string[]
}

const program = `
const { port, host, from, text, after } = JSON.parse(process.argv[1])
const socket = require('node:net').connect({ port, host, localAddress: from, allowHalfOpen: true })
let received = ''
socket.setEncoding('utf8').on('data', (piece) => {
  received += piece
  if (after === 'leave') socket.destroy()
})
socket.on('error', () => {}).on('end', () => socket.end())
socket.on('close', () => process.stdout.write(received))
if (after === 'half-close') socket.end(text)
else socket.write(text, () => {
  if (after === 'close') socket.destroy()
  if (after === 'reset') socket.resetAndDestroy()
})`

/** Runs a program as another user that opens a connection and sends a text. Resolves with what it has received. */
export async function callAs({ uid, url, text, after = 'wait', host, from, through = [] }: CallAs): Promise<string> {
  const { hostname, port } = new URL(url)
  const ask = JSON.stringify({ port, host: host ?? hostname.replace(/^\[(.*)\]$/, '$1'), from, text, after })
  const [command, ...args] = [...through, process.execPath, '-e', program, ask]
  const child = spawn(command, args, { uid, gid: uid, cwd: '/', stdio: ['ignore', 'pipe', 'pipe'] })
  const [received, errors, [code]] = await Promise.all([
    textOf(child.stdout),
    textOf(child.stderr),
    once(child, 'close'),
  ])
  if (code !== 0) throw new Error(`the program of uid ${uid} ended with ${code}: ${errors}`)
  return received
}

/** Whether this machine can start a program as another user: it runs the tests as root, and others may read Node.js. */
export const canSwitchUser =
  process.platform === 'linux' &&
  process.getuid?.() === 0 &&
  spawnSync(process.execPath, ['-e', '0'], { uid: otherUid, gid: otherUid, cwd: '/' }).status === 0

/** Whether a program of another user can be root in a user namespace of its own. */
export const canBeFalseRoot =
  canSwitchUser &&
  spawnSync('unshare', ['-r', process.execPath, '-e', '0'], { uid: otherUid, gid: otherUid, cwd: '/' }).status === 0
