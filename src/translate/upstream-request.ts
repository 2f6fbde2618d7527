import type { ReplyEffects } from './engine/reply-effects.ts'
import type { Warning } from './warning.ts'

/** A request as upstream gets it. */
export interface UpstreamRequest {
  /** The upstream body: JSON, UTF-8. */
  readonly body: Buffer
  /** Request headers of the dialect itself, e.g. `anthropic-beta`; names in lower case. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  readonly warnings: readonly Warning[]
  /** Changes that the reply has to undo: it is then read through TurnEvents, also for a caller of the same dialect. */
  readonly effects?: ReplyEffects | undefined
}
