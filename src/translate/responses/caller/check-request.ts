import { refuseType, refuseValue } from '../../parts/invalid.ts'
import { type JsonObject, isObject } from '../../parts/json.ts'
import { itemTypeOf } from '../items.ts'
import { type ResponsesItem, type ResponsesTool, type ResponsesToolChoice, isWebSearchType } from '../wire.ts'

/** More than any conversation holds: a body of small items would take many times its size in memory. */
export const MAX_ITEMS = 250_000

const ROLES = ['user', 'assistant', 'system', 'developer'] as const

type Path = () => string
type Check = (item: JsonObject, path: Path) => void

/**
 * Checks `input` in one pass that stops at the first fault. It is many times faster than zod, and the 400 names one path
 * instead of every branch of a union.
 *
 * @throws Fault `invalid_request`
 */
export function checkInput(input: unknown): asserts input is string | readonly ResponsesItem[] {
  if (typeof input === 'string') return
  if (!Array.isArray(input)) refuseType('input', 'a string or an array of items', input)
  if (input.length > MAX_ITEMS) {
    refuseValue('input', `expected at most ${MAX_ITEMS} items, got ${input.length}`, 'array_above_max_length')
  }
  input.forEach(checkItem)
}

function checkItem(item: unknown, at: number): void {
  const path: Path = () => `input[${at}]`
  if (!isObject(item)) refuseType(path(), 'an object with a type', item)
  const type = itemTypeOf(item)
  if (type === undefined) refuseType(`${path()}.type`, 'a type such as message or function_call', item['type'])
  // Other types pass: an upstream of this dialect may know them.
  checks.get(type)?.(item, path)
}

const checks: ReadonlyMap<string, Check> = new Map<string, Check>([
  ['message', checkMessage],
  ['reasoning', checkReasoning],
  ['function_call', strings('call_id', 'name', 'arguments')],
  ['custom_tool_call', strings('call_id', 'name', 'input')],
  ['function_call_output', checkOutput],
  ['custom_tool_call_output', checkOutput],
  ['item_reference', strings('id')],
  ['compaction', checkCompaction],
  ['compaction_summary', checkCompaction],
  ['additional_tools', (item, path) => checkTools(item['tools'], () => `${path()}.tools`)],
])

function strings(...keys: readonly string[]): Check {
  return (item, path) => {
    for (const key of keys) checkString(item[key], () => `${path()}.${key}`)
    checkOptionalString(item['namespace'], () => `${path()}.namespace`)
  }
}

function checkMessage(message: JsonObject, path: Path): void {
  const { role, content } = message
  if (!ROLES.some((known) => known === role)) {
    if (typeof role !== 'string') refuseType(`${path()}.role`, 'a string', role)
    refuseValue(`${path()}.role`, `expected one of ${ROLES.join(', ')}`, 'invalid_value')
  }
  checkContent(content, () => `${path()}.content`)
  checkOptionalString(message['phase'], () => `${path()}.phase`)
}

function checkOutput(item: JsonObject, path: Path): void {
  checkString(item['call_id'], () => `${path()}.call_id`)
  checkContent(item['output'], () => `${path()}.output`)
}

function checkContent(content: unknown, path: Path): void {
  if (typeof content === 'string') return
  if (!Array.isArray(content)) refuseType(path(), 'a string or an array of parts', content)
  checkParts(content, path)
}

function checkReasoning(item: JsonObject, path: Path): void {
  checkOptionalString(item['encrypted_content'], () => `${path()}.encrypted_content`)
  for (const key of ['summary', 'content']) {
    const parts = item[key]
    if (parts === undefined || parts === null) continue
    if (!Array.isArray(parts)) refuseType(`${path()}.${key}`, 'an array of parts', parts)
    checkParts(parts, () => `${path()}.${key}`)
  }
}

function checkCompaction(item: JsonObject, path: Path): void {
  checkOptionalString(item['encrypted_content'], () => `${path()}.encrypted_content`)
}

function checkParts(parts: readonly unknown[], path: Path): void {
  parts.forEach((part, at) => checkPart(part, () => `${path()}[${at}]`))
}

function checkPart(part: unknown, path: Path): void {
  if (!isObject(part)) refuseType(path(), 'an object with a type', part)
  const { type } = part
  if (typeof type !== 'string') refuseType(`${path()}.type`, 'a type such as input_text', type)
  payloads.get(type)?.(part, path)
}

const payloads: ReadonlyMap<string, Check> = new Map<string, Check>([
  ['input_text', checkText],
  ['output_text', checkText],
  ['text', checkText],
  ['summary_text', checkText],
  ['reasoning_text', checkText],
  ['refusal', (part, path) => checkString(part['refusal'], () => `${path()}.refusal`)],
  ['input_image', oneOf('image_url', 'file_id')],
  ['input_file', oneOf('file_data', 'file_url', 'file_id')],
])

function checkText(part: JsonObject, path: Path): void {
  checkString(part['text'], () => `${path()}.text`)
}

