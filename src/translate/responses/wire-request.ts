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

/** Source: OpenAI API reference, responses, `text.format`, 2026-11. */
const textFormat = z
  .object(
    {
      type: aString,
      name: aString.nullish(),
      description: aString.nullish(),
      schema: anObject.nullish(),
      strict: aBoolean.nullish(),
    },
    'an object with a type',
  )
  .refine(({ type, schema }) => type !== 'json_schema' || isObject(schema), {
    path: ['schema'],
    error: 'an object that is a JSON schema',
  })

const textConfig = z.object({ format: textFormat.nullish(), verbosity: aString.nullish() }, 'an object with a format')

/** `generate_summary` is the older name of `summary`. Source: OpenAI API reference, responses, `reasoning`, 2026-11. */
const reasoning = z.object(
  {
    effort: aString.nullish(),
    summary: aString.nullish(),
    generate_summary: aString.nullish(),
    context: aString.nullish(),
    mode: aString.nullish(),
  },
  'an object with an effort',
)

/**
 * Body of POST /v1/responses without what `check-input.ts` and `check-tools.ts` check by hand: there are many of those,
 * and a union of unions reports too much and too vaguely. Keys we do not read pass. `null` means "default" as it does in
 * OpenAI's schema. Only the verdict on a value is used, never zod's copy of it, so inner objects may be plain
 * `z.object`. Source: OpenAI API reference, responses, 2026-11.
 */
export const responsesRequest = z.looseObject({
  model: aString.min(1, 'a non-empty string'),
  input: z.unknown().optional(),
  tools: z.unknown().optional(),
  tool_choice: z.unknown().optional(),
  instructions: aString.nullish(),
  previous_response_id: aString.nullish(),
  stream: aBoolean.nullish(),
  stream_options: anObject.nullish(),
  store: aBoolean.nullish(),
  background: aBoolean.nullish(),
  include: z.custom<readonly string[]>(isStringList, 'an array of strings').nullish(),
  max_output_tokens: anInteger.nullish(),
  max_tool_calls: anInteger.nullish(),
  temperature: aNumber.nullish(),
  top_p: aNumber.nullish(),
  top_logprobs: anInteger.nullish(),
  /** These two are in Open Responses (2026-04-24) and not in OpenAI's API. */
  frequency_penalty: aNumber.nullish(),
  presence_penalty: aNumber.nullish(),
  parallel_tool_calls: aBoolean.nullish(),
  reasoning: reasoning.nullish(),
  text: textConfig.nullish(),
  truncation: aString.nullish(),
  metadata: anObject.nullish(),
  prompt_cache_key: aString.nullish(),
  safety_identifier: aString.nullish(),
  service_tier: aString.nullish(),
  user: aString.nullish(),
})
export type ResponsesRequest = Readonly<z.infer<typeof responsesRequest>> & {
  readonly input?: string | readonly ResponsesItem[] | null | undefined
  readonly tools?: readonly ResponsesTool[] | null | undefined
  readonly tool_choice?: ResponsesToolChoice | null | undefined
}

/** `z.array` would go on after the first element that is wrong, and report each. */
function isStringList(value: unknown): boolean {
  return Array.isArray(value) && value.every((word) => typeof word === 'string')
}

/**
 * One item of `input`. In the caller's own request the members we read are well-formed (`check-input.ts`); of items
 * that come from a stored reply nothing is promised. `itemTypeOf` tells the type.
 */
export type ResponsesItem = JsonObject

/** One entry of `tools`. For types we know, the members we read are well-formed (`check-tools.ts`). */
export interface ResponsesTool {
  readonly type: string
  readonly [key: string]: unknown
}

/** A named tool, a hosted one, or `allowed_tools` with a mode and tools. */
export type ResponsesToolChoice =
  | 'none'
  | 'auto'
  | 'required'
  | { readonly type: string; readonly [key: string]: unknown }

/** What `CallerRequest.body` is in this dialect: the caller's JSON as bytes and as checked value. */
export class ResponsesBody implements JsonObjectBytes {
  readonly bytes: Buffer
  readonly value: ResponsesRequest
  readonly members: readonly Member[]
  /** The response this request goes on from, once what came before stands in its input. */
  readonly continues: string | undefined

  constructor(bytes: Buffer, value: ResponsesRequest, members: readonly Member[], continues?: string) {
    this.bytes = bytes
    this.value = value
    this.members = members
    this.continues = continues
  }
}

/** The body of a request this dialect decoded; a request of another dialect is a programming error. */
export function responsesBodyOf(request: CallerRequest): ResponsesBody {
  if (request.body instanceof ResponsesBody) return request.body
  throw new TypeError('the request was not decoded by the responses dialect')
}
