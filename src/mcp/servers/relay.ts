import { deserializeMessage, type Transport } from '@modelcontextprotocol/client'
import { relayInput, type RelayOutput } from '../../api/server-relay.ts'
import type { Connection, ConnectionEvents } from '../../websocket/connection.ts'
import type { RelayedServer, RelayedTools } from './mcp-servers.ts'
import { readMessage } from './read-message.ts'

export interface RelayDeps {
  readonly connection: Pick<Connection, 'send' | 'close'>
  /** Called once, with the servers that the program at the other end holds. */
  readonly begin: (
    servers: readonly RelayedServer[],
    tell: (sentence: string) => void,
  ) => Pick<RelayedTools, 'close' | 'start'>
}

interface Channel {
  readonly transport: Transport
  readonly onEnd: (reason: string) => void
}

/** Talks to MCP servers over the connections that a program holds. */
export function createRelay({ connection, begin }: RelayDeps): ConnectionEvents {
  const channels = new Map<number, Channel>()
  let opened = 0
  let tools: ReturnType<typeof begin> | undefined

  const send = (output: RelayOutput): void => connection.send(JSON.stringify(output))

  function open(server: string, onEnd: Channel['onEnd']): Transport {
    opened += 1
    const channel = opened
    const transport: Transport = {
      async start() {
        channels.set(channel, { transport, onEnd })
        send({ type: 'open', channel, server })
      },
      async send(message) {
        if (!channels.has(channel)) throw new Error('The connection is closed.')
        send({ type: 'message', channel, message })
      },
      async close() {
        if (!channels.delete(channel)) return
        send({ type: 'close', channel })
        transport.onclose?.()
      },
      setProtocolVersion: (version) => send({ type: 'version', channel, version }),
    }
    return transport
  }

  function ended(channel: number, reason: string): void {
    const found = channels.get(channel)
    channels.delete(channel)
    found?.onEnd(reason)
    found?.transport.onclose?.()
  }

  function receive(channel: number, given: object): void {
    const found = channels.get(channel)
    const message = readMessage(JSON.stringify(given))
    if (message !== undefined) found?.transport.onmessage?.(deserializeMessage(message))
  }

  return {
    onText(text) {
      const input = relayInput.safeParse(parse(text)).data
      if (input?.type === 'message') receive(input.channel, input.message)
      else if (input?.type === 'closed') ended(input.channel, input.reason)
      else if (input !== undefined && tools === undefined) {
        const servers = input.servers.map(({ name, fingerprint }) => ({
          name,
          fingerprint,
          open: (onEnd: Channel['onEnd']) => open(name, onEnd),
        }))
        tools = begin(servers, (sentence) => send({ type: 'notice', text: sentence }))
        send({ type: 'ready' })
        // The person hears of a server that does not start before the first prompt.
        tools.start()
      } else connection.close(1008, 'not a message of this route')
    },
    onClose() {
      // First, so that the end of a server is no failure.
      tools?.close()
      for (const channel of channels.keys()) ended(channel, 'its program has left')
    },
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
