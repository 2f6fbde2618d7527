import {
  fatalCodes,
  protocolVersion,
  type ActiveSession,
  type CancelReason,
  type Decoded,
  type ErrorCode,
  type GatewayMessage,
  type Hello,
  type Problem,
  type Push,
  type Result,
  type ToolsUpdate,
} from './messages.ts'
import { readTools, type ToolDefinition } from './tool-definitions.ts'

// The connection state machine of the provider interface, core profile. Pure: maps a state and an input to the next state and
// the actions to perform in order.

export type ConnectionState =
  | { readonly at: 'await_auth' }
  | { readonly at: 'await_hello' }
  | Bound
  | { readonly at: 'disconnected' }

export interface Bound {
  readonly at: 'bound'
  readonly sessionId: string
  readonly provider: string
  /** Number of calls sent so far. */
  readonly issued: number
  /** Ids of the calls that have no outcome yet. */
  readonly pending: ReadonlySet<string>
}

export type Input =
  | { readonly type: 'received'; readonly decoded: Decoded }
  /** A message above the rate limit. `isFlood`: so many were refused that the connection ends. */
  | { readonly type: 'limited'; readonly decoded: Decoded; readonly isFlood: boolean }
  /** The time limit for `auth` is over. */
  | { readonly type: 'auth_overdue' }
  /** `id` must be `callId` of the next number. */
  | { readonly type: 'call'; readonly id: string; readonly tool: string; readonly args: unknown }
  | { readonly type: 'cancel'; readonly id: string; readonly reason: CancelReason }
  | { readonly type: 'lifecycle'; readonly state: 'started' | 'idle' }
  /** The session or the daemon ends after `deadlineMs`. */
  | { readonly type: 'shutdown'; readonly deadlineMs: number }
  /** The gateway ends the connection. */
  | { readonly type: 'end'; readonly code: number; readonly reason: string }
  /** The connection has closed. */
  | { readonly type: 'closed' }

/** The outcome of a call. `errorCode` comes from the provider or from the protocol. */
export type CallOutcome =
  | { readonly ok: true; readonly data: unknown }
  | { readonly ok: false; readonly errorCode: string; readonly message: string }

export type Action =
  | { readonly do: 'send'; readonly message: GatewayMessage }
  | { readonly do: 'settle'; readonly id: string; readonly outcome: CallOutcome }
  | {
      readonly do: 'bind'
      readonly sessionId: string
      readonly provider: string
      readonly tools: readonly ToolDefinition[]
    }
  | { readonly do: 'replace_tools'; readonly tools: readonly ToolDefinition[] }
  /** Remove the provider's tools. */
  | { readonly do: 'unbind' }
  | { readonly do: 'push'; readonly push: Push; readonly sessionId: string; readonly provider: string }
  /** Count a result that no call waits for. */
  | { readonly do: 'drop' }
  | { readonly do: 'close'; readonly code: number; readonly reason: string }

export interface Step {
  readonly state: ConnectionState
  readonly actions: readonly Action[]
}

/** The facts outside of a connection that its state machine reads. */
export interface Surroundings {
  readonly providerId: string
  readonly isToken: (text: string) => boolean
  readonly sessions: () => readonly ActiveSession[]
  /** Names the other owner of a tool in the session whose name for models is the same. */
  readonly ownerOf: (sessionId: string, provider: string) => (tool: string) => string | undefined
}

/** Maximum number of calls of one provider that wait for a result. */
export const maxPending = 1000

/** WebSocket close codes (RFC 6455, section 7.4.1). */
export const closeCodes = { normal: 1000, goingAway: 1001, policy: 1008 } as const

export const startState: ConnectionState = { at: 'await_auth' }

