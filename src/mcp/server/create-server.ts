import { isInputRequiredResult, ProtocolError, ProtocolErrorCode, Server } from '@modelcontextprotocol/server'
import type {
  CallToolResult,
  InputRequiredResult,
  jsonSchemaValidator,
  ServerContext,
} from '@modelcontextprotocol/server'
import { Fault } from '../../errors.ts'
import type { Logger } from '../../logging/logger.ts'
import { ordinaryResultBytes } from '../../http/result-budget.ts'
import type { AnswerRoom, CallRoom } from '../../http/result-budget.ts'
import type { Session } from '../../tools/session.ts'
import { namesForClients } from '../../tools/model-names.ts'
import { promptToolName } from '../../tools/offer-names.ts'
import { planToolName } from '../../tools/plan-tools.ts'
import type { Tool, ToolProgress, Tools } from '../../tools/tool.ts'
import { wordError } from '../../translate/engine/error-wording.ts'
import { ToolError } from '../../workspace/tool-error.ts'
import { createClientQuestions, type ClientQuestionsDeps } from './ask-client.ts'
import { failureOf, refusalOf, resultOf } from './call-result.ts'
import { describeTool } from './describe-tool.ts'

export interface McpServerDeps {
  readonly tools: Tools
  /**
   * Returns the current session of the workspace, which may have been closed and opened again with the same id.
   * @throws ToolError if the workspace is closed
   */
  readonly session: () => Session
  /** Names the caller in the audit line, e.g. `mcp:local`. */
  readonly caller: string
  /** The id of the caller's key. Absent: no key. */
  readonly ownerId?: string | undefined
  /** Whether the client may let its person decide about a call that only a person can allow. */
  readonly mayDecide: boolean
  /** Proves that a client answers the question that it was asked. Servers of one client share it. */
  readonly stateKey: Uint8Array
  /** The times of a question. Absent: the usual ones. */
  readonly questionTimes?: Pick<ClientQuestionsDeps, 'limitMs' | 'progressMs'> | undefined
  /**
   * Counts one call.
   * @throws Fault `rate_limited`
   */
  readonly admit: (signal: AbortSignal) => Promise<void>
  /** Servers that share it limit their calls together. */
  readonly load: CallLoad
  /** Returns the memory for the answer to an HTTP request. Absent if answers are read at once. */
  readonly roomOf?: (request: Request | undefined) => AnswerRoom | undefined
  readonly version: string
  readonly log: Logger
}

export interface CallLoad {
  inProgress: number
}

/** Maximum number of calls in progress, for each MCP session and for all clients without a session together. */
const maxInProgress = 100

/** A result takes its size as a value, as a text of JSON, and twice as the answer, which contains both. */
const reserveFactor = 4

/** Not offered: MCP itself has requests to list and to call tools, and a client has no run with a plan. */
const hidden: ReadonlySet<string> = new Set(['mcp.tools.list', 'mcp.tools.call', planToolName, promptToolName])

/** The SDK's server needs a validator only for the answers of clients, which `createClientQuestions` reads itself. */
const noValidator: jsonSchemaValidator = {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- `decisionOf` checks the answer
  getValidator: () => (data) => ({ valid: true, data: data as never, errorMessage: undefined }),
}

