import { checkLocation, checkLocationType, checkMessageList } from '../../parts/shared-checks.ts'
import { refuseType, refuseValue } from '../../parts/invalid.ts'
import { isObject } from '../../parts/json.ts'
import type { JsonObject } from '../../parts/json.ts'
import { MESSAGES_ROLES } from '../wire.ts'
import type { KnownBlocks, MessagesBlock, MessagesMessage, MessagesRole, MessagesTool } from '../wire.ts'

/**
 * Checks `messages` in one pass that stops at the first fault. By hand and not by zod: there may be 100,000 of them,
 * and the 400 names one field instead of every branch of a union.
 * @throws Fault `invalid_request`
 */
export function checkMessages(messages: unknown): asserts messages is readonly MessagesMessage[] {
  checkMessageList(messages, checkMessage)
}

/** @throws Fault `invalid_request` */
export function checkSystem(system: unknown): asserts system is string | readonly MessagesBlock[] | null | undefined {
  if (system !== undefined && system !== null) checkContent(system, () => 'system')
}

function checkMessage(message: unknown, at: number): void {
  const path = (): string => `messages[${at}]`
  if (!isObject(message)) refuseType(path(), 'an object with role and content', message)
  const { role, content } = message
  if (!isRole(role)) {
    if (typeof role !== 'string') refuseType(`${path()}.role`, 'a string', role)
    refuseValue(`${path()}.role`, `expected one of ${MESSAGES_ROLES.join(', ')}`, 'invalid_value')
  }
  if (role === 'system' && (content === undefined || content === null)) return
  checkContent(content, () => `${path()}.content`)
}

function checkContent(content: unknown, path: Path): void {
  if (typeof content === 'string') return
  if (!Array.isArray(content)) refuseType(path(), 'a string or an array of content blocks', content)
  checkBlocks(content, path)
}

function checkOptionalContent(content: unknown, path: Path): void {
  if (content !== undefined && content !== null) checkContent(content, path)
}

function checkBlocks(blocks: readonly unknown[], path: Path): void {
  blocks.forEach((block, at) => checkBlock(block, () => `${path()}[${at}]`))
}

function checkBlock(block: unknown, path: Path): void {
  if (!isObject(block)) refuseType(path(), 'an object with a type', block)
  checkString(block['type'], () => `${path()}.type`)
  checkCacheControl(block, path)
  if (isKnown(block['type'])) checkMembers[block['type']](block, path)
}

const checkMembers: Readonly<Record<keyof KnownBlocks, (block: JsonObject, path: Path) => void>> = {
  text: (block, path) => checkString(block['text'], () => `${path()}.text`),
  image: (block, path) => checkSource(block['source'], () => `${path()}.source`),
  document(block, path) {
    checkSource(block['source'], () => `${path()}.source`)
    checkOptionalString(block['title'], () => `${path()}.title`)
    checkOptionalString(block['context'], () => `${path()}.context`)
  },
  search_result(block, path) {
    checkString(block['source'], () => `${path()}.source`)
    checkString(block['title'], () => `${path()}.title`)
    if (!Array.isArray(block['content'])) refuseType(`${path()}.content`, 'an array of text blocks', block['content'])
    checkBlocks(block['content'], () => `${path()}.content`)
  },
  thinking(block, path) {
    checkString(block['thinking'], () => `${path()}.thinking`)
    checkOptionalString(block['signature'], () => `${path()}.signature`)
  },
  redacted_thinking: (block, path) => checkString(block['data'], () => `${path()}.data`),
  tool_use: checkToolUse,
  server_tool_use: checkToolUse,
  tool_result(block, path) {
    checkString(block['tool_use_id'], () => `${path()}.tool_use_id`)
    checkOptionalContent(block['content'], () => `${path()}.content`)
    const isError = block['is_error']
    if (isError !== undefined && isError !== null && typeof isError !== 'boolean') {
      refuseType(`${path()}.is_error`, 'true or false', isError)
    }
  },
  tool_reference: (block, path) => checkString(block['tool_name'], () => `${path()}.tool_name`),
  tool_addition: checkToolChange,
  tool_removal: checkToolChange,
}

function checkToolUse(block: JsonObject, path: Path): void {
  checkString(block['id'], () => `${path()}.id`)
  checkString(block['name'], () => `${path()}.name`)
  const { input } = block
  if (input !== undefined && input !== null && !isObject(input)) refuseType(`${path()}.input`, 'an object', input)
}

function checkToolChange(block: JsonObject, path: Path): void {
  const { tool } = block
  if (!isObject(tool)) refuseType(`${path()}.tool`, 'an object with a type', tool)
  checkString(tool['type'], () => `${path()}.tool.type`)
  checkOptionalString(tool['name'], () => `${path()}.tool.name`)
  const { definition } = tool
  if (tool['type'] === 'tool_definition' || (definition !== undefined && definition !== null)) {
    checkTool(definition, () => `${path()}.tool.definition`)
  }
}

/** The members that hold the data of images and documents, by the type of the source. */
const sourceMembers: Readonly<Record<string, readonly string[]>> = {
  base64: ['media_type', 'data'],
  text: ['data'],
  url: ['url'],
  file: ['file_id'],
}

function checkSource(source: unknown, path: Path): void {
  if (!isObject(source)) refuseType(path(), 'an object with a type', source)
  const { type } = source
  checkString(type, () => `${path()}.type`)
  const required = Object.hasOwn(sourceMembers, type) ? (sourceMembers[type] ?? []) : []
  for (const member of required) checkString(source[member], () => `${path()}.${member}`)
  if (type === 'content') checkContent(source['content'], () => `${path()}.content`)
}

function isRole(role: unknown): role is MessagesRole {
  return MESSAGES_ROLES.some((known) => known === role)
}

function isKnown(type: string): type is keyof KnownBlocks {
  return Object.hasOwn(checkMembers, type)
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

/** @throws Fault `invalid_request` */
function checkTool(tool: unknown, path: Path): void {
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

/** A domain with a scheme matches no page, and the search would seem to find nothing. */
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

/** Names a value in the body; called only for a value that is wrong. */
type Path = () => string

function checkString(value: unknown, path: Path): asserts value is string {
  if (typeof value !== 'string') refuseType(path(), 'a string', value)
}

function checkOptionalString(value: unknown, path: Path): void {
  if (value !== undefined && value !== null) checkString(value, path)
}

function checkCacheControl(marked: JsonObject, path: Path): void {
  const mark = marked['cache_control']
  if (mark === undefined || mark === null) return
  if (!isObject(mark)) refuseType(`${path()}.cache_control`, 'an object with a type', mark)
  checkOptionalString(mark['type'], () => `${path()}.cache_control.type`)
  checkOptionalString(mark['ttl'], () => `${path()}.cache_control.ttl`)
}
