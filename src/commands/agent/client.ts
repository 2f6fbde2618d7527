import { createParser } from 'eventsource-parser'
import { z } from 'zod'
import type { DaemonEvent } from '../../api/events.ts'
import { acceptedMessage } from '../../api/inputs.ts'
import type { AcceptedMessage, MessageInput } from '../../api/inputs.ts'
import { modelList } from '../../api/models.ts'
import { runReport } from '../../api/run.ts'
import type { ApprovalDecision, RunReport } from '../../api/run.ts'
import { conversationEntry, conversationList, messageList, promptList } from '../../api/sessions.ts'
import type { ConversationEntry, PromptList } from '../../api/sessions.ts'
import type { EditorAnswer } from '../../workspace/open-files.ts'
import { CommandFailure, exitCode } from '../shared/command.ts'
import type { CommandContext } from '../shared/command.ts'
import { daemonHeaders } from '../shared/find-daemon.ts'
import { askRoute, DaemonGone, RouteRefused } from '../shared/view.ts'
import type { Place } from './connect.ts'

/** The daemon's routes of runs. */
export interface RunClient {
  /**
   * Events of the session from now on, also over a broken connection. Resolves when the daemon listens. They end when the
   * daemon no longer answers. @param onLost called when a connection breaks
   */
  readonly events: (signal: AbortSignal, onLost: () => void) => Promise<AsyncIterable<unknown>>
  /** Replaces events that were lost: returns the pending approvals, or the end of the run. */
  readonly missed: (runId: string) => Promise<readonly DaemonEvent[]>
  /**
   * Returns a new conversation, or the one that was used last.
   * @throws CommandFailure with the daemon's message, or if there is none to continue
   */
  readonly conversation: (which: 'new' | 'last', signal: AbortSignal) => Promise<ConversationEntry>
  /** Those that this caller may continue, and that have a message. The one that was used last is first. */
  readonly conversations: (signal: AbortSignal) => Promise<readonly ConversationEntry[]>
  /** Returns the runs of a conversation, oldest first. */
  readonly history: (conversationId: string, signal: AbortSignal) => Promise<readonly RunReport[]>
  /** Returns the prompts with which a message of the conversation can begin. The owner alone may ask. Starts the MCP servers. */
  readonly prompts: (conversationId: string, signal: AbortSignal) => Promise<PromptList['prompts']>
  /** Returns the models that a message can name. */
  readonly models: (signal: AbortSignal) => Promise<readonly { readonly id: string; readonly name: string }[]>
  /** @throws CommandFailure with the daemon's message */
  readonly send: (message: MessageInput, signal: AbortSignal) => Promise<AcceptedMessage>
  readonly decide: (approvalId: string, decision: ApprovalDecision) => Promise<void>
  /** Answers an event `editor` of a run. */
  readonly answerEditor: (runId: string, requestId: string, answer: EditorAnswer) => Promise<void>
  readonly cancel: (runId: string) => Promise<void>
}

/** For the end of `events`, and for requests without an answer. */
export const goneText =
  'copilot-proxy no longer answers. If it has stopped, the run was interrupted. If it still runs, its page shows the run.'

/** The delay before each attempt to connect again. Ms. */
const reconnectMs = [250, 500, 1000, 2000, 4000, 8000]

/** The time limit of an answer that is not a stream. Ms. */
const answerTimeoutMs = 30_000

/** The most messages of one answer. */
const pageSize = 200

const unending = new AbortController().signal

