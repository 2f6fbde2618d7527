import { Fault, retryAfterOf } from '../errors.ts'
import { isFilled, isObject } from '../json/json.ts'
import type { JsonObject } from '../json/json.ts'
import type { Logger } from '../logging/logger.ts'
import { ordinaryResultBytes } from '../http/result-budget.ts'
import type { AnswerQueue, AnswerRoom, CallRoom } from '../http/result-budget.ts'
import type { Session } from '../tools/session.ts'
import type { Workspaces } from '../sessions/workspaces.ts'
import type { ToolProgress } from '../tools/tool.ts'
import { wordError } from '../translate/engine/error-wording.ts'
import { ToolError } from '../workspace/tool-error.ts'
import { codes, errorText, failureError, notificationText, parseMessage, resultText } from './json-rpc.ts'
import type { Id, Item, Request, RpcError } from './json-rpc.ts'

export interface PeerDeps {
  /** Undefined while no workspace is configured. */
  readonly workspaces: () => Workspaces | undefined
  /** The session that the connection's URL names. */
  readonly sessionName: string | undefined
  /** For the audit line, e.g. `rpc:local`. */
  readonly caller: string
  /** The id of the caller's key. */
  readonly ownerId: string | undefined
  /**
   * Counts one call.
   * @throws Fault `rate_limited`
   */
  readonly admit: (signal: AbortSignal) => Promise<void>
  /** Called when a message arrives. */
  readonly noteMessage: () => void
  /** The answers that wait to be read. */
  readonly queue: AnswerQueue
  /** @param onSent called when the client has read the text or has left */
  readonly send: (text: string, onSent?: () => void) => void
  /** Receives no messages while held. */
  readonly hold: (isHeld: boolean) => void
  readonly log: Logger
}

/** The calls of one connection. */
export interface Peer {
  readonly receive: (text: string) => void
  /** Refuses further calls. Resolves when none is in progress. */
  readonly drain: () => Promise<void>
  /** Cancels every call. */
  readonly cancel: () => void
}

/** Requests of one connection in progress. */
const maxInProgress = 100

/** While the messages whose requests are in progress have more characters than this, no other message is received. */
const maxHeldLength = 4 * 1024 * 1024

/** A result takes its size as a value and as the text of the answer. */
const reserveFactor = 2

/** An error that is no tool's. */
class Refusal extends Error {
  override readonly name = 'Refusal'
  readonly error: RpcError

  constructor(code: number, message: string, data?: JsonObject) {
    super(message)
    this.error = { code, message, data }
  }
}

interface Running {
  readonly controller: AbortController
  /** Undefined for a notification. */
  readonly id: Id | undefined
}

interface CallParts {
  readonly signal: AbortSignal
  readonly progress: (part: ToolProgress) => void
  readonly reserve: CallRoom['reserve']
}

