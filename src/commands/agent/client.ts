import { z } from 'zod'
import { createSseDecoder } from '../../sse/decode.ts'
import { CommandFailure, exitCode } from '../shared/command.ts'
import type { CommandContext } from '../shared/command.ts'
import type { Connection } from './connect.ts'

/** What a run tells, as `GET /events` has it, with the event's name as `type`. */
export const runEvent = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('fragment'), id: z.string(), kind: z.string(), text: z.string() }),
  z.looseObject({
    type: z.literal('tool'),
    id: z.string(),
    callId: z.string(),
    tool: z.string(),
    state: z.string(),
    args: z.unknown().optional(),
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
    paths: z.array(z.string()).optional(),
    args: z.unknown().optional(),
  }),
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
  /** Events of the session from now on. Resolves when the daemon listens. */
  readonly events: (signal: AbortSignal) => Promise<AsyncIterable<unknown>>
  /** Returns the run's id. @throws CommandFailure with the daemon's message */
  readonly start: (message: object, signal: AbortSignal) => Promise<string>
  readonly decide: (approvalId: string, decision: Decision) => Promise<void>
  readonly cancel: (runId: string) => Promise<void>
}

const started = z.object({ id: z.string() })
const envelope = z.object({ error: z.object({ message: z.string() }) })

/** For an answer that is no stream. Ms. */
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

  return {
    async events(signal) {
      const path = `/events?session=${encodeURIComponent(sessionId)}`
      const response = await context.fetch(url + path, { headers, redirect: 'error', signal })
      if (!response.ok || response.body === null) throw failure(await response.json(), response.status)
      return decode(response.body)
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

async function* decode(body: ReadableStream<Uint8Array>): AsyncGenerator {
  const decoder = createSseDecoder()
  for await (const chunk of body) {
    for (const { event, data } of decoder.push(chunk)) {
      const value: unknown = JSON.parse(data)
      yield { type: event, ...(typeof value === 'object' && value) }
    }
  }
}

function failure(reply: unknown, status: number): CommandFailure {
  const message = envelope.safeParse(reply).data?.error.message
  return new CommandFailure(exitCode.failed, message ?? `copilot-proxy answered with status ${status}.`)
}
