import { Fault, withHeaders } from '../errors.ts'
import type { ProxyError } from '../errors.ts'
import type { UpstreamStream } from '../executors/executor.ts'
import { completionsEndpoint } from '../models/endpoints.ts'
import type { Model } from '../models/model.ts'
import { redactValues } from '../redaction/known-secrets.ts'
import { createSseDecoder, isKeepAlive } from '../sse/decode.ts'
import { createCompletionReply } from '../translate/completions.ts'
import type { CompletionReply, CompletionRequest } from '../translate/completions.ts'
import { refuseLosses } from '../translate/warning.ts'
import type { Warning } from '../translate/warning.ts'
import { streamInto } from './model-answer.ts'
import type { AnswerSink } from './model-answer.ts'
import type { PipelineState } from './pipeline-state.ts'
import { readUpstream } from './read-upstream.ts'
import type { ChunkVerdict } from './read-upstream.ts'
import { keyRefusal, routeModel } from './route-model.ts'
import type { MeteredOptions } from './run-turn.ts'

export interface CompletionCall extends MeteredOptions {
  /** Called after admission. */
  readonly request: () => Promise<CompletionRequest>
  readonly onRouted: (routed: { readonly route: string; readonly warnings: readonly Warning[] }) => void
  /** Encodes an error after the first byte. */
  readonly errorEvent: (error: ProxyError) => string
}

/** A completion that upstream has started; read it once, in one of two ways. */
export interface Completion {
  readonly headers: UpstreamStream['headers']
  /** As `CallerAnswer.stream`. */
  readonly stream: (sink: AnswerSink) => Promise<Fault | undefined>
  /** @throws Fault; the signal's reason on abort */
  readonly body: () => Promise<object>
}

/** Completes code before a suffix. @throws Fault; the signal's reason on abort */
export async function complete(state: PipelineState, call: CompletionCall): Promise<Completion> {
  const { id, signal, meter } = call
  meter.admitted(await state.admission.enter(call.flow ?? '', signal))
  const request = await call.request()
  meter.asked(request.model)
  if (state.config().chat.strict) refuseLosses(request.warnings)
  const model = await routeEngine(state, request.model, call)
  const route = `${model.provider}/completions`
  meter.routed(model, route)
  meter.warned(request.warnings)
  call.onRouted({ route, warnings: request.warnings })
  const initiator = call.initiator ?? 'user'
  const upstreamCall = {
    path: `/v1/engines/${encodeURIComponent(model.id)}/completions`,
    host: 'completions',
    body: request.body,
    // As GitHub's language server 1.539.0 (docs/copilot-wire.md, "Images and completions").
    headers: {
      'openai-intent': 'copilot-ghost',
      'openai-organization': 'github-copilot',
      'x-github-api-version': '2026-01-09',
    },
    initiator,
    hasImage: false,
    requestId: id,
  } as const
  const upstream = await state.executorOf(model.provider).stream(upstreamCall, { signal })
  meter.accepted(initiator, Math.ceil(request.body.length / 4))
  const headers = redactValues(upstream.headers, state.redact)
  meter.answered(headers)
  const reply = createCompletionReply({
    id: `cmpl-${state.randomId()}`,
    createdSeconds: Math.floor(state.now() / 1000),
    model: request.model,
    wantsUsage: request.wantsUsage,
  })

  async function read(take: (text: string) => void, flush: () => ChunkVerdict): Promise<string> {
    try {
      await readReply(upstream, reply, take, flush)
      return reply.end()
    } catch (error) {
      throw withHeaders(error, upstream.headers)
    } finally {
      meter.used(reply.usage())
    }
  }

  return {
    headers,
    async body() {
      await read(
        () => {},
        () => 'go',
      )
      return reply.body()
    },
    stream(sink) {
      sink.upstreamAnswered(headers)
      return streamInto(sink, read, {
        signal,
        idleMs: upstream.idleMs,
        encode: call.errorEvent,
        redact: state.redact,
      })
    },
  }
}

/** Served to accounts whose list has no model for code completion. Source: docs/copilot-wire.md, "Code completion". */
const publicEngine = 'gpt-41-copilot'

/** The model that completes code: one of the account's list, else the public engine under its own name. */
async function routeEngine(state: PipelineState, name: string, { signal, key }: CompletionCall): Promise<Model> {
  try {
    return (await routeModel(state, name, completionsEndpoint, { signal, key })).model
  } catch (error) {
    if (!(error instanceof Fault) || error.error.kind !== 'model_not_found' || name !== publicEngine) throw error
    const model = { ...unlisted, id: publicEngine, name: publicEngine, family: publicEngine }
    const refusal = keyRefusal(state.config(), key?.name, name, { id: publicEngine, model })
    if (refusal !== undefined) throw refusal
    return model
  }
}

/** An engine that the account does not list, of which only the name is known. */
const unlisted: Omit<Model, 'id' | 'name' | 'family'> = {
  provider: 'copilot',
  type: 'completion',
  endpoints: [completionsEndpoint],
  preview: false,
  pickerEnabled: false,
  source: 'seed',
  supports: {},
}

async function readReply(
  upstream: UpstreamStream,
  reply: CompletionReply,
  take: (text: string) => void,
  flush: () => ChunkVerdict,
): Promise<void> {
  const decoder = createSseDecoder()
  await readUpstream(upstream, (chunk) => {
    let isQuiet = true
    for (const event of decoder.push(chunk)) {
      isQuiet &&= isKeepAlive(event)
      take(reply.push(event))
      if (reply.isDone()) return 'done'
    }
    const flushed = flush()
    return isQuiet && flushed === 'go' ? 'quiet' : flushed
  })
  for (const event of decoder.end()) take(reply.push(event))
}
