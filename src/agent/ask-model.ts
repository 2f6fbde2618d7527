import type { CallerKey } from '../config/caller.ts'
import { statusOf, toFault, type ProxyError } from '../errors.ts'
import { addToDraft, draftedItems, lengthOfEvent, type DraftPart } from '../translate/fold-turn.ts'
import { grow, startFoldSize } from '../translate/engine/reply/fold-size.ts'
import { isPromptTooLong } from '../upstream-errors/full-context.ts'
import { wordError } from '../translate/engine/error-wording.ts'
import type { Turn, TurnEvent, TurnItem, TurnStop, Usage } from '../translate/turn.ts'
import type { RunMode } from '../api/run.ts'
import type { FragmentEvent } from './agent-event.ts'
import type { Answer, AskFailure } from './loop-state.ts'

/** The `runTurn` of the pipeline. @throws Fault; the signal's reason on abort */
export type RunTurn = (call: {
  readonly id: string
  readonly turn: Turn
  readonly model: string
  readonly signal: AbortSignal
  readonly key?: CallerKey | undefined
  readonly initiator?: 'user' | 'agent' | undefined
}) => Promise<{
  readonly model: { readonly id: string }
  readonly events: AsyncIterable<{ readonly event: TurnEvent }>
}>

export type Asked =
  | { readonly ok: true; readonly answer: Answer }
  | { readonly ok: false; readonly failure: AskFailure }

/** Sends one request to a model. Calls `onEvent` with each event of the answer as it arrives. */
export async function askModel(
  runTurn: RunTurn,
  call: Parameters<RunTurn>[0],
  onEvent: (event: TurnEvent, model: string) => void,
): Promise<Asked> {
  const parts = new Map<number, DraftPart>()
  const size = startFoldSize()
  let stop: TurnStop = 'end'
  let usage: Usage | undefined
  try {
    const { model, events } = await runTurn(call)
    for await (const { event } of events) {
      grow(size, lengthOfEvent(event))
      addToDraft(parts, event)
      if (event.type === 'usage') ({ usage } = event)
      else if (event.type === 'stop') stop = event.reason
      onEvent(event, model.id)
    }
    const items = draftedItems(parts)
    return { ok: true, answer: { items, text: textOf(items), stop, usage, model: model.id } }
  } catch (error) {
    const fault = toFault(error)
    const { kind } = fault.error
    const isOfUpstream = kind === 'upstream_status' || kind === 'upstream_failed'
    const failure = {
      message: wordError(fault.error, call.id).message,
      status: statusOf(fault.error),
      isModelMissing: kind === 'model_not_found' || (isOfUpstream && isUnknownModel(fault.error)),
      isTooLong: isOfUpstream && isPromptTooLong(fault.error),
      isRefused:
        kind === 'upstream_status'
          ? refusals.has(fault.error.status)
          : kind === 'upstream_failed' && /\bimages?\b/i.test(fault.error.message),
      isBeforeAnswer: parts.size === 0,
    }
    return { ok: false, failure }
  }
}

/** What GitHub and OpenAI call a model that they do not have, or that the account may not use. */
const unknownModelCodes: ReadonlySet<string | undefined> = new Set(['model_not_found', 'model_not_supported'])

/** Anthropic's API names the model in a 404 without a code of its own: `model: claude-x`. */
function isUnknownModel(error: Extract<ProxyError, { kind: 'upstream_status' | 'upstream_failed' }>): boolean {
  if (unknownModelCodes.has(error.code)) return true
  return error.kind === 'upstream_status' && error.status === 404 && /\bmodel\b/i.test(error.message)
}

/** Statuses with which upstream refuses a body. It often does not say which part of it. */
const refusals: ReadonlySet<number> = new Set([400, 413, 415, 422])

function textOf(items: readonly TurnItem[]): string {
  return items
    .flatMap((item) => (item.type === 'message' ? item.parts : []))
    .map((part) => (part.type === 'text' || part.type === 'refusal' ? part.text : ''))
    .join('')
}

/** The text of an agent's step is held up to this length, because a tool call after it makes it a commentary. Characters. */
const maxHeld = 300

/** Returns a function that emits the events of an answer as fragments. */
export function createFragments(how: {
  readonly mode: RunMode
  /** If false, the text of an agent's answer is JSON for this program and no fragment shows it. */
  readonly isNative: boolean
  readonly step: number
  readonly emit: (event: FragmentEvent) => void
}): (event: TurnEvent, model: string) => void {
  const { mode, isNative, step, emit } = how
  let held = ''
  let isHolding = mode !== 'chat'
  const emitFragment = (kind: FragmentEvent['kind'], text: string, model: string): void => {
    if (text !== '') emit({ type: 'fragment', kind, text, step, model })
  }
  const release = (kind: FragmentEvent['kind'], model: string): void => {
    emitFragment(kind, held, model)
    held = ''
  }
  return (event, model) => {
    if (event.type === 'think.delta') emitFragment('thinking', event.text, model)
    if (!isNative && mode !== 'chat') return
    if (event.type === 'text.delta' || event.type === 'refusal.delta') {
      held += event.text
      if (held.length > maxHeld) isHolding = false
      if (!isHolding) release('answer', model)
    } else if (event.type === 'tool.open') release(isHolding ? 'commentary' : 'answer', model)
    else if (event.type === 'stop') release('answer', model)
  }
}
