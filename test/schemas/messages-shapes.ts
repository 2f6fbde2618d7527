import type * as sdk from '@anthropic-ai/sdk/resources/messages'
import { Ajv } from 'ajv'
import type { Violation } from './spec.ts'
import { placed } from './spec.ts'

// There is no public schema of the Messages API. The package's types are the next best thing: the compiler sees to it
// that these tables name every member of a type, so that a new version of the package asks for its new ones here.

type Schema = Readonly<Record<string, unknown>>

const text: Schema = { type: 'string' }
const count: Schema = { type: 'integer', minimum: 0 }
const object: Schema = { type: 'object' }
const absent: unique symbol = Symbol('may be absent')

function exactly(...values: readonly string[]): Schema {
  return { enum: values }
}

function orNull(schema: Schema): Schema {
  return { if: { type: 'null' }, else: schema }
}

function list(items: Schema): Schema {
  return { type: 'array', items }
}

/** An object with all members of the package's type; those that the type does not demand may be absent. */
function shape<Type>(members: {
  readonly [Key in keyof Type]-?: object extends Pick<Type, Key> ? typeof absent : Schema
}): Schema {
  const properties = Object.entries<Schema | typeof absent>(members).filter(([, schema]) => schema !== absent)
  return { type: 'object', required: properties.map(([key]) => key), properties: Object.fromEntries(properties) }
}

/** Returns the schema of one of several objects, which `type` distinguishes. */
function oneOf(shapes: Readonly<Record<string, Schema>>): Schema {
  return {
    type: 'object',
    required: ['type'],
    properties: { type: { enum: Object.keys(shapes) } },
    allOf: Object.entries(shapes).map(([type, schema]) => ({
      if: { properties: { type: { const: type } } },
      // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
      then: schema,
    })),
  }
}

const thinkingTokens = shape<sdk.OutputTokensDetails>({ thinking_tokens: count })
const serverTools = shape<sdk.ServerToolUsage>({ web_search_requests: count, web_fetch_requests: count })

const usage = shape<sdk.Usage>({
  cache_creation: orNull(
    shape<sdk.CacheCreation>({ ephemeral_1h_input_tokens: count, ephemeral_5m_input_tokens: count }),
  ),
  cache_creation_input_tokens: orNull(count),
  cache_read_input_tokens: orNull(count),
  inference_geo: orNull(text),
  input_tokens: count,
  output_tokens: count,
  output_tokens_details: orNull(thinkingTokens),
  server_tool_use: orNull(serverTools),
  service_tier: orNull(exactly('standard', 'priority', 'batch')),
  speed: orNull(exactly('standard', 'fast')),
})

const caller = oneOf({ direct: object })

const citation = oneOf({
  web_search_result_location: shape<sdk.CitationsWebSearchResultLocation>({
    type: text,
    cited_text: text,
    encrypted_index: text,
    title: orNull(text),
    url: text,
  }),
})

/** The blocks that are emitted here. */
const block = oneOf({
  text: shape<sdk.TextBlock>({ type: text, text, citations: orNull(list(citation)) }),
  thinking: shape<sdk.ThinkingBlock>({ type: text, thinking: text, signature: text }),
  redacted_thinking: shape<sdk.RedactedThinkingBlock>({ type: text, data: text }),
  tool_use: shape<sdk.ToolUseBlock>({
    type: text,
    id: { type: 'string', pattern: '^[A-Za-z0-9_-]+$' },
    caller,
    input: object,
    name: { type: 'string', minLength: 1 },
    toolset_name: absent,
  }),
  server_tool_use: shape<sdk.ServerToolUseBlock>({
    type: text,
    id: text,
    caller,
    input: object,
    name: exactly('web_search'),
  }),
  web_search_tool_result: shape<sdk.WebSearchToolResultBlock>({
    type: text,
    caller,
    tool_use_id: text,
    content: list(
      shape<sdk.WebSearchResultBlock>({
        type: exactly('web_search_result'),
        encrypted_content: text,
        page_age: orNull(text),
        title: text,
        url: text,
      }),
    ),
  }),
})

const stopReason = exactly(
  'end_turn',
  'max_tokens',
  'stop_sequence',
  'tool_use',
  'pause_turn',
  'refusal',
  'model_context_window_exceeded',
)

const stopDetails = shape<sdk.RefusalStopDetails>({
  type: exactly('refusal'),
  category: orNull(exactly('cyber', 'bio', 'frontier_llm', 'reasoning_extraction', 'general_harms')),
  explanation: orNull(text),
})

const message = shape<sdk.Message>({
  id: text,
  container: orNull(object),
  content: list(block),
  diagnostics: orNull(object),
  model: text,
  role: exactly('assistant'),
  stop_details: orNull(stopDetails),
  stop_reason: orNull(stopReason),
  stop_sequence: orNull(text),
  type: exactly('message'),
  usage,
})

const event = oneOf({
  message_start: shape<sdk.RawMessageStartEvent>({ type: text, message }),
  message_delta: shape<sdk.RawMessageDeltaEvent>({
    type: text,
    delta: shape<sdk.RawMessageDeltaEvent.Delta>({
      container: orNull(object),
      stop_details: orNull(stopDetails),
      stop_reason: stopReason,
      stop_sequence: orNull(text),
    }),
    usage: shape<sdk.MessageDeltaUsage>({
      cache_creation_input_tokens: orNull(count),
      cache_read_input_tokens: orNull(count),
      input_tokens: orNull(count),
      output_tokens: count,
      output_tokens_details: orNull(thinkingTokens),
      server_tool_use: orNull(serverTools),
    }),
  }),
  message_stop: shape<sdk.RawMessageStopEvent>({ type: text }),
  content_block_start: shape<sdk.RawContentBlockStartEvent>({ type: text, index: count, content_block: block }),
  content_block_delta: shape<sdk.RawContentBlockDeltaEvent>({
    type: text,
    index: count,
    delta: oneOf({
      text_delta: shape<sdk.TextDelta>({ type: text, text }),
      input_json_delta: shape<sdk.InputJSONDelta>({ type: text, partial_json: text }),
      thinking_delta: shape<sdk.ThinkingDelta>({ type: text, thinking: text }),
      signature_delta: shape<sdk.SignatureDelta>({ type: text, signature: text }),
      citations_delta: shape<sdk.CitationsDelta>({ type: text, citation }),
    }),
  }),
  content_block_stop: shape<sdk.RawContentBlockStopEvent>({ type: text, index: count }),
  // Not in the package's types: it passes over pings and throws at errors before it looks at events.
  ping: object,
  error: object,
})

const error: Schema = {
  type: 'object',
  required: ['type', 'error', 'request_id'],
  properties: {
    type: exactly('error'),
    request_id: text,
    error: { type: 'object', required: ['type', 'message'], properties: { type: text, message: text } },
  },
}

const shapes = { message, event, error }

/** Every way in which a value is not the named shape; [] where it is. */
export function createMessagesJudge(): (name: keyof typeof shapes, value: unknown) => readonly Violation[] {
  const ajv = new Ajv({ strict: false, allErrors: true })
  const validators = {
    message: ajv.compile(message),
    event: ajv.compile(event),
    error: ajv.compile(error),
  }
  return (name, value) => {
    const validate = validators[name]
    return validate(value) ? [] : placed(validate.errors ?? [])
  }
}
