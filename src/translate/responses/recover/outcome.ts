import type { JsonObject } from '../../parts/is-object.ts'
import type { Warning } from '../../warning.ts'

/** What is done about a refusal. */
export interface Outcome {
  /** Without what was refused; absent where the request has to be encoded anew with the lesson. */
  readonly body?: JsonObject
  readonly lesson?: string
  readonly warnings?: readonly Warning[]
}
