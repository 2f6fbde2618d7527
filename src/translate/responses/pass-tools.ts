import type { EncodeContext } from '../dialect.ts'
import { refuseValue } from '../parts/invalid.ts'
import { isObject, type JsonObject } from '../parts/is-object.ts'
import { isLegalName } from '../prepare/short-name.ts'
import { normaliseSchema } from '../prepare/tool-schema.ts'
import type { Warning } from '../warning.ts'
import { isWebSearchType } from './check-tools.ts'
import { isRefusedTool, NO_CUSTOM_TOOLS, NO_NAMESPACES } from './lessons.ts'
import { isCopilot } from './model-habits.ts'

/** Characters in the name of a tool. */
const LONGEST_NAME = 64

/** Upstream takes the name as it is. Names that are no text are upstream's to refuse. */
export function isPassableName(name: unknown): boolean {
  return typeof name !== 'string' || isLegalName(name, LONGEST_NAME)
}

/** Whether the tools reach upstream as they are; if not, only a translation can give the reply their names back. */
export function arePassable(tools: unknown, lessons: ReadonlySet<string>): boolean {
  if (!Array.isArray(tools)) return true
  return tools.every((tool: unknown) => !isObject(tool) || isPassable(tool, lessons))
}

function isPassable({ type, name, tools }: JsonObject, lessons: ReadonlySet<string>): boolean {
  switch (type) {
    case 'function':
      return isPassableName(name)
    case 'custom':
      return isPassableName(name) && !lessons.has(NO_CUSTOM_TOOLS)
    case 'namespace':
      return isPassableName(name) && !lessons.has(NO_NAMESPACES) && arePassable(tools, lessons)
    default:
      return true
  }
}

/**
 * Clients offer it with every request; Copilot: `The requested tool image_generation is not supported.`
 * (caozhiyuan/copilot-api#206)
 */
const neverTakenByCopilot: ReadonlySet<string> = new Set(['image_generation'])

/** A tool by the name under which upstream's refusals are remembered. */
export function wireKind(type: string): string {
  return isWebSearchType(type) ? 'web_search' : type
}

function isTaken(type: unknown, context: EncodeContext): boolean {
  if (typeof type !== 'string') return true
  return !(neverTakenByCopilot.has(type) && isCopilot(context)) && !isRefusedTool(wireKind(type), context.lessons)
}

/**
 * The tools without those that upstream cannot run; the very array where all stay.
 *
 * @param path of the list, as warnings name it
 */
export function passTools(
  tools: readonly JsonObject[],
  path: string,
  context: EncodeContext,
  warnings: Warning[],
): readonly JsonObject[] {
  const kept = tools.filter(({ type }, at) => {
    if (isTaken(type, context)) return true
    warnings.push({ code: 'dropped', field: `${path}.${at}`, detail: 'the tool is not available for this model' })
    return false
  })
  const fitted = kept.map((tool, at) => withSchema(tool, `${path}.${at}`, warnings))
  return fitted.length === tools.length && fitted.every((tool, at) => tool === tools[at]) ? tools : fitted
}

/** A function whose parameters upstream takes; the very tool where it takes them as they are. */
export function withSchema(tool: JsonObject, path: string, warnings: Warning[]): JsonObject {
  const { type, parameters } = tool
  if (type !== 'function') return tool
  const { schema, removed } = normaliseSchema(parameters)
  for (const keyword of removed) {
    const detail = `${keyword} is not taken at the top of a tool's parameters`
    warnings.push({ code: 'schema_simplified', field: `${path}.parameters.${keyword}`, detail })
  }
  return isTakenAsParameters(parameters) && removed.length === 0 ? tool : { ...tool, parameters: schema }
}

/** Other members, `$schema` among them, upstream takes or passes over. */
function isTakenAsParameters(parameters: unknown): boolean {
  return isObject(parameters) && parameters['type'] === 'object' && isObject(parameters['properties'])
}

/**
 * `tool_choice` without mention of tools that were left out; undefined where nothing of it is left.
 *
 * @throws Fault `invalid_request` (`unsupported_tool`) where such a tool is the point of the request
 */
export function passToolChoice(choice: unknown, context: EncodeContext): unknown {
  if (!isObject(choice)) return choice
  const { type, tools } = choice
  if (!isTaken(type, context)) {
    refuseValue('tool_choice', 'the tool it names is not available for this model', 'unsupported_tool')
  }
  if (!Array.isArray(tools)) return choice
  const kept = tools.filter((tool: unknown) => !isObject(tool) || isTaken(tool['type'], context))
  if (kept.length === tools.length) return choice
  return kept.length === 0 ? undefined : { ...choice, tools: kept }
}
