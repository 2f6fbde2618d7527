import { refuseValue, toFieldPath } from '../parts/invalid.ts'
import { isObject, type JsonObject } from '../parts/is-object.ts'
import { isStrictSchema } from '../parts/strict-schema.ts'
import { isFilled, objectsOf } from '../parts/wire-json.ts'
import { isOfferedAnyway } from '../prepare/prepare-turn.ts'
import type { Warning } from '../warning.ts'
import { isWebSearchType } from './check-tools.ts'
import { itemTypeOf } from './item-types.ts'
import { withSchema } from './pass-tools.ts'

/** Tools the caller runs. */
const callable: ReadonlySet<unknown> = new Set(['function', 'custom', 'namespace'])

function isSearch(type: unknown): boolean {
  return typeof type === 'string' && isWebSearchType(type)
}

function isTaken({ type, execution }: JsonObject): boolean {
  return callable.has(type) || isSearch(type) || (type === 'tool_search' && execution === 'client')
}

/**
 * The tools as the ChatGPT backend takes them: what it cannot run is left out where it is one offer among others.
 *
 * @param path of the list, as warnings name it
 * @throws Fault `invalid_request` (`unsupported_tool`) where such a tool is the point of the request
 */
export function fitChatgptTools(
  tools: readonly JsonObject[],
  path: string,
  choice: unknown,
  warnings: Warning[],
): readonly JsonObject[] {
  const hasCallable = tools.some(({ type }) => callable.has(type))
  return tools.flatMap((tool, at) => {
    const place = `${path}.${at}`
    if (isTaken(tool)) return [fitTool(tool, place, warnings)]
    const type = String(tool['type'])
    if (!hasCallable || choice === 'required' || !isOfferedAnyway(type)) {
      refuseValue(`${toFieldPath(place)}.type`, 'this upstream does not run tools of this type', 'unsupported_tool')
    }
    warnings.push({ code: 'dropped', field: place, detail: 'the tool is not available for this model' })
    return []
  })
}

function fitTool(tool: JsonObject, place: string, warnings: Warning[]): JsonObject {
  const { type, tools } = tool
  if (type === 'function') return withStrict(withSchema(tool, place, warnings), place, warnings)
  if (type === 'namespace' && Array.isArray(tools)) {
    const fitted = tools.map((inner: unknown, at) =>
      isObject(inner) ? fitTool(inner, `${place}.tools.${at}`, warnings) : inner,
    )
    return fitted.every((inner, at) => inner === tools[at]) ? tool : { ...tool, tools: fitted }
  }
  return isSearch(type) && type !== 'web_search' ? { ...tool, type: 'web_search' } : tool
}

/** What the absence of `strict` means differs between the surfaces of the API. */
function withStrict(tool: JsonObject, place: string, warnings: Warning[]): JsonObject {
  const { strict, parameters } = tool
  if (strict === false || (strict === true && isStrictSchema(parameters))) return tool
  if (strict === true) {
    warnings.push({ code: 'dropped', field: `${place}.strict`, detail: 'the schema is not one that strict mode takes' })
  }
  return { ...tool, strict: false }
}

/**
 * `tool_choice` where there are tools. The backend: `Tool choice … not found in 'tools' parameter`.
 *
 * @param offered the tools that stay, those among the items included
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
  const found = offered.some((tool) => (isFilled(name) ? tool['name'] === name : tool['type'] === type))
  if (!found) refuseValue('tool_choice', 'it names a tool that is not among the tools', 'invalid_value')
  return mention
}

/** Every tool a request offers, those of namespaces and those that come as items included. */
export function offeredTools(tools: unknown, input: unknown): readonly JsonObject[] {
  const brought = objectsOf(input).flatMap((item) => (bearers.has(itemTypeOf(item)) ? objectsOf(item['tools']) : []))
  const outer = [...objectsOf(tools), ...brought]
  return [...outer, ...outer.flatMap((tool) => objectsOf(tool['tools']))]
}

/** Items that bring tools. */
const bearers: ReadonlySet<string | undefined> = new Set(['additional_tools', 'tool_search_output'])

/**
 * A request in the lite form, as Codex CLI may write it, in the usual one: tools that stand at the top of the input are
 * the request's tools. The two forms must not be mixed (docs/codex-wire.md, "Lite form"). The very value for others.
 */
export function inUsualForm<Value extends JsonObject>(value: Value): Value | (Omit<Value, 'input'> & JsonObject) {
  const { input, tools } = value
  const [first, ...rest]: readonly unknown[] = Array.isArray(input) ? input : []
  if (!isObject(first) || itemTypeOf(first) !== 'additional_tools' || !Array.isArray(first['tools'])) return value
  return { ...value, tools: [...(Array.isArray(tools) ? tools : []), ...first['tools']], input: rest }
}
