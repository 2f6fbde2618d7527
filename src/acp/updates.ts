import type {
  ClientCapabilities,
  SessionUpdate,
  StopReason,
  ToolCallContent,
  ToolCallStatus,
} from '@agentclientprotocol/sdk'
import type { DaemonEvent, DoneEvent, ToolEvent } from '../api/events.ts'
import type { ContextUse, PlanItem, RunOutcome, ToolOutcome } from '../api/run.ts'
import { instructionsSentence } from '../page/static/context-words.js'
import { withUndoCommand } from '../terminal/undo-command.ts'
import { visible } from '../terminal/visible.ts'
import {
  diffsOf,
  fenced,
  kindOf,
  locationsOf,
  planTool,
  textContent,
  titleOf,
  toCallId,
  toLocations,
} from './tool-call.ts'

export interface UpdatesOptions {
  /** The folder of the session. */
  readonly root: string
  readonly client: ClientCapabilities
  /** AI credits that the session has used before. */
  readonly creditsBefore: number
}

/** Describes the events of a session's runs to an editor. */
export interface Updates {
  readonly of: (event: DaemonEvent) => readonly SessionUpdate[]
  /** What the person should know besides. */
  readonly warning: (text: string) => SessionUpdate
}

/** A call that has not ended. */
interface Call {
  /** The end of its output so far. */
  output: string
  diffs: readonly ToolCallContent[]
}

/** Each update repeats the output of a call so far, so it has the end only. Characters. */
const maxOutput = 4000

export function createUpdates({ root, client, creditsBefore }: UpdatesOptions): Updates {
  const calls = new Map<string, Call>()
  /** Runs that have called a tool which may change something. */
  const acting = new Set<string>()
  let credits = creditsBefore
  let creditsOfRun = 0
  let notices = 0
  /** The last notice of the runs, which may be the reason why one has ended. */
  let lastNotice = ''
  const takesNotices = isOffered(client.session?.notices)
  const takesCompactions = isOffered(client.session?.compaction)

  function notice(text: string, severity: 'info' | 'warning' = 'info'): SessionUpdate {
    const [title = '', ...more] = text.split('\n')
    if (takesNotices) {
      const description = more.join('\n')
      return { sessionUpdate: 'notice', severity, title, ...(description !== '' && { description }) }
    }
    notices += 1
    // Editors that ignore message ids put it into the answer.
    return message(`notice/${notices}`, `\n\n${more.length === 0 ? visible(title) : fenced(text)}\n\n`)
  }

  function tool(event: ToolEvent): readonly SessionUpdate[] {
    if (event.tool === planTool) return []
    const toolCallId = toCallId(event.id, event.callId)
    const call = calls.get(toolCallId) ?? { output: '', diffs: [] }
    calls.set(toolCallId, call)
    if (event.state === 'started') {
      const kind = kindOf(event.tool)
      if (kind !== 'read' && kind !== 'search') acting.add(event.id)
      return [toolCall(root, { ...event, status: 'in_progress' })]
    }
    if (event.state === 'progress') {
      call.output = `${call.output}${event.text ?? ''}`.slice(-maxOutput).toWellFormed()
      const content = [...call.diffs, textContent(fenced(call.output))]
      return [{ sessionUpdate: 'tool_call_update', toolCallId, content }]
    }
    calls.delete(toolCallId)
    return [
      {
        sessionUpdate: 'tool_call_update',
        toolCallId,
        status: event.outcome === 'ok' ? 'completed' : 'failed',
        content: [...call.diffs, ...contentOf(event)],
      },
    ]
  }

  function done(event: DoneEvent): readonly SessionUpdate[] {
    const { outcome, reason, summary } = event
    const hasActed = acting.delete(event.id)
    // The model's text was shown as it arrived. In the mode `chat`, it is all.
    const [facts = ''] = summary.trim() === event.answer.trim() ? [] : summary.split(/^The model says:$/m)
    const lines = facts.trim().split('\n')
    const told = lines.filter((line) => line !== '' && line !== reason).map((line) => withUndoCommand(line, event.id))
    if (outcome === 'completed') return hasActed && told.length > 0 ? [notice(told.join('\n'))] : []
    const news = [...(reason === lastNotice ? [] : [reason]), ...(hasActed ? told : [])]
    return news.length === 0 ? [] : [notice(news.join('\n'), 'warning')]
  }

  return {
    warning: (text) => notice(text, 'warning'),
    of(event) {
      switch (event.type) {
        case 'fragment': {
          const { id, kind, text, step = 0 } = event
          if (kind === 'step') return []
          if (kind === 'notice') {
            lastNotice = text
            return [notice(text)]
          }
          const update = message(`${id}/${step}/${kind}`, text)
          return [kind === 'thinking' ? { ...update, sessionUpdate: 'agent_thought_chunk' } : update]
        }
        case 'instructions':
          return event.state === 'unchanged' ? [] : [notice(instructionsSentence(event))]
        case 'usage': {
          creditsOfRun = event.usage.credits ?? 0
          return usageUpdate(event.context, credits + creditsOfRun)
        }
        case 'compaction':
          // A notice says the same in words.
          return !takesCompactions
            ? []
            : [{ sessionUpdate: 'compaction_update', compactionId: `${event.id}/${event.step}`, status: 'completed' }]
        case 'tool':
          return tool(event)
        case 'approval': {
          const { id, callId, state } = event
          if (state === 'pending' || state === 'refuse' || state === 'expired') return []
          return [{ sessionUpdate: 'tool_call_update', toolCallId: toCallId(id, callId), status: 'in_progress' }]
        }
        case 'diff': {
          const toolCallId = toCallId(event.id, event.callId)
          const call = calls.get(toolCallId)
          const content = diffsOf(root, event.diff)
          if (call !== undefined) call.diffs = [...call.diffs, ...content]
          const locations = event.files.map(({ path }) => path)
          return [{ sessionUpdate: 'tool_call_update', toolCallId, content, locations: toLocations(root, locations) }]
        }
        case 'plan':
          return [planUpdate(event.items)]
        case 'done':
          credits += event.usage.credits ?? creditsOfRun
          creditsOfRun = 0
          return done(event)
        case 'error':
          return [notice(event.message, 'warning')]
        case 'inbound':
        case 'editor':
        case 'push':
        case 'lifecycle':
        case 'gap':
          return []
      }
    },
  }
}

