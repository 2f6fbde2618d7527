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
  /** Names of tools without a namespace that upstream knows in the namespace `functions`. */
  readonly grouped?: ReadonlySet<string>
  /** The caller's names of properties in the arguments of calls, by the names that upstream knows. */
  readonly properties?: ReadonlyMap<string, string>
}

/** Undefined if the reply can be forwarded as it is. */
export function mergeEffects(all: readonly (ReplyEffects | undefined)[]): Required<ReplyEffects> | undefined {
  const tools = new Map(all.flatMap((effects) => [...(effects?.tools ?? [])]))
  const stop = all.flatMap((effects) => effects?.stop ?? [])
  const grouped = new Set(all.flatMap((effects) => [...(effects?.grouped ?? [])]))
  const properties = new Map(all.flatMap((effects) => [...(effects?.properties ?? [])]))
  const hasNone = tools.size + stop.length + grouped.size + properties.size === 0
  return hasNone ? undefined : { tools, stop, grouped, properties }
}
