import type { CallerKey } from '../config/caller.ts'
import { endOf } from '../errors.ts'
import type { Interaction } from '../executors/executor.ts'
import type { Model } from '../models/model.ts'
import type { EncodeContext, UpstreamDialect } from '../translate/dialect.ts'
import { createEventReply } from '../translate/reply.ts'
import { translateTurn } from '../translate/translated-call.ts'
import type { Turn, TurnEvent, Usage } from '../translate/turn.ts'
import { askUpstream, encodeContext } from './ask-upstream.ts'
import type { UpstreamTarget } from './ask-upstream.ts'
import type { PipelineState } from './pipeline-state.ts'
import { readReplies } from './read-answer.ts'
import { createRequestMeter } from './request-meter.ts'
import type { RequestMeter, SideRequestKind } from './request-meter.ts'

/** The answer for which another request is made. */
export interface ServedAnswer {
  readonly target: UpstreamTarget
  /** The other request counts for this API key. */
  readonly key: CallerKey | undefined
  readonly meter: Pick<RequestMeter, 'paidFor' | 'caller'>
}

interface SideRequest {
  readonly kind: SideRequestKind
  /** Of the same provider as the answer's model. */
  readonly model: Model
  readonly dialect: UpstreamDialect
  readonly turn: Turn
  readonly signal: AbortSignal
  readonly take: (events: readonly TurnEvent[]) => void
  /** More fields of its log line, once it was answered. */
  readonly fields?: () => Readonly<Record<string, unknown>>
}

/**
 * Asks a model of the same account for something that an answer needs. It is a request of its own, is counted as one, and its
 * cost is added to the answer's.
 * @throws Fault; the signal's reason on abort
 */
export async function runSideRequest(
  state: PipelineState,
  { target: { call: answered }, key, meter }: ServedAnswer,
  { kind, model, dialect, turn, signal, take, fields }: SideRequest,
): Promise<void> {
  const { requestId } = answered
  // It belongs to the user turn of the answer.
  const interaction: Interaction | undefined = answered.interaction && {
    purpose: 'subagent',
    id: answered.interaction.id,
    stated: {},
  }
  const route = `${model.provider}/${dialect.id}`
  const own = createRequestMeter(state, { id: requestId, kind, key, caller: meter.caller() })
  own.routed(model, route)
  let usage: Usage | undefined
  const read = (events: readonly TurnEvent[]): void => {
    for (const event of events) if (event.type === 'usage') ({ usage } = event)
    take(events)
  }
  try {
    const call = { path: dialect.path, hasImage: false, requestId, interaction }
    const executor = state.executorOf(model.provider)
    const target = { model, route, dialect, executor, call, signal }
    let translated = translateTurn(dialect, { turn, warnings: [] }, encodeContext(state, target))
    const encodeAgain = (context: EncodeContext) => {
      translated = translateTurn(dialect, { turn, warnings: [] }, context)
      return translated.request
    }
    const upstream = await askUpstream(state, target, translated.request, { initiator: 'agent', encodeAgain })
    const reply = createEventReply(dialect, {
      id: state.randomId(),
      createdSeconds: 0,
      nowSeconds: () => 0,
      model: model.id,
      requestedModel: model.id,
      traits: model,
      notes: translated.reader.notes,
      redact: state.redact,
    })
    read(await readReplies(state, target, upstream, reply).read(read, () => 'go'))
    finish('answered')
  } catch (error) {
    finish(endOf(error, signal))
    throw error
  }

  function finish(outcome: Parameters<RequestMeter['finish']>[0]): void {
    own.used(usage)
    meter.paidFor(kind, own.credits())
    own.finish(outcome, outcome === 'answered' ? fields?.() : undefined)
  }
}
