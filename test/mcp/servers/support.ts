import { execPath } from 'node:process'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import { secretValues } from '../../../src/config/secrets.ts'
import { createMcpServers } from '../../../src/mcp/servers/mcp-servers.ts'
import { createKnownSecrets } from '../../../src/redaction/known-secrets.ts'
import { openWorkspaces } from '../../../src/sessions/open-workspaces.ts'
import type { ToolCall, ToolResult } from '../../../src/tools/tool.ts'
import { loaded } from '../../config/loading.ts'
import { recordingLog } from '../../recording-log.ts'
import { makeFolder } from '../../tools/session.ts'

const script = fileURLToPath(new URL('server.mjs', import.meta.url))

export function serverOf(mode = 'plain', more: object = {}): object {
  return { command: [execPath, script, mode, '${workspace}'], ...more }
}

/** A person who allows everything. */
const approve = async (): Promise<boolean> => true

/** Opens a workspace with real tools, and servers as real processes. */
export async function openServers(servers: Readonly<Record<string, object>>, settings: object = {}) {
  const path = await makeFolder({ 'a.txt': 'one\n' })
  const configOf = (given: object) =>
    loaded({ file: JSON.stringify({ workspaces: [path], 'mcp-servers': given, ...settings }) }).config
  let config = configOf(servers)
  let nowMs = 1_000_000
  const log = recordingLog()
  // Register the secrets like the daemon does.
  const secrets = createKnownSecrets()
  secrets.hold('daemon', ...secretValues(config))
  const mcp = createMcpServers({
    settings: () => config.mcpServers,
    providerToken: () => 'ptk-of-this-run',
    homeDir: () => '/nowhere',
    env: { PATH: process.env['PATH'], SECRET_OF_DAEMON: 'hidden' },
    version: '1',
    redact: secrets.redact,
    log,
    now: () => nowMs,
    setTimer(run, delayMs) {
      const timer = setTimeout(run, delayMs)
      return () => clearTimeout(timer)
    },
  })
  const workspaces = await openWorkspaces({
    config: () => config,
    dataDir: undefined,
    redact: (text) => text,
    ownPaths: { folders: [], files: [] },
    homeDir: () => '/nowhere',
    sources: [mcp],
    log,
  })
  onTestFinished(async () => {
    workspaces.close()
    await mcp.close()
  })
  const session = workspaces.sessions()[0]
  if (session === undefined) throw new Error('no session')
  const { tools } = workspaces
  return {
    mcp,
    log,
    session,
    tools,
    workspaces,
    prepare: () => mcp.prepare(session),
    call: (name: string, args: unknown = {}, more: Partial<ToolCall> = {}): Promise<ToolResult> =>
      tools.call({ session, name, args, caller: 'test', signal: new AbortController().signal, approve, ...more }),
    names: () => tools.list(session).flatMap(({ name, provider }) => (provider === undefined ? [] : [name])),
    listing: () => mcp.listing(session),
    stderr: () => log.lines.flatMap(({ fields: { line } }) => (typeof line === 'string' ? [line] : [])),
    later: (ms: number) => {
      nowMs += ms
    },
    configure: (given: object) => {
      config = configOf(given)
      mcp.reconfigure()
    },
  }
}
