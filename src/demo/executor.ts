import { randomUUID } from 'node:crypto'
import { Fault } from '../errors.ts'
import type { Executor, ProviderId, UpstreamCall } from '../executors/executor.ts'
import { creditsOf } from '../models/credits.ts'
import type { Model } from '../models/model.ts'
import type { ReplySeed } from '../translate/dialect.ts'
import { dialects, dialectOfPath } from '../translate/dialects.ts'
import type { TurnEvent, Usage } from '../translate/turn.ts'
import { composeAnswer, promptOf } from './answer.ts'
import type { Answer, Prompt } from './answer.ts'
import { eventsOf } from './events.ts'
import { failureOf, modelNotSupported } from './failures.ts'
import { markerNumber } from './markers.ts'
import { scriptedBody } from './scripted-body.ts'
import type { BodyScript } from './scripted-body.ts'
import { answerCompletions, answerJson } from './other-routes.ts'

/** The models of a simulated provider, as its list states them and as the daemon reads that list. */
export interface DemoModels {
  readonly reply: unknown
  readonly list: readonly Model[]
}

interface DemoExecutorDeps {
  readonly provider: ProviderId
  readonly models: DemoModels
  /** Headers of every reply. */
  readonly headers: () => Readonly<Record<string, string>>
  /** Called with the status of every reply, and headers. */
  readonly onStatus: ((status: number, headers: Readonly<Record<string, string>>) => void) | undefined
}

/** Slow enough for a person to see the text stream. Ms. */
const usualDelayMs = 15

const longestDelayMs = 60_000

/** Longer than any timeout of a caller. Ms. */
const idleMs = 600_000

/** An executor that answers in this process: it decodes requests and writes answers with the daemon's own dialects. */
export function createDemoExecutor({ provider, models, headers, onStatus }: DemoExecutorDeps): Executor {
  async function reported<Reply>(signal: AbortSignal, answer: () => Reply): Promise<Reply> {
    signal.throwIfAborted()
    try {
      const reply = answer()
      onStatus?.(200, headers())
      return reply
    } catch (error) {
      if (error instanceof Fault && error.error.kind === 'upstream_status') onStatus?.(error.error.status, headers())
      throw error
    }
  }

  return {
    provider,
    ...(provider === 'codex' && { profile: 'chatgpt' }),
    stream: (call, { signal }) =>
      reported(signal, () => ({
        body: scriptedBody(answerCompletions(call) ?? answerPrompt(call, models.list), signal),
        idleMs,
        headers: headers(),
      })),
    json: (call, { signal }) => reported(signal, () => answerJson(call, models.list)),
    listModels: ({ signal }) => reported(signal, () => models.reply),
    close: async () => {},
  }
}

function answerPrompt(call: UpstreamCall, models: readonly Model[]): BodyScript {
  const upstream = dialectOfPath(call.path)
  if (upstream === undefined) throw new Fault({ kind: 'upstream_status', status: 404, message: '404 page not found' })
  const dialect = dialects[upstream.id]
  const body = String(call.body)
  const request = dialect.decodeRequest(body, { headers: call.headers })
  const model = models.find(({ id }) => id === request.model)
  if (model === undefined) throw modelNotSupported()
  const { turn } = dialect.decodeTurn(request, { model, strict: false, learnedRefusals: new Set() })
  const prompt = promptOf(turn, model, body)
  const failure = failureOf(prompt)
  if (failure !== undefined) throw failure

  const id = randomUUID().slice(0, 13)
  const seed: ReplySeed = {
    id,
    createdSeconds: nowSeconds(),
    nowSeconds,
    model: model.id,
    requestedModel: model.id,
    traits: model,
    notes: { tools: new Map(), stop: [], caller: dialect.replyNotes?.(request) },
    redact: (text) => text,
  }
  const answer = composeAnswer(prompt)
  const usage = usageOf(prompt, answer)
  const stream = dialect.createTurnStream(seed)
  const writer: Writer = {
    write: (event) => (event.type === 'stop' ? withCost(stream.push(event), usage) : stream.push(event)),
    fail(code) {
      const error = { kind: 'upstream_failed', code, message: 'The simulated provider failed in the middle.' } as const
      return stream.fail?.(error, id) ?? dialect.errorEvent(error, id)
    },
  }
  const events = eventsOf(answer, { model, dialect: upstream.id, id, usage })
  return { ...scriptOf(events, prompt, writer), delayMs: delayOf(prompt) }
}

/** Writes one answer in the dialect of its request. */
interface Writer {
  readonly write: (event: TurnEvent) => string
  readonly fail: (code: string) => string
}

/** The whole answer, or half of it if a marker breaks it. */
function scriptOf(
  events: Iterable<TurnEvent>,
  { markers: { asked } }: Prompt,
  writer: Writer,
): Pick<BodyScript, 'pieces' | 'ending'> {
  const [failure] = asked.get('error-mid') ?? []
  const ending = asked.has('stall') ? 'hold' : asked.has('cut') ? 'cut' : 'end'
  const isFailing = asked.has('error-mid') && ending === 'end'
  if (ending === 'end' && !isFailing) return { pieces: written(events, writer), ending }
  const all = [...events]
  const half = all.slice(0, Math.ceil(all.length / 2))
  return { pieces: written(half, writer, isFailing ? (failure ?? 'server_error') : undefined), ending }
}

function* written(events: Iterable<TurnEvent>, { write, fail }: Writer, failure?: string): Generator<string> {
  for (const event of events) {
    const text = write(event)
    if (text !== '') yield text
  }
  if (failure !== undefined) yield fail(failure)
}

function nowSeconds(): number {
  return Math.floor(Date.now() / 1000)
}

function delayOf({ markers }: Prompt): number {
  // A person reads the help, so it comes at once.
  const isHelp = markers.asked.has('help') || markers.unknown.length > 0
  return Math.min(markerNumber(markers, 'slow', isHelp ? 0 : usualDelayMs), longestDelayMs)
}

/** Four characters are a token. Half of the input of a continued conversation is cached. */
function usageOf({ turn, model, body }: Prompt, { thought, text, calls }: Answer): Usage {
  const output = [thought, text, ...calls.map((call) => call.arguments)].join('')
  const inputTokens = Math.ceil(body.length / 4)
  const isContinued = turn.items.some((item) => item.type === 'message' && item.role === 'assistant')
  const usage = {
    inputTokens,
    cachedInputTokens: isContinued ? Math.floor(inputTokens / 2) : 0,
    outputTokens: Math.max(1, Math.ceil(output.length / 4)),
  }
  const nanoAiu = creditsOf(usage, model.prices)?.nanoAiu
  return { ...usage, ...(nanoAiu !== undefined && { nanoAiu }) }
}

/** Adds Copilot's statement of the cost to the event with the usage. Callers get no such member, so no dialect writes it. */
function withCost(text: string, { nanoAiu }: Usage): string {
  if (nanoAiu === undefined) return text
  const cost = JSON.stringify({ copilot_usage: { total_nano_aiu: nanoAiu } }).slice(1, -1)
  return text.replace(/^data: \{(?=.*"usage":\{)/m, `data: {${cost},`)
}
