import { z } from 'zod'
import { imageOfUrl } from '../../answer/conversation.ts'
import type { Conversation, OfferedTool, HistoryEntry, SeenImage } from '../../answer/conversation.ts'
import { isObject } from '../../../../src/json/json.ts'
import { optional } from '../../inference.ts'

const part = z.looseObject({
  type: optional(z.string()),
  text: optional(z.string()),
  image_url: optional(z.string()),
  prompt_cache_breakpoint: optional(z.looseObject({ mode: optional(z.string()) })),
})

const parts = optional(z.union([z.string(), z.array(part)]))

const textItem = z.looseObject({
  type: optional(z.string()),
  role: optional(z.string()),
  id: optional(z.string()),
  content: parts,
  name: optional(z.string()),
  arguments: optional(z.string()),
  input: optional(z.string()),
  call_id: optional(z.string()),
  output: parts,
  summary: optional(z.array(z.looseObject({ text: z.string() }))),
  encrypted_content: optional(z.string()),
})

/** The arguments of a search for tools are an object, those of other calls a text. */
const item = z.preprocess((each) => {
  const isSearch = isObject(each) && each['type'] === 'tool_search_call' && isObject(each['arguments'])
  return isSearch ? { ...each, arguments: JSON.stringify(each['arguments']) } : each
}, textItem)

const innerTool = z.looseObject({
  type: z.string(),
  name: optional(z.string()),
  parameters: z.unknown().optional(),
  strict: optional(z.boolean()),
})

export const responsesTool = innerTool.extend({
  tools: optional(z.array(innerTool)),
  filters: optional(z.looseObject({ allowed_domains: optional(z.array(z.string())) })),
})

const toolChoice = z.union([z.string(), z.looseObject({ type: z.string(), name: optional(z.string()) })])

const format = z.looseObject({ type: z.string(), name: optional(z.string()), schema: z.unknown().optional() })

/** Body of `POST /responses`, as far as the demo reads it (docs/copilot-wire.md, "Responses requests"). */
export const responsesRequest = z.looseObject({
  model: z.string(),
  input: optional(z.union([z.string(), z.array(item)])),
  instructions: optional(z.string()),
  stream: optional(z.boolean()),
  store: optional(z.boolean()),
  background: optional(z.boolean()),
  previous_response_id: optional(z.string()),
  tools: optional(z.array(responsesTool)),
  tool_choice: optional(toolChoice),
  parallel_tool_calls: optional(z.boolean()),
  max_output_tokens: optional(z.number()),
  temperature: optional(z.number()),
  top_p: optional(z.number()),
  reasoning: optional(z.looseObject({ effort: optional(z.string()), summary: optional(z.string()) })),
  include: optional(z.array(z.string())),
  text: optional(z.looseObject({ format: optional(format), verbosity: optional(z.string()) })),
})
export type ResponsesRequest = z.infer<typeof responsesRequest>
export type InputItem = z.infer<typeof item>
export type InputPart = z.infer<typeof part>
export type ResponsesTool = NonNullable<ResponsesRequest['tools']>[number]

/** The input as items. A string becomes a user message. */
export function itemsOf({ input = [] }: ResponsesRequest): readonly InputItem[] {
  return typeof input === 'string' ? [{ role: 'user', content: input }] : input
}

/** The type of an item; `message` for an item that has only a role. */
export function typeOf({ type, role }: InputItem): string {
  return type ?? (role === undefined ? '' : 'message')
}

export function partsOf(content: InputItem['content']): readonly InputPart[] {
  return typeof content === 'string' ? [{ type: 'input_text', text: content }] : (content ?? [])
}

/** Tools that the client runs, including those of namespaces. */
export function clientTools({ tools = [] }: ResponsesRequest): readonly OfferedTool[] {
  return tools.flatMap((each) =>
    each.type === 'namespace'
      ? (each.tools ?? []).flatMap((inner) => offered(inner, each.name))
      : offered(each, undefined),
  )
}

/** The facts about a model that are read here. */
interface Reasoner {
  readonly efforts: readonly string[]
}

