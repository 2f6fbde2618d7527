import { z } from 'zod'

interface ToolCall {
  readonly name: string
  readonly input: unknown
}

export interface DemoAnswer {
  readonly text: string
  readonly thought: string
  readonly calls: readonly ToolCall[]
  /** Why the answer ended, in the dialect's word. */
  readonly end: string | undefined
}

/** A request of one user message, or of one with the result of a tool. */
export interface Question {
  readonly model?: string
  readonly prompt: string
  /** Texts before the prompt, in the same message. */
  readonly before?: readonly string[]
  /** Names of tools that take a path. */
  readonly tools?: readonly string[]
  /** The prompt was answered with a call of the first tool, which gave this result. */
  readonly result?: string
  readonly maxTokens?: number
  /** A PNG in base64. */
  readonly image?: string
  /** JSON Schema of the wanted answer. */
  readonly schema?: object
}

export interface DemoDialect {
  readonly name: string
  readonly path: string
  readonly body: (question: Question) => object
  readonly read: (reply: unknown) => DemoAnswer
  /** The words in which a stream reports a failure. */
  readonly failure: RegExp
  /** The end of an answer at the output limit, and of one that a filter stopped. */
  readonly cut: string
  readonly filtered: string
}

const parameters = { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] }
const given = JSON.stringify({ path: 'a' })

const chatReply = z.object({
  choices: z.tuple([
    z.looseObject({
      message: z.looseObject({
        content: z.string().nullish(),
        refusal: z.string().nullish(),
        reasoning_text: z.string().optional(),
        tool_calls: z.array(z.object({ function: z.object({ name: z.string(), arguments: z.string() }) })).optional(),
      }),
      finish_reason: z.string(),
    }),
  ]),
})

const chat: DemoDialect = {
  name: 'chat',
  path: '/v1/chat/completions',
  body: ({ model = 'gpt-5-mini', prompt, before = [], tools, result, maxTokens, image, schema }) => ({
    model,
    messages: [
      {
        role: 'user',
        content: [
          ...[...before, prompt].map((text) => ({ type: 'text', text })),
          ...(image === undefined ? [] : [{ type: 'image_url', image_url: { url: `data:image/png;base64,${image}` } }]),
        ],
      },
      ...(result === undefined
        ? []
        : [
            {
              role: 'assistant',
              tool_calls: [{ id: 'c1', type: 'function', function: { name: tools?.[0], arguments: given } }],
            },
            { role: 'tool', tool_call_id: 'c1', content: result },
          ]),
    ],
    ...(tools && { tools: tools.map((name) => ({ type: 'function', function: { name, parameters } })) }),
    ...(maxTokens !== undefined && { max_tokens: maxTokens }),
    ...(schema && { response_format: { type: 'json_schema', json_schema: { name: 'x', schema } } }),
  }),
  read(reply) {
    const [{ message, finish_reason: end }] = chatReply.parse(reply).choices
    const calls = (message.tool_calls ?? []).map((call) => ({
      name: call.function.name,
      input: parsed(call.function.arguments),
    }))
    const text = (message.content ?? '') + (message.refusal ?? '')
    return { text, thought: message.reasoning_text ?? '', calls, end }
  },
  failure: /"error":\{"message"/,
  cut: 'length',
  filtered: 'content_filter',
}

const responsesReply = z.object({
  incomplete_details: z.object({ reason: z.string() }).nullish(),
  output: z.array(
    z.looseObject({
      type: z.string(),
      name: z.string().optional(),
      arguments: z.string().optional(),
      content: z.array(z.looseObject({ text: z.string().optional(), refusal: z.string().optional() })).nullish(),
      summary: z.array(z.looseObject({ text: z.string() })).optional(),
    }),
  ),
})

const responses: DemoDialect = {
  name: 'responses',
  path: '/v1/responses',
  body: ({ model = 'gpt-5.4', prompt, before = [], tools, result, maxTokens, image, schema }) => ({
    model,
    input: [
      {
        role: 'user',
        content: [
          ...[...before, prompt].map((text) => ({ type: 'input_text', text })),
          ...(image === undefined ? [] : [{ type: 'input_image', image_url: `data:image/png;base64,${image}` }]),
        ],
      },
      ...(result === undefined
        ? []
        : [
            { type: 'function_call', call_id: 'c1', name: tools?.[0], arguments: given },
            { type: 'function_call_output', call_id: 'c1', output: result },
          ]),
    ],
    reasoning: { summary: 'auto' },
    ...(tools && { tools: tools.map((name) => ({ type: 'function', name, parameters })) }),
    ...(maxTokens !== undefined && { max_output_tokens: maxTokens }),
    ...(schema && { text: { format: { type: 'json_schema', name: 'x', schema } } }),
  }),
  read(reply) {
    const { output, incomplete_details: cut } = responsesReply.parse(reply)
    const parts = output.flatMap(({ content }) => content ?? [])
    return {
      text: parts.map(({ text = '', refusal = '' }) => text + refusal).join(''),
      thought: output.flatMap(({ summary = [] }) => summary.map(({ text }) => text)).join(''),
      calls: output.flatMap(({ type, name = '', arguments: input = '' }) =>
        type === 'function_call' ? [{ name, input: parsed(input) }] : [],
      ),
      end: cut?.reason,
    }
  },
  failure: /"type":"response\.failed"|"type":"error"/,
  cut: 'max_output_tokens',
  filtered: 'content_filter',
}

const messagesReply = z.object({
  stop_reason: z.string(),
  content: z.array(
    z.looseObject({
      type: z.string(),
      text: z.string().optional(),
      thinking: z.string().optional(),
      name: z.string().optional(),
      input: z.unknown().optional(),
    }),
  ),
})

const messages: DemoDialect = {
  name: 'messages',
  path: '/v1/messages',
  body: ({ model = 'claude-sonnet-4.5', prompt, before = [], tools, result, maxTokens = 4096, image, schema }) => ({
    model,
    max_tokens: maxTokens,
    messages: [
      {
        role: 'user',
        content: [
          ...[...before, prompt].map((text) => ({ type: 'text', text })),
          ...(image === undefined
            ? []
            : [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: image } }]),
        ],
      },
      ...(result === undefined
        ? []
        : [
            { role: 'assistant', content: [{ type: 'tool_use', id: 'c1', name: tools?.[0], input: { path: 'a' } }] },
            { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c1', content: result }] },
          ]),
    ],
    ...(result === undefined && maxTokens > 2000 && { thinking: { type: 'enabled', budget_tokens: 1024 } }),
    ...(tools && { tools: tools.map((name) => ({ name, input_schema: parameters })) }),
    ...(schema && { output_config: { format: { type: 'json_schema', schema } } }),
  }),
  read(reply) {
    const { content, stop_reason: end } = messagesReply.parse(reply)
    return {
      text: content.map(({ text = '' }) => text).join(''),
      thought: content.map(({ thinking = '' }) => thinking).join(''),
      calls: content.flatMap(({ type, name = '', input }) => (type === 'tool_use' ? [{ name, input }] : [])),
      end,
    }
  },
  failure: /"type":"error"/,
  cut: 'max_tokens',
  filtered: 'refusal',
}

export const demoDialects: readonly DemoDialect[] = [chat, responses, messages]

/** The arguments of a call that was cut short are no JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
