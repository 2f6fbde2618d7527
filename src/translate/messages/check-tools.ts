import { checkLocation, checkLocationType } from '../parts/check-location.ts'
import { refuseType, refuseValue } from '../parts/invalid.ts'
import { isObject, type JsonObject } from '../parts/is-object.ts'
import { checkCacheControl, checkOptionalString, type Path } from './check-values.ts'
import type { MessagesTool } from './wire-request.ts'

/** Anthropic's own limit with tool search; without it, upstream knows best how many it takes. */
const MAX_TOOLS = 10_000

/**
 * Checks `tools`; types we do not know pass. Stops at the first fault.
 * @throws Fault `invalid_request`
 */
export function checkTools(tools: unknown): asserts tools is readonly MessagesTool[] | null | undefined {
  if (tools === undefined || tools === null) return
  if (!Array.isArray(tools)) refuseType('tools', 'an array of tools', tools)
  if (tools.length > MAX_TOOLS) {
    refuseValue('tools', `expected at most ${MAX_TOOLS} tools, got ${tools.length}`, 'array_above_max_length')
  }
  tools.forEach((tool: unknown, at) => checkTool(tool, () => `tools[${at}]`))
}

/** @throws Fault `invalid_request` */
export function checkTool(tool: unknown, path: Path): void {
  if (!isObject(tool)) refuseType(path(), 'an object with name and input_schema', tool)
  const { type, name, strict, defer_loading: deferLoading, input_schema: schema } = tool
  checkOptionalString(type, () => `${path()}.type`)
  const isOwn = type === undefined || type === null || type === 'custom'
  if (isOwn && (typeof name !== 'string' || name === '')) refuseType(`${path()}.name`, 'the name of the tool', name)
  checkOptionalString(name, () => `${path()}.name`)
  checkOptionalString(tool['description'], () => `${path()}.description`)
  if (schema !== undefined && schema !== null && !isObject(schema)) {
    refuseType(`${path()}.input_schema`, 'an object that is a JSON schema', schema)
  }
  checkOptionalBoolean(strict, () => `${path()}.strict`)
  checkOptionalBoolean(deferLoading, () => `${path()}.defer_loading`)
  checkCacheControl(tool, path)
  if (typeof type === 'string' && type.startsWith('web_search_')) checkSearch(tool, path)
}

/** Source: Anthropic documentation, web search tool, 2026-11. */
function checkSearch(tool: JsonObject, path: Path): void {
  const { max_uses: uses, user_location: location, allowed_domains: allowed, blocked_domains: blocked } = tool
  if (isStated(uses)) {
    if (typeof uses !== 'number') refuseType(`${path()}.max_uses`, 'a whole number above 0', uses)
    if (!Number.isSafeInteger(uses) || uses < 1) {
      refuseValue(`${path()}.max_uses`, `expected a whole number above 0, got ${uses}`, 'invalid_value')
    }
  }
  if (isStated(location)) {
    const at = `${path()}.user_location`
    if (!isObject(location)) refuseType(at, 'an object', location)
    checkLocationType(location['type'], at)
    checkLocation(location, at)
  }
  for (const [member, domains] of Object.entries({ allowed_domains: allowed, blocked_domains: blocked })) {
    const isList = Array.isArray(domains) && domains.every((domain) => typeof domain === 'string')
    if (isStated(domains) && !isList) refuseType(`${path()}.${member}`, 'an array of domains', domains)
    if (isList) checkDomains(domains, `${path()}.${member}`)
  }
  if (isFilledList(allowed) && isFilledList(blocked)) {
    refuseValue(`${path()}.blocked_domains`, 'expected either allowed_domains or blocked_domains', 'invalid_value')
  }
}

/** With a scheme it would match no page, and the search would seem to find nothing. */
function checkDomains(domains: readonly string[], path: string): void {
  const at = domains.findIndex((domain) => !/^[^\s/:]+(?:\/\S*)?$/.test(domain))
  if (at === -1) return
  refuseValue(
    `${path}[${at}]`,
    'expected a domain without https://, such as example.com or example.com/blog',
    'invalid_value',
  )
}

function isStated(value: unknown): boolean {
  return value !== undefined && value !== null
}

function isFilledList(value: unknown): boolean {
  return Array.isArray(value) && value.length > 0
}

function checkOptionalBoolean(value: unknown, path: Path): void {
  if (value !== undefined && value !== null && typeof value !== 'boolean') refuseType(path(), 'true or false', value)
}
