import type { UpstreamDialectId } from '../../src/translate/dialect.ts'
import { pixel } from '../sdk/kinds.ts'

type Json = Readonly<Record<string, unknown>>

/** A request whose reply is worth a look, in each dialect that can say it. */
export interface Asked {
  readonly name: string
  readonly bodies: Partial<Record<UpstreamDialectId, Json>>
}

const path = { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] }
const none = { type: 'object', properties: {} }
const place = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
}

const tools = {
  chat: [
    { type: 'function', function: { name: 'read_file', description: 'Reads a file', parameters: path } },
    { type: 'function', function: { name: 'now', parameters: none } },
  ],
  responses: [
    { type: 'function', name: 'read_file', description: 'Reads a file', parameters: path, strict: false },
    { type: 'function', name: 'now', parameters: none },
  ],
  messages: [
    { name: 'read_file', description: 'Reads a file', input_schema: path },
    { name: 'now', input_schema: none },
  ],
} as const

/** The maximum number of tokens, which Messages requires. */
const most = { max_tokens: 4000 }

function saying(prompt: string): Record<UpstreamDialectId, Json> {
  return {
    chat: { messages: [{ role: 'user', content: prompt }] },
    responses: { input: prompt },
    messages: { ...most, messages: [{ role: 'user', content: prompt }] },
  }
}

function says(name: string, prompt: string): Asked {
  return { name, bodies: saying(prompt) }
}

function calls(name: string, prompt: string): Asked {
  const { chat, responses, messages } = saying(prompt)
  return {
    name,
    bodies: {
      chat: { ...chat, tools: tools.chat },
      responses: { ...responses, tools: tools.responses },
      messages: { ...messages, tools: tools.messages },
    },
  }
}

/** The same, with thinking asked for and to be shown. */
function thinks({ name, bodies: { chat, responses, messages } }: Asked): Asked {
  return {
    name,
    bodies: {
      chat: { ...chat, reasoning_effort: 'high' },
      responses: { ...responses, reasoning: { effort: 'high', summary: 'auto' } },
      messages: { ...messages, thinking: { type: 'enabled', budget_tokens: 2000 } },
    },
  }
}

const image = `data:image/png;base64,${pixel}`

