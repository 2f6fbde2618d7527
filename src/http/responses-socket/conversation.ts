import type { ServerResponse } from 'node:http'
import type { FastifyRequest } from 'fastify'
import { isFromProvider, toFault } from '../../errors.ts'
import type { ProxyError } from '../../errors.ts'
import { logRefusal } from '../../pipeline/request-meter.ts'
import type { CallerRequest } from '../../translate/dialect.ts'
import { answerNothing, isStored, responsesSocketDialect } from '../../translate/responses/socket.ts'
import { openAiErrorStatus } from '../../translate/engine/openai-error.ts'
import type { Connection } from '../../websocket/connection.ts'
import { admitCaller, callModel, serve } from '../serve.ts'
import type { ModelRequest, ModelRouteDeps, OpenStream, ReplyHead } from '../serve.ts'
import { errorMessage, messagesOf, readFrame } from './frames.ts'
import type { CreateFrame } from './frames.ts'
import { createMessageStream } from './message-stream.ts'
import type { SocketMemory } from './socket-memory.ts'

export interface ConversationDeps extends ModelRouteDeps {
  readonly randomId: () => string
  /** Called with the name of each piece of work when it begins. */
  readonly noteWork?: ((work: string) => void) | undefined
}

interface ConversationParts {
  readonly connection: Pick<Connection, 'send' | 'close' | 'terminate'>
  readonly memory: SocketMemory
  /** The handshake. */
  readonly request: FastifyRequest
  readonly response: ServerResponse
  /** @throws Fault if the caller may no longer send requests */
  readonly checkAccess: () => Promise<void>
}

/** The requests of one connection, one after the other. */
export interface Conversation {
  readonly receive: (text: string) => void
  /** Closes the connection when the answer that runs has ended. Later messages are not read. */
  readonly end: (code: number, reason: string) => Promise<void>
  /** The client has left. */
  readonly leave: () => void
}

/** Messages that wait for the answer to the one before. A client needs none: it waits for the answer. */
const maxWaiting = 4

export function createConversation(deps: ConversationDeps, parts: ConversationParts): Conversation {
  const { connection, memory, request: handshake, response, checkAccess } = parts
  const left = new AbortController()
  const waiting: string[] = []
  let running: Promise<void> | undefined
  let isEnding = false

  function receive(text: string): void {
    if (isEnding) return
    const { bodyLimitMb } = deps.config().server
    const chars = waiting.reduce((sum, { length }) => sum + length, text.length)
    if (waiting.length >= maxWaiting || (waiting.length > 0 && chars > bodyLimitMb * 1024 * 1024)) {
      isEnding = true
      waiting.length = 0
      left.abort()
      connection.close(1008, 'wait for the answer before you send more requests')
      return
    }
    waiting.push(text)
    running ??= runAll()
  }

  async function runAll(): Promise<void> {
    for (let text = waiting.shift(); text !== undefined; text = waiting.shift()) await answer(text)
    running = undefined
  }

  async function end(code: number, reason: string): Promise<void> {
    isEnding = true
    waiting.length = 0
    await running
    connection.close(code, reason)
  }

  async function answer(text: string): Promise<void> {
    deps.noteWork?.('a message over /v1/responses')
    const id = deps.randomId()
    const headers: Record<string, string> = { 'x-request-id': id }
    /** Set when a meter counts and logs the request. */
    let metered: ModelRequest | undefined
    try {
      await checkAccess()
      const frame = readFrame(text)
      if (frame === undefined) return
      const request = requestOf(id, frame)
      if (frame.generates) await run((metered = request), frame, headers)
      else await prepare(request, frame)
    } catch (error) {
      if (!left.signal.aborted) refuse(id, error, headers, metered?.meter !== undefined)
    }
  }

  /** A message as a request to the path of the connection. */
  function requestOf(id: string, { headers }: CreateFrame): ModelRequest {
    const { caller, raw, url, routeOptions } = handshake
    // A subprotocol may be a key.
    const ofHandshake = Object.entries(handshake.headers).filter(([name]) => !isOfHandshake.test(name))
    const all = { ...Object.fromEntries(ofHandshake), ...headers }
    return { id, caller, raw, url, routeOptions, method: 'WEBSOCKET', headers: all, meter: undefined }
  }

  async function run(request: ModelRequest, { body }: CreateFrame, headers: Record<string, string>): Promise<void> {
    const head = headOf(headers)
    let asked: CallerRequest | undefined
    const dialect: typeof responsesSocketDialect = {
      ...responsesSocketDialect,
      decodeRequest: (...args) => (asked = responsesSocketDialect.decodeRequest(...args)),
    }
    const keeps = (): boolean => asked !== undefined && isStored(asked)
    const responses = memory.of(deps.pipeline.responses(request.caller), keeps)
    const openStream: OpenStream = (stream) => createMessageStream(connection, () => headers, stream)
    await callModel(deps, 'responses', request, head, (call) => {
      const readBody = () => {
        deps.requests.noteHeaders(request.id, request.headers)
        deps.requests.noteBody(request.id, 'request', body.text)
        return Promise.resolve(body)
      }
      return serve(deps, { dialect, openStream, responses }, { ...call, readBody }, request, head)
    })
  }

  /** Answers a message that only prepares the next one. No model is asked. */
  async function prepare(request: ModelRequest, { body }: CreateFrame): Promise<void> {
    await admitCaller(deps, request, left.signal)
    const asked = responsesSocketDialect.decodeRequest(body.text, { bytes: body.bytes, headers: request.headers })
    const responses = memory.of(deps.pipeline.responses(request.caller), () => false)
    const memories = { responses, reasoning: { keep: () => {}, recall: () => undefined } }
    const recalled = responsesSocketDialect.recall?.(asked, memories, false) ?? asked
    const nowSeconds = () => Math.floor(deps.now() / 1000)
    const seed = { id: deps.randomId(), createdSeconds: nowSeconds(), nowSeconds, redact: deps.redact }
    for (const message of messagesOf(answerNothing(recalled, memories, seed))) connection.send(message)
  }

  function headOf(headers: Record<string, string>): ReplyHead {
    return {
      raw: response,
      left: left.signal,
      hijack: () => {},
      header: (name, value) => (headers[name] = value),
      headers: (values) => Object.assign(headers, values),
      removeHeader: (name) => delete headers[name],
    }
  }

  /** Sends a failure that came before the first event. */
  function refuse(id: string, error: unknown, headers: Readonly<Record<string, string>>, isLogged: boolean): void {
    const fault = toFault(error)
    const status = openAiErrorStatus(fault.error)
    if (!isLogged) {
      const { caller } = handshake
      deps.metrics.refused(status)
      const line = {
        requestId: id,
        status,
        error: fault.error,
        asked: 'WEBSOCKET /v1/responses',
        key: caller.key?.name,
      }
      logRefusal(deps.log, line, fault.error, status)
    }
    const message = errorMessage(fault.error, id, headers)
    connection.send(isFromProvider(fault.error) ? deps.redact(message) : message)
    if (closing.has(fault.error.kind)) void Promise.resolve().then(() => end(1008, 'access was refused'))
  }

  return { receive, end, leave: () => left.abort() }
}

const isOfHandshake = /^(?:connection|upgrade|sec-websocket-.*)$/

/** After these failures, no later message can be answered. */
const closing: ReadonlySet<ProxyError['kind']> = new Set(['key_required', 'forbidden', 'wrong_keys'])