export function createPeer(deps: PeerDeps): Peer {
  const { workspaces, sessionName, caller, admit, noteMessage, queue, send, hold, log } = deps
  const running = new Set<Running>()
  let heldLength = 0
  let drained: PromiseWithResolvers<void> | undefined

  async function answerMessage(text: string): Promise<void> {
    noteMessage()
    const room = queue.open()
    const { length } = text
    holdMore(length)
    const { isBatch, items } = parseMessage(text)
    const started: Running[] = []
    const answers = await Promise.all(items.map((item) => answerItem(item, started, room)))
    const texts = answers.filter((answer) => answer !== undefined)
    if (texts.length > 0) send(isBatch ? `[${texts.join(',')}]` : texts.join(''), room.free)
    else room.free()
    for (const each of started) running.delete(each)
    if (running.size === 0) drained?.resolve()
    holdMore(-length)
  }

  function holdMore(length: number): void {
    heldLength += length
    hold(heldLength > maxHeldLength)
  }

  /** The answer's text; undefined if there is none. */
  async function answerItem(item: Item, started: Running[], room: AnswerRoom): Promise<string | undefined> {
    if (!item.ok) return errorText(item.id, item.error)
    const { request } = item
    const { id } = request
    if (request.method === '$/cancelRequest') return cancelRequest(request)
    if (isInProgress(id)) {
      // The answer does not name the id: the client would take it for the answer of the first request.
      const message = 'A request with this "id" is in progress.'
      return errorText(null, { code: codes.invalidRequest, message, data: { kind: 'duplicate_id', id } })
    }
    const own: Running = { controller: new AbortController(), id }
    const { signal } = own.controller
    let isEnded = false
    const progress = (part: ToolProgress): void => {
      // A client that reads nothing misses progress; the result repeats it.
      if (!isEnded && isNamed(id) && !queue.isFull()) send(notificationText('$/progress', { id, ...part }))
    }
    const memory = room.call()
    try {
      if (drained !== undefined) throw new Fault({ kind: 'shutting_down' })
      if (running.size >= maxInProgress) {
        const message = `This connection has ${maxInProgress} requests in progress. Wait for an answer, then send the next one.`
        throw new Refusal(codes.failed, message, { kind: 'busy' })
      }
      running.add(own)
      started.push(own)
      const result = await call(request, { signal, progress, reserve: memory.reserve })
      const answer = id === undefined ? undefined : resultText(id, result)
      memory.built(answer === undefined ? 0 : Buffer.byteLength(answer))
      return answer
    } catch (thrown) {
      memory.built(0)
      const error = toRpcError(thrown, signal)
      return id === undefined ? undefined : errorText(id, error)
    } finally {
      isEnded = true
    }
  }

  /** Returns false for a request without an id or with the id null, because such requests cannot be distinguished. */
  function isInProgress(id: Id | undefined): boolean {
    return isNamed(id) && [...running].some((each) => each.id === id)
  }

  function cancelRequest({ id, params }: Request): string | undefined {
    const wanted = isObject(params) ? params['id'] : undefined
    for (const each of running) if (isNamed(each.id) && each.id === wanted) each.controller.abort()
    return id === undefined ? undefined : resultText(id, null)
  }

  async function call({ method, params = {} }: Request, { signal, progress, reserve }: CallParts): Promise<unknown> {
    if (!isObject(params)) throw invalidParams('', '"params" must be an object with named parameters.')
    const { session: named = sessionName, ...args } = params
    const open = workspaces()
    const session = sessionOf(open, named, method)
    const asked = method === 'mcp.tools.call' ? toolIn(args) : { name: method, args }
    const isListed = (): boolean => open?.tools.list(session).some((tool) => tool.name === asked.name) === true
    if (!isListed()) await open?.tools.prepare?.(session)
    if (open === undefined || !isListed()) {
      if (method === 'mcp.tools.call') throw invalidParams('name', `This session has no tool "${asked.name}".`)
      throw new Refusal(codes.methodNotFound, `There is no method "${method}".`)
    }
    await admit(signal)
    await reserve(ordinaryResultBytes, signal)
    return await open.tools.call({
      session,
      ...asked,
      signal,
      caller,
      ownerId: deps.ownerId,
      progress,
      reserve: (bytes, stopped) => reserve(bytes * reserveFactor, stopped),
    })
  }

  function toRpcError(thrown: unknown, signal: AbortSignal): RpcError {
    if (thrown instanceof Refusal) return thrown.error
    if (thrown instanceof ToolError) return failureError(thrown.failure, thrown.message)
    if (thrown instanceof Fault && thrown.error.kind !== 'internal') {
      const retryAfter = retryAfterOf(thrown.error)
      const retryAfterSeconds = retryAfter === undefined ? undefined : Number(retryAfter)
      const data = { kind: thrown.error.kind, ...(retryAfterSeconds !== undefined && { retryAfterSeconds }) }
      return { code: codes.failed, message: wordError(thrown.error, '').message, data }
    }
    if (signal.aborted) {
      const cancelled = new ToolError({ kind: 'cancelled' })
      return failureError(cancelled.failure, cancelled.message)
    }
    log.error({ err: thrown, caller }, 'a call over /rpc failed')
    const message = 'Internal error in copilot-proxy. See its log.'
    return { code: codes.internal, message, data: { kind: 'internal' } }
  }

  function cancel(): void {
    for (const { controller } of running) controller.abort()
  }

  return {
    receive: (text) => void answerMessage(text),
    drain() {
      drained ??= Promise.withResolvers()
      if (running.size === 0) drained.resolve()
      return drained.promise
    },
    cancel,
  }
}

function isNamed(id: Id | undefined): id is string | number {
  return id !== undefined && id !== null
}

function invalidParams(path: string, message: string): Refusal {
  return new Refusal(codes.invalidParams, message, { kind: 'invalid_arguments', path })
}

/** The tool and arguments that the parameters of `mcp.tools.call` name. */
function toolIn({ name, args = {} }: JsonObject): { readonly name: string; readonly args: unknown } {
  if (!isFilled(name)) throw invalidParams('name', '"name" must be the name of a tool.')
  return { name, args }
}

function sessionOf(open: Workspaces | undefined, named: unknown, method: string): Session {
  if (named !== undefined && typeof named !== 'string') throw invalidParams('session', '"session" must be a string.')
  const sessions = open?.sessions() ?? []
  const found = open?.find(named)
  if (found !== undefined) return found
  const [first] = sessions
  if (open === undefined) throw invalidParams('session', 'No workspace is configured.')
  if (first === undefined)
    throw invalidParams('session', 'No workspace is open. The log of copilot-proxy says why none could be opened.')
  // The list is the same in every session, and a client needs it to choose one.
  if (named === undefined && method === 'mcp.session.list') return first
  const names = sessions.map(({ name }) => name).join(', ')
  const problem = named === undefined ? 'Several workspaces are configured' : `There is no session "${named}"`
  throw invalidParams('session', `${problem}. Name one in "session": ${names}.`)
}
