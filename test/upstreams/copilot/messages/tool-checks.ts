import { failure, invalidBody } from '../failures.ts'
import type { InferenceSubject } from '../../inference.ts'
import type { Outcome } from '../../http/outcome.ts'
import type { MessagesRequest, MessagesTool } from './request.ts'
import { betasOf } from '../../refusals.ts'
import { extraInput, fieldRequired, unknownTag } from './refusals.ts'

type Subject = InferenceSubject<MessagesRequest>

export const ADVANCED_TOOLS = 'advanced-tool-use-2025-11-20'

const TYPES = [
  'custom',
  'bash_20250124',
  'text_editor_20250124',
  'text_editor_20250429',
  'text_editor_20250728',
  'memory_20250818',
  'tool_search_tool_regex_20251119',
  'tool_search_tool_bm25_20251119',
]

const KEYS = new Set(['type', 'name', 'description', 'input_schema', 'cache_control', 'strict'])
/** Keys that need the beta for advanced tool use. */
const ADVANCED_KEYS = new Set(['defer_loading', 'allowed_callers', 'input_examples'])

const NAME = /^[a-zA-Z0-9_-]{1,128}$/

export function checkTools(subject: Subject): Outcome | undefined {
  const tools = subject.request.tools ?? []
  for (const [at, tool] of tools.entries()) {
    const refusal = refuseTool(tool, `tools.${at}`, subject)
    if (refusal !== undefined) return refusal
  }
  return new Set(tools.map(({ name }) => name)).size < tools.length
    ? invalidBody('tools: Tool names must be unique.')
    : undefined
}

function refuseTool(tool: MessagesTool, path: string, { call }: Subject): Outcome | undefined {
  const { type = 'custom', name, input_schema: schema } = tool
  if (type.startsWith('web_search_')) {
    return failure(400, { message: 'The use of the web search tool is not supported.', code: 'unsupported_value' })
  }
  if (!TYPES.includes(type)) return unknownTag(path, type, TYPES)
  const isAdvanced = betasOf(call).includes(ADVANCED_TOOLS)
  if (type.startsWith('tool_search')) return isAdvanced ? undefined : unknownTag(path, type, TYPES.slice(0, -2))
  if (type !== 'custom') return undefined
  const extra = Object.keys(tool).find(
    (key) => tool[key] !== undefined && !KEYS.has(key) && !(isAdvanced && ADVANCED_KEYS.has(key)),
  )
  if (extra !== undefined) return extraInput(`${path}.custom.${extra}`)
  if (name === '') return invalidBody(`${path}.custom.name: String should have at least 1 character`)
  if (!NAME.test(name)) return invalidBody(`${path}.custom.name: String should match pattern '${NAME.source}'`)
  return refuseSchema(schema, `${path}.custom.input_schema`)
}

function refuseSchema(schema: unknown, path: string): Outcome | undefined {
  if (schema === undefined) return fieldRequired(path)
  if (typeof schema !== 'object' || schema === null) return invalidBody(`${path}: Input should be a valid dictionary`)
  const type: unknown = Reflect.get(schema, 'type')
  if (type === undefined) return fieldRequired(`${path}.type`)
  return type === 'object' ? undefined : invalidBody(`${path}.type: Input should be 'object'`)
}

const CHOICES = ['any', 'auto', 'none', 'tool']

export function checkToolChoice({ request: { tool_choice: choice, tools = [] } }: Subject): Outcome | undefined {
  if (choice === undefined) return undefined
  if (!CHOICES.includes(choice.type)) return unknownTag('tool_choice', choice.type, CHOICES)
  if (tools.length === 0) return invalidBody('tool_choice: may only be specified while providing tools')
  return choice.type === 'tool' && !tools.some(({ name }) => name === choice.name)
    ? invalidBody(`Tool '${choice.name}' not found in provided tools`)
    : undefined
}
