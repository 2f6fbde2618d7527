import { Fault, toFault } from '../errors.ts'
import type { Model } from '../models/model.ts'
import type { Route } from '../models/registry.ts'
import type { CallerRequest, Dialect } from '../translate/dialect.ts'
import { dialectOfPath } from '../translate/dialects.ts'
import type { AnswerCall, CallCheck, CallVerdict, Verdicts } from '../translate/safeguards/call-check.ts'
import { checkCalls, reasonOf } from '../translate/safeguards/check-request.ts'
import type { Warning } from '../translate/warning.ts'
import type { PipelineState } from './pipeline-state.ts'
import type { Reading } from './read-answer.ts'
import { safeguardsModel } from './safeguards-model.ts'
import { runSideRequest, type ServedAnswer } from './side-request.ts'

/** As long as Claude Code waits for its own check. Ms. */
const timeoutMs = 60_000

const tooSlow = new Fault({ kind: 'upstream_silent', phase: 'idle', afterMs: timeoutMs })

/** Adds verdicts on the tool calls of an answer to what its caller reads. */
export interface SafeguardsDecorator {
  readonly warnings: readonly Warning[]
  readonly checkStream: (answer: ServedAnswer, text: Reading<string, string>) => Reading<string, string>
  readonly checkBody: (answer: ServedAnswer, body: Reading<void, unknown>) => Reading<void, unknown>
}

/**
 * Returns undefined if the request wants no verdicts.
 * @throws Fault `invalid_request` that names `safeguards` if no model can check the calls; the reason why a model list could not
 * be fetched
 */
export async function createSafeguards(
  state: PipelineState,
  caller: Dialect,
  request: CallerRequest,
  { model, isSubagent, signal }: { readonly model: Model; readonly isSubagent: boolean; readonly signal: AbortSignal },
): Promise<SafeguardsDecorator | undefined> {
  const check = caller.callCheckOf?.(request, isSubagent)
  if (check === undefined) return undefined
  const classifier = await findClassifier(state, model.provider, signal)
  return {
    warnings: [
      { code: 'emulated', field: 'safeguards', detail: `${classifier.model.id} of the same account checks the calls` },
      ...check.warnings,
    ],
    checkStream(answer, text) {
      const stream = check.createStream()
      return {
        ...text,
        async read(take, flush, stop) {
          const end = await text.read((added, event) => take(stream.push(added), event), flush, stop)
          take(stream.push(end))
          // The caller has the whole answer but its end while the calls are checked.
          await flush()
          return stream.end(await verdictsOn(state, answer, classifier, check, stream.calls()))
        },
      }
    },
    checkBody: (answer, body) => ({
      ...body,
      async read(take, flush, stop) {
        const whole = await body.read(take, flush, stop)
        return check.addVerdicts(whole, await verdictsOn(state, answer, classifier, check, check.callsIn(whole)))
      },
    }),
  }
}

async function findClassifier(state: PipelineState, provider: Model['provider'], signal: AbortSignal): Promise<Route> {
  const { safeguardsModel: setting } = state.config().messages
  const known = safeguardsModel(state, provider)
  if (known !== undefined) return known
  if (setting !== '') {
    // The model list may not be there yet. Any name of a Claude serves to fetch Copilot's.
    const problem = await state.completeModels(setting === 'auto' ? 'claude-sonnet' : setting, { retry: true, signal })
    const found = safeguardsModel(state, provider)
    if (found !== undefined) return found
    if (problem !== undefined) throw new Fault(problem)
  }
  throw new Fault({
    kind: 'invalid_request',
    path: 'safeguards',
    detail: whyMissing(setting, provider),
    code: 'unsupported_parameter',
  })
}

function whyMissing(setting: string, provider: Model['provider']): string {
  if (setting === '') return 'the check of tool calls is off; messages.safeguards-model switches it on'
  if (setting !== 'auto') return `messages.safeguards-model names no model of ${provider} that can check tool calls`
  return provider === 'copilot'
    ? 'the account has no Claude Sonnet that could check tool calls; messages.safeguards-model can name another model'
    : `no model of ${provider} is set to check tool calls (messages.safeguards-model)`
}

/** Rejects only if the answer's signal is aborted. */
async function verdictsOn(
  state: PipelineState,
  answer: ServedAnswer,
  { model, path }: Route,
  { subject }: CallCheck,
  calls: readonly AnswerCall[],
): Promise<Verdicts> {
  const { signal } = answer.target
  const { known, turn, fold, without } = checkCalls(calls, subject)
  const dialect = dialectOfPath(path)
  if (turn === undefined) return known
  if (dialect === undefined) return without('error')
  const timeout = new AbortController()
  const timer = setTimeout(() => timeout.abort(tooSlow), timeoutMs)
  try {
    await runSideRequest(state, answer, {
      kind: 'safeguards',
      model,
      dialect,
      turn,
      signal: AbortSignal.any([signal, timeout.signal]),
      take: fold.push,
      fields: () => ({ calls: calls.length, flagged: [...fold.verdicts().values()].filter(isFlagged).length }),
    })
    return fold.verdicts()
  } catch (error) {
    signal.throwIfAborted()
    return without(reasonOf(timeout.signal.aborted ? tooSlow.error : toFault(error).error))
  } finally {
    clearTimeout(timer)
  }
}

function isFlagged(verdict: CallVerdict): boolean {
  return verdict.type === 'evaluated' && verdict.outcome === 'flagged'
}
