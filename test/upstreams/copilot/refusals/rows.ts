import type { InferenceSubject } from '../../inference.ts'
import type { InferencePath } from '../../inference.ts'
import { objectOf } from '../../../../src/json/json.ts'
import { invalidBody } from '../failures.ts'
import type { Outcome } from '../../http/outcome.ts'
import { boundThoughtRow } from './bound-thoughts.ts'
import type { BoundThoughts } from './bound-thoughts.ts'
import { fileRows } from './file-rows.ts'
import { historyRows } from './history-rows.ts'
import { identityRow } from './identity-row.ts'
import { limitRows } from './limit-rows.ts'
import type { RefusalRow, Scope } from './row.ts'
import { schemaRows } from './schema-rows.ts'
import { toolRows } from './tool-rows.ts'

/** What upstream is reported to refuse. */
export const REFUSAL_ROWS: readonly RefusalRow[] = [
  ...limitRows,
  ...toolRows,
  ...schemaRows,
  ...fileRows,
  ...historyRows,
  boundThoughtRow,
  identityRow,
]

function idsOf(...scopes: readonly Scope[]): ReadonlySet<string> {
  return new Set(REFUSAL_ROWS.filter(({ scope }) => scopes.includes(scope)).map(({ id }) => id))
}

/** The rows that hold on every host. */
export const EVERYWHERE = idsOf('everywhere')

/** The strictest host that one can meet: all rows but those that only a test asks for. */
export const STRICT = idsOf('everywhere', 'some hosts')

/** What one host refuses. */
export interface HostRefusals {
  /** Ids of the rows in force. */
  readonly refusals: ReadonlySet<string>
  /** Tokens that prompt and answer may have together. Undefined: the model's context window. */
  readonly windowTokens: number | undefined
}

/** The refusal of the first row in force; undefined if there is none. */
export function refuseAsReported(
  path: InferencePath,
  { call, model }: Pick<InferenceSubject<unknown>, 'call' | 'model'>,
  { refusals, windowTokens }: HostRefusals,
  bound: BoundThoughts,
): Outcome | undefined {
  const rows = REFUSAL_ROWS.filter(
    ({ id, routes, models }) => refusals.has(id) && routes.includes(path) && models(model),
  )
  if (rows.length === 0) return undefined
  const parsed: unknown = JSON.parse(call.bodyText)
  const sent = {
    path,
    body: objectOf(parsed),
    bodyBytes: Buffer.byteLength(call.bodyText),
    header: call.header,
    model,
    windowTokens: windowTokens ?? model.contextTokens,
    bound,
  }
  for (const { judge, reply = invalidBody } of rows) {
    const words = judge(sent)
    if (words !== undefined) return reply(words)
  }
  return undefined
}
