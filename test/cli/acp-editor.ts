import { readFile, writeFile } from 'node:fs/promises'
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
  /**
   * The texts of files in the editor, by absolute path. It opens other files from disk, and saves a text that it takes. A function
   * stands for an editor that fails with the file.
   */
  readonly buffers?: Map<string, string | (() => Promise<string>)>
}

/** An editor on the official SDK, with `copilot-proxy acp` as its agent. */
export interface Editor {
  readonly cli: RunningCli
  readonly agent: ClientContext
  /** Lines of standard output that are no JSON-RPC. */
  readonly strays: readonly string[]
  readonly asked: readonly RequestPermissionRequest[]
  /** The files that the agent has asked for or has written, in order: `read` or `write`, and the path. */
  readonly files: readonly string[]
  readonly updates: (sessionId: string) => readonly SessionUpdate[]
  /** Resolves when an update fits. */
  readonly seen: (sessionId: string, fits: (update: SessionUpdate) => boolean) => Promise<SessionUpdate>
  /** What the agent has said, without notices. */
  readonly text: (sessionId: string) => string
}

export async function openEditor(options: EditorOptions): Promise<Editor> {
  const { args = ['acp', '--demo'], env, capabilities = {}, buffers = new Map() } = options
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
  const files: string[] = []
  const received: { readonly sessionId: string; readonly update: SessionUpdate }[] = []
  const lookers = new Set<() => void>()
  const app = client({ name: 'test' })
    // The SDK asks the handlers in their order, and a turn ends while the last ones are asked: what it has told comes first.
    .onNotification(methods.client.session.update, ({ params }) => {
      received.push(params)
      for (const look of lookers) look()
    })
    .onRequest(methods.client.session.requestPermission, async ({ params, signal }) => {
      asked.push(params)
      const optionId = await choose(params, signal)
      return { outcome: optionId === undefined ? { outcome: 'cancelled' } : { outcome: 'selected', optionId } }
    })
    .onRequest(methods.client.fs.readTextFile, async ({ params: { path } }) => {
      files.push(`read ${path}`)
      const buffer = buffers.get(path) ?? (() => readFile(path, 'utf8'))
      return { content: typeof buffer === 'string' ? buffer : await buffer() }
    })
    .onRequest(methods.client.fs.writeTextFile, async ({ params: { path, content } }) => {
      files.push(`write ${path}`)
      const buffer = buffers.get(path)
      if (typeof buffer === 'function') await buffer()
      buffers.set(path, content)
      await writeFile(path, content)
      return {}
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
    files,
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
