import { z } from 'zod'
import { imageOfBase64 } from '../../answer/conversation.ts'
import type { Conversation, HistoryEntry, SeenImage } from '../../answer/conversation.ts'
import { optional } from '../../inference.ts'

const innerBlock = z.looseObject({
  type: z.string(),
  text: optional(z.string()),
  thinking: optional(z.string()),
  signature: optional(z.string()),
  data: optional(z.string()),
  id: optional(z.string()),
  name: optional(z.string()),
  input: z.unknown().optional(),
  tool_use_id: optional(z.string()),
  tool_name: optional(z.string()),
  source: optional(
    z.union([
      z.string(),
      z.looseObject({ type: z.string(), media_type: optional(z.string()), data: optional(z.string()) }),
    ]),
  ),
  cache_control: optional(z.looseObject({ type: z.string() })),
})

const block = innerBlock.extend({ content: optional(z.union([z.string(), z.array(innerBlock)])) })

const message = z.looseObject({
  role: z.string(),
  content: z.union([z.string(), z.array(block)]),
})

const tool = z.looseObject({
  type: optional(z.string()),
  name: z.string(),
  input_schema: z.unknown().optional(),
  defer_loading: optional(z.boolean()),
  cache_control: optional(z.looseObject({ type: z.string() })),
})

/** Body of `POST /v1/messages`, as far as the demo reads it (docs/copilot-wire.md, "Messages requests"). */
export const messagesRequest = z.looseObject({
  model: z.string(),
  messages: z.array(message),
  system: optional(z.union([z.string(), z.array(innerBlock)])),
  max_tokens: optional(z.number()),
  stream: optional(z.boolean()),
  tools: optional(z.array(tool)),
  tool_choice: optional(
    z.looseObject({ type: z.string(), name: optional(z.string()), disable_parallel_tool_use: optional(z.boolean()) }),
  ),
  thinking: optional(
    z.looseObject({ type: z.string(), budget_tokens: optional(z.number()), display: optional(z.string()) }),
  ),
  output_config: optional(
    z.looseObject({
      effort: optional(z.string()),
      format: optional(z.looseObject({ type: z.string(), schema: z.unknown().optional() })),
    }),
  ),
  context_management: optional(z.looseObject({})),
  stop_sequences: optional(z.array(z.string())),
  temperature: optional(z.number()),
  top_p: optional(z.number()),
  top_k: optional(z.number()),
})
export type MessagesRequest = z.infer<typeof messagesRequest>
export type MessagesMessage = MessagesRequest['messages'][number]
export type MessagesTool = NonNullable<MessagesRequest['tools']>[number]
export type Block = z.infer<typeof block>
type InnerBlock = z.infer<typeof innerBlock>

export function blocksOf({ content }: MessagesMessage): readonly Block[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : content
}

/**
 * Converts the request to the dialect-free form. Its tools exclude tool searches, and deferred tools that no search has
 * found yet.
 */
export function messagesConversation(request: MessagesRequest): Conversation {
  const { tools = [], tool_choice: choice, thinking, output_config: config } = request
  const found = foundTools(request)
  return {
    history: request.messages.flatMap(entriesOf),
    tools: tools
      .filter((each) => each.defer_loading !== true || found.has(each.name))
      .filter((each) => !(each.type ?? '').startsWith('tool_search'))
      .map(({ name, input_schema: schema }) => ({ kind: 'function', name, schema })),
    hasWebSearch: false,
    choice: choiceOf(choice),
    isParallel: choice?.disable_parallel_tool_use !== true,
    maxOutput: request.max_tokens ?? Number.POSITIVE_INFINITY,
    stop: request.stop_sequences ?? [],
    format: config?.format === undefined ? undefined : { type: 'json_schema', schema: config.format.schema },
    thinks: thinking?.type === 'enabled' ? 'always' : thinking?.type === 'adaptive' ? 'if asked' : 'never',
    promptTokens: countTokens(request),
  }
}

/** Names of deferred tools that the results of the client's own tool search refer to. */
function foundTools({ messages }: MessagesRequest): ReadonlySet<string | undefined> {
  const results = messages.flatMap(blocksOf).flatMap(({ content }) => (Array.isArray(content) ? content : []))
  return new Set(results.filter(({ type }) => type === 'tool_reference').map((each) => each.tool_name))
}

function choiceOf(choice: MessagesRequest['tool_choice']): Conversation['choice'] {
  switch (choice?.type) {
    case 'any':
      return 'required'
    case 'none':
      return 'none'
    case 'tool':
      return { name: choice.name ?? '' }
    default:
      return 'auto'
  }
}

function entriesOf(given: MessagesMessage): readonly HistoryEntry[] {
  const blocks = blocksOf(given)
  if (given.role === 'assistant') {
    return [{ by: 'assistant', hasOpaque: blocks.some(({ type }) => type.endsWith('thinking')) }]
  }
  return given.role === 'user' ? blocks.flatMap(entriesOfBlock) : []
}

function entriesOfBlock(each: Block): readonly HistoryEntry[] {
  switch (each.type) {
    case 'text':
      return [{ by: 'user', text: each.text ?? '' }]
    case 'image':
      return imagesIn(each).map((image) => ({ by: 'user', image }))
    case 'tool_result': {
      const inner: readonly InnerBlock[] =
        typeof each.content === 'string' ? [{ type: 'text', text: each.content }] : (each.content ?? [])
      return [{ by: 'tool', text: inner.map(({ text }) => text ?? '').join(''), images: inner.flatMap(imagesIn) }]
    }
    default:
      return []
  }
}

function imagesIn({ type, source }: InnerBlock): readonly SeenImage[] {
  if (type !== 'image' || typeof source !== 'object') return []
  return [imageOfBase64(source.media_type ?? 'an image', source.data ?? '')]
}

/** The members that a token count reads. */
interface Counted {
  readonly system?: unknown
  readonly messages: readonly { readonly content: unknown }[]
  readonly tools?: readonly unknown[] | undefined
}

/** Tokens of an image or a document of any size. */
const PER_FILE = 1500

/** Additional tokens of a message or a tool. */
const PER_ENTRY = 3

/**
 * Counts the tokens of a request: four characters of text per token, and a fixed number per file. `count_tokens` and
 * the usage of an answer use the same count.
 */
export function countTokens({ system, messages, tools = [] }: Counted): number {
  const characters = textLength(system) + messages.reduce((sum, { content }) => sum + textLength(content), 0)
  const schemas = tools.reduce((sum: number, each) => sum + JSON.stringify(each).length, 0)
  return Math.ceil((characters + schemas) / 4) + PER_ENTRY * (messages.length + tools.length)
}

/** Length of the texts, thoughts, arguments and results in a message. Characters. */
function textLength(content: unknown): number {
  if (typeof content === 'string') return content.length
  if (!Array.isArray(content)) return 0
  return content.reduce((sum: number, each: unknown) => sum + blockLength(each), 0)
}

function blockLength(given: unknown): number {
  if (typeof given !== 'object' || given === null) return 0
  const fields = new Map<string, unknown>(Object.entries(given))
  switch (fields.get('type')) {
    case 'image':
    case 'document':
      return PER_FILE * 4
    case 'tool_use':
      return JSON.stringify(fields.get('input') ?? {}).length
    default:
      return textLength(fields.get('text')) + textLength(fields.get('thinking')) + textLength(fields.get('content'))
  }
}
