import type { ToolName } from '../turn.ts'

/** A tool as the caller knows it. */
export interface ToolIdentity extends ToolName {
  readonly kind: 'function' | 'custom'
}

/** What a change to a request means for its reply, which is read through TurnEvents then. */
export interface ReplyEffects {
  /** The caller's tools whose name or kind differs upstream. The key is the name that upstream knows. */
  readonly tools?: ReadonlyMap<string, ToolIdentity>
  /** Stop sequences that the proxy looks for, because upstream does not take them. */
  readonly stop?: readonly string[]
  /** The caller's names of properties in the arguments of calls, by the names that upstream knows. */
  readonly properties?: ReadonlyMap<string, string>
  /** Names of tools without a namespace that upstream knows in the namespace `functions`. */
  readonly grouped?: ReadonlySet<string>
  /** The caller's tools whose calls are to state that nothing in them is encrypted (`toolKey` of the Responses dialect). */
  readonly opened?: ReadonlySet<string>
}

/** Undefined if the reply can be forwarded as it is. */
export function mergeEffects(all: readonly (ReplyEffects | undefined)[]): Required<ReplyEffects> | undefined {
  // Most requests need none.
  if (all.every((effects) => effects === undefined)) return undefined
  const tools = new Map(all.flatMap((effects) => [...(effects?.tools ?? [])]))
  const stop = all.flatMap((effects) => effects?.stop ?? [])
  const properties = new Map(all.flatMap((effects) => [...(effects?.properties ?? [])]))
  const grouped = new Set(all.flatMap((effects) => [...(effects?.grouped ?? [])]))
  const opened = new Set(all.flatMap((effects) => [...(effects?.opened ?? [])]))
  const isNone = [tools, properties, grouped, opened].every(({ size }) => size === 0) && stop.length === 0
  return isNone ? undefined : { tools, stop, properties, grouped, opened }
}
