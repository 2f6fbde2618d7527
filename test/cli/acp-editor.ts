import { ReadableStream, WritableStream } from 'node:stream/web'
import { client, methods, ndJsonStream, PROTOCOL_VERSION } from '@agentclientprotocol/sdk'
import type {
  ClientCapabilities,
  ClientContext,
  RequestPermissionRequest,
  SessionUpdate,
} from '@agentclientprotocol/sdk'
import { startCli } from './cli.ts'
import type { RunningCli } from './cli.ts'

export interface EditorOptions {
  readonly args?: readonly string[]
  readonly env: Readonly<Record<string, string | undefined>>
  readonly capabilities?: ClientCapabilities
  /** The id of the option that the person chooses, or undefined to let the question be cancelled. Default: the last one. */
  readonly choose?: (
    request: RequestPermissionRequest,
    signal: AbortSignal,
  ) => Promise<string | undefined> | string | undefined
  /** The texts of files in the editor, by absolute path. */
  readonly buffers?: ReadonlyMap<string, string>
}

/** An editor on the official SDK, with `copilot-proxy acp` as its agent. */
export interface Editor {
  readonly cli: RunningCli
  readonly agent: ClientContext
  /** Lines of standard output that are no JSON-RPC. */
  readonly strays: readonly string[]
  readonly asked: readonly RequestPermissionRequest[]
  readonly updates: (sessionId: string) => readonly SessionUpdate[]
  /** Resolves when an update fits. */
  readonly seen: (sessionId: string, fits: (update: SessionUpdate) => boolean) => Promise<SessionUpdate>
  /** What the agent has said, without notices. */
  readonly text: (sessionId: string) => string
}

export async function openEditor(options: EditorOptions): Promise<Editor> {
  const { args = ['acp', '--demo'], env, capabilities = {}, buffers = new Map<string, string>() } = options
  const { choose = ({ options: offered }) => offered.at(-1)?.optionId } = options
  const cli = startCli(args, env)
  const { stdin, stdout } = cli.child
  if (stdin === null || stdout === null) throw new Error('the program has no pipes')
  const strays: string[] = []
  let rest = ''
  stdout.on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) if (!isMessage(line)) strays.push(line)
  })
  const asked: RequestPermissionRequest[] = []
  const received: { readonly sessionId: string; readonly update: SessionUpdate }[] = []
  const lookers = new Set<() => void>()
  const app = client({ name: 'test' })
    .onRequest(methods.client.session.requestPermission, async ({ params, signal }) => {
      asked.push(params)
      const optionId = await choose(params, signal)
      return { outcome: optionId === undefined ? { outcome: 'cancelled' } : { outcome: 'selected', optionId } }
    })
    .onRequest(methods.client.fs.readTextFile, ({ params }) => {
      const content = buffers.get(params.path)
      if (content === undefined) throw new Error('no such buffer')
      return { content }
    })
    .onNotification(methods.client.session.update, ({ params }) => {
      received.push(params)
      for (const look of lookers) look()
    })
  const output = new WritableStream<Uint8Array>({
    write: (bytes) => new Promise((done) => stdin.write(bytes, () => done())),
  })
  const input = new ReadableStream<Uint8Array>({
    start(controller) {
      stdout.on('data', (chunk: string) => controller.enqueue(Buffer.from(chunk)))
      stdout.once('end', () => controller.close())
    },
  })
  const { agent } = app.connect(ndJsonStream(output, input))
  const updates: Editor['updates'] = (id) => received.flatMap((each) => (each.sessionId === id ? each.update : []))
  await agent.request(methods.agent.initialize, { protocolVersion: PROTOCOL_VERSION, clientCapabilities: capabilities })
  return {
    cli,
    agent,
    strays,
    asked,
    updates,
    seen: (id, fits) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          const found = updates(id).find(fits)
          if (found === undefined) return
          lookers.delete(look)
          resolve(found)
        }
        lookers.add(look)
        look()
        void cli.ended.then(({ stderr }) => reject(new Error(`the agent ended:\n${stderr}`)))
      }),
    text: (id) =>
      updates(id)
        .map((update) =>
          update.sessionUpdate === 'agent_message_chunk' &&
          update.content.type === 'text' &&
          update.messageId?.startsWith('notice') !== true
            ? update.content.text
            : '',
        )
        .join(''),
  }
}

function isMessage(line: string): boolean {
  try {
    const message: unknown = JSON.parse(line)
    return typeof message === 'object' && message !== null && 'jsonrpc' in message
  } catch {
    return false
  }
}
