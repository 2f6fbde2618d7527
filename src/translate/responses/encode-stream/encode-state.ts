import type { ReplySeed } from '../../dialect.ts'
import type { Usage } from '../../turn.ts'
import { mintResponseId } from '../item-ids.ts'
import { toResponseObject } from '../response-object.ts'
import type { OutputItem, OutputText, Refusal, ResponseEvent, ResponseObject } from '../wire-event.ts'

/** An item that is being told. */
export type OpenItem = OpenMessage | OpenReasoning | OpenCall

export interface Place {
  /** Its index in the output. */
  readonly index: number
  readonly id: string
}

export interface OpenMessage extends Place {
  readonly type: 'message'
  readonly content: (OutputText | Refusal)[]
}

export interface OpenReasoning extends Place {
  readonly type: 'reasoning'
  /** Undefined until there is some. */
  text: string | undefined
  sealed: string | undefined
}

export interface OpenCall extends Place {
  readonly type: 'function_call' | 'custom_tool_call'
  readonly callId: string
  readonly name: string
  readonly namespace: string | undefined
  text: string
}

/** Where one reply is. Owned by one stream, updated in place. */
export interface EncodeState {
  readonly seed: ReplySeed
  readonly id: string
  model: string
  usage: Usage | undefined
  /** The number of the next event. */
  next: number
  /** `response.created` was sent. */
  isOpen: boolean
  /** The final response object, once it was sent. */
  final: ResponseObject | undefined
  hasFailed: boolean
  /** By output index; what is not done yet is missing. */
  readonly output: OutputItem[]
  /** The index of the next item. */
  items: number
  readonly open: Map<number, OpenItem>
  /** Of a reply that is to be a compaction item alone: its text so far. */
  summary: string
  /**
   * Told to its end, but not done: what cut the answer off is known at `stop` alone, and the last item then says
   * `incomplete`.
   */
  closing: OpenItem | undefined
}

export function startEncode(seed: ReplySeed): EncodeState {
  return {
    seed,
    id: mintResponseId(seed.id),
    model: seed.model,
    usage: undefined,
    next: 0,
    isOpen: false,
    final: undefined,
    hasFailed: false,
    output: [],
    items: 0,
    open: new Map(),
    summary: '',
    closing: undefined,
  }
}

/** The reply begins with the first event that says something, so that an early failure is a status. */
export function openResponse(state: EncodeState, out: ResponseEvent[]): void {
  if (state.isOpen) return
  state.isOpen = true
  const { seed, id, model } = state
  const response = toResponseObject(seed, { id, model, status: 'in_progress' })
  out.push({ type: 'response.created', sequence_number: takeNumber(state), response })
  out.push({ type: 'response.in_progress', sequence_number: takeNumber(state), response })
}

/** Events are numbered from 0, without gaps. */
export function takeNumber(state: EncodeState): number {
  const number = state.next
  state.next += 1
  return number
}
