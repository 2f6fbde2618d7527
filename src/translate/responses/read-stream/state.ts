import type { ReplySeed } from '../../dialect.ts'
import type { ToolIdentity } from '../../engine/reply-effects.ts'
import type { ArgumentScan } from '../../engine/reply/argument-scan.ts'
import type { JsonObject } from '../../../json/json.ts'
import type { StoredInput } from '../../reply-memory.ts'
import type { WireEvent, WireObject } from '../wire.ts'
import { type ResponseWriter, startWriter } from '../write-stream/writer.ts'

/** The facts for restoring the caller's names of calls. */
export interface CallNotes {
  /**
   * Names of tools without a namespace that the request put into `functions`. Their calls lose that namespace again.
   */
  readonly grouped: ReadonlySet<string>
  /** The caller has a tool with the name of the wrapper for several calls, so its calls are not expanded. */
  readonly hasWrapper: boolean
  /** The caller's tools whose name or kind differs upstream, by upstream name. */
  readonly tools?: ReadonlyMap<string, ToolIdentity> | undefined
}

/** The facts about the request that the reply of a Responses upstream needs. */
export interface UpstreamReplyNotes {
  /** The members of the response object that repeat the caller's request, if the caller speaks this dialect too. */
  readonly echo?: JsonObject
  readonly storedInput?: StoredInput | undefined
  readonly calls?: CallNotes | undefined
}

interface BufferedWrapper {
  readonly item: WireObject
  readonly scan: ArgumentScan
  text: string
}

export interface NormaliserState extends ResponseWriter {
  readonly echo: JsonObject | undefined
  readonly storedInput: StoredInput | undefined
  /** Upstream began without stating a response id. */
  isIdMadeUp: boolean
  /** Scans of open arguments, by output index. */
  readonly scans: Map<number, ArgumentScan>
  /** How to rename calls; undefined if upstream's names are the caller's. */
  readonly calls: CallNotes | undefined
  /** Wrapper calls that are not done, by upstream's index. */
  readonly buffered: Map<number, BufferedWrapper>
  /** The caller's index of every item, by upstream's index. Empty until a wrapper has been expanded. */
  readonly indices: Map<number, number>
  usage: WireObject | undefined
  copilotUsage: unknown
  /** Upstream's own `response.failed`, which ends the reply. */
  failed: WireEvent | undefined
  failedText: string | undefined
  /** The error of upstream's own `error` event. */
  error: unknown
  /** The final event was returned. */
  done: boolean
  /** The final event was a failure. */
  hasFailed: boolean
  skipped: number
}

export function startNormaliser(seed: ReplySeed, options: Parameters<typeof startWriter>[1]): NormaliserState {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- `passResponsesRequest` or `encodeResponsesTurn` made them
  const notes = seed.notes.upstream as UpstreamReplyNotes | undefined
  return {
    ...startWriter(seed, options),
    echo: notes?.echo,
    storedInput: notes?.storedInput,
    isIdMadeUp: false,
    scans: new Map(),
    calls: notes?.calls,
    buffered: new Map(),
    indices: new Map(),
    usage: undefined,
    copilotUsage: undefined,
    failed: undefined,
    failedText: undefined,
    error: undefined,
    done: false,
    hasFailed: false,
    skipped: 0,
  }
}