/** The requested effort, otherwise the default; `none` for models that do not reason. */
export function effortOf({ reasoning }: ResponsesRequest, { efforts }: Reasoner): string {
  return efforts.length === 0 ? 'none' : (reasoning?.effort ?? 'medium')
}

export function responsesConversation(request: ResponsesRequest, model: Reasoner): Conversation {
  const { tool_choice: choice = 'auto', tools = [] } = request
  const named = typeof choice === 'object' ? choice.name : undefined
  return {
    history: itemsOf(request).flatMap(entriesOf),
    tools: clientTools(request),
    hasWebSearch: tools.some((each) => each.type.startsWith('web_search')),
    searchOnly: searchOnlyIn(tools),
    choice: named !== undefined ? { name: named } : choice === 'none' || choice === 'required' ? choice : 'auto',
    isParallel: request.parallel_tool_calls !== false,
    maxOutput: request.max_output_tokens ?? Number.POSITIVE_INFINITY,
    stop: [],
    format: formatOf(request),
    thinks: effortOf(request, model) === 'none' ? 'never' : 'if asked',
    promptTokens: countTokens(request),
  }
}

function searchOnlyIn(tools: NonNullable<ResponsesRequest['tools']>): Conversation['searchOnly'] {
  const [tool, ...others] = tools
  if (tool === undefined || others.length > 0 || !tool.type.startsWith('web_search')) return undefined
  return { domains: tool.filters?.allowed_domains ?? [] }
}

function offered({ type, name, parameters }: z.infer<typeof innerTool>, namespace: string | undefined): OfferedTool[] {
  if (name === undefined || (type !== 'function' && type !== 'custom')) return []
  return [{ kind: type, name, namespace, schema: parameters ?? undefined }]
}

function entriesOf(each: InputItem): readonly HistoryEntry[] {
  switch (typeOf(each)) {
    case 'message':
      return entriesOfMessage(each)
    // Of another agent of Codex CLI; an encrypted part has no text.
    case 'agent_message':
      return entriesOfMessage({ ...each, role: 'user' })
    case 'function_call':
    case 'custom_tool_call':
    case 'web_search_call':
      return [{ by: 'assistant', hasOpaque: false }]
    case 'reasoning':
      return [{ by: 'assistant', hasOpaque: each.encrypted_content !== undefined }]
    case 'function_call_output':
    case 'custom_tool_call_output': {
      const given = partsOf(each.output)
      return [{ by: 'tool', text: given.map(({ text }) => text ?? '').join(''), images: given.flatMap(imagesIn) }]
    }
    default:
      return []
  }
}

function entriesOfMessage({ role, content: given }: InputItem): readonly HistoryEntry[] {
  if (role === 'assistant') return [{ by: 'assistant', hasOpaque: false }]
  if (role !== 'user') return []
  return partsOf(given).flatMap((each): readonly HistoryEntry[] =>
    each.text === undefined
      ? imagesIn(each).map((image) => ({ by: 'user', image }))
      : [{ by: 'user', text: each.text }],
  )
}

function imagesIn({ image_url: url }: InputPart): readonly SeenImage[] {
  return url === undefined ? [] : [imageOfUrl(url)]
}

function formatOf({ text }: ResponsesRequest): Conversation['format'] {
  if (text?.format?.type === 'json_schema') return { type: 'json_schema', schema: text.format.schema ?? {} }
  return text?.format?.type === 'json_object' ? { type: 'json_object' } : undefined
}

/** A rough estimate: four characters of texts, calls and results per token. */
function countTokens(request: ResponsesRequest): number {
  const characters = itemsOf(request).reduce(
    (sum, each) =>
      sum +
      textLength(each.content) +
      textLength(each.output) +
      (each.arguments?.length ?? 0) +
      (each.input?.length ?? 0),
    request.instructions?.length ?? 0,
  )
  return Math.ceil(characters / 4)
}

function textLength(given: InputItem['content']): number {
  if (typeof given === 'string') return given.length
  return (given ?? []).reduce((sum, { text }) => sum + (text?.length ?? 0), 0)
}
