import { z } from 'zod'
import { imageOfBase64 } from '../conversation.ts'
import type { Conversation, Said, SeenImage } from '../conversation.ts'
import { invalidBody } from '../failures.ts'
import { firstIssue } from '../first-issue.ts'
import { maybe } from '../maybe.ts'
import type { Outcome } from '../outcome.ts'
import { countTokens } from './count-tokens.ts'

const innerBlock = z.looseObject({
  type: z.string(),
  text: maybe(z.string()),
  thinking: maybe(z.string()),
  signature: maybe(z.string()),
  data: maybe(z.string()),
  id: maybe(z.string()),
  name: maybe(z.string()),
  input: z.unknown().optional(),
  tool_use_id: maybe(z.string()),
  tool_name: maybe(z.string()),
  source: maybe(
    z.union([z.string(), z.looseObject({ type: z.string(), media_type: maybe(z.string()), data: maybe(z.string()) })]),
  ),
  cache_control: maybe(z.looseObject({ type: z.string() })),
})

const block = innerBlock.extend({ content: maybe(z.union([z.string(), z.array(innerBlock)])) })

const message = z.looseObject({
  role: z.string(),
  content: z.union([z.string(), z.array(block)]),
})

const tool = z.looseObject({
  type: maybe(z.string()),
  name: z.string(),
  input_schema: z.unknown().optional(),
  defer_loading: maybe(z.boolean()),
  cache_control: maybe(z.looseObject({ type: z.string() })),
})

/** Body of `POST /v1/messages`, as far as the demo reads it (docs/copilot-wire.md, "Messages requests"). */
const messagesRequest = z.looseObject({
  model: z.string(),
  messages: z.array(message),
  system: maybe(z.union([z.string(), z.array(innerBlock)])),
  max_tokens: maybe(z.number()),
  stream: maybe(z.boolean()),
  tools: maybe(z.array(tool)),
  tool_choice: maybe(
    z.looseObject({ type: z.string(), name: maybe(z.string()), disable_parallel_tool_use: maybe(z.boolean()) }),
  ),
  thinking: maybe(z.looseObject({ type: z.string(), budget_tokens: maybe(z.number()), display: maybe(z.string()) })),
  output_config: maybe(
    z.looseObject({
      effort: maybe(z.string()),
      format: maybe(z.looseObject({ type: z.string(), schema: z.unknown().optional() })),
    }),
  ),
  context_management: maybe(z.looseObject({})),
  stop_sequences: maybe(z.array(z.string())),
  temperature: maybe(z.number()),
  top_p: maybe(z.number()),
  top_k: maybe(z.number()),
})
export type MessagesRequest = z.infer<typeof messagesRequest>
export type MessagesMessage = MessagesRequest['messages'][number]
export type MessagesTool = NonNullable<MessagesRequest['tools']>[number]
export type Block = z.infer<typeof block>
type InnerBlock = z.infer<typeof innerBlock>

/** The checked body, or the 400 of Anthropic's validation. */
export function parseMessagesRequest(
  text: string,
): { readonly ok: true; readonly value: MessagesRequest } | { readonly ok: false; readonly refusal: Outcome } {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return { ok: false, refusal: invalidBody('failed to parse request body') }
  }
  const parsed = messagesRequest.safeParse(value)
  if (parsed.success) return { ok: true, value: parsed.data }
  const { path, got, want } = firstIssue(parsed.error.issues, value)
  const words = got === 'nothing' ? 'Field required' : `Input should be a valid ${KINDS.get(want ?? '') ?? 'value'}`
  return { ok: false, refusal: invalidBody(`${path.map(String).join('.')}: ${words}`) }
}

/** Pydantic's names for JSON's kinds. */
const KINDS: ReadonlyMap<string, string> = new Map([
  ['string', 'string'],
  ['number', 'number'],
  ['boolean', 'boolean'],
  ['array', 'list'],
  ['object', 'dictionary'],
])

export function blocksOf({ content }: MessagesMessage): readonly Block[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : content
}

/** Tools the model calls for the client to run: all but the searches for tools, and those that none has found yet. */
export function messagesConversation(request: MessagesRequest): Conversation {
  const { tools = [], tool_choice: choice, thinking, output_config: config } = request
  const found = foundTools(request)
  return {
    history: request.messages.flatMap(saidIn),
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

/** Names of the held-back tools that the client's own search has put into a result. */
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

function saidIn(given: MessagesMessage): readonly Said[] {
  const blocks = blocksOf(given)
  if (given.role === 'assistant') {
    return [{ by: 'assistant', hasOpaque: blocks.some(({ type }) => type.endsWith('thinking')) }]
  }
  return given.role === 'user' ? blocks.flatMap(saidInBlock) : []
}

function saidInBlock(each: Block): readonly Said[] {
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