export function createRunClient(context: CommandContext, place: Place): RunClient {
  const { url, key, sessionId } = place
  const ofSession = `/sessions/${encodeURIComponent(sessionId)}`

  /** @param options without a signal, the request goes on after an interrupt */
  async function ask<Schema extends z.ZodType>(
    path: string,
    schema: Schema,
    { signal = unending, body }: { readonly signal?: AbortSignal; readonly body?: object } = {},
  ): Promise<z.output<Schema>> {
    const options = { timeoutMs: answerTimeoutMs, signal, ...(body && ({ method: 'POST', body } as const)) }
    return askRoute(context, place, path, schema, options).catch((cause: unknown) => {
      throw cause instanceof DaemonGone ? new CommandFailure(exitCode.failed, goneText, { cause }) : cause
    })
  }

  async function conversations(signal: AbortSignal): Promise<readonly ConversationEntry[]> {
    const list = await ask(`${ofSession}/conversations`, conversationList, { signal })
    return list.conversations.filter(({ isOwn, lastMessageAt }) => isOwn && lastMessageAt !== undefined)
  }

  async function openEvents(signal: AbortSignal, lastId: string | undefined): Promise<ReadableStream<Uint8Array>> {
    const path = `/events?session=${encodeURIComponent(sessionId)}`
    const response = await context.fetch(url + path, {
      headers: { ...daemonHeaders(context, key), ...(lastId !== undefined && { 'last-event-id': lastId }) },
      redirect: 'error',
      signal,
    })
    if (response.ok && response.body !== null) return response.body
    throw new RouteRefused({ status: response.status, body: await response.json().catch(() => undefined) })
  }

  /** Returns undefined if the daemon does not answer. */
  async function reopenEvents(
    signal: AbortSignal,
    lastId: string | undefined,
  ): Promise<ReadableStream<Uint8Array> | undefined> {
    for (const delayMs of reconnectMs) {
      await context.sleep(delayMs, signal)
      try {
        return await openEvents(signal, lastId)
      } catch (error) {
        if (signal.aborted || error instanceof CommandFailure) throw error
      }
    }
    return undefined
  }

  async function* follow(first: ReadableStream<Uint8Array>, signal: AbortSignal, onLost: () => void): AsyncGenerator {
    let lastId: string | undefined
    for (let body: typeof first | undefined = first; body !== undefined;) {
      try {
        for await (const { id, event } of decode(body)) {
          lastId = id ?? lastId
          yield event
        }
      } catch (error) {
        if (signal.aborted) throw error
      }
      onLost()
      body = await reopenEvents(signal, lastId)
      // Without an id, the daemon cannot send the missed events.
      if (body !== undefined && lastId === undefined) yield { type: 'gap' }
    }
  }

  return {
    events: async (signal, onLost) => follow(await openEvents(signal, undefined), signal, onLost),
    async missed(runId) {
      const report = await ask(`/runs/${encodeURIComponent(runId)}`, runReport).catch((error: unknown) => {
        if (error instanceof RouteRefused) return undefined
        throw error
      })
      if (report === undefined) return []
      const { id, state, step, approvals, startedAt, endedAt } = report
      const { outcome, reason = '', summary = '', answer = '' } = report
      if (state === 'ended' && outcome !== undefined) {
        const { model, requests, files, usage, context: fill } = report
        const end = { outcome, reason, summary, answer, model, steps: step, requests, files, usage, context: fill }
        return [{ type: 'done', id, sessionId, time: endedAt ?? startedAt, ...end }]
      }
      const waiting = approvals.filter((approval) => approval.state === 'pending')
      return waiting.map((approval) =>
        Object.assign(approval, { type: 'approval', id, sessionId, time: startedAt } as const),
      )
    },
    async conversation(which, signal) {
      const path = `${ofSession}/conversations`
      if (which === 'new') return ask(path, conversationEntry, { body: {}, signal })
      const [last] = await conversations(signal)
      if (last !== undefined) return last
      throw new CommandFailure(
        exitCode.failed,
        'This workspace has no conversation to continue. Run the command without --continue.',
      )
    },
    conversations,
    async prompts(conversationId, signal) {
      const path = `${ofSession}/prompts?conversation=${encodeURIComponent(conversationId)}`
      return (await ask(path, promptList, { signal })).prompts
    },
    async history(conversationId, signal) {
      const runs: RunReport[] = []
      for (let before = ''; ;) {
        const from = before === '' ? '' : `&before=${before}`
        const path = `${ofSession}/messages?conversation=${encodeURIComponent(conversationId)}&limit=${pageSize}${from}`
        const { messages } = await ask(path, messageList, { signal })
        const page: RunReport[] = []
        for (const { id } of messages) {
          page.push(await ask(`/runs/${encodeURIComponent(id)}`, runReport, { signal }))
        }
        runs.unshift(...page)
        if (messages.length < pageSize) return runs
        before = messages[0]?.id ?? ''
      }
    },
    async models(signal) {
      const { data } = await ask('/v1/models', modelList, { signal })
      const chats = data.filter(({ copilot_proxy: { type } }) => type === 'chat')
      return chats.map(({ id, copilot_proxy: { name } }) => ({ id, name }))
    },
    send: (message, signal) => ask('/message', acceptedMessage, { body: { sessionId, ...message }, signal }),
    async decide(approvalId, decision) {
      await ask(`/approvals/${encodeURIComponent(approvalId)}`, z.unknown(), { body: { decision } })
    },
    async answerEditor(runId, requestId, answer) {
      await ask(`/runs/${encodeURIComponent(runId)}/editor`, z.unknown(), { body: { requestId, ...answer } })
    },
    async cancel(runId) {
      await ask(`/runs/${encodeURIComponent(runId)}/cancel`, z.unknown(), { body: {} })
    },
  }
}

interface Received {
  readonly id: string | undefined
  readonly event: unknown
}

async function* decode(body: ReadableStream<Uint8Array>): AsyncGenerator<Received> {
  let received: Received[] = []
  const parser = createParser({
    onEvent({ id, event: type = '', data }) {
      const value: unknown = JSON.parse(data)
      received.push({ id, event: { type, ...(typeof value === 'object' && value) } })
    },
  })
  const decoder = new TextDecoder()
  for await (const chunk of body) {
    parser.feed(decoder.decode(chunk, { stream: true }))
    yield* received
    received = []
  }
}