export function step(state: ConnectionState, input: Input, world: Surroundings): Step {
  if (state.at === 'disconnected') return { state, actions: [] }
  switch (input.type) {
    case 'received':
      return receive(state, input.decoded, world)
    case 'limited':
      return limit(state, input.decoded, input.isFlood, world)
    case 'auth_overdue':
      return state.at === 'await_auth'
        ? refuse(state, 'AUTH_FAILED', 'No auth message arrived in time.', undefined, world)
        : stay(state)
    case 'call':
      return state.at === 'bound' ? call(state, input) : stay(state)
    case 'cancel':
      return state.at === 'bound' ? cancel(state, input.id, input.reason) : stay(state)
    case 'lifecycle':
      return state.at === 'bound' ? stay(state, lifecycle(state, input.state)) : stay(state)
    case 'shutdown':
      return shutdown(state, input.deadlineMs)
    case 'end':
      return end(state, [{ do: 'close', code: input.code, reason: input.reason }])
    case 'closed':
      return end(state, [])
  }
}

function receive(state: ConnectionState, decoded: Decoded, world: Surroundings): Step {
  if (!decoded.ok) return receiveProblem(state, decoded, world)
  const { message } = decoded
  switch (state.at) {
    case 'await_auth':
      return message.type === 'auth'
        ? authenticate(state, message.token, world)
        : wrongState(state, message.type, world)
    case 'await_hello':
      return message.type === 'hello' ? greet(state, message, world) : wrongState(state, message.type, world)
    case 'bound':
      switch (message.type) {
        case 'tool.result':
          return takeResult(state, message, world)
        case 'push':
          return takePush(state, message, world)
        case 'tools.update':
          return updateTools(state, message, world)
        case 'goodbye':
          return end(state, [{ do: 'close', code: closeCodes.normal, reason: 'goodbye' }])
        default:
          return wrongState(state, message.type, world)
      }
    case 'disconnected':
      return stay(state)
  }
}

function authenticate(state: ConnectionState, token: string, world: Surroundings): Step {
  if (!world.isToken(token)) {
    const detail =
      'Wrong token. Read the current one again: from the file .provider-token, or from copilot-proxy gateway token.'
    return refuse(state, 'AUTH_FAILED', detail, 'auth', world)
  }
  const active = world.sessions()
  return { state: { at: 'await_hello' }, actions: [{ do: 'send', message: { type: 'sessions', active } }] }
}

function greet(state: ConnectionState, message: Hello, world: Surroundings): Step {
  const { name: provider, session: sessionId, tools: given = [] } = message
  if (message.protocolVersion !== protocolVersion) {
    const detail = `This gateway supports version ${protocolVersion} only. Set protocolVersion to ${protocolVersion}.`
    return refuse(state, 'UNSUPPORTED_VERSION', detail, 'hello', world)
  }
  if (!world.sessions().some(({ id }) => id === sessionId)) {
    const detail = `Session ${JSON.stringify(sessionId.slice(0, 100))} does not exist.`
    return refuse(state, 'INVALID_SESSION', detail, 'hello', world)
  }
  const read = readTools(given, world.ownerOf(sessionId, provider))
  if (!read.ok) return refuse(state, read.code, read.detail, 'hello', world)
  const { providerId } = world
  const bound: Bound = { at: 'bound', sessionId, provider, issued: 0, pending: new Set() }
  return {
    state: bound,
    actions: [
      { do: 'bind', sessionId, provider, tools: read.tools },
      { do: 'send', message: { type: 'hello.ack', protocolVersion, providerId, sessionId } },
      lifecycle(bound, 'started'),
    ],
  }
}

function takeResult(state: Bound, { id, data, error, errorCode }: Result, world: Surroundings): Step {
  if (!state.pending.has(id)) return ignoreResult(state, id, world)
  const outcome: CallOutcome =
    error === undefined
      ? { ok: true, data }
      : { ok: false, errorCode: errorCode ?? 'INTERNAL', message: error.slice(0, maxErrorLength) }
  return settle(state, id, outcome)
}

