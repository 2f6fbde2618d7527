import { createHmac } from 'node:crypto'
import { CLIENT_CAPABILITIES_META_KEY, inputRequired, inputResponse } from '@modelcontextprotocol/server'
import type { InputRequiredResult, Server, ServerContext } from '@modelcontextprotocol/server'
import { z } from 'zod'
import { addGrant, decisionsFor, isGranted } from '../../agent/approvals.ts'
import type { ApprovalRequest } from '../../agent/agent-task.ts'
import { noGrants, type Grants } from '../../agent/loop-state.ts'
import { toRequest } from '../../agent/run-tool.ts'
import { whyAsked } from '../../tools/foreign-tools.ts'
import type { Circumstances, ToolCall, ToolProgress } from '../../tools/tool.ts'
import { denied } from '../../workspace/tool-error.ts'
import { questionText } from './question.ts'

export interface ClientQuestionsDeps {
  readonly server: Server
  /** Names the client and its workspace: an answer counts for the same ones only. */
  readonly scope: readonly (string | undefined)[]
  readonly workspace: string
  /** Proves that a client answers the question that it was asked. */
  readonly stateKey: Uint8Array
  /** How long a question waits for its answer. Ms. */
  readonly limitMs?: number | undefined
  /** Ms. */
  readonly progressMs?: number | undefined
}

/** Asks the person of a client (elicitation) about calls that only a person can allow. */
export interface ClientQuestions {
  /** Returns undefined if the client cannot ask its person. */
  readonly open: (
    context: ServerContext,
    progress: ((part: ToolProgress) => void) | undefined,
  ) => CallQuestions | undefined
}

/** The questions of one call. */
interface CallQuestions {
  readonly approve: NonNullable<ToolCall['approve']>
  /** The question that the client has to answer before it sends the call again. Undefined: the call has its result. */
  readonly pending: () => InputRequiredResult | undefined
}

/** Long enough to read a diff. */
const answerLimitMs = 10 * 60_000

/** Clients end a call after a minute without progress. */
const waitingMs = 10_000

/** The first version of the protocol in which a server sends no requests: a client answers by sending the call again. */
const firstWithoutRequests = '2026-07-28'

const inputKey = 'decision'

type Decision = 'once' | 'session' | 'refuse'

/** A client that names no mode has forms. */
const capabilities = z.object({
  elicitation: z.object({ form: z.unknown(), url: z.unknown() }).partial().optional(),
})

const answered = z.object({ decision: z.enum(['once', 'session', 'refuse']) })

