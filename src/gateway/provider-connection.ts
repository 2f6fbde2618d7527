import type { Logger } from '../logging/logger.ts'
import type { Tool } from '../tools/tool.ts'
import type { Connection } from '../websocket/connection.ts'
import { ToolError } from '../workspace/tool-error.ts'
import { charge, fullAllowance } from './allowance.ts'
import { decodeMessage, encodeMessage, maxMessageBytes, tooLarge, type Decoded, type PushLevel } from './messages.ts'
import {
  callId,
  maxPending,
  startState,
  step,
  type Action,
  type CallOutcome,
  type ConnectionState,
  type Input,
  type Surroundings,
} from './protocol.ts'
import { identify, judgeHints } from '../tools/foreign-tools.ts'
import type { BoundProvider, ProviderTools } from './provider-tools.ts'
import type { ToolDefinition } from './tool-definitions.ts'

export interface ProviderPush {
  readonly sessionId: string
  readonly provider: string
  /** Default: the provider's name. */
  readonly stream: string
  readonly level: PushLevel
  readonly text: string
  readonly metadata?: Readonly<Record<string, unknown>> | undefined
}

export interface ProviderConnectionDeps {
  readonly connection: Connection
  readonly world: Surroundings
  readonly providers: ProviderTools
  readonly push: (push: ProviderPush) => void
  /** The timeout of a tool that states none. Ms. */
  readonly defaultTimeoutMs: () => number
  /** Whether the person trusts the provider of this name. */
  readonly isTrusted: (provider: string) => boolean
  /** Counts a wrong token. Returns the delay for its answer. Ms. */
  readonly countWrongToken: () => number
  readonly log: Logger
  /** Monotonic. Ms. */
  readonly now: () => number
  readonly setTimer: (run: () => void, delayMs: number) => () => void
}

/** Counts since the connection was opened. */
interface CallCounts {
  pending: number
  ended: number
  failed: number
  /** Results that no call waited for. */
  dropped: number
}

/** One connection of a provider. It runs the state machine of protocol.ts. */
export interface ProviderConnection {
  readonly receive: (text: string) => void
  /** Handles a message above all limits, whose text the connection does not keep. */
  readonly receiveOversized: () => void
  readonly notify: (input: Extract<Input, { readonly type: 'lifecycle' | 'shutdown' | 'end' | 'closed' }>) => void
  /** Returns undefined unless the provider is bound. */
  readonly bound: () => BoundProvider | undefined
  readonly counts: () => CallCounts
}

/** Time limit for the message `auth`. Ms. */
const authMs = 5000

