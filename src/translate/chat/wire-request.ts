import { z } from 'zod'
import type { CallerRequest } from '../dialect.ts'
import { isObject, type JsonObject } from '../parts/is-object.ts'
import type { JsonObjectBytes, Member } from '../parts/json-members.ts'

// The `error` of every schema completes the sentence "expected …" of the 400.
const aString = z.string('a string')
const aNumber = z.number('a number')
const anInteger = z.int('an integer')
const aBoolean = z.boolean('true or false')
// Looked at from outside: `z.looseObject` walks and copies every member.
const anObject = z.custom<JsonObject>(isObject, 'an object')

const namedFunction = z.object({ name: aString }, 'an object with the name of a function')

/** One entry of `tools`. Types we do not know pass. Source: OpenAI API reference, chat completions, 2026-08. */
const tool = z
  .object(
    {
      type: aString,
      function: z
        .object(
          {
            name: aString,
            description: aString.nullish(),
            parameters: anObject.nullish(),
            strict: aBoolean.nullish(),
          },
          'an object that describes the function',
        )
        .optional(),
      custom: z.object({ name: aString }, 'an object that describes the tool').optional(),
    },
    'an object with type and function',
  )
  .refine((value) => value.type !== 'function' || value.function !== undefined, {
    path: ['function'],
    error: 'an object that describes the function',
  })
  .refine((value) => value.type !== 'custom' || value.custom !== undefined, {
    path: ['custom'],
    error: 'an object that describes the tool',
  })

const toolChoice = z.union(
  [z.enum(['none', 'auto', 'required']), z.object({ type: z.string(), function: namedFunction.optional() })],
  '"none", "auto", "required" or an object that names a tool',
)

/**
 * Body of POST /v1/chat/completions without its messages, which `check-messages.ts` checks by hand: there are many of
 * them, and a union of unions reports too much and too vaguely. Keys we do not read pass. `null` means "default" as it
 * does in OpenAI's schema. Only the verdict on a value is used, never zod's copy of it, so inner objects may be plain
 * `z.object`. Source: OpenAI API reference, chat completions, 2026-08.
 */
export const chatRequest = z.looseObject({
  model: aString.min(1, 'a non-empty string'),
  messages: z.unknown().optional(),
  stream: aBoolean.nullish(),
  stream_options: z.object({ include_usage: aBoolean.nullish() }, 'an object').nullish(),
  n: anInteger.nullish(),
  max_tokens: anInteger.nullish(),
  max_completion_tokens: anInteger.nullish(),
  temperature: aNumber.nullish(),
  top_p: aNumber.nullish(),
  frequency_penalty: aNumber.nullish(),
  presence_penalty: aNumber.nullish(),
  // A number, not an integer: seeds of 64 bits are allowed and are not safe integers here.
  seed: aNumber.nullish(),
  logprobs: aBoolean.nullish(),
  top_logprobs: anInteger.nullish(),
  logit_bias: anObject.nullish(),
  stop: z.custom<string | readonly string[]>(isStop, 'a string or an array of strings').nullish(),
  tools: z.array(tool, 'an array of tools').nullish(),
  tool_choice: toolChoice.nullish(),
  parallel_tool_calls: aBoolean.nullish(),
  functions: z.array(namedFunction, 'an array of functions').nullish(),
  function_call: z
    .union([z.enum(['none', 'auto']), z.object({ name: z.string() })], '"none", "auto" or an object with a name')
    .nullish(),
  response_format: z.object({ type: aString }, 'an object with a type').nullish(),
  reasoning_effort: aString.nullish(),
  prediction: anObject.nullish(),
  metadata: anObject.nullish(),
  store: aBoolean.nullish(),
  service_tier: aString.nullish(),
  user: aString.nullish(),
})
export type ChatRequest = Readonly<z.infer<typeof chatRequest>> & { readonly messages: readonly ChatMessage[] }

/** `z.array` would go on after the first element that is wrong, and report each. */
function isStop(value: unknown): boolean {
  return typeof value === 'string' || (Array.isArray(value) && value.every((word) => typeof word === 'string'))
}

export const CHAT_ROLES = ['system', 'developer', 'user', 'assistant', 'tool', 'function'] as const
export type ChatRole = (typeof CHAT_ROLES)[number]

/** One message, checked as far as its types say. Keys we do not read pass. */
export interface ChatMessage {
  readonly role: ChatRole
  /** Null or absent for `assistant` and `function` only. */
  readonly content?: string | readonly ChatPart[] | null | undefined
  readonly tool_calls?: readonly ChatToolCall[] | null | undefined
  /** There on every message of role `tool`. */
  readonly tool_call_id?: string
  readonly function_call?: { readonly name: string; readonly arguments: string } | null | undefined
  readonly [key: string]: unknown
}

interface ChatToolCall {
  readonly id: string
  readonly [key: string]: unknown
}

/**
 * A content part. Where `type` is one we know, the member of that name is there and well-formed; where `type` is
 * absent, one of the known payloads is. Other types pass as they are.
 */
export interface ChatPart {
  readonly type?: string | null | undefined
  readonly [key: string]: unknown
}

/** What `CallerRequest.body` is in this dialect: the caller's JSON as bytes and as checked value. */
export class ChatBody implements JsonObjectBytes {
  readonly bytes: Buffer
  readonly value: ChatRequest
  readonly members: readonly Member[]

  constructor(bytes: Buffer, value: ChatRequest, members: readonly Member[]) {
    this.bytes = bytes
    this.value = value
    this.members = members
  }
}

/** The body of a request this dialect decoded; a request of another dialect is a programming error. */
export function chatBodyOf(request: CallerRequest): ChatBody {
  if (request.body instanceof ChatBody) return request.body
  throw new TypeError('the request was not decoded by the chat dialect')
}
