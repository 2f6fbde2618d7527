import { refuseType, refuseValue } from '../engine/request/invalid.ts'
import { type JsonObject, isObject } from '../../json/json.ts'
import { itemTypeOf } from './items/item.ts'
import { type ResponsesItem, type ResponsesTool, type ResponsesToolChoice, isWebSearchType } from './wire.ts'

/** More than any conversation holds. A body of many small items would take many times its size in memory. */
export const MAX_ITEMS = 250_000

const ROLES = ['user', 'assistant', 'system', 'developer'] as const

type Path = () => string
type Check = (value: unknown, path: Path) => void
/** Members in the order in which they are checked. */
type Members = Readonly<Record<string, Check>>

// Checks stop at the first error. They are many times faster than zod, and the 400 names one path instead of every
// branch of a union.

/** Null means "default". */
function optional(check: Check): Check {
  return (value, path) => {
    if (value !== undefined && value !== null) check(value, path)
  }
}

function ofKind(is: (value: unknown) => boolean, expected: string): Check {
  return (value, path) => {
    if (!is(value)) refuseType(path(), expected, value)
  }
}

function listOf(check: Check, expected: string): Check {
  return (value, path) => {
    if (!Array.isArray(value)) refuseType(path(), expected, value)
    value.forEach((element: unknown, at) => check(element, () => `${path()}[${at}]`))
  }
}

function checkMembers(object: JsonObject, members: Members | undefined, path: Path): void {
  for (const key in members) members[key]?.(object[key], () => `${path()}.${key}`)
}

const isString = (value: unknown): boolean => typeof value === 'string'
const aString = ofKind(isString, 'a string')
const anObject = ofKind(isObject, 'an object')

const aRole: Check = (role, path) => {
  aString(role, path)
  if (!ROLES.some((known) => known === role)) {
    refuseValue(path(), `expected one of ${ROLES.join(', ')}`, 'invalid_value')
  }
}

/** One of several sources is required. The error names the first. */
function checkSource(part: JsonObject, sources: readonly string[], path: Path): void {
  for (const key of [...sources, 'detail', 'filename']) optional(aString)(part[key], () => `${path()}.${key}`)
  if (sources.some((key) => part[key])) return
  refuseType(`${path()}.${sources[0]}`, `one of ${sources.join(', ')}`, part[sources[0] ?? ''])
}

const partMembers: ReadonlyMap<string, Members> = new Map<string, Members>([
  ...['input_text', 'output_text', 'text', 'summary_text', 'reasoning_text'].map(
    (type) => [type, { text: aString }] as const,
  ),
  ['refusal', { refusal: aString }],
])

const partSources: ReadonlyMap<string, readonly string[]> = new Map([
  ['input_image', ['image_url', 'file_id']],
  ['input_file', ['file_data', 'file_url', 'file_id']],
])

const aPart: Check = (part, path) => {
  if (!isObject(part)) refuseType(path(), 'an object with a type', part)
  const { type } = part
  if (typeof type !== 'string') refuseType(`${path()}.type`, 'a type such as input_text', type)
  checkMembers(part, partMembers.get(type), path)
  const sources = partSources.get(type)
  if (sources !== undefined) checkSource(part, sources, path)
}

const parts = listOf(aPart, 'a string or an array of parts')
const content: Check = (value, path) => {
  if (typeof value !== 'string') parts(value, path)
}
const optionalParts = optional(listOf(aPart, 'an array of parts'))

const called = { call_id: aString, name: aString }
const output = { call_id: aString, output: content }
const compaction = { encrypted_content: optional(aString) }

/** Other types pass, because an upstream of this dialect may know them. */
const itemMembers: ReadonlyMap<string, Members> = new Map<string, Members>([
  ['message', { role: aRole, content, phase: optional(aString) }],
  ['agent_message', { content }],
  ['reasoning', { encrypted_content: optional(aString), summary: optionalParts, content: optionalParts }],
  ['function_call', { ...called, arguments: aString, namespace: optional(aString) }],
  ['custom_tool_call', { ...called, input: aString, namespace: optional(aString) }],
  ['function_call_output', output],
  ['custom_tool_call_output', output],
  ['item_reference', { id: aString }],
  ['compaction', compaction],
  ['compaction_summary', compaction],
  ['additional_tools', { tools: checkTools }],
])

/** @throws Fault `invalid_request` */
export function checkInput(input: unknown): asserts input is string | readonly ResponsesItem[] {
  if (typeof input === 'string') return
  if (!Array.isArray(input)) refuseType('input', 'a string or an array of items', input)
  if (input.length > MAX_ITEMS) {
    refuseValue('input', `expected at most ${MAX_ITEMS} items, got ${input.length}`, 'array_above_max_length')
  }
  input.forEach((item: unknown, at) => {
    const path: Path = () => `input[${at}]`
    if (!isObject(item)) refuseType(path(), 'an object with a type', item)
    const type = itemTypeOf(item)
    if (type === undefined) refuseType(`${path()}.type`, 'a type such as message or function_call', item['type'])
    checkMembers(item, itemMembers.get(type), path)
  })
}

const named = {
  name: ofKind((name) => isString(name) && name !== '', 'a non-empty string'),
  description: optional(aString),
}

const filters: Check = (value, path) => {
  if (!isObject(value)) refuseType(path(), 'an object', value)
  const domains = ofKind((list) => Array.isArray(list) && list.every(isString), 'an array of strings')
  checkMembers(value, { allowed_domains: optional(domains) }, path)
}
const search = { filters: optional(filters), user_location: optional(anObject) }

/** Other types are hosted tools, which only the upstream that runs them reads. */
const toolMembers: ReadonlyMap<string, Members> = new Map<string, Members>([
  [
    'function',
    {
      ...named,
      parameters: optional(anObject),
      strict: optional(ofKind((strict) => typeof strict === 'boolean', 'true or false')),
    },
  ],
  ['custom', { ...named, format: optional(ofKind(isObject, 'an object with a type')) }],
  ['namespace', { ...named, tools: listOf(checkInner, 'an array of tools') }],
])

function checkTool(tool: unknown, path: Path): void {
  if (!isObject(tool)) refuseType(path(), 'an object with a type', tool)
  const { type } = tool
  if (typeof type !== 'string') refuseType(`${path()}.type`, 'a type such as function', type)
  checkMembers(tool, isWebSearchType(type) ? search : toolMembers.get(type), path)
}

/** A namespace never contains another namespace, so the depth of a tool is bounded. */
function checkInner(tool: unknown, path: Path): void {
  if (isObject(tool) && tool['type'] === 'namespace') {
    refuseValue(`${path()}.type`, 'expected function or custom', 'invalid_value')
  }
  checkTool(tool, path)
}

/** @throws Fault `invalid_request` */
export function checkTools(tools: unknown, path: Path): asserts tools is readonly ResponsesTool[] {
  listOf(checkTool, 'an array of tools')(tools, path)
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