/** Requests that every model can be asked; what a model does not do, it says so. */
export const asked: readonly Asked[] = [
  says('text', 'Hello'),
  says('a long text', '[demo:long 60]'),
  thinks(says('thinking', '[demo:reasoning] Hello')),
  thinks(says('thinking that is not for reading', '[demo:redacted] Hello')),
  calls('a call', '[demo:tool read_file {"path":"a \\"b\\" \\u20ac"}] go'),
  calls('a call without arguments', '[demo:tool now] go'),
  thinks(calls('parallel calls after thinking', '[demo:reasoning][demo:tools] go')),
  calls('a call that was cut', '[demo:length][demo:tool read_file {"path":"some/where/else"}] go'),
  calls('a call whose arguments run away', '[demo:whitespace] go'),
  says('a text that was cut', '[demo:length] one two three four'),
  says('a filtered text', '[demo:filter] one two three four'),
  says('a refusal', '[demo:refusal] no'),
  calls('calls that upstream states in their last event alone', '[demo:sparse][demo:tools] go'),
  says('a failure in the stream', '[demo:error-mid] one two three'),
  says('a failure as a bare event', '[demo:error-event] one two three'),
  says('a stream that breaks off', '[demo:eof] one two three'),
  ...[400, 429, 503].map((status) => says(`status ${status}`, `[demo:error ${status}]`)),
  says('a prompt that is too long', '[demo:overflow]'),
  {
    name: 'JSON of a schema',
    bodies: {
      chat: {
        ...saying('Where?').chat,
        response_format: { type: 'json_schema', json_schema: { name: 'place', strict: true, schema: place } },
      },
      responses: {
        ...saying('Where?').responses,
        text: { format: { type: 'json_schema', name: 'place', strict: true, schema: place } },
      },
      messages: { ...saying('Where?').messages, output_config: { format: { type: 'json_schema', schema: place } } },
    },
  },
  {
    name: 'an image',
    bodies: {
      chat: {
        messages: [
          {
            role: 'user',
            content: [
              { type: 'text', text: 'What is this?' },
              { type: 'image_url', image_url: { url: image } },
            ],
          },
        ],
      },
      responses: {
        input: [
          {
            role: 'user',
            content: [
              { type: 'input_text', text: 'What is this?' },
              { type: 'input_image', image_url: image, detail: 'auto' },
            ],
          },
        ],
      },
      messages: {
        ...most,
        messages: [
          {
            role: 'user',
            content: [
              { type: 'text', text: 'What is this?' },
              { type: 'image', source: { type: 'base64', media_type: 'image/png', data: pixel } },
            ],
          },
        ],
      },
    },
  },
  {
    name: 'a result of a tool',
    bodies: {
      chat: {
        tools: tools.chat,
        messages: [
          { role: 'user', content: 'go' },
          {
            role: 'assistant',
            content: null,
            // Gemini 3 wants its thought back, and takes any.
            reasoning_opaque: 'thought',
            tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'now', arguments: '{}' } }],
          },
          { role: 'tool', tool_call_id: 'call_1', content: 'noon' },
        ],
      },
      responses: {
        tools: tools.responses,
        input: [
          { role: 'user', content: 'go' },
          { type: 'function_call', call_id: 'call_1', name: 'now', arguments: '{}' },
          { type: 'function_call_output', call_id: 'call_1', output: 'noon' },
        ],
      },
      messages: {
        ...most,
        tools: tools.messages,
        messages: [
          { role: 'user', content: 'go' },
          { role: 'assistant', content: [{ type: 'tool_use', id: 'call_1', name: 'now', input: {} }] },
          { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'call_1', content: 'noon' }] },
        ],
      },
    },
  },
  {
    name: 'a stop text',
    bodies: {
      chat: { ...saying('one two three').chat, stop: ['two'] },
      messages: { ...saying('one two three').messages, stop_sequences: ['two'] },
    },
  },
  {
    name: 'a call of a custom tool',
    bodies: {
      chat: {
        ...saying('[demo:tool apply_patch "*** Begin Patch"] go').chat,
        tools: [{ type: 'custom', custom: { name: 'apply_patch', description: 'Edits files' } }],
      },
      responses: {
        ...saying('[demo:tool apply_patch "*** Begin Patch"] go').responses,
        tools: [{ type: 'custom', name: 'apply_patch', description: 'Edits files' }],
      },
    },
  },
  {
    name: 'a call of a tool in a namespace',
    bodies: {
      responses: {
        ...saying('[demo:tool gh__list {}] go').responses,
        tools: [
          {
            type: 'namespace',
            name: 'gh',
            description: 'GitHub',
            tools: [{ type: 'function', name: 'list', parameters: none }],
          },
        ],
      },
    },
  },
  {
    name: 'a web search',
    bodies: {
      chat: { ...saying('[demo:tool web_search] figs').chat, web_search_options: {} },
      responses: {
        ...saying('[demo:search figs][demo:tool web_search] go').responses,
        tools: [{ type: 'web_search' }],
      },
      messages: {
        ...saying('[demo:search figs] go').messages,
        tools: [{ type: 'web_search_20250305', name: 'web_search', max_uses: 1 }],
        tool_choice: { type: 'tool', name: 'web_search' },
      },
    },
  },
  {
    name: 'a compaction',
    bodies: {
      responses: {
        input: [{ role: 'user', content: 'Hello' }, { type: 'compaction_trigger' }],
        include: ['reasoning.encrypted_content'],
      },
    },
  },
  {
    name: 'a request that says everything',
    bodies: {
      chat: {
        messages: [
          { role: 'developer', content: 'Be brief.' },
          { role: 'user', content: 'Hello' },
        ],
        max_completion_tokens: 500,
        metadata: { a: 'b' },
        tools: tools.chat,
        tool_choice: 'auto',
        parallel_tool_calls: false,
        user: 'somebody',
        prompt_cache_key: 'key',
      },
      responses: {
        input: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Hello' }] }],
        instructions: 'Be brief.',
        max_output_tokens: 500,
        metadata: { a: 'b' },
        parallel_tool_calls: false,
        tools: tools.responses,
        tool_choice: { type: 'function', name: 'now' },
        reasoning: { effort: 'low', summary: 'auto' },
        text: { verbosity: 'low' },
        include: ['reasoning.encrypted_content'],
        store: false,
        user: 'somebody',
        prompt_cache_key: 'key',
        truncation: 'auto',
      },
      messages: {
        ...saying('Hello').messages,
        system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }],
        metadata: { user_id: 'somebody' },
        tools: tools.messages,
        tool_choice: { type: 'auto', disable_parallel_tool_use: true },
      },
    },
  },
]
