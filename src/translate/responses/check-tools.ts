import { refuseType, refuseValue } from '../parts/invalid.ts'
import { isObject, type JsonObject } from '../parts/is-object.ts'
import type { ResponsesTool, ResponsesToolChoice } from './wire-request.ts'

type Path = () => string
type Check = (tool: JsonObject, path: Path) => void

/** @throws Fault `invalid_request` */
export function checkTools(tools: unknown, path: Path): asserts tools is readonly ResponsesTool[] {
  if (!Array.isArray(tools)) refuseType(path(), 'an array of tools', tools)
  tools.forEach((tool: unknown, at) => checkTool(tool, () => `${path()}[${at}]`))
}

function checkTool(tool: unknown, path: Path): void {
  if (!isObject(tool)) refuseType(path(), 'an object with a type', tool)
  const { type } = tool
  if (typeof type !== 'string') refuseType(`${path()}.type`, 'a type such as function', type)
  // Other types are hosted tools, whose members only their own upstream reads.
  const check = isWebSearchType(type) ? checkSearch : checks.get(type)
  check?.(tool, path)
}

const checks: ReadonlyMap<string, Check> = new Map<string, Check>([
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

/** `web_search`, `web_search_preview` and their dated names. Source: OpenAI API reference, responses, tools, 2026-11. */
export function isWebSearchType(type: string): boolean {
  return type === 'web_search' || type.startsWith('web_search_')
}

/** A namespace holds functions and custom tools, never another namespace: the depth of a tool is bounded. */
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

/** Null means "default", as everywhere in this dialect. */
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
