import type { ToolIdentity } from '../dialect.ts'
import type { ToolName, TurnTool } from '../turn.ts'
import { distinctName, shortName } from './short-name.ts'

/** Codex's own tools are in it; nothing is gained by saying so in their names. */
const DEFAULT_NAMESPACE = 'functions'

/** The names of one request's tools, in both directions. */
export interface ToolNames {
  /** The name upstream gets for a tool; the same for every mention of it. */
  readonly upstreamName: (tool: ToolName) => string
  /** By upstream's name, the tools whose name or kind it does not show. */
  readonly identities: ReadonlyMap<string, ToolIdentity>
}

/**
 * @param tools those offered; their names are settled first, so that names only seen in history cannot displace them
 * @param wrapsCustom custom tools are offered as functions
 */
export function createToolNames(tools: readonly TurnTool[], maxLength: number, wrapsCustom: boolean): ToolNames {
  const byTool = new Map<string, string>()
  const identities = new Map<string, ToolIdentity>()
  const taken = new Map<string, string>()

  function upstreamName(tool: ToolName): string {
    const full = fullName(tool)
    const known = byTool.get(full)
    if (known !== undefined) return known
    let name = shortName(full, maxLength)
    if (taken.has(name)) name = distinctName(full, maxLength)
    byTool.set(full, name)
    taken.set(name, full)
    return name
  }

  for (const tool of tools) {
    if (tool.type !== 'function' && tool.type !== 'custom') continue
    const { name, namespace, type: kind } = tool
    const given = upstreamName(tool)
    const isWrapped = kind === 'custom' && wrapsCustom
    if (given !== name || namespace !== undefined || isWrapped) {
      identities.set(given, { name, kind, ...(namespace !== undefined && { namespace }) })
    } else {
      // Of tools that go by one name the last is offered.
      identities.delete(given)
    }
  }
  return { upstreamName, identities }
}

function fullName({ name, namespace }: ToolName): string {
  return namespace === undefined || namespace === DEFAULT_NAMESPACE ? name : `${namespace}__${name}`
}