export function createClientQuestions(deps: ClientQuestionsDeps): ClientQuestions {
  const { server, scope, workspace, stateKey, limitMs = answerLimitMs, progressMs = waitingMs } = deps
  let grants: Grants = noGrants

  function canAsk({ mcpReq }: ServerContext): boolean {
    // Since 2026-07-28, each request declares what its client can do.
    const envelope: Readonly<Record<string, unknown>> = mcpReq.envelope ?? {}
    const declared = capabilities.safeParse(envelope[CLIENT_CAPABILITIES_META_KEY] ?? server.getClientCapabilities())
    const { elicitation } = declared.data ?? {}
    return elicitation !== undefined && (elicitation.form !== undefined || elicitation.url === undefined)
  }

  /** Waits for the answer on the connection of the call. Undefined: there is none, or none that can be read. */
  async function askNow(
    { mcpReq }: ServerContext,
    form: Form,
    signal: AbortSignal,
    progress: ((part: ToolProgress) => void) | undefined,
  ): Promise<Decision | undefined> {
    const waiting = setInterval(() => progress?.({ text: 'Waiting for the answer of a person.' }), progressMs)
    try {
      return decisionOf(await mcpReq.elicitInput(form, { signal, timeout: limitMs }))
    } catch {
      signal.throwIfAborted()
      return undefined
    } finally {
      clearInterval(waiting)
    }
  }

  return {
    open(context, progress) {
      if (!canAsk(context)) return undefined
      const sendsAgain = (server.getNegotiatedProtocolVersion() ?? '') >= firstWithoutRequests
      let pending: InputRequiredResult | undefined
      let mayHaveActed = false

      async function ask(
        request: ApprovalRequest,
        { signal, redact }: Pick<Circumstances, 'signal' | 'redact'>,
      ): Promise<Decision | undefined> {
        const text = questionText(request, workspace)
        if (text === undefined) return undefined
        const message = redact(text)
        const mayRemember = !sendsAgain && decisionsFor(request).includes('run')
        const form = formOf(message, mayRemember)
        if (!sendsAgain) return askNow(context, form, signal, progress)
        const state = createHmac('sha256', stateKey)
          // The credentials that the message leaves out count too, and which program has a tool of this name.
          .update(JSON.stringify([scope, request.tool, request.identity, text]))
          .digest('base64url')
        const { mcpReq } = context
        if (mcpReq.requestState() === state) {
          const response = inputResponse(mcpReq.inputResponses, inputKey)
          return response.kind === 'elicit' ? decisionOf(response) : undefined
        }
        // A call that may have had an effect cannot begin once more.
        if (mayHaveActed) return undefined
        pending = inputRequired({ inputRequests: { [inputKey]: inputRequired.elicit(form) }, requestState: state })
        return undefined
      }

      return {
        pending: () => pending,
        async approve(...asked) {
          const isAllowed = await decide(...asked)
          mayHaveActed ||= isAllowed
          return isAllowed
        },
      }

      async function decide(
        ...[intent, tool, { closed, signal, redact }]: Parameters<NonNullable<ToolCall['approve']>>
      ): Promise<boolean> {
        // A client is not the owner, who alone confirms a policy.
        if (intent.policy !== undefined) return false
        const isForeign = tool.provider !== undefined
        const isFree = closed.length === 0 && intent.widening === undefined && intent.reads === undefined && !isForeign
        if (isFree) return true
        const call = { approvalId: '', callId: '', tool: tool.name, step: 0, args: intent.args }
        const identity = isForeign ? { identity: tool.identity ?? '' } : {}
        const request = { ...toRequest(intent, call), ...identity, ...(closed.length > 0 && { closed }) }
        if (intent.widening === undefined && isGranted(grants, request)) return true
        const decision = await ask(request, { signal, redact })
        if (decision === 'session' && decisionsFor(request).includes('run')) grants = addGrant(grants, request)
        if (decision === 'once' || decision === 'session') return true
        // The command has run in the sandbox, and its result stays.
        if (intent.widening !== undefined) return false
        if (closed.length > 0) throw denied(refusalOf(decision, closed))
        if (isForeign) throw denied(`${start(decision, 'called')} ${whyAsked(tool)}`)
        return false
      }
    },
  }
}

type Form = ReturnType<typeof formOf>

function formOf(message: string, mayRemember: boolean) {
  const choices = [
    { const: 'once', title: 'Allow once' },
    ...(mayRemember ? [{ const: 'session', title: 'Allow for this session' }] : []),
    { const: 'refuse', title: 'Refuse' },
  ]
  return {
    mode: 'form' as const,
    message,
    requestedSchema: {
      type: 'object' as const,
      properties: { decision: { type: 'string' as const, title: 'Decision', oneOf: choices } },
      required: ['decision'],
    },
  }
}

function decisionOf({
  action,
  content,
}: {
  readonly action: string
  readonly content?: unknown
}): Decision | undefined {
  if (action === 'decline') return 'refuse'
  return action === 'accept' ? answered.safeParse(content).data?.decision : undefined
}

/** Names all closed gates, as where nobody can be asked. */
function refusalOf(decision: Decision | undefined, closed: readonly string[]): string {
  return [start(decision, 'written or run'), ...closed].join(' ')
}

function start(decision: Decision | undefined, effect: string): string {
  const why = decision === 'refuse' ? 'the person refused it' : 'only a person can allow it, and none has answered'
  return `Nothing was ${effect}, because ${why}.`
}
