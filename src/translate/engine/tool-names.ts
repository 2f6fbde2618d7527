import type { ToolIdentity } from './reply-effects.ts'
import { distinctName, shortName } from '../parts/ids.ts'
import type { ToolName } from '../turn.ts'

/** The namespace of Codex's own tools, which their upstream names leave out. */
const DEFAULT_NAMESPACE = 'functions'

/** The names of one request's tools, in both directions. */
export interface ToolNames {
  /** The name under which upstream knows a tool, the same at every call. */
  readonly upstreamName: (tool: ToolName) => string
  /** The caller's tools whose name or kind differs upstream, by upstream name. */
  readonly identities: ReadonlyMap<string, ToolIdentity>
}

/**
 * @param tools the offered tools; they get their names first, before tools that only the history mentions
 * @param wrapsCustom whether upstream gets freeform (`custom`) tools as functions
 */
export function createToolNames(tools: readonly ToolIdentity[], maxLength: number, wrapsCustom: boolean): ToolNames {
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

  for (const { name, namespace, kind } of tools) {
    const given = upstreamName({ name, ...(namespace !== undefined && { namespace }) })
    const isWrapped = kind === 'custom' && wrapsCustom
    if (given !== name || namespace !== undefined || isWrapped) {
      identities.set(given, { name, kind, ...(namespace !== undefined && { namespace }) })
    } else {
      // If several tools have one name, the last one is offered.
      identities.delete(given)
    }
  }
  return { upstreamName, identities }
}

function fullName({ name, namespace }: ToolName): string {
  return namespace === undefined || namespace === DEFAULT_NAMESPACE ? name : `${namespace}__${name}`
}
