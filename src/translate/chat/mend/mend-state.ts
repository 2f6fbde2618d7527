import type { Fault } from '../../../errors.ts'
import type { ReplySeed } from '../../dialect.ts'
import type { Extras } from '../extras.ts'
import { eventsLetGo, startTemplates } from '../../parts/event-template.ts'
import type { EventTemplates, Hole } from '../../parts/event-template.ts'
import type { ResponseDraft } from './response-draft.ts'
import { startTold } from './told.ts'
import type { Told } from './told.ts'
import { startToolCalls } from './tool-calls.ts'
import type { ToolCalls } from './tool-calls.ts'
import { isFilled } from '../../parts/wire-json.ts'
import type { WireChoice, WireChunk, WireDelta } from '../wire-chunk.ts'

/** One chunk for the caller. */
export interface Frame {
  /** To be read before the next event is: where it repeats this one, the same object is used again. */
  readonly chunk: WireChunk
  /** The chunk's text, where it is at hand: upstream's own where nothing had to be mended. */
  readonly text: string | undefined
}

/** A chunk whose only choice says that upstream has finished. */
export interface FinishFrame extends Frame {
  readonly choice: WireChoice
  readonly delta: WireDelta
}

/** Where one reply is. Owned by one stream, updated in place. */
export interface MendState {
  readonly seed: ReplySeed
  /** The caller reads usage: one chunk with it ends the stream. */
  readonly wantsUsage: boolean
  /** What every chunk says of the reply. '' and 0 until upstream says it or the first chunk is sent. */
  id: string
  created: number
  model: string
  /** A chunk has been sent, and with it the role. */
  started: boolean
  /** Upstream has sent some choice, even one that says nothing. */
  sawChoice: boolean
  /** Upstream has sent text, a tool call or anything else that a caller can show. */
  said: boolean
  readonly calls: ToolCalls
  /** How much was said of what a final event may repeat whole. */
  readonly told: Told
  /** The finish reason of each choice, as upstream gave it. */
  readonly reasons: Map<number, string>
  /** What events of the Responses dialect said, for an end that does not repeat it. */
  readonly draft: ResponseDraft
  /** Kept back until upstream is done: other chunks may still follow it. */
  finish: FinishFrame | undefined
  /** Keys of chunks without a choice, waiting for a chunk that has one. */
  carried: Extras | undefined
  /** The text so far ended in a `\r` that was not sent. */
  heldReturn: boolean
  /** The last usage upstream reported. */
  usage: Readonly<Record<string, unknown>> | undefined
  /** Upstream's own text of a usage chunk that can be sent as it is. */
  usageText: string | undefined
  usageExtras: Extras | undefined
  /** The last `copilot_usage`, wherever in the stream it stood. */
  copilotUsage: unknown
  done: boolean
  /** A failure read in the same event as an answer: thrown once the answer was returned, with the next event or the end. */
  failure: Fault | undefined
  skipped: number
  /** What the pieces of the answer look like. */
  readonly templates: EventTemplates
}

export const chunkObject = 'chat.completion.chunk'

const deltaPath = ['choices', 0, 'delta']
const offsetsPath = ['choices', 0, 'content_filter_offsets']

/** What differs between the pieces of an answer. Source: docs/copilot-wire.md, quirks 10, 11. */
const holes: readonly Hole[] = [
  ...[
    'content',
    'refusal',
    'reasoning_text',
    'reasoning_content',
    'reasoning',
    'thinking',
    'cot_summary',
    'padding',
    'obfuscation',
  ].map((key): Hole => ({ path: [...deltaPath, key], kind: 'text' })),
  { path: ['obfuscation'], kind: 'text' },
  ...['check_offset', 'start_offset', 'end_offset'].map((key): Hole => ({
    path: [...offsetsPath, key],
    kind: 'integer',
  })),
]

export function startMend(seed: ReplySeed, wantsUsage: boolean): MendState {
  return {
    seed,
    wantsUsage,
    id: '',
    created: 0,
    model: '',
    started: false,
    sawChoice: false,
    said: false,
    calls: startToolCalls(seed.id),
    told: startTold(),
    reasons: new Map(),
    draft: new Map(),
    finish: undefined,
    carried: undefined,
    heldReturn: false,
    usage: undefined,
    usageText: undefined,
    usageExtras: undefined,
    copilotUsage: undefined,
    done: false,
    failure: undefined,
    skipped: 0,
    templates: startTemplates(holes, eventsLetGo),
  }
}

/** Takes what the chunk says of the reply, where nothing was known. Azure's first chunk has '' and 0 everywhere. */
export function learnIdentity(state: MendState, { id, created, model }: WireChunk): void {
  if (state.id === '' && isFilled(id)) state.id = id
  if (state.created === 0 && typeof created === 'number' && Number.isSafeInteger(created)) state.created = created
  if (state.model === '' && isFilled(model)) state.model = model
}

/** The first chunk is about to be sent: what upstream has left open is ours to say from here on. */
export function settleIdentity(state: MendState): void {
  const { seed } = state
  if (state.id === '') state.id = `chatcmpl-${seed.id}`
  if (state.created === 0) state.created = seed.createdSeconds
  if (state.model === '') state.model = seed.model
}

/** Whether the chunk says of the reply what all others say. */
export function hasIdentity({ id, created, model }: MendState, chunk: WireChunk): boolean {
  return (
    chunk.id === id && id !== '' && chunk.object === chunkObject && chunk.created === created && chunk.model === model
  )
}

export function identityOf({ id, created, model }: MendState) {
  return { id, object: chunkObject, created, model }
}
