import type { JsonObject } from '../../json/json.ts'
import type { Warning } from '../warning.ts'
import { type CallerFields, toCallerFields } from './caller-fields.ts'
import { placesOf, toCallerPlaces, type Places } from './places.ts'
import { mergeEffects, type ReplyEffects } from './reply-effects.ts'

/** A request in the dialect of its upstream, before and between the rules. */
export interface Draft<Body extends JsonObject> {
  /** The caller's own, or an encoder's. Removed members are undefined; unchanged ones are identical. */
  readonly body: Body
  /** Request headers of the dialect, names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** Set if an encoder made the body from a Turn. */
  readonly made?: Made | undefined
}

export interface Made {
  /** The caller's fields, by the members that they became. */
  readonly fields: CallerFields
  /** The member of the caller's body that holds the conversation: `messages`, `input`. */
  readonly conversation: string
}

/** The changes that a rule makes. */
export interface Outcome<Body extends JsonObject> {
  /** Top-level members to set; `undefined` removes one. */
  readonly patch?: Readonly<Partial<Body>> | undefined
  /** All headers of the dialect. Absent: they stay. */
  readonly headers?: Readonly<Record<string, string>>
  /** A position in a field counts in the list that the rule was given. */
  readonly warnings: readonly Warning[]
  readonly effects?: ReplyEffects | undefined
  /** Where the elements of a patched list were before. Absent: known by their identity. */
  readonly places?: Readonly<Record<string, Places>> | undefined
}

/** One fact about an upstream or a kind of model, and the change that a request needs because of it. */
export interface Rule<Body extends JsonObject, Target> {
  readonly name: string
  /** The documentation, or the row of docs/copilot-wire.md, that states the fact. */
  readonly source: string
  /** Absent: to every target. */
  readonly applies?: ((target: Target) => boolean) | undefined
  /** The member that the rule is about: a request without it needs no change. Absent: any. */
  readonly at?: string | undefined
  /**
   * Undefined if the draft needs no change, as after the rule's own change. Never changes its input.
   * @throws Fault `invalid_request`
   */
  readonly adapt: (draft: Draft<Body>, target: Target) => Outcome<Body> | undefined
}

export interface Applied<Body extends JsonObject> extends Draft<Body> {
  /** About the caller's own fields. */
  readonly warnings: readonly Warning[]
  readonly effects: Required<ReplyEffects> | undefined
}

/**
 * Fits a draft to its upstream and its model. A later rule sees the changes of earlier ones. Never changes its input.
 * @throws Fault `invalid_request`
 */
export function applyRules<Body extends JsonObject, Target>(
  draft: Draft<Body>,
  rules: readonly Rule<Body, Target>[],
  target: Target,
): Applied<Body> {
  const warnings: Warning[] = []
  const effects: (ReplyEffects | undefined)[] = []
  const places = new Map<string, Places>()
  const body: Body = { ...draft.body }
  let current: Draft<Body> = { ...draft, body }
  for (const { at, applies, adapt } of rules) {
    if ((at !== undefined && body[at] === undefined) || applies?.(target) === false) continue
    const outcome = adapt(current, target)
    if (outcome === undefined) continue
    // Not passed as arguments, because there may be one for each element.
    for (const warning of outcome.warnings) warnings.push(toCallerPlaces(warning, places))
    effects.push(outcome.effects)
    if (outcome.headers !== undefined) current = { ...draft, body, headers: outcome.headers }
    if (outcome.patch === undefined) continue
    // An encoder has marked its elements with the caller's path.
    if (draft.made === undefined) notePlaces(places, body, outcome)
    Object.assign(body, outcome.patch)
  }
  const told = draft.made === undefined ? warnings : toCallerFields(warnings, draft.made.fields)
  return { ...draft, body, headers: current.headers, warnings: told, effects: mergeEffects(effects) }
}

function notePlaces<Body extends JsonObject>(places: Map<string, Places>, body: Body, outcome: Outcome<Body>): void {
  for (const [member, after] of Object.entries(outcome.patch ?? {})) {
    const before = body[member]
    if (!Array.isArray(before) || !Array.isArray(after)) continue
    const moved = outcome.places?.[member] ?? placesOf(before, after)
    const known = places.get(member)
    if (moved !== undefined) places.set(member, known === undefined ? moved : moved.map((at) => known[at] ?? -1))
  }
}
