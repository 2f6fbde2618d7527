import { createParser } from 'eventsource-parser'
import { z } from 'zod'
import { CommandFailure, exitCode } from '../shared/command.ts'
import type { CommandContext } from '../shared/command.ts'
import type { Connection } from './connect.ts'

/** An event of a run as `GET /events` sends it, with the event's name as `type`. */
export const runEvent = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('fragment'), id: z.string(), kind: z.string(), text: z.string() }),
  z.looseObject({
    type: z.literal('tool'),
    id: z.string(),
    callId: z.string(),
    tool: z.string(),
    state: z.string(),
    args: z.unknown().optional(),
    text: z.string().optional(),
    outcome: z.string().optional(),
    message: z.string().optional(),
    result: z.string().optional(),
    durationMs: z.number().optional(),
  }),
  z.looseObject({
    type: z.literal('approval'),
    id: z.string(),
    approvalId: z.string(),
    callId: z.string(),
    tool: z.string(),
    state: z.string(),
    diff: z.string().optional(),
    argv: z.array(z.string()).optional(),
    cwd: z.string().optional(),
    widening: z.string().optional(),
    notes: z.array(z.string()).optional(),
    paths: z.array(z.string()).optional(),
    files: z
      .array(
        z.looseObject({
          path: z.string(),
          change: z.string(),
          from: z.string().optional(),
          executable: z.boolean().optional(),
          added: z.number().optional(),
          removed: z.number().optional(),
        }),
      )
      .optional(),
    reads: z.array(z.string()).optional(),
    args: z.unknown().optional(),
    decisions: z.array(z.enum(['once', 'run', 'refuse'])).optional(),
    truncated: z.boolean().optional(),
  }),
  z.looseObject({ type: z.literal('error'), code: z.string(), message: z.string() }),
  z.looseObject({ type: z.literal('diff'), id: z.string(), callId: z.string(), diff: z.string() }),
  z.looseObject({
    type: z.literal('done'),
    id: z.string(),
    outcome: z.string(),
    reason: z.string(),
    summary: z.string(),
    answer: z.string(),
    model: z.string().optional(),
    steps: z.number(),
    requests: z.number(),
    usage: z.looseObject({
      inputTokens: z.number(),
      outputTokens: z.number(),
      credits: z.number().optional(),
    }),
  }),
])
export type RunEvent = z.infer<typeof runEvent>
export type ApprovalEvent = Extract<RunEvent, { readonly type: 'approval' }>
export type DoneEvent = Extract<RunEvent, { readonly type: 'done' }>
export type Decision = 'once' | 'run' | 'refuse'

/** The daemon's routes of runs. */
export interface RunClient {
  /**
   * Events of the session from now on, also over a broken connection. Resolves when the daemon listens. They end when the
   * daemon no longer answers. @param onLost called when a connection breaks
   */
  readonly events: (signal: AbortSignal, onLost: () => void) => Promise<AsyncIterable<unknown>>
  /** Replaces events that were lost: returns the pending approvals, or the end of the run. */
  readonly missed: (runId: string) => Promise<readonly unknown[]>
  /** Returns the run's id. @throws CommandFailure with the daemon's message */
  readonly start: (message: object, signal: AbortSignal) => Promise<string>
  readonly decide: (approvalId: string, decision: Decision) => Promise<void>
  readonly cancel: (runId: string) => Promise<void>
}

const started = z.object({ id: z.string() })
const envelope = z.object({ error: z.object({ message: z.string() }) })

const runReport = z.looseObject({
  id: z.string(),
  state: z.string(),
  step: z.number(),
  approvals: z.array(z.looseObject({ state: z.string() })),
})

/** The delay before each attempt to connect again. Ms. */
const reconnectMs = [250, 500, 1000, 2000, 4000, 8000]

/** The time limit of an answer that is not a stream. Ms. */
const answerTimeoutMs = 30_000

export function createRunClient(context: CommandContext, { url, key, sessionId }: Connection): RunClient {
  const headers = { authorization: `Bearer ${key}` }

  async function post(path: string, body: object, signal?: AbortSignal): Promise<unknown> {
    const limit = AbortSignal.timeout(answerTimeoutMs)
    const response = await context.fetch(url + path, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify(body),
      redirect: 'error',
      signal: signal === undefined ? limit : AbortSignal.any([signal, limit]),
    })
    const reply: unknown = await response.json().catch(() => undefined)
    if (response.ok) return reply
    throw failure(reply, response.status)
  }

  async function openEvents(signal: AbortSignal, lastId: string | undefined): Promise<ReadableStream<Uint8Array>> {
    const path = `/events?session=${encodeURIComponent(sessionId)}`
    const response = await context.fetch(url + path, {
      headers: { ...headers, ...(lastId !== undefined && { 'last-event-id': lastId }) },
      redirect: 'error',
      signal,
    })
    if (response.ok && response.body !== null) return response.body
    throw failure(await response.json().catch(() => undefined), response.status)
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
      const response = await context.fetch(`${url}/runs/${encodeURIComponent(runId)}`, { headers, redirect: 'error' })
      const report = runReport.safeParse(await response.json().catch(() => undefined)).data
      if (report === undefined) return []
      const { state, step, approvals } = report
      if (state === 'ended') return [{ ...report, type: 'done', steps: step }]
      const waiting = approvals.filter((approval) => approval.state === 'pending')
      return waiting.map((approval) => Object.assign(approval, { type: 'approval', id: runId }))
    },
    start: async (message, signal) => started.parse(await post('/message', { sessionId, ...message }, signal)).id,
    async decide(approvalId, decision) {
      await post(`/approvals/${encodeURIComponent(approvalId)}`, { decision })
    },
    async cancel(runId) {
      await post(`/runs/${encodeURIComponent(runId)}/cancel`, {})
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

function failure(reply: unknown, status: number): CommandFailure {
  const message = envelope.safeParse(reply).data?.error.message
  return new CommandFailure(exitCode.failed, message ?? `copilot-proxy answered with status ${status}.`)
}
