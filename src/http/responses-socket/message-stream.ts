import type { Connection } from '../../websocket/connection.ts'
import type { EventStream } from '../event-stream.ts'
import type { StreamParts } from '../serve.ts'
import { headersMessage, messagesOf } from './frames.ts'

/** Characters that may wait for the client before the answer waits for it. */
const maxUnsent = 256 * 1024

/** Sends the events of an answer as messages. The connection has its own pings, so that no heartbeats are needed. */
export function createMessageStream(
  connection: Pick<Connection, 'send' | 'terminate'>,
  headers: () => Readonly<Record<string, string>>,
  { onHead, onText }: StreamParts,
): EventStream {
  let upstreamHeaders: Readonly<Record<string, string>> = {}
  let isOpen = false
  let unsent = 0
  let onProgress: (() => void) | undefined

  function send(message: string): void {
    unsent += message.length
    connection.send(message, () => {
      unsent -= message.length
      onProgress?.()
    })
  }

  function write(text: string): boolean {
    if (!isOpen) {
      isOpen = true
      onHead()
      send(headersMessage({ ...headers(), ...upstreamHeaders }))
    }
    onText?.(text)
    for (const message of messagesOf(text)) send(message)
    return unsent <= maxUnsent
  }

  return {
    write,
    drained: (timeoutMs) =>
      new Promise((resolve) => {
        const stall = setTimeout(connection.terminate, timeoutMs)
        onProgress = () => {
          stall.refresh()
          if (unsent > maxUnsent) return
          onProgress = undefined
          clearTimeout(stall)
          resolve()
        }
        onProgress()
      }),
    end: (text) => void write(text),
    upstreamAnswered(received) {
      upstreamHeaders = received
    },
    isOpen: () => isOpen,
    stopHeartbeats: () => {},
  }
}
