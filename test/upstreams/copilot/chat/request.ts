import { z } from 'zod'
import { optional } from '../../inference.ts'
import { imageOfUrl } from '../../answer/conversation.ts'
import type { AnswerFormat, Conversation, HistoryEntry } from '../../answer/conversation.ts'

const part = z.looseObject({
  type: z.string(),
  text: z.string().optional(),
  image_url: z.looseObject({ url: z.string() }).optional(),
})

const call = z.looseObject({
  id: z.string(),
  function: z.looseObject({ name: z.string(), arguments: z.string() }),
})

const message = z.looseObject({
  role: z.enum(['system', 'developer', 'user', 'assistant', 'tool', 'function']),
  content: optional(z.union([z.string(), z.array(part)])),
  tool_calls: optional(z.array(call).min(1)),
  tool_call_id: optional(z.string()),
  reasoning_opaque: optional(z.string()),
})

const toolName = z
  .string()
  .regex(/^[a-zA-Z0-9_-]+$/)
  .max(64)

/** GitHub's CLI sends custom tools to MAI. */
const tool = z.discriminatedUnion('type', [
  z.looseObject({
    type: z.literal('function'),
    function: z.looseObject({ name: toolName, parameters: optional(z.record(z.string(), z.unknown())) }),
  }),
  z.looseObject({ type: z.literal('custom'), custom: z.looseObject({ name: toolName }) }),
])

const toolChoice = z.union([
  z.enum(['auto', 'none', 'required', 'validated']),
  z.looseObject({ function: z.looseObject({ name: z.string() }).optional() }),
])

const responseFormat = z.looseObject({
  type: z.string(),
  json_schema: z.looseObject({ schema: z.record(z.string(), z.unknown()).optional() }).optional(),
})

/** Body of `POST /chat/completions`, as far as the demo reads it (docs/copilot-wire.md, "Parameters by model"). */
export const chatRequest = z.looseObject({
  model: z.string(),
  messages: z.array(message).min(1),
  stream: optional(z.boolean()),
  tools: optional(z.array(tool).min(1)),
  tool_choice: optional(toolChoice),
  max_tokens: optional(z.number().int().positive()),
  max_completion_tokens: optional(z.number().int().positive()),
  temperature: optional(z.number()),
  top_p: optional(z.number()),
  reasoning_effort: optional(z.string()),
  response_format: optional(responseFormat),
  parallel_tool_calls: optional(z.boolean()),
  stop: optional(z.union([z.string(), z.array(z.string())])),
})
export type ChatRequest = z.infer<typeof chatRequest>
export type ChatMessage = ChatRequest['messages'][number]

/** All text of a message; '' for none. */
function textOf({ content }: ChatMessage): string {
  if (typeof content === 'string') return content
  return (content ?? []).map((each) => each.text ?? '').join('')
}

/** URLs of the images of a message. */
export function imagesOf({ content }: ChatMessage): readonly string[] {
  if (typeof content === 'string') return []
  return (content ?? []).flatMap((each) => (each.image_url === undefined ? [] : [each.image_url.url]))
}

/**
 * Converts the request to the dialect-free form. Families that think do so on chat if a marker asks for it, whatever
 * the request says.
 */
export function chatConversation(request: ChatRequest): Conversation {
  const { tools = [], tool_choice: choice = 'auto', stop = [] } = request
  return {
    history: request.messages.flatMap(entriesOf),
    tools: tools.flatMap((each) =>
      each.type === 'function'
        ? [{ kind: 'function' as const, name: each.function.name, schema: each.function.parameters }]
        : [],
    ),
    hasWebSearch: false,
    choice: choiceOf(choice),
    isParallel: request.parallel_tool_calls !== false,
    maxOutput: request.max_completion_tokens ?? request.max_tokens ?? Number.POSITIVE_INFINITY,
    stop: typeof stop === 'string' ? [stop] : stop,
    format: formatOf(request),
    thinks: 'if asked',
    promptTokens: estimateTokens(request),
    callsSoFar: request.messages.reduce((sum, { tool_calls: calls }) => sum + (calls?.length ?? 0), 0),
  }
}

/** `validated` is Gemini's: the model may call a tool, and then fits the call to its schema, as the demo always does. */
function choiceOf(choice: NonNullable<ChatRequest['tool_choice']>): Conversation['choice'] {
  if (choice === 'validated') return 'auto'
  return typeof choice === 'string' ? choice : { name: choice.function?.name ?? '' }
}

function entriesOf(given: ChatMessage): readonly HistoryEntry[] {
  switch (given.role) {
    case 'user':
      return userParts(given)
    case 'assistant':
      return [{ by: 'assistant', hasOpaque: given.reasoning_opaque !== undefined }]
    case 'tool':
    case 'function':
      return [{ by: 'tool', text: textOf(given), images: imagesOf(given).map(imageOfUrl) }]
    case 'system':
    case 'developer':
      return []
  }
}

function userParts({ content = '' }: ChatMessage): readonly HistoryEntry[] {
  if (typeof content === 'string') return [{ by: 'user', text: content }]
  return content.flatMap(({ text, image_url: image }): readonly HistoryEntry[] => [
    ...(text === undefined ? [] : [{ by: 'user' as const, text }]),
    ...(image === undefined ? [] : [{ by: 'user' as const, image: imageOfUrl(image.url) }]),
  ])
}

function formatOf({ response_format: format }: ChatRequest): AnswerFormat | undefined {
  if (format?.type === 'json_schema') return { type: 'json_schema', schema: format.json_schema?.schema ?? {} }
  return format?.type === 'json_object' ? { type: 'json_object' } : undefined
}

/** A rough estimate: four characters per token. */
export function estimateTokens(request: ChatRequest): number {
  const characters = request.messages.reduce((sum, each) => sum + textOf(each).length, 0)
  return Math.ceil(characters / 4)
}
