import { isDeepStrictEqual } from 'node:util'
import { Fault, statusOf } from '../errors.ts'
import type { Executor, Initiator, UpstreamCall, UpstreamProfile, UpstreamStream } from '../executors/executor.ts'
import type { Model } from '../models/model.ts'
import { redactValues } from '../redaction/known-secrets.ts'
import type { EncodeContext, EncodedRequest, Recovery, UpstreamDialect } from '../translate/dialect.ts'
import { newWarnings, recoverRequest } from '../translate/engine/learned-refusals.ts'
import { distinct } from '../translate/warning.ts'
import type { Warning } from '../translate/warning.ts'
import type { PipelineState } from './pipeline-state.ts'

/** The upstream of one answer. Lives as long as the answer, so it keeps no part of the caller's body. */
export interface UpstreamTarget {
  readonly model: Model
  /** `copilot/chat` */
  readonly route: string
  readonly dialect: UpstreamDialect
  readonly executor: Executor
  readonly call: Omit<UpstreamCall, 'body' | 'headers' | 'initiator'>
  readonly signal: AbortSignal
}

export interface AskOptions {
  readonly initiator: Initiator
  /**
   * Encodes the caller's request again, with what upstream has refused. Absent: every refusal is thrown.
   * @throws Fault `invalid_request`
   */
  readonly encodeAgain?: ((context: EncodeContext) => EncodedRequest) | undefined
  /**
   * Called before a changed request is sent.
   * @param learned the keys that later requests to the model may be encoded with
   */
  readonly onRecovery?: (request: EncodedRequest, learned: readonly string[]) => void
}

/** A body can have several parts that upstream refuses, and upstream names one per reply. */
const maxRecoveries = 8

/**
 * Sends a request, and sends it again without the parts that upstream refuses. Stores learned refusals once the model
 * accepts the remainder.
 * @throws Fault; the signal's reason on abort
 */
export async function askUpstream(
  state: PipelineState,
  target: UpstreamTarget,
  first: EncodedRequest,
  { initiator, encodeAgain, onRecovery }: AskOptions,
): Promise<UpstreamStream> {
  const { executor, call, signal, model } = target
  const { judgeFirstEvent } = target.dialect
  let request = first
  const recoveries: Recovery[] = []
  /** Of the recoveries. */
  let told: readonly Warning[] = []
  let notFound: unknown
  for (let attempt = 1; ; attempt += 1) {
    try {
      const { body, headers } = request
      const answer = await executor.stream({ ...call, judgeFirstEvent, body, headers, initiator }, { signal })
      for (const { learned = [], fromSecondRefusal } of recoveries) {
        for (const key of learned) {
          state.learnedRefusals.learn(upstreamKey(target), model.id, key, { fromSecondRefusal })
        }
      }
      return { ...answer, headers: redactValues(answer.headers, state.redact) }
    } catch (error) {
      const recovery = attempt <= maxRecoveries ? recover(error) : undefined
      if (recovery === undefined) throw isRefusedRequest(error) ? (notFound ?? error) : error
      // The model may need another form of the request. If upstream refuses that form too, throw the first 404.
      if (isNotFound(error)) notFound ??= error
      request = recovery
    }
  }

  function recover(error: unknown): EncodedRequest | undefined {
    if (!(error instanceof Fault) || error.error.kind !== 'upstream_status') return undefined
    const { error: refusal } = error
    if (refusal.status === 413 && !call.hasImage) return undefined
    if (!isRecoverable(refusal.status, executor.profile)) return undefined
    const known = recoveries.flatMap(({ learned = [], passing = [] }) => [...learned, ...passing])
    const context = encodeContext(state, target, known)
    // With `chat.strict` nothing is removed, and the caller gets upstream's own message.
    if (context.strict || encodeAgain === undefined) return undefined
    const recovered = recoverRequest(target.dialect, request, refusal, context, encodeAgain)
    if (recovered === undefined) return undefined
    const { recovery } = recovered
    // The reply of an answer that has begun is read as its first request requires.
    const isContinuation = first.encodeAgain !== undefined
    if (isContinuation && !isDeepStrictEqual(recovered.request.effects, first.effects)) return undefined
    recoveries.push(recovery)
    told = [...told, ...newWarnings(recovered, request.warnings)]
    const changed = { ...recovered.request, warnings: distinct([...recovered.request.warnings, ...told]) }
    onRecovery?.(changed, recovery.learned ?? [])
    return changed
  }
}

/** The settings and model facts that a dialect needs to encode a request. */
export function encodeContext(
  state: PipelineState,
  target: Pick<UpstreamTarget, 'model' | 'route'> & { readonly executor?: Pick<Executor, 'profile'> },
  learned: readonly string[] = [],
): EncodeContext {
  const { chat } = state.config()
  const { model } = target
  const known = state.learnedRefusals.of(upstreamKey(target), model.id)
  return {
    model,
    strict: chat.strict,
    learnedRefusals: learned.length === 0 ? known : new Set([...known, ...learned]),
    profile: target.executor?.profile,
  }
}

/** Upstreams with different profiles refuse different things on the same route. */
function upstreamKey({
  route,
  executor,
}: Pick<UpstreamTarget, 'route'> & { readonly executor?: Pick<Executor, 'profile'> }): string {
  return executor?.profile === undefined ? route : `${route} ${executor.profile}`
}

export function isStatus(error: unknown, statuses: readonly number[]): boolean {
  return error instanceof Fault && error.error.kind === 'upstream_status' && statuses.includes(error.error.status)
}

function isNotFound(error: unknown): boolean {
  return isStatus(error, [404])
}

/** Whether upstream refused the request, not e.g. the account. */
function isRefusedRequest(error: unknown): boolean {
  return isNotFound(error) || (error instanceof Fault && statusOf(error.error) === 400)
}

/** Whether the status may mean that a part of the body, or its form, can be changed. */
function isRecoverable(status: number, profile: UpstreamProfile | undefined): boolean {
  // The ChatGPT backend answers 404 for a model that needs another form of the request. For 413, images may be removed.
  return status === 400 || status === 413 || status === 422 || (status === 404 && profile === 'chatgpt')
}
