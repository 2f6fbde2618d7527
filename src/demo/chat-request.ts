import { z } from 'zod'
import { invalidBody, schemaFailure } from './failures.ts'
import type { Outcome } from './outcome.ts'

/** A key that may be null or absent: both mean undefined here. */
function maybe<Schema extends z.ZodType>(schema: Schema) {
  return schema.nullish().transform((value) => value ?? undefined)
}

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
  content: maybe(z.union([z.string(), z.array(part)])),
  tool_calls: maybe(z.array(call).min(1)),
  tool_call_id: maybe(z.string()),
  reasoning_opaque: maybe(z.string()),
})

const tool = z.looseObject({
  type: z.literal('function'),
  function: z.looseObject({
    name: z
      .string()
      .regex(/^[a-zA-Z0-9_-]+$/)
      .max(64),
    parameters: maybe(z.record(z.string(), z.unknown())),
  }),
})

const toolChoice = z.union([
  z.enum(['auto', 'none', 'required']),
  z.looseObject({ function: z.looseObject({ name: z.string() }).optional() }),
])

const responseFormat = z.looseObject({
  type: z.string(),
  json_schema: z.looseObject({ schema: z.record(z.string(), z.unknown()).optional() }).optional(),
})

/** Body of `POST /chat/completions`, as far as the demo reads it (docs/copilot-wire.md, "Parameters by model"). */
const chatRequest = z.looseObject({
  model: z.string(),
  messages: z.array(message).min(1),
  stream: maybe(z.boolean()),
  tools: maybe(z.array(tool).min(1).max(128)),
  tool_choice: maybe(toolChoice),
  max_tokens: maybe(z.number().int().positive()),
  max_completion_tokens: maybe(z.number().int().positive()),
  temperature: maybe(z.number()),
  top_p: maybe(z.number()),
  reasoning_effort: maybe(z.string()),
  response_format: maybe(responseFormat),
})
export type ChatRequest = z.infer<typeof chatRequest>
export type ChatMessage = ChatRequest['messages'][number]
export type ChatTool = NonNullable<ChatRequest['tools']>[number]

/** The checked body, or the 400 that the real service's schema validation would give. */
export function parseChatRequest(
  text: string,
): { readonly ok: true; readonly value: ChatRequest } | { readonly ok: false; readonly refusal: Outcome } {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return { ok: false, refusal: invalidBody('failed to parse request body') }
  }
  const parsed = chatRequest.safeParse(value)
  if (parsed.success) return { ok: true, value: parsed.data }
  const { reason, path } = describe(parsed.error.issues, value)
  return { ok: false, refusal: schemaFailure(reason, locationOf(path)) }
}

/** All text of a message; '' for none. */
export function textOf({ content }: ChatMessage): string {
  if (typeof content === 'string') return content
  return (content ?? []).map((each) => each.text ?? '').join('')
}

/** URLs of the images of a message. */
export function imagesOf({ content }: ChatMessage): readonly string[] {
  if (typeof content === 'string') return []
  return (content ?? []).flatMap((each) => (each.image_url === undefined ? [] : [each.image_url.url]))
}

/** Rough, as everything here that counts tokens: four characters each. */
export function estimateTokens(request: ChatRequest): number {
  const characters = request.messages.reduce((sum, each) => sum + textOf(each).length, 0)
  return Math.ceil(characters / 4)
}

type Path = readonly PropertyKey[]
type Issues = readonly z.core.$ZodIssue[]

/** The first issue in the validator's words; of a union's branches the one that got furthest. */
function describe(issues: Issues, root: unknown, base: Path = []): { reason: string; path: Path } {
  const [issue] = issues
  if (issue === undefined) return { reason: 'invalid', path: base }
  const path = [...base, ...issue.path]
  if (issue.code === 'invalid_type') return { reason: `got ${kindAt(root, path)}, want ${issue.expected}`, path }
  if (issue.code === 'invalid_union') {
    const branches = issue.errors.map((errors) => describe(errors, root, path))
    const furthest = branches.toSorted((a, b) => b.path.length - a.path.length)[0]
    if (furthest !== undefined) return furthest
  }
  return { reason: issue.message, path }
}

function kindAt(root: unknown, path: Path): string {
  let value = root
  for (const key of path) {
    value = typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined
  }
  if (value === null) return 'null'
  if (value === undefined) return 'nothing'
  return Array.isArray(value) ? 'array' : typeof value
}

/** Path of the offending schema, e.g. `/properties/messages/items/properties/content`. */
function locationOf(path: Path): string {
  return path.map((key) => (typeof key === 'number' ? '/items' : `/properties/${String(key)}`)).join('')
}