/** Creates an MCP server with the tools of a workspace, for one connection of a transport. */
export function createMcpServer(deps: McpServerDeps): Server {
  const { tools, session, load, log } = deps
  const server = new Server(
    { name: 'copilot-proxy', title: 'copilot-proxy', version: deps.version },
    {
      capabilities: { tools: { listChanged: true } },
      instructions: instructionsFor(session()),
      debouncedNotificationMethods: ['notifications/tools/list_changed'],
      jsonSchemaValidator: noValidator,
    },
  )
  const questions = createClientQuestions({
    server,
    scope: [deps.caller, deps.ownerId, session().id],
    workspace: session().name,
    stateKey: deps.stateKey,
    ...deps.questionTimes,
  })
  const named = (): ReadonlyMap<string, Tool> =>
    namesForClients(
      session(),
      tools.list(session()).filter(({ name }) => !hidden.has(name)),
    )

  server.setRequestHandler('tools/list', async () => {
    await tools.prepare?.(session())
    return { tools: Array.from(named(), ([name, tool]) => describeTool(name, tool)) }
  })

  server.setRequestHandler('tools/call', async ({ params }, context): Promise<CallToolResult | InputRequiredResult> => {
    if (!named().has(params.name)) await tools.prepare?.(session())
    const tool = named().get(params.name)
    if (tool === undefined) {
      const message = `There is no tool ${JSON.stringify(params.name.slice(0, 100))}. tools/list lists the tools.`
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, message)
    }
    if (load.inProgress >= maxInProgress) {
      return refusalOf('busy', `${maxInProgress} calls are in progress. Wait for a result, then call the tool again.`)
    }
    load.inProgress += 1
    const memory = deps.roomOf?.(context.http?.req)?.call()
    /** A call that waits for memory is not in progress: clients that read nothing must not use up the calls of others. */
    const reserve = async (bytes: number, stopped: AbortSignal): Promise<void> => {
      load.inProgress -= 1
      try {
        await memory?.reserve(bytes, stopped)
      } finally {
        load.inProgress += 1
      }
    }
    try {
      const result = await call(tool, params.arguments ?? {}, { context, reserve })
      if (isInputRequiredResult(result)) return result
      // The answer contains the text, and the same as a value.
      memory?.built(2 * textBytes(result))
      return result
    } finally {
      load.inProgress -= 1
    }
  })

  async function call(
    tool: Tool,
    args: unknown,
    { context, reserve }: CallParts,
  ): Promise<CallToolResult | InputRequiredResult> {
    const signal = signalOf(context)
    const progress = createProgress(context)
    const asked = deps.mayDecide ? questions.open(context, progress.send) : undefined
    try {
      await deps.admit(signal)
      await reserve(ordinaryResultBytes, signal)
      const { name } = tool
      const result = await tools.call({
        session: session(),
        name,
        args,
        signal,
        caller: deps.caller,
        ownerId: deps.ownerId,
        progress: progress.send,
        approve: asked?.approve,
        isAsking: () => asked?.pending() !== undefined,
        reserve: (bytes, stopped) => reserve(bytes * reserveFactor, stopped),
      })
      return resultOf(result)
    } catch (error) {
      const question = asked?.pending()
      if (question !== undefined) return question
      if (error instanceof ToolError) return failureOf(error.failure, error.message)
      if (error instanceof Fault && error.error.kind !== 'internal') {
        return refusalOf(error.error.kind, wordError(error.error, '').message)
      }
      if (signal.aborted) return refusalOf('cancelled', new ToolError({ kind: 'cancelled' }).message)
      log.error({ err: error, caller: deps.caller }, 'a call over MCP failed')
      throw new ProtocolError(ProtocolErrorCode.InternalError, 'Internal error in copilot-proxy. See its log.')
    } finally {
      await progress.end()
    }
  }

  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the SDK's class is no EventTarget
  server.onerror = (error) => log.debug({ err: error, caller: deps.caller }, 'MCP')
  return server
}

interface CallParts {
  readonly context: ServerContext
  readonly reserve: CallRoom['reserve']
}

function textBytes({ content }: CallToolResult): number {
  return content.reduce((total, part) => {
    if (part.type === 'text') return total + Buffer.byteLength(part.text)
    return total + ('data' in part ? part.data.length : 0)
  }, 0)
}

/** The signal aborts with `notifications/cancelled`, and when the HTTP request has ended before the result. */
function signalOf({ mcpReq, http }: ServerContext): AbortSignal {
  return http?.req === undefined ? mcpReq.signal : AbortSignal.any([mcpReq.signal, http.req.signal])
}

interface ProgressSender {
  /** Undefined if the client did not ask for progress. */
  readonly send: ((part: ToolProgress) => void) | undefined
  /** Resolves when all progress is sent, so that the result can follow. */
  readonly end: () => Promise<void>
}

function createProgress({ mcpReq }: ServerContext): ProgressSender {
  const { _meta: meta } = mcpReq
  const progressToken = meta?.progressToken
  if (progressToken === undefined) return { send: undefined, end: async () => {} }
  const sent = new Set<Promise<void>>()
  let progress = 0
  return {
    send({ text }) {
      progress += 1
      const params = { progressToken, progress, message: text }
      // A notification that fails has no effect on the call: the client may have disconnected.
      const sending = mcpReq.notify({ method: 'notifications/progress', params }).catch(() => {})
      sent.add(sending)
      void sending.then(() => sent.delete(sending))
    },
    async end() {
      await Promise.all(sent)
    },
  }
}

function instructionsFor({ name, folder }: Session): string {
  return (
    `These tools work on the folder ${folder.root} (workspace "${name}"). Paths are relative to it, with /. ` +
    'Files outside of it cannot be read or changed. policy_get shows which files may be changed and which commands may be ' +
    'run. Change files with edit_replace, or with edit_applyPatch: a unified diff or V4A patch that is applied to all its files ' +
    'or to none; edit_undo takes it back. Lines are counted from 1. A result that was cut has "truncated": true.'
  )
}
