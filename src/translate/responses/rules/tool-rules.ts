import type { EncodeContext } from '../../dialect.ts'
import { createToolFitter, type ToolFitter } from '../../engine/tool-codec/fit-tools.ts'
import { fieldOf } from '../../engine/origin.ts'
import { refuseValue, toFieldPath } from '../../engine/request/invalid.ts'
import { isFilled, isObject, type JsonObject, objectsOf } from '../../../json/json.ts'
import { isStrictSchema } from '../../engine/schema/json-schema.ts'
import { isOfferedAnyway } from '../../engine/tool-codec/prepare-turn.ts'
import { modelFamily } from '../../engine/model-family.ts'
import type { Warning } from '../../warning.ts'
import { itemTypeOf } from '../items/item.ts'
import { isWebSearchType } from '../wire.ts'
import { isRefusedTool, NO_REFUSED_CHOICE, wireKind } from './learned-refusals.ts'
import { isChatgpt, isCopilot } from './model-profile.ts'

/**
 * Clients offer this tool with every request. Copilot answers `The requested tool image_generation is not supported.`
 * (caozhiyuan/copilot-api#206)
 */
const neverTakenByCopilot: ReadonlySet<string> = new Set(['image_generation'])

function isTaken(type: unknown, context: EncodeContext): boolean {
  if (typeof type !== 'string') return true
  return (
    !(neverTakenByCopilot.has(type) && isCopilot(context)) && !isRefusedTool(wireKind(type), context.learnedRefusals)
  )
}

interface ListScope {
  /** Of the list, in warnings. */
  readonly path: string
  /** `tool_choice`. */
  readonly choice: unknown
  readonly context: EncodeContext
  readonly warnings: Warning[]
}

/**
 * Returns each tool in the form that upstream accepts, the same tool if nothing changes. Undefined for one that is left out: a
 * tool that this model does not have, or that the ChatGPT backend cannot run and clients offer routinely.
 *
 * @throws Fault `invalid_request` (`unsupported_tool`) if the request requires such a tool
 */
export function fitToolList(
  tools: readonly unknown[],
  { path, choice, context, warnings }: ListScope,
): readonly (JsonObject | undefined)[] {
  const hasCallable = objectsOf(tools).some(({ type }) => callable.has(type))
  const fitter = fitterOf(context)
  const fitted = tools.map((tool, at) => {
    if (!isObject(tool)) return undefined
    const field = fieldOf(tool, path, at)
    const isOptional = hasCallable && choice !== 'required' && isOfferedAnyway(String(tool['type']))
    const usual = isChatgpt(context) ? forChatgpt(tool, field, isOptional, warnings) : tool
    if (usual === undefined || !isTaken(usual['type'], context)) {
      warnings.push({ code: 'dropped', field, detail: 'the tool is not available for this model' })
      return undefined
    }
    return withDescription(withSchema(usual, field, fitter))
  })
  warnings.push(...fitter.warnings())
  return fitted
}

/**
 * Returns the namespace with a description, without which upstream refuses it; the same tool if nothing changes. Codex
 * CLI sends its own namespace with an empty one (docs/copilot-wire.md, "Responses requests").
 */
function withDescription(tool: JsonObject): JsonObject {
  const { type, name, description } = tool
  if (type !== 'namespace' || isFilled(description)) return tool
  return { ...tool, description: `Tools of the namespace ${String(name)}.` }
}

/** Returns the tools of a search that the client ran; the same array if nothing changes. */
export function passFoundTools(
  tools: readonly unknown[],
  path: string,
  context: EncodeContext,
  warnings: Warning[],
): readonly unknown[] {
  const fitter = fitterOf(context)
  const fitted = tools.map((tool, at) =>
    isObject(tool) ? withDescription(withSchema(tool, `${path}.${at}`, fitter)) : tool,
  )
  warnings.push(...fitter.warnings())
  return fitted.every((tool, at) => tool === tools[at]) ? tools : fitted
}

/** Returns the tool with parameters that the model takes, also inside a namespace; the same tool if nothing changes. */
function withSchema(tool: JsonObject, path: string, fitter: ToolFitter): JsonObject {
  const { type, parameters, tools } = tool
  if (type === 'namespace' && Array.isArray(tools)) {
    const fitted = tools.map((inner: unknown, at) =>
      isObject(inner) ? withSchema(inner, `${path}.tools.${at}`, fitter) : inner,
    )
    return fitted.every((inner, at) => inner === tools[at]) ? tool : { ...tool, tools: fitted }
  }
  if (type !== 'function') return tool
  const fitted = fitter.fit(parameters, `${path}.parameters`)
  return fitted === parameters ? tool : { ...tool, parameters: fitted }
}

function fitterOf({ model }: EncodeContext): ToolFitter {
  return createToolFitter({ gemini: modelFamily(model).kind === 'gemini', messages: false })
}

/**
 * Returns `tool_choice` without dropped tools; undefined if no tool is left.
 *
 * @throws Fault `invalid_request` (`unsupported_tool`) if it names such a tool
 */