/** Maximum length of a provider's error text. Characters. */
const maxErrorLength = 10_000

/** Drops a second result or one after a cancel. Only a result for an unknown call gets an error message. */
function ignoreResult(state: Bound, id: string, world: Surroundings): Step {
  const drop: Action = { do: 'drop' }
  if (wasIssued(state, id, world)) return stay(state, drop)
  const detail = `No call of this connection has the id ${JSON.stringify(id.slice(0, 100))}.`
  return stay(state, drop, errorAction(state, 'INVALID_JSON', detail, 'tool.result', world))
}

function takePush(state: Bound, push: Push, world: Surroundings): Step {
  const { sessionId, provider } = state
  if (isOtherSession(state, push.sessionId)) return refuseSession(state, 'push', world)
  return stay(state, { do: 'push', push, sessionId, provider })
}

function updateTools(state: Bound, message: ToolsUpdate, world: Surroundings): Step {
  if (isOtherSession(state, message.sessionId)) return refuseSession(state, 'tools.update', world)
  const read = readTools(message.tools, world.ownerOf(state.sessionId, state.provider))
  if (!read.ok) return refuse(state, read.code, read.detail, 'tools.update', world)
  return stay(state, { do: 'replace_tools', tools: read.tools })
}

function isOtherSession({ sessionId }: Bound, named: string | undefined): boolean {
  return named !== undefined && named !== sessionId
}

function refuseSession(state: Bound, replyTo: string, world: Surroundings): Step {
  const detail = 'The sessionId must be the id of the session in hello.'
  return refuse(state, 'INVALID_SESSION', detail, replyTo, world)
}

function wrongState(state: ConnectionState, type: string, world: Surroundings): Step {
  const expected = { await_auth: 'auth', await_hello: 'hello', bound: 'tool.result, push, tools.update or goodbye' }
  const detail = state.at === 'disconnected' ? '' : `Unexpected message type ${type}: expected ${expected[state.at]}.`
  return refuse(state, 'UNKNOWN_TYPE', detail, type, world)
}

function receiveProblem(state: ConnectionState, problem: Problem, world: Surroundings): Step {
  const { code, detail, type, id, isAmbiguous } = problem
  // A malformed token counts as a wrong token.
  if (state.at === 'await_auth' && type === 'auth') return refuse(state, 'AUTH_FAILED', detail, type, world)
  const answered = refuse(state, code, detail, type, world)
  if (state.at !== 'bound') return answered
  if (id !== undefined && state.pending.has(id)) {
    const settled = settle(state, id, { ok: false, errorCode: code, message: detail })
    return { state: settled.state, actions: [...settled.actions, ...answered.actions] }
  }
  // Drop a late result without an error message, whatever its problem is.
  if (id !== undefined && wasIssued(state, id, world)) return stay(state, { do: 'drop' })
  const isUncorrelated = isAmbiguous || type === 'tool.result'
  return isUncorrelated ? failFast(state, code, detail, answered.actions) : answered
}

/** Fails the only pending call, or ends the connection if there are several, so that no call waits forever for its result. */
function failFast(state: Bound, code: ErrorCode, detail: string, answer: readonly Action[]): Step {
  const [first, second] = state.pending
  if (first === undefined) return stay(state, ...answer)
  if (second === undefined) {
    const settled = settle(state, first, { ok: false, errorCode: code, message: detail })
    return { state: settled.state, actions: [...settled.actions, ...answer] }
  }
  const reason = 'a message that may be the result of several calls'
  return end(state, [...answer, { do: 'close', code: closeCodes.policy, reason }])
}

function limit(state: ConnectionState, decoded: Decoded, isFlood: boolean, world: Surroundings): Step {
  const type = decoded.ok ? decoded.message.type : decoded.type
  const answered = refuse(state, 'RATE_LIMITED', 'Too many messages. Wait a second, then try again.', type, world)
  if (!isFlood) return answered
  return end(state, [...answered.actions, { do: 'close', code: closeCodes.policy, reason: 'too many messages' }])
}