function message(messageId: string, text: string) {
  return { sessionUpdate: 'agent_message_chunk', messageId, content: { type: 'text', text } } as const
}

export function userMessage(messageId: string, text: string): SessionUpdate {
  return { sessionUpdate: 'user_message_chunk', messageId, content: { type: 'text', text } }
}

/** A call as it begins, or as a record has it. */
export function toolCall(
  root: string,
  call: Pick<ToolEvent, 'id' | 'callId' | 'tool'> & {
    readonly args?: unknown
    readonly status: ToolCallStatus
    readonly content?: ToolCallContent[]
  },
): SessionUpdate {
  const { id, callId, tool, args, status, content } = call
  return {
    sessionUpdate: 'tool_call',
    toolCallId: toCallId(id, callId),
    title: titleOf(tool, args),
    name: tool,
    kind: kindOf(tool),
    status,
    locations: locationsOf(root, args),
    rawInput: args,
    ...(content !== undefined && { content }),
  }
}

/** What a person sees of the end of a call. The model's own tools return text, and commands output. */
export function contentOf({
  outcome,
  message: line,
  result = '',
}: {
  readonly outcome?: ToolOutcome | undefined
  readonly message?: string | undefined
  readonly result?: string | undefined
}): ToolCallContent[] {
  if (outcome !== 'ok') return line === undefined ? [] : [textContent(visible(line))]
  return result.trim() === '' ? [] : [textContent(fenced(result))]
}

export function planUpdate(items: readonly PlanItem[]): SessionUpdate {
  const entries = items.map(({ text, state }) => ({ content: text, priority: 'medium' as const, status: state }))
  return { sessionUpdate: 'plan', entries }
}

/** Empty if the size of the context is unknown: the protocol has no update without one. */
export function usageUpdate(context: ContextUse | undefined, credits: number): readonly SessionUpdate[] {
  if (context?.limit === undefined) return []
  const cost = credits === 0 ? {} : { cost: { amount: credits, currency: 'credits' } }
  return [{ sessionUpdate: 'usage_update', used: context.tokens, size: context.limit, ...cost }]
}

/**
 * Why a prompt ended. `refusal` would make editors drop the message, so that a person's refusals end a turn. Undefined: the run
 * failed, and its reason is an error.
 */
export const stopReasons: Readonly<Record<RunOutcome, StopReason | undefined>> = {
  completed: 'end_turn',
  refused: 'end_turn',
  repeated_call: 'end_turn',
  max_steps: 'max_turn_requests',
  max_minutes: 'max_turn_requests',
  max_actions: 'max_turn_requests',
  max_credits: 'max_turn_requests',
  cancelled: 'cancelled',
  failed: undefined,
  interrupted: undefined,
}

/** A capability that is absent or null is not offered. */
function isOffered(capability: object | null | undefined): boolean {
  return typeof capability === 'object' && capability !== null
}
