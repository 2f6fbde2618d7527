import { expect, onTestFinished } from 'vitest'
import { WebSocket } from 'ws'
import { startCli, startShell, type RunningCli } from '../cli/cli.ts'
import { openGithub, upstreamVariables } from '../commands/harness.ts'
import { createClient, type Client } from '../http/client.ts'

export interface DaemonPlace {
  /** Holds the configuration and the data. */
  readonly home: string
  /** The workspace. */
  readonly root: string
}

export interface DaemonProcess {
  readonly cli: RunningCli
  readonly client: Client
}

interface ServeOptions {
  /** A shell script in which "$@" is the program. */
  readonly script?: string | undefined
  readonly env?: Readonly<Record<string, string>>
}

/** Starts the program as a process that serves one workspace, in front of a simulated Copilot. */
export async function serve(
  { home, root }: DaemonPlace,
  { script, env: added }: ServeOptions = {},
): Promise<DaemonProcess> {
  const args = ['serve', '--port', '0', '--workspace', root]
  const upstream = upstreamVariables(await openGithub())
  const env = { COPILOT_PROXY_HOME: home, PATH: process.env['PATH'], ...upstream, ...added }
  const cli = script === undefined ? startCli(args, env) : startShell(script, args, env)
  const [, url = ''] = await cli.seen('stdout', /^copilot-proxy listening on (\S+)$/m)
  const client = createClient(url)
  onTestFinished(client.close)
  return { cli, client }
}

/** Calls a tool over /rpc. */
export async function callTool(
  { client }: Pick<DaemonProcess, 'client'>,
  method: string,
  params: object,
): Promise<unknown> {
  const socket = new WebSocket(`${client.url.replace('http', 'ws')}/rpc`)
  const answered = Promise.withResolvers<unknown>()
  socket.on('error', answered.reject)
  socket.on('close', () => answered.reject(new Error('the connection was closed')))
  socket.on('message', (text: Buffer) => answered.resolve(JSON.parse(text.toString('utf8'))))
  socket.on('open', () => socket.send(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })))
  try {
    return await answered.promise
  } finally {
    socket.close()
  }
}

/** Ends the process as a service manager does, and returns its log. */
export async function stop({ cli }: DaemonProcess): Promise<string> {
  cli.child.kill('SIGTERM')
  const { code, stderr } = await cli.ended
  expect([code, stderr]).toEqual([0, expect.not.stringContaining('internal error')])
  return stderr
}