/** One of several sources is required; the error names the first. */
function oneOf(...keys: readonly [string, ...string[]]): Check {
  return (part, path) => {
    for (const key of [...keys, 'detail', 'filename']) checkOptionalString(part[key], () => `${path()}.${key}`)
    if (keys.some((key) => part[key])) return
    refuseType(`${path()}.${keys[0]}`, `one of ${keys.join(', ')}`, part[keys[0]])
  }
}

function checkString(value: unknown, path: Path): void {
  if (typeof value !== 'string') refuseType(path(), 'a string', value)
}

function checkOptionalString(value: unknown, path: Path): void {
  if (value !== undefined && value !== null) checkString(value, path)
}

/** @throws Fault `invalid_request` */
export function checkTools(tools: unknown, path: Path): asserts tools is readonly ResponsesTool[] {
  if (!Array.isArray(tools)) refuseType(path(), 'an array of tools', tools)
  tools.forEach((tool: unknown, at) => checkTool(tool, () => `${path()}[${at}]`))
}

function checkTool(tool: unknown, path: Path): void {
  if (!isObject(tool)) refuseType(path(), 'an object with a type', tool)
  const { type } = tool
  if (typeof type !== 'string') refuseType(`${path()}.type`, 'a type such as function', type)
  // Other types are hosted tools, which only their own upstream reads.
  const check = isWebSearchType(type) ? checkSearch : toolChecks.get(type)
  check?.(tool, path)
}

const toolChecks: ReadonlyMap<string, Check> = new Map<string, Check>([
  [
    'function',
    (tool, path) => {
      checkNamed(tool, path)
      optional(isObject, 'an object', tool['parameters'], () => `${path()}.parameters`)
      optional(isBoolean, 'true or false', tool['strict'], () => `${path()}.strict`)
    },
  ],
  [
    'custom',
    (tool, path) => {
      checkNamed(tool, path)
      optional(isObject, 'an object with a type', tool['format'], () => `${path()}.format`)
    },
  ],
  [
    'namespace',
    (tool, path) => {
      checkNamed(tool, path)
      const { tools } = tool
      if (!Array.isArray(tools)) refuseType(`${path()}.tools`, 'an array of tools', tools)
      tools.forEach((inner: unknown, at) => checkInner(inner, () => `${path()}.tools[${at}]`))
    },
  ],
])

/** A namespace never holds another namespace, so the depth of a tool is bounded. */
function checkInner(tool: unknown, path: Path): void {
  if (isObject(tool) && tool['type'] === 'namespace') {
    refuseValue(`${path()}.type`, 'expected function or custom', 'invalid_value')
  }
  checkTool(tool, path)
}

function checkNamed(tool: JsonObject, path: Path): void {
  const { name, description } = tool
  if (typeof name !== 'string' || name === '') refuseType(`${path()}.name`, 'a non-empty string', name)
  optional(isString, 'a string', description, () => `${path()}.description`)
}

function checkSearch(tool: JsonObject, path: Path): void {
  const { filters, user_location } = tool
  optional(isObject, 'an object', filters, () => `${path()}.filters`)
  optional(isObject, 'an object', user_location, () => `${path()}.user_location`)
  if (!isObject(filters)) return
  optional(isStringList, 'an array of strings', filters['allowed_domains'], () => `${path()}.filters.allowed_domains`)
}

/** @throws Fault `invalid_request` */
export function checkToolChoice(choice: unknown): asserts choice is ResponsesToolChoice | null | undefined {
  if (choice === undefined || choice === null) return
  if (choice === 'none' || choice === 'auto' || choice === 'required') return
  if (!isObject(choice) || typeof choice['type'] !== 'string') {
    refuseType('tool_choice', '"none", "auto", "required" or an object that names a tool', choice)
  }
  const { type, name, mode, tools } = choice
  if (type === 'function' || type === 'custom') {
    if (typeof name !== 'string') refuseType('tool_choice.name', 'the name of a tool', name)
  } else if (type === 'allowed_tools') {
    if (mode !== 'auto' && mode !== 'required') refuseType('tool_choice.mode', '"auto" or "required"', mode)
    if (!Array.isArray(tools)) refuseType('tool_choice.tools', 'an array of tools', tools)
    const at = tools.findIndex((tool) => !isObject(tool))
    if (at !== -1) refuseType(`tool_choice.tools[${at}]`, 'an object that names a tool', tools[at])
  }
}

/** Null means "default". */
function optional(is: (value: unknown) => boolean, expected: string, value: unknown, path: Path): void {
  if (value !== undefined && value !== null && !is(value)) refuseType(path(), expected, value)
}

function isString(value: unknown): boolean {
  return typeof value === 'string'
}

function isBoolean(value: unknown): boolean {
  return typeof value === 'boolean'
}

function isStringList(value: unknown): boolean {
  return Array.isArray(value) && value.every(isString)
}
