import { checkMessageList } from '../parts/check-message-list.ts'
import { refuseType, refuseValue } from '../parts/invalid.ts'
import { isObject, type JsonObject } from '../parts/is-object.ts'
import { checkTool } from './check-tools.ts'
import { checkCacheControl, checkOptionalString, checkString, type Path } from './check-values.ts'
import {
  MESSAGES_ROLES,
  type KnownBlocks,
  type MessagesBlock,
  type MessagesMessage,
  type MessagesRole,
} from './wire-request.ts'

/**
 * Checks `messages` in one pass that stops at the first fault. By hand and not by zod: there may be 100,000 of them, and
 * the 400 names one place instead of every branch of a union.
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

/** Where the data of images and documents is, by the type of the source. */
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