export function passToolChoice(choice: unknown, context: EncodeContext): unknown {
  if (!isObject(choice)) return choice
  const { type, tools } = choice
  if (!isTaken(type, context)) {
    if (context.learnedRefusals.has(NO_REFUSED_CHOICE)) return undefined
    refuseValue('tool_choice', 'the named tool is not available for this model', 'unsupported_tool')
  }
  if (!Array.isArray(tools)) return choice
  const kept = tools.filter((tool: unknown) => !isObject(tool) || isTaken(tool['type'], context))
  if (kept.length === tools.length) return choice
  return kept.length === 0 ? undefined : { ...choice, tools: kept }
}

/** Tools that the caller runs. */
const callable: ReadonlySet<unknown> = new Set(['function', 'custom', 'namespace'])

function isSearch(type: unknown): boolean {
  return typeof type === 'string' && isWebSearchType(type)
}

function isTakenByChatgpt({ type, execution }: JsonObject): boolean {
  return callable.has(type) || isSearch(type) || (type === 'tool_search' && execution === 'client')
}

/** @throws Fault `invalid_request` (`unsupported_tool`) for a tool that the backend cannot run and that is not optional */
function forChatgpt(tool: JsonObject, field: string, isOptional: boolean, warnings: Warning[]): JsonObject | undefined {
  if (isTakenByChatgpt(tool)) return fitTool(tool, field, warnings)
  if (isOptional) return undefined
  return refuseValue(`${toFieldPath(field)}.type`, 'this provider does not run tools of this type', 'unsupported_tool')
}

function fitTool(tool: JsonObject, toolPath: string, warnings: Warning[]): JsonObject {
  const { type, tools } = tool
  if (type === 'function') return withStrict(tool, toolPath, warnings)
  if (type === 'namespace' && Array.isArray(tools)) {
    const fitted = tools.map((inner: unknown, at) =>
      isObject(inner) ? fitTool(inner, `${toolPath}.tools.${at}`, warnings) : inner,
    )
    return fitted.every((inner, at) => inner === tools[at]) ? tool : { ...tool, tools: fitted }
  }
  return isSearch(type) && type !== 'web_search' ? { ...tool, type: 'web_search' } : tool
}

/** Always states `strict`, because its default differs between the endpoints of the API. */
function withStrict(tool: JsonObject, toolPath: string, warnings: Warning[]): JsonObject {
  const { strict, parameters } = tool
  if (strict === false || (strict === true && isStrictSchema(parameters))) return tool
  if (strict === true) {
    warnings.push({
      code: 'dropped',
      field: `${toolPath}.strict`,
      detail: 'the schema does not fit strict mode',
    })
  }
  return { ...tool, strict: false }
}

/**
 * The backend refuses other choices: `Tool choice … not found in 'tools' parameter`.
 *
 * @param offered all tools of the request, those among the items included
 * @throws Fault `invalid_request` for a tool that is not offered
 */
export function fitChatgptChoice(choice: unknown, offered: readonly JsonObject[]): unknown {
  if (!isObject(choice)) return choice
  const { type, tools } = choice
  if (type !== 'allowed_tools') return isSearch(type) ? fitMention(choice, offered) : checked(choice, offered)
  return Array.isArray(tools)
    ? { ...choice, tools: tools.map((tool: unknown) => (isObject(tool) ? fitMention(tool, offered) : tool)) }
    : choice
}

function fitMention(mention: JsonObject, offered: readonly JsonObject[]): JsonObject {
  return checked(isSearch(mention['type']) ? { ...mention, type: 'web_search' } : mention, offered)
}

function checked(mention: JsonObject, offered: readonly JsonObject[]): JsonObject {
  const { type, name } = mention
  const isOffered = offered.some((tool) => (isFilled(name) ? tool['name'] === name : tool['type'] === type))
  if (!isOffered) refuseValue('tool_choice', 'the request has no tool of this name', 'invalid_value')
  return mention
}

/** Every tool of a request, including those in namespaces and in items. */
export function offeredTools(tools: unknown, input: unknown): readonly JsonObject[] {
  const brought = objectsOf(input).flatMap((item) => (bearers.has(itemTypeOf(item)) ? objectsOf(item['tools']) : []))
  const outer = [...objectsOf(tools), ...brought]
  return [...outer, ...outer.flatMap((tool) => objectsOf(tool['tools']))]
}

/** Items that contain tools. */
const bearers: ReadonlySet<string | undefined> = new Set(['additional_tools', 'tool_search_output'])

export function bringsTools(input: unknown): boolean {
  return objectsOf(input).some((item) => bearers.has(itemTypeOf(item)))
}

/**
 * Converts a request that Codex CLI wrote in the lite form to the usual form: `additional_tools` at the top of the input
 * become `tools`. The two forms must not be mixed (docs/codex-wire.md, "Lite form"). Others return as they are.
 */
export function inUsualForm<Value extends JsonObject>(value: Value): Value | (Omit<Value, 'input'> & JsonObject) {
  const { input, tools } = value
  const [first, ...items]: readonly unknown[] = Array.isArray(input) ? input : []
  if (!isObject(first) || itemTypeOf(first) !== 'additional_tools' || !Array.isArray(first['tools'])) return value
  return { ...value, tools: [...(Array.isArray(tools) ? tools : []), ...first['tools']], input: items }
}
