import { readdirSync, readFileSync } from 'node:fs'
import { createSseDecoder } from '../../../src/sse/decode.ts'
import type { SseEvent } from '../../../src/sse/decode.ts'
import type { UpstreamDialectId } from '../../../src/translate/dialect.ts'
import { readStream as readChat, streamNames as chatNames } from '../../translate/chat/fixture-streams.ts'
import { readStream as readMessages, streamNames as messagesNames } from '../../translate/messages/fixture-streams.ts'
import {
  readStream as readResponses,
  streamNames as responsesNames,
} from '../../translate/responses/fixture-streams.ts'
import type { Vocabulary } from './mutate.ts'

export const dialectIds: readonly [UpstreamDialectId, UpstreamDialectId, UpstreamDialectId] = [
  'chat',
  'responses',
  'messages',
]

const image = 'data:image/png;base64,iVBORw0KGgo='

/** Bodies that use what each dialect has, small enough to be read in no time. */
const handmade: Readonly<Record<UpstreamDialectId, unknown>> = {
  chat: {
    model: 'gpt-5-mini',
    stream: true,
    stream_options: { include_usage: true },
    messages: [
      { role: 'system', content: 'be brief' },
      { role: 'developer', content: [{ type: 'text', text: 'and kind' }] },
      {
        role: 'user',
        name: 'u',
        content: [
          { type: 'text', text: 'look', copilot_cache_control: { type: 'ephemeral' } },
          { type: 'image_url', image_url: { url: image, detail: 'low' } },
          { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } },
          { type: 'file', file: { file_data: 'data:application/pdf;base64,AAAA', filename: 'a.pdf' } },
        ],
      },
      {
        role: 'assistant',
        content: null,
        reasoning_text: 'hm',
        reasoning_opaque: 'opaque',
        tool_calls: [
          { id: 'call_1', type: 'function', function: { name: 'read', arguments: '{"path":"a"}' } },
          { id: 'call_2', type: 'custom', custom: { name: 'sh', input: 'ls' } },
        ],
      },
      { role: 'tool', tool_call_id: 'call_1', content: 'text' },
      { role: 'tool', tool_call_id: 'call_2', content: [{ type: 'text', text: 'x' }] },
      { role: 'assistant', refusal: 'no', content: 'ok', function_call: { name: 'read', arguments: '{}' } },
      { role: 'function', name: 'read', content: 'x' },
      { role: 'user', content: 'go on' },
    ],
    tools: [
      {
        type: 'function',
        function: {
          name: 'read',
          description: 'd',
          strict: true,
          parameters: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
        },
      },
      {
        type: 'custom',
        custom: { name: 'sh', format: { type: 'grammar', grammar: { syntax: 'lark', definition: 's' } } },
      },
    ],
    tool_choice: { type: 'function', function: { name: 'read' } },
    parallel_tool_calls: false,
    response_format: { type: 'json_schema', json_schema: { name: 's', schema: { type: 'object' }, strict: true } },
    max_tokens: 100,
    max_completion_tokens: 100,
    temperature: 0.5,
    top_p: 0.9,
    stop: ['END'],
    seed: 1,
    logit_bias: { 1: 2 },
    logprobs: true,
    top_logprobs: 2,
    n: 1,
    reasoning_effort: 'high',
    verbosity: 'low',
    prediction: { type: 'content', content: 'x' },
    user: 'u',
    metadata: { a: 'b' },
  },
  responses: {
    model: 'gpt-5-mini',
    stream: true,
    store: true,
    previous_response_id: 'resp_1',
    instructions: 'be brief',
    input: [
      { role: 'user', content: 'hello' },
      {
        type: 'message',
        role: 'user',
        content: [
          { type: 'input_text', text: 'look' },
          { type: 'input_image', image_url: image, detail: 'auto' },
          { type: 'input_file', file_data: 'data:application/pdf;base64,AAAA', filename: 'a.pdf' },
        ],
      },
      {
        type: 'reasoning',
        id: 'rs_1',
        summary: [{ type: 'summary_text', text: 'hm' }],
        encrypted_content: 'cpx1.e30',
      },
      { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'read', arguments: '{"a":1}', namespace: 'ns' },
      { type: 'function_call_output', call_id: 'call_1', output: [{ type: 'input_text', text: 'x' }] },
      { type: 'custom_tool_call', call_id: 'call_2', name: 'sh', input: 'ls' },
      { type: 'custom_tool_call_output', call_id: 'call_2', output: 'x' },
      { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search', query: 'q' } },
      { type: 'item_reference', id: 'msg_1' },
      {
        type: 'message',
        role: 'assistant',
        id: 'msg_1',
        status: 'completed',
        phase: 'commentary',
        content: [
          {
            type: 'output_text',
            text: 'ok',
            annotations: [{ type: 'url_citation', url: 'https://a', title: 't', start_index: 0, end_index: 1 }],
          },
          { type: 'refusal', refusal: 'no' },
        ],
      },
      { type: 'compaction_trigger' },
    ],
    tools: [
      {
        type: 'function',
        name: 'read',
        description: 'd',
        strict: true,
        parameters: { type: 'object', properties: {} },
      },
      { type: 'custom', name: 'sh', format: { type: 'grammar', syntax: 'lark', definition: 's' } },
      { type: 'web_search', filters: { allowed_domains: ['a.example'] } },
      { type: 'namespace', name: 'ns', tools: [{ type: 'function', name: 'read', parameters: {} }] },
      { type: 'local_shell' },
    ],
    tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'read' }] },
    reasoning: { effort: 'high', summary: 'auto' },
    text: { format: { type: 'json_schema', name: 's', schema: { type: 'object' }, strict: true }, verbosity: 'low' },
    include: ['reasoning.encrypted_content'],
    max_output_tokens: 100,
    temperature: 0.5,
    truncation: 'auto',
    metadata: { a: 'b' },
    prompt_cache_key: 'k',
    parallel_tool_calls: true,
  },
  messages: {
    model: 'claude-opus-4.8',
    stream: true,
    max_tokens: 4096,
    system: [{ type: 'text', text: 'be brief', cache_control: { type: 'ephemeral', ttl: '1h' } }],
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'look', cache_control: { type: 'ephemeral' } },
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' } },
          {
            type: 'document',
            title: 't',
            source: { type: 'text', media_type: 'text/plain', data: 'd' },
            citations: { enabled: true },
          },
          { type: 'search_result', source: 's', title: 't', content: [{ type: 'text', text: 'x' }] },
        ],
      },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'hm', signature: 'c2ln' },
          { type: 'redacted_thinking', data: 'ZGF0YQ==' },
          { type: 'text', text: 'ok', citations: [{ type: 'char_location', cited_text: 'x', document_index: 0 }] },
          { type: 'tool_use', id: 'toolu_1', name: 'read', input: { path: 'a' } },
          { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'q' } },
          {
            type: 'web_search_tool_result',
            tool_use_id: 'srvtoolu_1',
            content: [{ type: 'web_search_result', url: 'u', title: 't', encrypted_content: 'e' }],
          },
        ],
      },
      {
        role: 'user',
        content: [
          {
            type: 'tool_result',
            tool_use_id: 'toolu_1',
            is_error: true,
            content: [
              { type: 'text', text: 'x' },
              { type: 'image', source: { type: 'url', url: 'https://a' } },
            ],
          },
          { type: 'text', text: 'go on' },
        ],
      },
    ],
    tools: [
      {
        name: 'read',
        description: 'd',
        input_schema: { type: 'object', properties: { path: { type: 'string' } } },
        cache_control: { type: 'ephemeral' },
      },
      { type: 'web_search_20250305', name: 'web_search', max_uses: 2, allowed_domains: ['a.example'] },
      { type: 'bash_20250124', name: 'bash' },
    ],
    tool_choice: { type: 'tool', name: 'read', disable_parallel_tool_use: true },
    thinking: { type: 'enabled', budget_tokens: 2048 },
    output_config: { effort: 'high', format: { type: 'json_schema', schema: { type: 'object' } } },
    context_management: { edits: [{ type: 'clear_tool_uses_20250919' }] },
    stop_sequences: ['END'],
    temperature: 1,
    top_k: 5,
    metadata: { user_id: 'u' },
  },
}

