import { checkLocation, checkLocationType, checkMessageList } from '../engine/request/shared-checks.ts'
import { refuseType, refuseValue } from '../engine/request/invalid.ts'
import { isFilled, isObject, type JsonObject, isGiven } from '../../json/json.ts'
import { MESSAGES_ROLES } from './wire.ts'
import type { KnownBlocks, MessagesBlock, MessagesMessage, MessagesTool } from './wire.ts'

/**
 * Checks `messages` in one pass that stops at the first fault. It does not use zod: there may be 100,000 messages, and
 * its 400 names one field instead of every branch of a union.
 * @throws Fault `invalid_request`
 */
export function checkMessages(messages: unknown): asserts messages is readonly MessagesMessage[] {
  checkMessageList(messages, checkMessage)
}

/** @throws Fault `invalid_request` */
export function checkSystem(system: unknown): asserts system is string | readonly MessagesBlock[] | null | undefined {
  if (isGiven(system)) checkContent(system, () => 'system')
}

function checkMessage(message: unknown, at: number): void {
  const path = (): string => `messages[${at}]`
  if (!isObject(message)) refuseType(path(), 'an object with role and content', message)
  const { role, content } = message
  if (!MESSAGES_ROLES.some((known) => known === role)) {
    if (typeof role !== 'string') refuseType(`${path()}.role`, 'a string', role)
    refuseValue(`${path()}.role`, `expected one of ${MESSAGES_ROLES.join(', ')}`, 'invalid_value')
  }
  if (role === 'system' && !isGiven(content)) return
  checkContent(content, () => `${path()}.content`)
}

function checkContent(content: unknown, path: Path): void {
  if (typeof content === 'string') return
  if (!Array.isArray(content)) refuseType(path(), 'a string or an array of content blocks', content)
  checkBlocks(content, path)
}

function checkBlocks(blocks: readonly unknown[], path: Path): void {
  blocks.forEach((block, at) => checkBlock(block, () => `${path()}[${at}]`))
}

function checkBlock(block: unknown, path: Path): void {
  if (!isObject(block)) refuseType(path(), 'an object with a type', block)
  const { type } = block
  checkString(type, () => `${path()}.type`)
  checkCacheControl(block, path)
  for (const [member, check] of checksOfBlock.get(type) ?? []) check(block[member], () => `${path()}.${member}`)
}

/** Formats the path of a value in the body. Called only for an invalid value. */
type Path = () => string
/** @throws Fault `invalid_request` */
type Check = (value: unknown, path: Path) => void

const checkString: (value: unknown, path: Path) => asserts value is string = (value, path) => {
  if (typeof value !== 'string') refuseType(path(), 'a string', value)
}

const optionalString = optional(checkString)
const optionalBoolean = optional((value, path) => {
  if (typeof value !== 'boolean') refuseType(path(), 'true or false', value)
})
const toolUse = { id: checkString, name: checkString, input: optional(anObject('an object')) }

const blockChecks: { readonly [Type in keyof KnownBlocks]: Readonly<Record<keyof KnownBlocks[Type], Check>> } = {
  text: { text: checkString },
  image: { source: checkSource },
  document: { source: checkSource, title: optionalString, context: optionalString },
  search_result: { source: checkString, title: checkString, content: checkTextBlocks },
  thinking: { thinking: checkString, signature: optionalString },
  redacted_thinking: { data: checkString },
  tool_use: toolUse,
  server_tool_use: toolUse,
  tool_result: { tool_use_id: checkString, content: optional(checkContent), is_error: optionalBoolean },
  tool_reference: { tool_name: checkString },
  tool_addition: { tool: checkToolChange },
  tool_removal: { tool: checkToolChange },
}
const checksOfBlock: ReadonlyMap<string, readonly (readonly [string, Check])[]> = new Map(
  Object.entries(blockChecks).map(([type, checks]) => [type, Object.entries(checks)]),
)

function optional(check: Check): Check {
  return (value, path) => {
    if (isGiven(value)) check(value, path)
  }
}

function anObject(expected: string): Check {
  return (value, path) => {
    if (!isObject(value)) refuseType(path(), expected, value)
  }
}

function checkTextBlocks(content: unknown, path: Path): void {
  if (!Array.isArray(content)) refuseType(path(), 'an array of text blocks', content)
  checkBlocks(content, path)
}

