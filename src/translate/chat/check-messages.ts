import { isObject, type JsonObject } from '../../json/json.ts'
import {
  CHAT_ROLES,
  type ChatMessage,
  type ChatRole,
  isPartType,
  PART_TYPES,
  type PartType,
  partTypeOf,
} from './wire.ts'
import { checkMessageList } from '../engine/request/shared-checks.ts'
import { refuseType, refuseValue } from '../engine/request/invalid.ts'

/**
 * Checks `messages` in one pass that stops at the first error. It does not use zod: for 100,000 messages it takes about
 * 1 ms and zod 35 to 80 ms, and its 400 names one path instead of every branch of a union.
 * @throws Fault `invalid_request`
 */
export function checkMessages(messages: unknown): asserts messages is readonly ChatMessage[] {
  checkMessageList(messages, checkMessage)
}

function checkMessage(message: unknown, at: number): void {
  const path = (): string => `messages[${at}]`
  if (!isObject(message)) refuseType(path(), 'an object with role and content', message)
  const role = message['role']
  if (!isRole(role)) {
    if (typeof role !== 'string') refuseType(`${path()}.role`, 'a string', role)
    refuseValue(`${path()}.role`, `expected one of ${CHAT_ROLES.join(', ')}`, 'invalid_value')
  }
  checkContent(message['content'], role === 'assistant' || role === 'function', path)
  checkOptionalString(message['name'], () => `${path()}.name`)
  if (role === 'assistant') checkCalls(message, path)
  if (role === 'tool') checkString(message['tool_call_id'], () => `${path()}.tool_call_id`)
  if (role === 'function') checkString(message['name'], () => `${path()}.name`)
}

function checkContent(content: unknown, mayBeEmpty: boolean, path: () => string): void {
  if (typeof content === 'string') return
  if (Array.isArray(content)) {
    content.forEach((part: unknown, at) => checkPart(part, () => `${path()}.content[${at}]`))
    return
  }
  if (mayBeEmpty && (content === null || content === undefined)) return
  refuseType(`${path()}.content`, 'a string or an array of parts', content)
}

function checkPart(part: unknown, path: () => string): void {
  if (!isObject(part)) refuseType(path(), 'an object with a type', part)
  if (part['type'] !== undefined && part['type'] !== null && typeof part['type'] !== 'string') {
    refuseType(`${path()}.type`, 'a string', part['type'])
  }
  const type = partTypeOf(part)
  if (type === undefined) refuseType(`${path()}.type`, `a type such as ${PART_TYPES.join(', ')}`, undefined)
  if (isPartType(type)) checkPayload[type](part[type], () => `${path()}.${type}`)
}

const checkPayload: Readonly<Record<PartType, (payload: unknown, path: () => string) => void>> = {
  text: checkString,
  refusal: checkString,
  image_url: (image, path) => {
    if (!isObject(image)) refuseType(path(), 'an object with a url', image)
    checkString(image['url'], () => `${path()}.url`)
    if (image['url'] === '') refuseType(`${path()}.url`, 'a data: or https: URL', '')
    checkOptionalString(image['detail'], () => `${path()}.detail`)
  },
  input_audio: (audio, path) => {
    if (!isObject(audio)) refuseType(path(), 'an object with data and format', audio)
    checkString(audio['data'], () => `${path()}.data`)
    checkString(audio['format'], () => `${path()}.format`)
  },
  file: (file, path) => {
    if (!isObject(file)) refuseType(path(), 'an object with file_data or file_id', file)
    for (const key of ['filename', 'file_data', 'file_id']) checkOptionalString(file[key], () => `${path()}.${key}`)
  },
}

function checkCalls(message: JsonObject, path: () => string): void {
  const calls = message['tool_calls']
  if (calls !== undefined && calls !== null) {
    if (!Array.isArray(calls)) refuseType(`${path()}.tool_calls`, 'an array of tool calls', calls)
    calls.forEach((call: unknown, at) => checkCall(call, () => `${path()}.tool_calls[${at}]`))
  }
  const legacy = message['function_call']
  if (legacy !== undefined && legacy !== null) {
    checkFunctionCall(legacy, () => `${path()}.function_call`)
  }
}

function checkCall(call: unknown, path: () => string): void {
  if (!isObject(call)) refuseType(path(), 'an object with id and function', call)
  checkString(call['id'], () => `${path()}.id`)
  checkOptionalString(call['type'], () => `${path()}.type`)
  if (call['type'] !== 'custom') {
    checkFunctionCall(call['function'], () => `${path()}.function`)
    return
  }
  if (!isObject(call['custom'])) refuseType(`${path()}.custom`, 'an object with name and input', call['custom'])
  checkString(call['custom']['name'], () => `${path()}.custom.name`)
  checkString(call['custom']['input'], () => `${path()}.custom.input`)
}

function checkFunctionCall(call: unknown, path: () => string): void {
  if (!isObject(call)) refuseType(path(), 'an object with name and arguments', call)
  checkString(call['name'], () => `${path()}.name`)
  if (typeof call['arguments'] !== 'string') {
    refuseType(`${path()}.arguments`, 'a string of JSON', call['arguments'])
  }
}

function checkString(value: unknown, path: () => string): void {
  if (typeof value !== 'string') refuseType(path(), 'a string', value)
}

function checkOptionalString(value: unknown, path: () => string): void {
  if (value !== undefined && value !== null) checkString(value, path)
}

function isRole(role: unknown): role is ChatRole {
  return CHAT_ROLES.some((known) => known === role)
}
