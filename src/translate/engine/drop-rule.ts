import type { JsonObject } from '../../json/json.ts'
import { refuseValue } from './request/invalid.ts'
import type { Draft, Rule } from './apply-rules.ts'

/** A member that an upstream or a model refuses. */
export interface DropRow<Body extends JsonObject, Target> {
  readonly member: string
  /** Default: `<member> dropped`. */
  readonly name?: string
  readonly source: string
  /** Absent: to every target. */
  readonly applies?: (target: Target) => boolean
  /** Absent if the other members do not matter. */
  readonly when?: (body: Body) => boolean
  /** Values that upstream takes. */
  readonly keeps?: (value: unknown) => boolean
  /** Values that ask for the default: dropping them changes nothing. */
  readonly idle?: (value: unknown, body: Body) => boolean
  /** Why the request is refused: dropping the member would change the question. Absent: the member is dropped. */
  readonly refusal?: string
  /** Default: that of all rows. */
  readonly reason?: Reason<Target>
}

type Reason<Target> = string | ((target: Target, member: string) => string)

export interface DropWords<Target> {
  readonly reason: Reason<Target>
  /** The code of a refusal. */
  readonly code: string
  /** Idle values are mentioned as adapted. */
  readonly tellsIdle?: boolean
}

/** @throws Fault `invalid_request` when it runs, for a member that cannot be dropped */
export function dropRule<Body extends JsonObject, Target>(
  row: DropRow<Body, Target>,
  { reason: usual, code, tellsIdle = false }: DropWords<Target>,
): Rule<Body, Target> {
  const { member, name, source, applies, when, keeps, idle, refusal, reason = usual } = row
  return {
    name: name ?? `${member} ${refusal === undefined ? 'dropped' : 'refused'}`,
    source,
    applies,
    at: member,
    adapt: ({ body }: Draft<Body>, target) => {
      const value = body[member]
      if (keeps?.(value) === true || when?.(body) === false) return undefined
      const isIdle = idle?.(value, body) === true
      if (refusal !== undefined && !isIdle) refuseValue(member, refusal, code)
      const why = typeof reason === 'string' ? reason : reason(target, member)
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- any member may be absent
      const patch = { [member]: undefined } as Partial<Body>
      if (!isIdle) return { patch, warnings: [{ code: 'dropped', field: member, detail: why }] }
      return { patch, warnings: tellsIdle ? [{ code: 'adapted', field: member, detail: `${why}; dropped` }] : [] }
    },
  }
}