export function createProviderConnection(deps: ProviderConnectionDeps): ProviderConnection {
  const { connection, world, providers, log, now } = deps
  const { providerId } = world
  let state: ConnectionState = startState
  let bound: BoundProvider | undefined
  let tools: readonly Tool[] = []
  let allowance = fullAllowance(now())
  let issued = 0
  /** Whether a delayed refusal of a wrong token is pending. Further messages are ignored then. */
  let isRefused = false
  const counts: CallCounts = { pending: 0, ended: 0, failed: 0, dropped: 0 }
  const waiting = new Map<string, (outcome: CallOutcome) => void>()
  const cancelAuth = deps.setTimer(() => apply({ type: 'auth_overdue' }), authMs)

  /** Queues inputs that arrive while `apply` performs the actions of another one. */
  const inputs: Input[] = []
  let isApplying = false

  function apply(input: Input): void {
    inputs.push(input)
    if (isApplying) return
    isApplying = true
    try {
      for (let next = inputs.shift(); next !== undefined; next = inputs.shift()) {
        const taken = step(state, next, world)
        state = taken.state
        for (const action of taken.actions) perform(action)
        if (state.at !== 'await_auth') cancelAuth()
      }
    } finally {
      isApplying = false
    }
  }

  function perform(action: Action): void {
    switch (action.do) {
      case 'send':
        if (action.message.type === 'error') note(action.message.code, action.message.message)
        connection.send(encodeMessage(action.message))
        return
      case 'settle':
        waiting.get(action.id)?.(action.outcome)
        return
      case 'bind':
        return bind(action)
      case 'replace_tools':
        tools = action.tools.map(toTool)
        if (bound !== undefined) providers.changed(bound.sessionId)
        return
      case 'unbind':
        if (bound === undefined) return
        providers.unbind(bound)
        log.info(
          { provider: bound.name, provider_id: providerId, session: bound.sessionId },
          'tool program disconnected',
        )
        bound = undefined
        return
      case 'push':
        return push(action)
      case 'drop':
        counts.dropped += 1
        return
      case 'close':
        connection.close(action.code, action.reason)
    }
  }

  function note(code: string, message: string): void {
    log.debug(
      { provider: bound?.name, provider_id: providerId, code },
      `refused a message of a tool program: ${message}`,
    )
  }

  function bind({ sessionId, provider, tools: given }: Extract<Action, { readonly do: 'bind' }>): void {
    tools = given.map(toTool)
    const replace = (): void => {
      log.warn({ provider, provider_id: providerId, session: sessionId }, 'a new connection replaces this provider')
      apply({ type: 'end', code: replacedCode, reason: 'another connection of this provider' })
    }
    bound = { id: providerId, name: provider, sessionId, tools: () => tools, replace }
    providers.bind(bound)
    log.info({ provider, provider_id: providerId, session: sessionId, tools: tools.length }, 'tool program connected')
  }

  function push({ push: pushed, sessionId, provider }: Extract<Action, { readonly do: 'push' }>): void {
    const { level, event: text, stream = provider, metadata } = pushed
    try {
      deps.push({ sessionId, provider, stream, level, text, ...(metadata && { metadata }) })
    } catch (error) {
      log.error({ err: error, provider, session: sessionId }, 'an event of a tool program could not be stored')
    }
  }

  function toTool(definition: ToolDefinition): Tool {
    const { name, description, parameters, hints, timeoutMs } = definition
    const provider = bound?.name ?? providerName()
    return {
      name,
      description,
      parameters,
      effect: judgeHints(hints, false).effect,
      provider,
      identity: identify(provider, definition),
      trustedBy: `add ${JSON.stringify(provider)} to gateway.trusted-programs`,
      get asks() {
        return judgeHints(hints, deps.isTrusted(provider)).asks
      },
      get timeoutMs() {
        return timeoutMs ?? deps.defaultTimeoutMs()
      },
      async run(args: unknown, { signal }) {
        return { data: await call(name, args, signal) }
      },
    }
  }

  function providerName(): string {
    return state.at === 'bound' ? state.provider : ''
  }

  /**
   * Calls a tool of the provider. Rejects as soon as the signal is aborted.
   * @throws ToolError
   */
  function call(tool: string, args: unknown, signal: AbortSignal): Promise<unknown> {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    if (state.at !== 'bound') throw toToolError(providerName(), disconnected)
    if (waiting.size >= maxPending) {
      throw new ToolError({
        kind: 'failed',
        detail: `The tool program has ${maxPending} calls in progress. Try again later.`,
      })
    }
    if (Buffer.byteLength(JSON.stringify(args)) > maxMessageBytes - envelopeBytes) {
      throw new ToolError({ kind: 'too_large', detail: `The arguments have more than ${maxMessageBytes} bytes.` })
    }
    const { provider } = state
    issued += 1
    const id = callId(providerId, issued)
    const abort = (): void => {
      const isTimeout = signal.reason instanceof ToolError && signal.reason.failure.kind === 'timed_out'
      finish(false)
      apply({ type: 'cancel', id, reason: isTimeout ? 'timeout' : 'cancelled' })
      reject(new ToolError({ kind: 'cancelled' }))
    }
    function finish(isOk: boolean): void {
      waiting.delete(id)
      signal.removeEventListener('abort', abort)
      counts.ended += 1
      if (!isOk) counts.failed += 1
    }
    waiting.set(id, (outcome) => {
      finish(outcome.ok)
      if (outcome.ok) resolve(outcome.data)
      else reject(toToolError(provider, outcome))
    })
    signal.addEventListener('abort', abort, { once: true })
    apply({ type: 'call', id, tool, args })
    return promise
  }

  /** Expected results do not count for the rate limit, because the gateway asked for them. */
  function isAwaited(decoded: Decoded): boolean {
    if (state.at !== 'bound' || state.pending.size === 0) return false
    if (!decoded.ok) return decoded.isAmbiguous || (decoded.id !== undefined && state.pending.has(decoded.id))
    return decoded.message.type === 'tool.result' && state.pending.has(decoded.message.id)
  }

  /** Slows down programs that guess the token. Returns whether the answer comes later. */
  function delayRefusal(decoded: Decoded): boolean {
    if (state.at !== 'await_auth' || !decoded.ok || decoded.message.type !== 'auth') return false
    if (world.isToken(decoded.message.token)) return false
    const delayMs = deps.countWrongToken()
    if (delayMs === 0) return false
    isRefused = true
    deps.setTimer(() => apply({ type: 'received', decoded }), delayMs)
    return true
  }

  function receiveDecoded(decoded: Decoded, sizeBytes: number): void {
    if (isRefused || delayRefusal(decoded)) return
    if (isAwaited(decoded)) return apply({ type: 'received', decoded })
    const charged = charge(allowance, sizeBytes, now())
    allowance = charged.allowance
    const { verdict } = charged
    if (verdict === 'ok') apply({ type: 'received', decoded })
    else apply({ type: 'limited', decoded, isFlood: verdict === 'flood' })
    if (verdict === 'flood')
      log.warn({ provider_id: providerId }, 'a tool program was closed because it sent too many messages')
  }

  return {
    receive: (text) => receiveDecoded(decodeMessage(text), text.length),
    receiveOversized: () => receiveDecoded(tooLarge(), maxMessageBytes),
    notify(input) {
      if (input.type === 'closed') cancelAuth()
      apply(input)
    },
    bound: () => bound,
    counts: () => ({ ...counts, pending: waiting.size }),
  }
}

/** Allowance for the fields of a `tool.call` besides its arguments. Bytes. */
const envelopeBytes = 1024

/** A close code in the range for private use (RFC 6455, section 7.4.2). */
const replacedCode = 4001

const disconnected: CallOutcome & { readonly ok: false } = {
  ok: false,
  errorCode: 'DISCONNECTED',
  message: 'The tool program is not connected.',
}

function toToolError(provider: string, { errorCode, message }: CallOutcome & { readonly ok: false }): ToolError {
  const detail = `${provider}: ${message}`
  if (errorCode === 'PAYLOAD_TOO_LARGE') return new ToolError({ kind: 'too_large', detail })
  return new ToolError({ kind: 'failed', detail, errorCode })
}
