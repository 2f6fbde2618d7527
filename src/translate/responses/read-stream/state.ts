import type { ReplySeed } from '../../dialect.ts'
import type { ArgumentScan } from '../../engine/reply/argument-scan.ts'
import type { JsonObject } from '../../../json/json.ts'
import type { StoredInput } from '../../reply-memory.ts'
import type { CallNotes } from '../notes.ts'
import type { WireEvent, WireObject } from '../wire.ts'
import { type ResponseWriter, startWriter } from '../write-stream/writer.ts'

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
  const { upstream } = seed.notes
  const notes = upstream?.dialect === 'responses' ? upstream : undefined
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
