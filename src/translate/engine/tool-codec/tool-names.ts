import type { ToolIdentity } from '../reply-effects.ts'
import { distinctName, shortName } from '../ids.ts'
import type { ToolName } from '../../turn.ts'
import type { Warning } from '../../warning.ts'

/** The namespace of Codex's own tools, which their upstream names leave out. */
const DEFAULT_NAMESPACE = 'functions'

/** The tool names that an upstream takes: letters, digits, `_` and `-`. */
export interface NameForm {
  /** Characters. */
  readonly longest: number
  /** The first is a letter or `_`. */
  readonly beginsWithLetter?: boolean
}

const LETTER = /^[A-Za-z_]/

/** The names of one request's tools, in both directions. */
export interface ToolNames {
  /** The name under which upstream knows a tool, the same at every call. */
  readonly upstreamName: (tool: ToolName) => string
  /** The caller's tools whose name or kind differs upstream, by upstream name. */
  readonly identities: ReadonlyMap<string, ToolIdentity>
}

/**
 * @param tools the offered tools; they get their names first, before tools that only the history mentions
 * @param form undefined for any name, so that tools only leave their namespaces
 * @param wrapsCustom whether upstream gets freeform (`custom`) tools as functions
 */
export function createToolNames(
  tools: readonly ToolIdentity[],
  form: NameForm | undefined,
  wrapsCustom: boolean,
): ToolNames {
  const { longest = Infinity, beginsWithLetter = false } = form ?? {}
  const byTool = new Map<string, string>()
  const identities = new Map<string, ToolIdentity>()
  const taken = new Map<string, string>()

  function upstreamName(tool: ToolName): string {
    const full = fullName(tool)
    const key = isOfProxy(tool) ? `${full} of copilot-proxy` : full
    const known = byTool.get(key)
    if (known !== undefined) return known
    const begun = beginsWithLetter && !LETTER.test(full) ? `_${full}` : full
    let name = form === undefined ? full : shortName(begun, longest)
    if (taken.has(name)) name = distinctName(begun, longest)
    byTool.set(key, name)
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

/** The name of a tool outside its namespace. */
export function fullName(tool: ToolName): string {
  const { name, namespace } = tool
  const isAlone = namespace === undefined || namespace === DEFAULT_NAMESPACE || isOfProxy(tool)
  return isAlone ? name : `${namespace}__${name}`
}

/** No namespace of a caller is empty, so a tool that stands for something else is never one of the caller's. */
function isOfProxy({ namespace }: ToolName): boolean {
  return namespace === ''
}

/**
 * Keeps the last of several tools with one name, to which the reply restores the caller's name.
 * @param nameOf undefined for a tool that the model does not call by a name
 * @param field the caller's name for a tool
 */
export function keepLast<Tool>(
  tools: readonly Tool[],
  nameOf: (tool: Tool) => unknown,
  field: (tool: Tool, at: number) => string,
  warnings: Warning[],
): readonly Tool[] {
  const last = new Map(tools.map((tool, at) => [nameOf(tool), at]))
  return tools.filter((tool, at) => {
    const name = nameOf(tool)
    if (name === undefined || last.get(name) === at) return true
    warnings.push({ code: 'duplicate_tool_dropped', field: field(tool, at), detail: 'another tool has the same name' })
    return false
  })
}