function checkToolChange(tool: unknown, path: Path): void {
  if (!isObject(tool)) refuseType(path(), 'an object with a type', tool)
  const { type, name, definition } = tool
  checkString(type, () => `${path()}.type`)
  optionalString(name, () => `${path()}.name`)
  if (type === 'tool_definition' || isGiven(definition)) checkTool(definition, () => `${path()}.definition`)
}

/** The members that hold the data of images and documents, by the type of the source. */
const sourceMembers: ReadonlyMap<string, readonly string[]> = new Map([
  ['base64', ['media_type', 'data']],
  ['text', ['data']],
  ['url', ['url']],
  ['file', ['file_id']],
])

function checkSource(source: unknown, path: Path): void {
  if (!isObject(source)) refuseType(path(), 'an object with a type', source)
  const { type } = source
  checkString(type, () => `${path()}.type`)
  for (const member of sourceMembers.get(type) ?? []) checkString(source[member], () => `${path()}.${member}`)
  if (type === 'content') checkContent(source['content'], () => `${path()}.content`)
}

/** Anthropic's limit with tool search. Without tool search, upstream enforces its own. */
const MAX_TOOLS = 10_000

/**
 * Stops at the first fault. Unknown types pass.
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

const optionalSchema = optional(anObject('an object that is a JSON schema'))

function checkTool(tool: unknown, path: Path): void {
  if (!isObject(tool)) refuseType(path(), 'an object with name and input_schema', tool)
  const { type, name } = tool
  optionalString(type, () => `${path()}.type`)
  const isOwn = !isGiven(type) || type === 'custom'
  if (isOwn && !isFilled(name)) refuseType(`${path()}.name`, 'the name of the tool', name)
  optionalString(name, () => `${path()}.name`)
  optionalString(tool['description'], () => `${path()}.description`)
  optionalSchema(tool['input_schema'], () => `${path()}.input_schema`)
  optionalBoolean(tool['strict'], () => `${path()}.strict`)
  optionalBoolean(tool['defer_loading'], () => `${path()}.defer_loading`)
  checkCacheControl(tool, path)
  if (typeof type === 'string' && type.startsWith('web_search_')) checkSearch(tool, path())
}

/** Source: Anthropic documentation, web search tool, 2026-11. */
function checkSearch(tool: JsonObject, path: string): void {
  const { max_uses: uses, user_location: location, allowed_domains: allowed, blocked_domains: blocked } = tool
  if (isGiven(uses)) {
    if (typeof uses !== 'number') refuseType(`${path}.max_uses`, 'a whole number above 0', uses)
    if (!Number.isSafeInteger(uses) || uses < 1) {
      refuseValue(`${path}.max_uses`, `expected a whole number above 0, got ${uses}`, 'invalid_value')
    }
  }
  if (isGiven(location)) {
    const at = `${path}.user_location`
    if (!isObject(location)) refuseType(at, 'an object', location)
    checkLocationType(location['type'], at)
    checkLocation(location, at)
  }
  checkDomains(allowed, `${path}.allowed_domains`)
  checkDomains(blocked, `${path}.blocked_domains`)
  if (isFilledList(allowed) && isFilledList(blocked)) {
    refuseValue(`${path}.blocked_domains`, 'expected either allowed_domains or blocked_domains', 'invalid_value')
  }
}

/** A domain with a scheme matches no page, so the search would seem to return nothing. */
function checkDomains(domains: unknown, path: string): void {
  if (!isGiven(domains)) return
  const isList = Array.isArray(domains) && domains.every((domain) => typeof domain === 'string')
  if (!isList) refuseType(path, 'an array of domains', domains)
  const at = domains.findIndex((domain) => !/^[^\s/:]+(?:\/\S*)?$/.test(domain))
  if (at === -1) return
  const detail = 'expected a domain without https://, such as example.com or example.com/blog'
  refuseValue(`${path}[${at}]`, detail, 'invalid_value')
}

function isFilledList(value: unknown): boolean {
  return Array.isArray(value) && value.length > 0
}

function checkCacheControl(marked: JsonObject, path: Path): void {
  const mark = marked['cache_control']
  if (!isGiven(mark)) return
  if (!isObject(mark)) refuseType(`${path()}.cache_control`, 'an object with a type', mark)
  optionalString(mark['type'], () => `${path()}.cache_control.type`)
  optionalString(mark['ttl'], () => `${path()}.cache_control.ttl`)
}