const fixtures = new URL('../../fixtures/', import.meta.url)

/** Larger ones are a fraction of the cases that costs most of the time. Characters. */
const longestFixture = 3000

function recorded(dialect: UpstreamDialectId): readonly string[] {
  const folder = new URL(`${dialect}-requests/`, fixtures)
  return readdirSync(folder)
    .map((name) => readFileSync(new URL(name, folder), 'utf8'))
    .filter((text) => text.length <= longestFixture)
}

/** Bodies of callers, as JSON. The handmade one comes as often as all the others. */
export const requests: Readonly<Record<UpstreamDialectId, readonly string[]>> = {
  chat: weighted('chat'),
  responses: weighted('responses'),
  messages: weighted('messages'),
}

function weighted(dialect: UpstreamDialectId): readonly string[] {
  const others = recorded(dialect)
  const own = JSON.stringify(handmade[dialect])
  return [...others.map(() => own), ...others]
}

function readEvents(wire: string): readonly SseEvent[] {
  const decoder = createSseDecoder()
  return [...decoder.push(Buffer.from(wire)), ...decoder.end()]
}

/** Streams of upstream, as events. The longest ones cost most of the time and show nothing more. */
function streamsOf(names: readonly string[], read: (name: string) => string): readonly (readonly SseEvent[])[] {
  return names
    .map(read)
    .filter((wire) => wire.length < 20_000)
    .map(readEvents)
    .filter((events) => events.length > 0)
}

export const streams: Readonly<Record<UpstreamDialectId, readonly (readonly SseEvent[])[]>> = {
  chat: streamsOf(chatNames, readChat),
  responses: streamsOf(responsesNames, readResponses),
  messages: streamsOf(messagesNames, readMessages),
}

function gather(values: readonly unknown[]): Vocabulary {
  const keys = new Set(['__proto__', 'constructor', 'toString', 'length', 'then', ''])
  const words = new Set<string>()
  const visit = (value: unknown): void => {
    if (typeof value === 'string' && value.length <= 40) words.add(value)
    if (typeof value !== 'object' || value === null) return
    for (const [key, inner] of Object.entries(value)) {
      if (!Array.isArray(value) && key.length <= 40) keys.add(key)
      visit(inner)
    }
  }
  for (const value of values) visit(value)
  return { keys: [...keys], values: [...words] }
}

/** Words of all dialects together: one dialect's words in another are the likeliest mistakes. */
export const vocabulary: Vocabulary = gather([
  ...Object.values(requests).flat().map(parsed),
  ...Object.values(streams)
    .flat(2)
    .map(({ data }) => parsed(data)),
])

/** The data as JSON; undefined where it is none. */
export function parsed(data: string): unknown {
  try {
    return JSON.parse(data)
  } catch {
    return undefined
  }
}