function call(state: Bound, { id, tool, args }: Extract<Input, { readonly type: 'call' }>): Step {
  const { sessionId } = state
  return {
    state: { ...state, issued: state.issued + 1, pending: new Set([...state.pending, id]) },
    actions: [{ do: 'send', message: { type: 'tool.call', id, sessionId, tool, args } }],
  }
}

/** @param number counts the calls of a connection, from 1 */
export function callId(providerId: string, number: number): string {
  return `call-${providerId}-${number}`
}

/** Ids contain consecutive numbers, so this needs no list of ended calls. */
function wasIssued({ issued }: Bound, id: string, { providerId }: Surroundings): boolean {
  const number = Number(id.slice(id.lastIndexOf('-') + 1))
  return number >= 1 && number <= issued && id === callId(providerId, number)
}

function cancel(state: Bound, id: string, reason: CancelReason): Step {
  if (!state.pending.has(id)) return stay(state)
  const { sessionId } = state
  return {
    state: { ...state, pending: without(state.pending, id) },
    actions: [{ do: 'send', message: { type: 'tool.cancel', id, sessionId, reason } }],
  }
}

function shutdown(state: ConnectionState, deadlineMs: number): Step {
  if (state.at !== 'bound') return end(state, [{ do: 'close', code: closeCodes.goingAway, reason: 'shutting down' }])
  const { sessionId } = state
  const message = { type: 'session.lifecycle', sessionId, state: 'shutdown.pending', deadline: deadlineMs } as const
  return stay(state, { do: 'send', message })
}

/** Removes the tools, fails each pending call, and then performs `last`. */
function end(state: ConnectionState, last: readonly Action[]): Step {
  if (state.at !== 'bound') return { state: { at: 'disconnected' }, actions: last }
  const message = `The tool program "${state.provider}" disconnected before it answered.`
  const outcome: CallOutcome = { ok: false, errorCode: 'DISCONNECTED', message }
  const settled = Array.from(state.pending, (id): Action => ({ do: 'settle', id, outcome }))
  return { state: { at: 'disconnected' }, actions: [{ do: 'unbind' }, ...settled, ...last] }
}

function settle(state: Bound, id: string, outcome: CallOutcome): Step {
  return {
    state: { ...state, pending: without(state.pending, id) },
    actions: [{ do: 'settle', id, outcome }],
  }
}

function without(ids: ReadonlySet<string>, id: string): ReadonlySet<string> {
  const rest = new Set(ids)
  rest.delete(id)
  return rest
}

/** Answers with an error, and ends the connection if its code is fatal. */
function refuse(
  state: ConnectionState,
  code: ErrorCode,
  detail: string,
  replyTo: string | undefined,
  world: Surroundings,
): Step {
  const answer = errorAction(state, code, detail, replyTo, world)
  if (!fatalCodes.has(code)) return stay(state, answer)
  return end(state, [answer, { do: 'close', code: closeCodes.policy, reason: code }])
}

function errorAction(
  state: ConnectionState,
  code: ErrorCode,
  message: string,
  replyTo: string | undefined,
  { providerId }: Surroundings,
): Action {
  const isKnown = state.at !== 'await_auth'
  return {
    do: 'send',
    message: {
      type: 'error',
      code,
      message,
      ...(replyTo !== undefined && { replyTo: replyTo.slice(0, 100) }),
      ...(isKnown && { providerId }),
      ...(state.at === 'bound' && { sessionId: state.sessionId }),
    },
  }
}

function lifecycle({ sessionId }: Bound, state: 'started' | 'idle'): Action {
  return { do: 'send', message: { type: 'session.lifecycle', sessionId, state } }
}

function stay(state: ConnectionState, ...actions: readonly Action[]): Step {
  return { state, actions }
}
