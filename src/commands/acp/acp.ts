import { ReadableStream, WritableStream } from 'node:stream/web'
import {
  agent,
  MessageTooLargeError,
  methods,
  ndJsonStream,
  PROTOCOL_VERSION,
  RequestError,
} from '@agentclientprotocol/sdk'
import type {
  AgentApp,
  AgentConnection,
  AuthMethod,
  ClientCapabilities,
  InitializeResponse,
} from '@agentclientprotocol/sdk'
import { visibleLines } from '../../terminal/visible.ts'
import { createConnector } from '../agent/connect.ts'
import { loginAdvice } from '../shared/accounts.ts'
import { CommandFailure, exitCode } from '../shared/command.ts'
import type { AcpFlags, CommandContext, ExitCode } from '../shared/command.ts'
import { findLogins } from '../shared/logins.ts'
import { loadSettings } from '../shared/settings.ts'
import { answering } from './answering.ts'
import { createFeeds } from './open-feeds.ts'
import { createSessionTable } from './session-table.ts'
import type { SessionTable } from './session-table.ts'

/** For the runs to end after the editor has left. Ms. */
const goodbyeMs = 5000

/** Serves one editor on standard input and output. */
export async function acp(context: CommandContext, flags: AcpFlags): Promise<ExitCode> {
  if (flags.login !== undefined) {
    const { login } = await import('../login/login.ts')
    return login(context, { config: flags.config, provider: flags.login, browser: true })
  }
  const note = (sentence: string): void => context.stderr.write(visibleLines(`${sentence}\n`))
  const settings = await loadSettings(context, flags.config)
  if (context.interactive) note(interactiveHint)

  const ended = new AbortController()
  const connector = createConnector(context, flags, { needsModel: true })
  const feeds = createFeeds(context, { connector, signal: ended.signal, note })
  let capabilities: ClientCapabilities = {}
  const table = createSessionTable(context, {
    feeds,
    editor: () => connection.client,
    capabilities: () => capabilities,
    note,
    signal: ended.signal,
  })
  const app = createApp({
    version: context.version,
    table,
    note,
    onInitialize(given) {
      capabilities = given
    },
    async requireLogin() {
      if (flags.demo || (await findLogins(context, settings)).length > 0) return
      throw new CommandFailure(exitCode.notLoggedIn, loginAdvice)
    },
  })
  const { bodyLimitMb } = settings.config.server
  const lines = ndJsonStream(toWritable(context), toReadable(context), { maxMessageBytes: bodyLimitMb * 1024 * 1024 })
  let isTooLong = false
  const readable = watched(lines.readable, (error) => (isTooLong = error instanceof MessageTooLargeError))
  const connection: AgentConnection = app.connect({ ...lines, readable })
  const stop = (): void => connection.close()
  context.signal.addEventListener('abort', stop, { once: true })
  if (context.signal.aborted) stop()
  try {
    await connection.closed
    if (isTooLong) throw new CommandFailure(exitCode.failed, tooLong(bodyLimitMb))
    return context.signal.aborted && context.signal.reason !== 'SIGTERM' ? exitCode.interrupted : exitCode.done
  } finally {
    context.signal.removeEventListener('abort', stop)
    await Promise.race([table.closeAll(), context.sleep(goodbyeMs, ended.signal).catch(() => {})])
    ended.abort()
    await connector.close()
  }
}

const interactiveHint =
  'copilot-proxy acp is for editors, which start it themselves. copilot-proxy acp --help says more.\n' +
  'It waits for messages of an editor on standard input. To end it, press Ctrl-C.'

interface AppDeps {
  readonly version: string
  readonly table: SessionTable
  readonly note: (sentence: string) => void
  /** @throws CommandFailure `notLoggedIn` */
  readonly requireLogin: () => Promise<void>
  readonly onInitialize: (capabilities: ClientCapabilities) => void
}

function createApp({ version, table, note, requireLogin, onInitialize }: AppDeps): AgentApp {
  const { session } = methods.agent
  const safely = answering(note)
  return agent({ name: 'copilot-proxy' })
    .onRequest(methods.agent.initialize, ({ params }): InitializeResponse => {
      const { clientCapabilities = {} } = params
      onInitialize(clientCapabilities)
      return {
        protocolVersion: PROTOCOL_VERSION,
        agentInfo: { name: 'copilot-proxy', title: 'copilot-proxy', version },
        agentCapabilities: {
          loadSession: true,
          promptCapabilities: { image: true, embeddedContext: true },
          mcpCapabilities: { http: true, sse: false },
          sessionCapabilities: { list: {}, resume: {}, close: {} },
        },
        authMethods: authMethods(clientCapabilities),
      }
    })
    .onRequest(
      methods.agent.authenticate,
      safely(async ({ params }) => {
        if (params.methodId !== commandMethod.id) {
          throw RequestError.invalidParams(undefined, `there is no method ${JSON.stringify(params.methodId)}`)
        }
        await requireLogin()
        return {}
      }),
    )
    .onRequest(
      session.new,
      safely(({ params }) => table.create(params)),
    )
    .onRequest(
      session.load,
      safely(({ params }) => table.load(params, 'everything')),
    )
    .onRequest(
      session.resume,
      safely(({ params }) => table.load(params, 'use')),
    )
    .onRequest(
      session.list,
      safely(({ params }) => table.list(params)),
    )
    .onRequest(
      session.close,
      safely(({ params }) => table.close(params.sessionId)),
    )
    .onRequest(
      session.setConfigOption,
      safely(({ params }) => table.setOption(params)),
    )
    .onRequest(
      session.setMode,
      safely(({ params }) => table.setMode(params)),
    )
    .onRequest(
      session.prompt,
      safely(({ params, signal }) => table.prompt(params, signal)),
    )
    .onNotification(session.cancel, ({ params }) => table.cancel(params.sessionId))
}

/** For editors that cannot start a login: the person logs in, and tries again. */
const commandMethod = {
  id: 'command',
  name: 'copilot-proxy login',
  description: 'Run copilot-proxy login in a terminal (for ChatGPT: copilot-proxy login codex). Then continue here.',
}

function authMethods({ auth }: ClientCapabilities): AuthMethod[] {
  if (auth?.terminal !== true) return [commandMethod]
  return [
    { type: 'terminal', id: 'copilot', name: 'Log in to GitHub Copilot', args: ['--login', 'copilot'] },
    { type: 'terminal', id: 'codex', name: 'Log in to ChatGPT', args: ['--login', 'codex'] },
  ]
}

function toReadable({ stdin }: CommandContext): ReadableStream<Uint8Array> {
  return ReadableStream.from(
    (async function* () {
      for await (const part of stdin) yield typeof part === 'string' ? Buffer.from(part) : part
    })(),
  )
}

/** Calls `onFailure` with the error that ends the messages, which the connection does not tell. */
function watched<Message>(
  messages: ReadableStream<Message>,
  onFailure: (error: unknown) => void,
): ReadableStream<Message> {
  return ReadableStream.from(
    (async function* () {
      try {
        yield* messages
      } catch (error) {
        onFailure(error)
        throw error
      }
    })(),
  )
}

function tooLong(limitMb: number): string {
  return `The editor sent a message of more than ${limitMb} MB (server.body-limit-mb), so the connection was closed. Start it again.`
}

/** Accepts more when the editor has read what there is, as far as the system says. */
function toWritable({ stdout }: CommandContext): WritableStream<Uint8Array> {
  return new WritableStream({
    async write(line) {
      stdout.write(Buffer.from(line).toString('utf8'))
      if ((await stdout.isDelivered?.()) === false) throw new Error('the editor disconnected')
    },
  })
}
