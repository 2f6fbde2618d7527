import type { Fault } from '../../../errors.ts'
import type { ReplySeed } from '../../dialect.ts'
import { isFilled } from '../../../json/json.ts'
import type { Extras } from '../extras.ts'
import type { WireChoice, WireChunk, WireDelta } from '../wire.ts'
import { startToolCalls } from './tool-calls.ts'
import type { ToolCalls } from './tool-calls.ts'

/** One chunk of the reply. */
export interface NormalisedChunk {
  readonly chunk: WireChunk
  /** Upstream's own text; undefined if the chunk has to be serialised. */
  readonly text: string | undefined
}

/** A chunk with one choice. */
export interface ChoiceChunk extends NormalisedChunk {
  readonly choice: WireChoice
  readonly delta: WireDelta
}

/** Owned by one stream, updated in place. */
export interface NormaliserState {
  readonly seed: ReplySeed
  /** The caller reads usage: one chunk with it ends the stream. */
  readonly wantsUsage: boolean
  /** Members of every chunk of the reply. '' and 0 until upstream states them or the first chunk is emitted. */
  readonly identity: { id: string; readonly object: 'chat.completion.chunk'; created: number; model: string }
  /** A chunk has been emitted, and the role with it. */
  started: boolean
  /** Upstream has sent a choice, even an empty one. */
  sawChoice: boolean
  /** Upstream has sent text, a tool call or anything else that a caller can show. */
  hasContent: boolean
  readonly calls: ToolCalls
  /** Upstream's finish reason of each choice. */
  readonly reasons: Map<number, string>
  /** Held back until upstream has finished, because other chunks may follow. */
  finish: ChoiceChunk | undefined
  /** Keys of chunks without a choice, for the next chunk that has one. */
  pendingExtras: Extras | undefined
  /** The text so far ended in a `\r` that was not emitted. */
  heldReturn: boolean
  /** The last usage upstream reported. */
  usage: Readonly<Record<string, unknown>> | undefined
  /** Upstream's text of a usage chunk that needs no change. */
  usageText: string | undefined
  usageExtras: Extras | undefined
  /** The last `copilot_usage` of the stream. */
  copilotUsage: unknown
  done: boolean
  /** A failure read in the same event as an answer: thrown with the next event or at the end. */
  failure: Fault | undefined
  skipped: number
}

export function startNormaliser(seed: ReplySeed, wantsUsage: boolean): NormaliserState {
  return {
    seed,
    wantsUsage,
    identity: { id: '', object: 'chat.completion.chunk', created: 0, model: '' },
    started: false,
    sawChoice: false,
    hasContent: false,
    calls: startToolCalls(seed.id),
    reasons: new Map(),
    finish: undefined,
    pendingExtras: undefined,
    heldReturn: false,
    usage: undefined,
    usageText: undefined,
    usageExtras: undefined,
    copilotUsage: undefined,
    done: false,
    failure: undefined,
    skipped: 0,
  }
}

/** Takes from a chunk the parts of the identity that are not known yet. Azure's first chunk has '' and 0 everywhere. */
export function noteIdentity({ identity }: NormaliserState, { id, created, model }: WireChunk): void {
  if (identity.id === '' && isFilled(id)) identity.id = id
  if (identity.created === 0 && typeof created === 'number' && Number.isSafeInteger(created)) identity.created = created
  if (identity.model === '' && isFilled(model)) identity.model = model
}

/** Fills the gaps that upstream has left in the identity, before the first chunk is emitted. */
export function completeIdentity({ identity, seed }: NormaliserState): void {
  identity.id ||= `chatcmpl-${seed.id}`
  identity.created ||= seed.createdSeconds
  identity.model ||= seed.model
}

export function hasIdentity({ identity: { id, object, created, model } }: NormaliserState, chunk: WireChunk): boolean {
  return chunk.id === id && id !== '' && chunk.object === object && chunk.created === created && chunk.model === model
}

/** Stores the finish reason of a choice. A filter wins over a limit, and a limit over any other reason. */
export function noteReason({ reasons }: NormaliserState, choice: number, reason: string): void {
  const before = reasons.get(choice)
  if (before === 'content_filter' || (before === 'length' && reason !== 'content_filter')) return
  reasons.set(choice, reason)
}
