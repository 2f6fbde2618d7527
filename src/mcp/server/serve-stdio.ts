import { randomBytes } from 'node:crypto'
import type { Readable, Writable } from 'node:stream'
import { serveStdio, StdioServerTransport } from '@modelcontextprotocol/server/stdio'
import type { Logger } from '../../logging/logger.ts'
import type { Workspaces } from '../../sessions/workspaces.ts'
import type { Tools } from '../../tools/tool.ts'
import { ToolError } from '../../workspace/tool-error.ts'
import { createMcpServer } from './create-server.ts'

export interface StdioDeps {
  /** Exactly one workspace is open. */
  readonly workspaces: Workspaces
  readonly stdin: Readable
  readonly stdout: Writable
  /** A longer message ends the connection. Bytes. */
  readonly maxMessageBytes: number
  /** Its abort ends the connection. */
  readonly signal: AbortSignal
  readonly version: string
  readonly log: Logger
}

/** Serves one client on standard input and output. Resolves after one of them closes or the signal aborts, and no call runs. */
export async function serveMcpStdio(deps: StdioDeps): Promise<void> {
  const { workspaces, stdin, stdout, maxMessageBytes, signal, version, log } = deps
  const running = new Set<Promise<unknown>>()
  const tools: Tools = {
    ...workspaces.tools,
    async call(asked) {
      const call = workspaces.tools.call(asked)
      running.add(call)
      try {
        return await call
      } finally {
        running.delete(call)
      }
    },
  }
  const stateKey = randomBytes(32)
  const ended = Promise.withResolvers<void>()
  const transport = new StdioServerTransport(stdin, stdout, { maxBufferSize: maxMessageBytes })
  const connection = serveStdio(
    () => {
      const server = createMcpServer({
        tools,
        session() {
          const session = workspaces.find(undefined)
          if (session === undefined) throw new ToolError({ kind: 'failed', detail: 'The workspace was closed.' })
          return session
        },
        caller: 'mcp:stdio',
        // The client that started this process was started by the person, so its answers are the person's.
        mayDecide: true,
        stateKey,
        admit: async () => {},
        load: { inProgress: 0 },
        version,
        log,
      })
      const forget = tools.onListChanged(() => void server.sendToolListChanged().catch(() => {}))
      // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the SDK's class is no EventTarget
      server.onclose = forget
      return server
    },
    { transport, onerror: (error) => log.debug({ err: error }, 'MCP') },
  )
  const { onclose } = transport
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the SDK's class is no EventTarget
  transport.onclose = () => {
    onclose?.()
    ended.resolve()
  }
  const stop = (): void => void connection.close()
  signal.addEventListener('abort', stop, { once: true })
  if (signal.aborted) stop()
  await ended.promise
  signal.removeEventListener('abort', stop)
  await Promise.allSettled(running)
}
