import { chatDialect } from '../../../../src/translate/chat/dialect.ts'
import { fc } from '../../../fast-check.ts'
import { describe, expect, test } from 'vitest'
import { rules } from '../../../../src/translate/chat/rules/rules.ts'
import { sealOpaque } from '../../../../src/translate/engine/opaque-envelope.ts'
import type { ModelTraits } from '../../../../src/translate/model-traits.ts'
import { callOf, contextOf, hello, pass, traits } from '../request-helpers.ts'
import { errorOf } from '../../faults.ts'

interface Case {
  /** The rule's name; every rule needs a case. */
  readonly rule: string
  readonly model: ModelTraits
  readonly body: Readonly<Record<string, unknown>>
  /** Members as upstream gets them; `undefined`: not there. */
  readonly sent: Readonly<Record<string, unknown>>
  readonly warnings: readonly string[]
  /** The 400 under `chat.strict`: its path, where the rule changes the meaning. */
  readonly strictPath?: string
  readonly learnedRefusals?: readonly string[]
}

const gpt5 = traits('gpt-5-mini')
const gpt4 = traits('gpt-4.1')
const sonnet = traits('claude-sonnet-4.5')
const opus47 = traits('claude-opus-4.7')
const gemini = traits('gemini-2.5-pro')
const grok = traits('grok-code-fast-1')
const kimi2 = traits('kimi-k2.6')
const kimi3 = traits('kimi-k3')

const user = (content: unknown) => ({ role: 'user', content })
const assistant = (content: unknown, rest = {}) => ({ role: 'assistant', content, ...rest })
const call = (id: string) => ({ id, type: 'function', function: { name: 'f', arguments: '{"a": 1}' } })
const result = (id: string) => ({ role: 'tool', tool_call_id: id, content: 'r' })
const calls = (...ids: string[]) => assistant(null, { tool_calls: ids.map(call) })
const missing = (id: string) => ({ ...result(id), content: 'Error: No result was provided for this tool call.' })
const synthesised = (id: string) => `tool_result_synthesised;${id}: added an empty result`
const named = (name: string) => ({
  type: 'function',
  function: { name, parameters: { type: 'object', properties: {} } },
})
const tool = (parameters: unknown = { type: 'object', properties: {} }) => ({
  type: 'function',
  function: { name: 'f', parameters },
})
const efforts = (...reasoningEffort: string[]) => traits('gpt-5.1', { supports: { reasoningEffort } })

const sampling: readonly Case[] = [
  ...['gpt-5-mini', 'gpt-5.6-luna', 'o4-mini', 'o1'].map((id) => ({
    rule: 'temperature dropped',
    model: traits(id),
    body: { temperature: 0 },
    sent: { temperature: undefined },
    warnings: [`dropped;temperature: not supported by ${id}`],
    strictPath: 'temperature',
  })),
  {
    rule: 'top_p dropped',
    model: gpt5,
    body: { top_p: 0.9 },
    sent: { top_p: undefined },
    warnings: ['dropped;top_p: not supported by gpt-5-mini'],
    strictPath: 'top_p',
  },
  { rule: 'temperature dropped', model: gpt5, body: { temperature: 1 }, sent: { temperature: 1 }, warnings: [] },
  ...[gpt4, gemini, grok, sonnet, traits('claude-opus-4.6')].map((model) => ({
    rule: 'temperature dropped',
    model,
    body: { temperature: 0, top_p: 0.5 },
    sent: { temperature: 0, top_p: 0.5 },
    warnings: [],
  })),
  {
    rule: 'top_k dropped',
    model: opus47,
    body: { temperature: 0, top_p: 0.5, top_k: 3 },
    sent: { temperature: undefined, top_p: undefined, top_k: undefined },
    warnings: ['temperature', 'top_p', 'top_k'].map((name) => `dropped;${name}: not supported by claude-opus-4.7`),
    strictPath: 'temperature',
  },
  ...[{ thinking: { type: 'adaptive' } }, { thinking_budget: 2048 }, { reasoning_effort: 'low' }].map((thinking) => ({
    rule: 'temperature dropped',
    model: sonnet,
    body: { temperature: 0, top_p: 1, ...thinking },
    sent: { temperature: undefined, top_p: 1, ...thinking },
    warnings: ['dropped;temperature: not supported by claude-sonnet-4.5 together with thinking'],
    strictPath: 'temperature',
  })),
  {
    rule: 'temperature dropped',
    model: sonnet,
    body: { temperature: 0, thinking: { type: 'disabled' }, thinking_budget: 0, reasoning_effort: 'none' },
    sent: { temperature: 0, reasoning_effort: 'none' },
    warnings: [],
  },
  {
    rule: 'top_p dropped',
    model: sonnet,
    body: { top_p: 0.9, reasoning_effort: 'high' },
    sent: { top_p: undefined, reasoning_effort: 'high' },
    warnings: ['dropped;top_p: not supported by claude-sonnet-4.5 together with thinking'],
    strictPath: 'top_p',
  },
  {
    rule: 'top_k dropped for OpenAI',
    model: gpt4,
    body: { top_k: 3 },
    sent: { top_k: undefined },
    warnings: ['dropped;top_k: not supported by gpt-4.1'],
    strictPath: 'top_k',
  },
  {
    // Without the effort nothing asks for thinking, so that sampling may stay.
    rule: 'temperature dropped',
    model: traits('claude-sonnet-4.5', { supports: { reasoningEffort: [] } }),
    body: { temperature: 0, reasoning_effort: 'high' },
    sent: { temperature: 0, reasoning_effort: undefined },
    warnings: ['dropped;reasoning_effort: not supported by claude-sonnet-4.5'],
    strictPath: 'reasoning_effort',
  },
  ...[gpt4, grok].map((model) => ({
    rule: 'temperature dropped',
    model,
    body: { temperature: 0, reasoning_effort: 'high' },
    sent: { temperature: 0, reasoning_effort: 'high' },
    warnings: [],
  })),
]

const unsupported: readonly Case[] = [
  ...[gpt4, sonnet, grok].map((model) => ({
    rule: 'verbosity dropped',
    model,
    body: { verbosity: 'low' },
    sent: { verbosity: undefined },
    warnings: ['dropped;verbosity: only GPT-5 and later models support it'],
    strictPath: 'verbosity',
  })),
  { rule: 'verbosity dropped', model: gpt5, body: { verbosity: 'low' }, sent: { verbosity: 'low' }, warnings: [] },
  {
    rule: 'prediction dropped',
    model: gpt4,
    body: { prediction: { type: 'content', content: 'x' } },
    sent: { prediction: undefined },
    warnings: ['dropped;prediction: not supported by gpt-4.1'],
    strictPath: 'prediction',
  },
  {
    rule: 'prediction dropped',
    model: traits('gpt-4o', { supports: { prediction: true } }),
    body: { prediction: { type: 'content', content: 'x' } },
    sent: { prediction: { type: 'content', content: 'x' } },
    warnings: [],
  },
  {
    rule: 'store dropped',
    model: gpt4,
    body: { store: true },
    sent: { store: undefined },
    warnings: ['dropped;store: not supported by Copilot'],
    strictPath: 'store',
  },
  {
    rule: 'store dropped',
    model: gpt4,
    body: { store: false },
    sent: { store: undefined },
    warnings: ['adapted;store: not supported by Copilot; dropped'],
  },
  {
    rule: 'service_tier dropped',
    model: gpt4,
    body: { service_tier: 'priority' },
    sent: { service_tier: undefined },
    warnings: ['dropped;service_tier: not supported by Copilot'],
    strictPath: 'service_tier',
  },
  {
    rule: 'service_tier dropped',
    model: gpt4,
    body: { service_tier: 'auto' },
    sent: { service_tier: undefined },
    warnings: ['adapted;service_tier: not supported by Copilot; dropped'],
  },
  {
    rule: 'metadata dropped',
    model: gpt4,
    body: { metadata: { run: '7' } },
    sent: { metadata: undefined },
    warnings: ['dropped;metadata: not supported by Copilot'],
    strictPath: 'metadata',
  },
]

const outputCaps: readonly Case[] = [
  ...['gpt-5-mini', 'o3'].map((id) => ({
    rule: 'output cap under the name that the model takes',
    model: traits(id),
    body: { max_tokens: 100 },
    sent: { max_tokens: undefined, max_completion_tokens: 100 },
    warnings: ['adapted;max_tokens: sent as max_completion_tokens'],
  })),
  ...['gpt-4.1', 'claude-sonnet-4.5', 'gemini-2.5-pro', 'grok-code-fast-1', 'mai-code-1-flash'].map((id) => ({
    rule: 'output cap under the name that the model takes',
    model: traits(id),
    body: { max_completion_tokens: 100 },
    sent: { max_tokens: 100, max_completion_tokens: undefined },
    warnings: ['adapted;max_completion_tokens: sent as max_tokens'],
  })),
  {
    rule: 'one output cap of two',
    model: gpt4,
    body: { max_tokens: 5, max_completion_tokens: 100 },
    sent: { max_tokens: 100, max_completion_tokens: undefined },
    warnings: [
      'dropped;max_tokens: max_completion_tokens is set too',
      'adapted;max_completion_tokens: sent as max_tokens',
    ],
    strictPath: 'max_tokens',
  },
  {
    rule: 'one output cap of two',
    model: gpt5,
    body: { max_tokens: 5, max_completion_tokens: 100 },
    sent: { max_tokens: undefined, max_completion_tokens: 100 },
    warnings: ['dropped;max_tokens: max_completion_tokens is set too'],
    strictPath: 'max_tokens',
  },
  {
    rule: 'one output cap of two',
    model: traits('gpt-5-mini', { maxOutputTokens: 1000 }),
    body: { max_tokens: 2000, max_completion_tokens: 100 },
    sent: { max_tokens: undefined, max_completion_tokens: 100 },
    warnings: ['dropped;max_tokens: max_completion_tokens is set too'],
    strictPath: 'max_tokens',
  },
  {
    rule: 'one output cap of two',
    model: gpt5,
    body: { max_tokens: 100, max_completion_tokens: 100 },
    sent: { max_tokens: undefined, max_completion_tokens: 100 },
    warnings: ['adapted;max_tokens: max_completion_tokens is set too; dropped'],
  },
  {
    rule: 'one output cap of two',
    model: gpt4,
    body: { max_tokens: 100, max_completion_tokens: null },
    sent: { max_tokens: 100, max_completion_tokens: undefined },
    warnings: [],
  },
  {
    rule: 'output cap within the limit',
    model: traits('claude-sonnet-4.5', { maxOutputTokens: 32_000 }),
    body: { max_tokens: 64_000 },
    sent: { max_tokens: 32_000 },
    warnings: ['clamped;max_tokens: above the limit of claude-sonnet-4.5; lowered to 32000'],
    strictPath: 'max_tokens',
  },
  {
    rule: 'output cap within the limit',
    model: traits('gpt-5-mini', { maxOutputTokens: 64_000 }),
    body: { max_tokens: 100_000 },
    sent: { max_tokens: undefined, max_completion_tokens: 64_000 },
    warnings: [
      'clamped;max_tokens: above the limit of gpt-5-mini; lowered to 64000',
      'adapted;max_tokens: sent as max_completion_tokens',
    ],
    strictPath: 'max_tokens',
  },
  {
    rule: 'output cap within the limit',
    model: traits('gpt-4.1', { maxOutputTokens: 100 }),
    body: { max_tokens: 100 },
    sent: { max_tokens: 100 },
    warnings: [],
  },
]

const effort: readonly Case[] = [
  ...[
    ['xhigh', 'high'],
    ['max', 'high'],
    ['minimal', 'low'],
    ['none', 'low'],
  ].map(([asked, sent]) => ({
    rule: 'reasoning_effort among the listed levels',
    model: efforts('low', 'medium', 'high'),
    body: { reasoning_effort: asked },
    sent: { reasoning_effort: sent },
    warnings: [`clamped;reasoning_effort: gpt-5.1 does not support '${asked}'; sent as '${sent}'`],
    strictPath: 'reasoning_effort',
  })),
  {
    rule: 'reasoning_effort among the listed levels',
    model: efforts('low', 'high'),
    body: { reasoning_effort: 'medium' },
    sent: { reasoning_effort: 'low' },
    warnings: ["clamped;reasoning_effort: gpt-5.1 does not support 'medium'; sent as 'low'"],
    strictPath: 'reasoning_effort',
  },
  {
    rule: 'reasoning_effort among the listed levels',
    model: efforts(),
    body: { reasoning_effort: 'low' },
    sent: { reasoning_effort: undefined },
    warnings: ['dropped;reasoning_effort: not supported by gpt-5.1'],
    strictPath: 'reasoning_effort',
  },
  ...[
    [efforts('low', 'high'), 'high'],
    [efforts('low', 'turbo'), 'turbo'],
    [efforts('low', 'high'), 'unheard-of'],
    [efforts('turbo'), 'low'],
    [gpt5, 'xhigh'],
  ].map(([model, asked]) => ({
    rule: 'reasoning_effort among the listed levels',
    model: model as ModelTraits,
    body: { reasoning_effort: asked },
    sent: { reasoning_effort: asked },
    warnings: [],
  })),
]

const tools: readonly Case[] = [
  {
    rule: 'empty tools dropped',
    model: gpt4,
    body: { tools: [], tool_choice: 'auto', parallel_tool_calls: true },
    sent: { tools: undefined, tool_choice: undefined, parallel_tool_calls: undefined },
    warnings: [
      'adapted;tools: empty; dropped',
      'adapted;tool_choice: there are no tools; dropped',
      'adapted;parallel_tool_calls: there are no tools; dropped',
    ],
  },
  {
    rule: 'tool_choice without tools dropped',
    model: gpt4,
    body: { tool_choice: 'required' },
    sent: { tool_choice: undefined },
    warnings: ['dropped;tool_choice: there are no tools'],
    strictPath: 'tool_choice',
  },
  {
    rule: 'tool_choice without tools dropped',
    model: gemini,
    body: { tool_choice: 'validated' },
    sent: { tool_choice: undefined },
    warnings: ['adapted;tool_choice: there are no tools; dropped'],
  },
  ...[gemini, traits('gemini-3-pro-preview')].map((model) => ({
    rule: 'tool_choice validated for Gemini, and for no other',
    model,
    body: { tools: [tool()], tool_choice: 'validated' },
    sent: { tool_choice: 'validated' },
    warnings: [],
  })),
  ...[gpt4, gpt5, sonnet, grok].map((model) => ({
    rule: 'tool_choice validated for Gemini, and for no other',
    model,
    body: { tools: [tool()], tool_choice: 'validated' },
    sent: { tool_choice: 'auto' },
    warnings: [`adapted;tool_choice: ${model.id} does not know 'validated'; sent as 'auto'`],
  })),
  {
    rule: 'parallel_tool_calls without tools dropped',
    model: gpt4,
    body: { parallel_tool_calls: false },
    sent: { parallel_tool_calls: undefined },
    warnings: ['adapted;parallel_tool_calls: there are no tools; dropped'],
  },
  {
    rule: 'parallel_tool_calls dropped',
    model: traits('gemini-2.5-pro', { supports: { parallelToolCalls: false } }),
    body: { tools: [tool()], parallel_tool_calls: true },
    sent: { tools: [tool()], parallel_tool_calls: undefined },
    warnings: ['dropped;parallel_tool_calls: not supported by gemini-2.5-pro'],
    strictPath: 'parallel_tool_calls',
  },
  {
    rule: 'parallel_tool_calls dropped',
    model: traits('gemini-2.5-pro', { supports: { parallelToolCalls: false } }),
    body: { tools: [tool()], parallel_tool_calls: false },
    sent: { parallel_tool_calls: undefined },
    warnings: ['adapted;parallel_tool_calls: not supported by gemini-2.5-pro; dropped'],
  },
  {
    rule: 'parallel_tool_calls dropped',
    model: gpt4,
    body: { tools: [tool()], parallel_tool_calls: false, tool_choice: { type: 'function', function: { name: 'f' } } },
    sent: { parallel_tool_calls: false, tool_choice: { type: 'function', function: { name: 'f' } } },
    warnings: [],
  },
  {
    rule: 'tool schemas fitted to the model',
    model: gemini,
    body: {
      tools: [
        tool({ type: 'object', properties: { a: { type: ['string', 'null'] } } }),
        { type: 'hosted' },
        tool(),
        { type: 'function', function: { name: 'g' } },
      ],
    },
    sent: {
      tools: [
        tool({ type: 'object', properties: { a: { type: 'string', description: '{type: ["string","null"]}' } } }),
        { type: 'hosted' },
        tool(),
        { type: 'function', function: { name: 'g', parameters: { type: 'object', properties: {} } } },
      ],
    },
    warnings: [
      'adapted;tools.0.function.parameters: fitted to the model; what it does not take is in the descriptions (2 tools)',
    ],
  },
  {
    rule: 'tool schemas fitted to the model',
    model: gpt4,
    body: { tools: [tool({ type: 'object', properties: { a: { type: ['string', 'null'] } }, not: {} })] },
    sent: { tools: [tool({ type: 'object', properties: { a: { type: ['string', 'null'] } } })] },
    warnings: ['schema_simplified;tools.0.function.parameters: the model does not take not'],
    strictPath: 'tools.0.function.parameters',
  },
  {
    rule: 'tool schemas fitted to the model',
    model: sonnet,
    body: { tools: [tool({ type: 'object', properties: {}, $schema: 'x', additionalProperties: false })] },
    sent: { tools: [tool({ type: 'object', properties: {}, $schema: 'x', additionalProperties: false })] },
    warnings: [],
  },
  {
    rule: 'names and kinds of tools that upstream takes',
    model: gemini,
    body: { tools: [named('9f1')], tool_choice: { type: 'function', function: { name: '9f1' } } },
    sent: { tools: [named('_9f1')], tool_choice: { type: 'function', function: { name: '_9f1' } } },
    warnings: [],
  },
  {
    rule: 'names and kinds of tools that upstream takes',
    model: gpt4,
    body: { tools: [named('9f1')] },
    sent: { tools: [named('9f1')] },
    warnings: [],
  },
  ...[{}, { tool_choice: 'auto' }, { tool_choice: null }].map((choice) => ({
    rule: 'tool_choice validated for Gemini, and for no other',
    model: gemini,
    body: { tools: [tool()], ...choice },
    sent: { tool_choice: 'validated' },
    warnings: [],
  })),
  ...['none', 'required'].map((choice) => ({
    rule: 'tool_choice validated for Gemini, and for no other',
    model: gemini,
    body: { tools: [tool()], tool_choice: choice },
    sent: { tool_choice: choice },
    warnings: [],
  })),
  {
    rule: 'tool_choice validated for Gemini, and for no other',
    model: gemini,
    body: {},
    sent: { tool_choice: undefined },
    warnings: [],
  },
  {
    rule: 'tool_choice validated for Gemini, and for no other',
    model: gpt4,
    body: { tools: [tool()] },
    sent: { tool_choice: undefined },
    warnings: [],
  },
  {
    rule: 'tool_choice validated for Gemini, and for no other',
    model: gemini,
    learnedRefusals: ['choice:validated'],
    body: { tools: [tool()], tool_choice: 'auto' },
    sent: { tool_choice: 'auto' },
    warnings: [],
  },
  {
    rule: 'functions as tools',
    model: gpt4,
    body: {
      functions: [{ name: 'f', parameters: { type: 'object', properties: {} } }],
      function_call: { name: 'f' },
      messages: [
        user('u'),
        assistant(null, { function_call: { name: 'f', arguments: '{ }' } }),
        { role: 'function', name: 'f', content: 'r' },
        assistant('ok'),
        { role: 'function', name: 'g', content: null },
      ],
    },
    sent: {
      functions: undefined,
      function_call: undefined,
      tools: [tool()],
      tool_choice: { type: 'function', function: { name: 'f' } },
      messages: [
        user('u'),
        assistant(null, {
          tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'f', arguments: '{ }' } }],
        }),
        { role: 'tool', tool_call_id: 'call_1', content: 'r' },
        assistant('ok'),
      ],
    },
    warnings: [
      'adapted;functions: deprecated, sent as tools',
      'adapted;function_call: deprecated, sent as tool_choice',
      'adapted;messages.1: deprecated, sent as a tool message (3 places)',
      'tool_result_orphan_dropped;call_4: no earlier call has this id',
    ],
  },
  {
    rule: 'functions as tools',
    model: gpt4,
    body: {
      functions: [{ name: 'f', parameters: { type: 'object', properties: {} } }],
      function_call: 'none',
      tools: [tool()],
    },
    sent: { functions: undefined, tools: [tool(), tool()], tool_choice: 'none' },
    warnings: [
      'adapted;functions: deprecated, sent as tools',
      'adapted;function_call: deprecated, sent as tool_choice',
    ],
  },
]

const image = { image_url: { url: 'data:image/png;base64,iVBORw0=' } }

const messages: readonly Case[] = [
  {
    rule: 'content parts completed',
    model: gpt4,
    body: { messages: [user('a'), user([{ type: 'text', text: 'b', image_url: null, file: null }, image])] },
    sent: {
      messages: [
        user('a'),
        user([
          { type: 'text', text: 'b' },
          { type: 'image_url', ...image },
        ]),
      ],
    },
    warnings: ['adapted;messages.1.content: added missing part types, removed null members'],
  },
  {
    rule: 'content parts completed',
    model: gpt4,
    body: {
      messages: [
        user([
          { type: 'new', text: null },
          { type: 'text', text: 'x', cache: null },
        ]),
      ],
    },
    sent: {
      messages: [
        user([
          { type: 'new', text: null },
          { type: 'text', text: 'x', cache: null },
        ]),
      ],
    },
    warnings: [],
  },
  {
    rule: 'unknown keys of assistant messages dropped',
    model: gpt4,
    body: {
      messages: [
        user('u'),
        assistant('a', { refusal: null, audio: null, annotations: [], function_call: null, tool_calls: null }),
        { ...user('u'), annotations: [1] },
        assistant('b', { tool_calls: [], reasoning_opaque: 'keep', phase: null }),
        user('u'),
      ],
    },
    sent: {
      messages: [
        user('u'),
        assistant('a'),
        { ...user('u'), annotations: [1] },
        assistant('b', { reasoning_opaque: 'keep', phase: null }),
        user('u'),
      ],
    },
    warnings: ['adapted;messages.1: removed keys that only replies have (2 places)'],
  },
  {
    rule: 'unknown keys of assistant messages dropped',
    model: gpt4,
    body: { messages: [user('u'), assistant(null, { refusal: 'I will not' }), user('u')] },
    sent: { messages: [user('u'), assistant(null, { refusal: 'I will not' }), user('u')] },
    warnings: [],
  },
  ...['claude-sonnet-4.5', 'gemini-2.5-pro', 'grok-code-fast-1'].map((id) => ({
    rule: 'refusals as text',
    model: traits(id),
    body: {
      messages: [
        user('u'),
        assistant(null, { refusal: 'I will not' }),
        user('u'),
        assistant([{ type: 'refusal', refusal: 'No' }]),
        user('u'),
        assistant('a', { refusal: 'beside' }),
        user('u'),
      ],
    },
    sent: {
      messages: [
        user('u'),
        assistant('I will not'),
        user('u'),
        assistant([{ type: 'text', text: 'No' }]),
        user('u'),
        assistant('a'),
        user('u'),
      ],
    },
    warnings: ['adapted;messages.1: refusal sent as text (3 places)'],
  })),
  ...['claude-sonnet-4.5', 'gemini-2.5-pro', 'grok-code-fast-1'].map((id) => ({
    rule: 'developer as system',
    model: traits(id),
    body: { messages: [{ role: 'developer', content: [{ type: 'text', text: 'd' }] }, ...hello] },
    sent: { messages: [{ role: 'system', content: [{ type: 'text', text: 'd' }] }, ...hello] },
    warnings: ['adapted;messages.0.role: developer message sent as system message'],
  })),
  ...['gpt-4.1', 'gpt-5-mini', 'o3-mini'].map((id) => ({
    rule: 'developer as system',
    model: traits(id),
    body: { messages: [{ role: 'developer', content: 'd' }, { role: 'system', content: 's' }, ...hello] },
    sent: { messages: [{ role: 'developer', content: 'd' }, { role: 'system', content: 's' }, ...hello] },
    warnings: [],
  })),
  {
    rule: 'system as user',
    model: traits('o1-preview'),
    body: { messages: [{ role: 'system', content: 's' }, { role: 'developer', content: 'd' }, ...hello] },
    sent: { messages: [user('s'), user('d'), ...hello] },
    warnings: [
      'clamped;messages.0.role: o1-preview does not support system messages; sent as user messages (2 places)',
    ],
    strictPath: 'messages.0.role',
  },
  {
    rule: 'text files as text',
    model: sonnet,
    body: {
      messages: [
        user([
          { type: 'file', file: { filename: 'a.txt', file_data: 'data:text/plain;base64,eA==' } },
          { type: 'text', text: 'q' },
        ]),
      ],
    },
    sent: {
      messages: [
        user([
          { type: 'text', text: 'a.txt\n\nx' },
          { type: 'text', text: 'q' },
        ]),
      ],
    },
    warnings: ['adapted;messages.0.content: text file sent as text'],
  },
  {
    rule: 'empty text parts dropped',
    model: sonnet,
    body: {
      messages: [
        user([
          { type: 'text', text: ' \n' },
          { type: 'text', text: 'x ' },
          { type: 'text', text: '' },
        ]),
      ],
    },
    sent: { messages: [user([{ type: 'text', text: 'x ' }])] },
    warnings: ['adapted;messages.0.content: empty text part dropped'],
  },
  {
    rule: 'empty messages dropped',
    model: sonnet,
    body: {
      messages: [
        { role: 'system', content: '' },
        user('u'),
        assistant(null),
        user([{ type: 'text', text: '' }]),
        assistant('', { tool_calls: [call('c')] }),
        result('c'),
        assistant('', { reasoning_opaque: 'x' }),
        user('u'),
      ],
    },
    sent: {
      messages: [
        user('u'),
        assistant('', { tool_calls: [call('c')] }),
        result('c'),
        assistant('', { reasoning_opaque: 'x' }),
        user('u'),
      ],
    },
    warnings: [
      'adapted;messages.3.content: empty text part dropped',
      'adapted;messages.0: empty message dropped (3 places)',
    ],
  },
  ...['', ' \n', [], [{ type: 'text', text: '' }]].map((content) => ({
    rule: 'empty tool results given words',
    model: sonnet,
    body: {
      messages: [
        user('u'),
        assistant(null, { tool_calls: [call('c')] }),
        { role: 'tool', tool_call_id: 'c', content },
        user('u'),
      ],
    },
    sent: {
      messages: [
        user('u'),
        assistant(null, { tool_calls: [call('c')] }),
        { role: 'tool', tool_call_id: 'c', content: '(no output)' },
        user('u'),
      ],
    },
    warnings: [
      ...(typeof content === 'object' && content.length > 0
        ? ['adapted;messages.2.content: empty text part dropped']
        : []),
      'adapted;messages.2.content: empty tool result sent as (no output)',
    ],
  })),
  {
    rule: 'empty tool results given words',
    model: gpt4,
    body: {
      messages: [
        user('u'),
        assistant(null, { tool_calls: [call('c')] }),
        { role: 'tool', tool_call_id: 'c', content: '' },
      ],
    },
    sent: {
      messages: [
        user('u'),
        assistant(null, { tool_calls: [call('c')] }),
        { role: 'tool', tool_call_id: 'c', content: '' },
      ],
    },
    warnings: [],
  },
  {
    rule: 'empty messages dropped',
    model: sonnet,
    body: { messages: [user('')] },
    sent: { messages: [user('')] },
    warnings: [],
  },
  {
    rule: 'empty messages dropped',
    model: gpt4,
    body: { messages: [user([{ type: 'text', text: '' }]), assistant(''), assistant('')] },
    sent: { messages: [user([{ type: 'text', text: '' }]), assistant(''), assistant('')] },
    warnings: [],
  },
  {
    rule: 'assistant messages in a row merged',
    model: sonnet,
    body: {
      messages: [
        user('u'),
        assistant('one'),
        assistant([{ type: 'text', text: 'two' }], { tool_calls: [call('c')] }),
        assistant(null, { tool_calls: [call('d')] }),
        result('c'),
        result('d'),
        assistant('three'),
        assistant('four'),
        user('u'),
      ],
    },
    sent: {
      messages: [
        user('u'),
        assistant(
          [
            { type: 'text', text: 'one' },
            { type: 'text', text: 'two' },
          ],
          { tool_calls: [call('c'), call('d')] },
        ),
        result('c'),
        result('d'),
        assistant('three\n\nfour'),
        user('u'),
      ],
    },
    warnings: ['adapted;messages: assistant messages in a row merged (3 places)'],
  },
  {
    rule: 'assistant messages in a row merged',
    model: sonnet,
    body: {
      messages: [
        assistant(null, { reasoning_text: 'r', reasoning_opaque: 'o', tool_calls: [call('c')] }),
        assistant('x', { reasoning_text: 'lost' }),
        result('c'),
        assistant('y', { reasoning_text: 'kept' }),
        assistant('z'),
        user('u'),
      ],
    },
    sent: {
      messages: [
        assistant('x', { reasoning_text: 'r', reasoning_opaque: 'o', tool_calls: [call('c')] }),
        result('c'),
        assistant('y\n\nz', { reasoning_text: 'kept' }),
        user('u'),
      ],
    },
    warnings: ['adapted;messages: assistant messages in a row merged (2 places)'],
  },
  ...['claude-opus-4.6', 'claude-opus-4-7-20260401', 'claude-sonnet-5'].map((id) => ({
    rule: 'user turn after a final assistant message',
    model: traits(id),
    body: { messages: [user('u'), assistant('{')] },
    sent: { messages: [user('u'), assistant('{'), user('Continue.')] },
    warnings: [`clamped;messages: ${id} cannot continue an assistant message; added the user message "Continue."`],
    strictPath: 'messages',
  })),
  ...[sonnet, gpt4, traits('claude-next')].map((model) => ({
    rule: 'user turn after a final assistant message',
    model,
    body: { messages: [user('u'), assistant('{')] },
    sent: { messages: [user('u'), assistant('{')] },
    warnings: [],
  })),
  {
    rule: 'user turn after a final assistant message',
    model: opus47,
    body: { messages: [user('u'), assistant(null, { tool_calls: [call('c')] })] },
    sent: { messages: [user('u'), assistant(null, { tool_calls: [call('c')] }), missing('c')] },
    warnings: [synthesised('c')],
  },
]

const sealed = (form: 'reasoning_opaque' | 'encrypted_content' | 'signature', vendor: 'openai' | 'anthropic') =>
  sealOpaque({ form, vendor, family: '', value: 'RAW' })
const thinker = (opaque: string) => assistant('a', { reasoning_text: 't', reasoning_opaque: opaque })
const reasoning: readonly Case[] = [
  {
    rule: 'sealed reasoning opened or dropped',
    model: gpt4,
    body: {
      messages: [user('u'), thinker(sealed('reasoning_opaque', 'openai')), user('v'), thinker('native'), user('w')],
    },
    sent: { messages: [user('u'), thinker('RAW'), user('v'), thinker('native'), user('w')] },
    warnings: [],
  },
  ...[
    sealed('reasoning_opaque', 'anthropic'),
    sealed('encrypted_content', 'openai'),
    sealed('signature', 'openai'),
    'cpx1.damaged',
    'cpa1.',
  ].map((opaque) => ({
    rule: 'sealed reasoning opened or dropped',
    model: gpt4,
    body: { messages: [user('u'), thinker(opaque), user('v')] },
    sent: { messages: [user('u'), assistant('a'), user('v')] },
    warnings: ['thinking_dropped;messages.1: reasoning of another model dropped'],
  })),
  {
    rule: 'sealed reasoning opened or dropped',
    model: gpt4,
    body: { messages: [user('u'), { ...thinker('cpx1.damaged'), reasoning_content: 't' }, user('v')] },
    sent: { messages: [user('u'), assistant('a'), user('v')] },
    warnings: ['thinking_dropped;messages.1: reasoning of another model dropped'],
  },
  {
    rule: 'sealed reasoning opened or dropped',
    model: gpt4,
    body: { messages: Array.from({ length: 50 }, () => thinker('cpx1.')) },
    sent: { messages: Array.from({ length: 50 }, () => assistant('a')) },
    warnings: [
      ...Array.from({ length: 20 }, (_, n) => `thinking_dropped;messages.${n}: reasoning of another model dropped`),
      'thinking_dropped;messages: reasoning of another model dropped (and others, 50 in total)',
    ],
  },
]

const pairing: readonly Case[] = [
  ...[
    {
      // A call without a result, and a result without a call.
      script: [user('u'), calls('a', 'b'), result('a'), result('zz'), user('v')],
      sent: [user('u'), calls('a', 'b'), result('a'), missing('b'), user('v')],
      warnings: [synthesised('b'), 'tool_result_orphan_dropped;zz: no earlier call has this id'],
    },
    {
      // A result after another message.
      script: [calls('a', 'b'), result('b'), user('v'), result('a'), user('w')],
      sent: [calls('a', 'b'), result('b'), result('a'), user('v'), user('w')],
      warnings: ['tool_result_moved;a: moved to follow its call'],
    },
    {
      // An id that is used again before its result came.
      script: [calls('a'), user('v'), calls('a'), result('a'), user('w')],
      sent: [calls('a'), missing('a'), user('v'), calls('a'), result('a'), user('w')],
      warnings: [synthesised('a')],
    },
    {
      // A result before its call.
      script: [user('u'), result('a'), calls('a'), user('w')],
      sent: [user('u'), calls('a'), result('a'), user('w')],
      warnings: ['tool_result_moved;a: moved to follow its call'],
    },
    {
      // More results than calls.
      script: [calls('a'), result('a'), result('a'), user('w')],
      sent: [calls('a'), result('a'), user('w')],
      warnings: ['tool_result_orphan_dropped;a: no earlier call has this id'],
    },
    {
      // What is right, in any order.
      script: [calls('a', 'b'), result('b'), result('a'), calls('a'), result('a'), user('w')],
      sent: [calls('a', 'b'), result('b'), result('a'), calls('a'), result('a'), user('w')],
      warnings: [],
    },
    {
      // Nothing but a result.
      script: [result('a')],
      sent: [result('a')],
      warnings: [],
    },
    {
      // Calls that are not the assistant's.
      script: [{ ...user('u'), tool_calls: 5 }],
      sent: [{ ...user('u'), tool_calls: 5 }],
      warnings: [],
    },
    {
      // Calls of several messages in a row.
      script: [calls('a'), calls('b'), result('a'), result('b'), user('w')],
      sent: [calls('a'), result('a'), calls('b'), result('b'), user('w')],
      warnings: ['tool_result_moved;a: moved to follow its call'],
    },
    {
      // The same with the results in another order.
      script: [calls('a'), calls('b'), result('b'), result('a'), user('w')],
      sent: [calls('a'), result('a'), calls('b'), result('b'), user('w')],
      warnings: ['tool_result_moved;a: moved to follow its call'],
    },
  ].map(({ script, sent, warnings }) => ({
    rule: 'tool results after their calls',
    model: gpt4,
    body: { messages: script },
    sent: { messages: sent },
    warnings,
  })),
  {
    // Merged into one message afterwards.
    rule: 'tool results after their calls',
    model: sonnet,
    body: { messages: [user('u'), calls('a'), result('zz'), calls('b'), result('a'), result('b'), user('w')] },
    sent: { messages: [user('u'), calls('a', 'b'), result('a'), result('b'), user('w')] },
    warnings: [
      'tool_result_orphan_dropped;zz: no earlier call has this id',
      'adapted;messages: assistant messages in a row merged',
    ],
  },
]

/** Two rounds of calls whose ids are used again. */
const rounds = (first: string, second: string, third: string) => [
  user('u'),
  calls(first, second),
  result(second),
  result(first),
  user('v'),
  calls(third),
  result(third),
]
const counted = (prefix: string) => [
  user('u'),
  calls(`${prefix}f:0`, `${prefix}f:1`),
  result(`${prefix}f:1`),
  result(`${prefix}f:0`),
  user('v'),
  calls(`${prefix}f:2`),
  result(`${prefix}f:2`),
]
const renamed = 'adapted;messages.1: call ids sent in the form that Kimi expects (5 places)'

const kimi: readonly Case[] = [
  ...[kimi2, kimi3].flatMap((model) => [
    { rule: 'sampling that Kimi needs', model, body: {}, sent: { temperature: 1, top_p: 0.95 }, warnings: [] },
    {
      rule: 'sampling that Kimi needs',
      model,
      body: { temperature: 0, top_p: 0.95 },
      sent: { temperature: 1, top_p: 0.95 },
      warnings: [`clamped;temperature: ${model.id} accepts one value only; sent as 1`],
      strictPath: 'temperature',
    },
    {
      rule: 'sampling that Kimi needs',
      model,
      body: { temperature: 1, top_p: 1 },
      sent: { temperature: 1, top_p: 0.95 },
      warnings: [`clamped;top_p: ${model.id} accepts one value only; sent as 0.95`],
      strictPath: 'top_p',
    },
  ]),
  {
    rule: 'sampling that Kimi needs',
    model: traits('kimi-latest'),
    body: { temperature: 0 },
    sent: { temperature: 0, top_p: undefined },
    warnings: [],
  },
  ...(
    [
      [kimi2, 'functions.'],
      [kimi3, ''],
    ] as const
  ).flatMap(([model, prefix]) => [
    {
      rule: 'ids of calls that the model takes',
      model,
      body: { messages: rounds('call_a', 'call_b', 'call_a') },
      sent: { messages: counted(prefix) },
      warnings: [renamed],
    },
    {
      rule: 'ids of calls that the model takes',
      model,
      body: { messages: counted(prefix) },
      sent: { messages: counted(prefix) },
      warnings: [],
    },
  ]),
  {
    // The other generation's, and a history that was cut.
    rule: 'ids of calls that the model takes',
    model: kimi2,
    body: { messages: [user('u'), calls('f:7'), result('f:7')] },
    sent: { messages: [user('u'), calls('functions.f:0'), result('functions.f:0')] },
    warnings: ['adapted;messages.1: call ids sent in the form that Kimi expects (2 places)'],
  },
  {
    rule: 'ids of calls that the model takes',
    model: grok,
    body: { messages: rounds('call_a', 'call_b', 'call_a') },
    sent: { messages: rounds('call_a', 'call_b', 'call_a') },
    warnings: [],
  },
]

const many = (count: number) => Array.from({ length: count }, () => tool())

const limits: readonly Case[] = [
  { rule: 'too many tools refused', model: gpt4, body: { tools: many(128) }, sent: { tools: many(128) }, warnings: [] },
  {
    rule: 'too many tools refused',
    model: traits('kimi-k3', { supports: { toolSearch: true } }),
    body: { tools: many(129) },
    sent: { tools: many(129) },
    warnings: [],
  },
]

test.each([
  ['tools', { tools: 129 }, 'tools'],
  ['functions', { functions: 129 }, 'functions'],
  ['tools and functions', { tools: 100, functions: 29 }, 'tools'],
])('refuses more %s than upstream takes', (_, counts: { tools?: number; functions?: number }, path) => {
  const functions = Array.from({ length: counts.functions ?? 0 }, () => ({ name: 'f' }))
  const body = { model: 'm', messages: hello, tools: many(counts.tools ?? 0), functions }
  expect(errorOf(() => pass(body, { model: gpt4 }))).toEqual({
    kind: 'invalid_request',
    path,
    detail: 'expected at most 128 tools for gpt-4.1, got 129',
    code: 'array_above_max_length',
  })
})

/** Those of every request, and those that other files test in depth. */
const always: readonly Case[] = [
  {
    rule: 'a stream with usage of the routed model',
    model: gpt4,
    body: {},
    sent: { model: 'gpt-4.1', stream: true, stream_options: { include_usage: true } },
    warnings: [],
  },
  {
    rule: 'names and kinds of tools that upstream takes',
    model: gpt4,
    body: { tools: [{ type: 'function', function: { name: 'a.b', parameters: { type: 'object', properties: {} } } }] },
    sent: { tools: [{ type: 'function', function: { name: 'a_b', parameters: { type: 'object', properties: {} } } }] },
    warnings: [],
  },
]

const ownCall = { role: 'assistant', content: null, tool_calls: [call('c')], reasoning_opaque: 'own' }

const budgetOnly = { ...sonnet, supports: { maxThinkingBudget: 32_000 } }
const mark = { copilot_cache_control: { type: 'ephemeral' } }

const forms: readonly Case[] = [
  ...(
    [
      ['high', {}, 24_576],
      ['high', { thinking_budget: 100_000 }, 32_000],
      ['low', { max_tokens: 1000 }, undefined],
      ['none', {}, undefined],
    ] as const
  ).map(([level, members, budget]): Case => ({
    rule: 'effort in the form of the model',
    model: budgetOnly,
    body: { reasoning_effort: level, ...members },
    sent: { ...members, reasoning_effort: undefined, thinking_budget: budget },
    warnings: [
      `adapted;reasoning_effort: ${budget === undefined ? 'sent without thinking' : `sent as a budget of ${budget} tokens`}`,
    ],
  })),
  {
    rule: 'at most four cache marks',
    model: sonnet,
    body: {
      messages: ['a', 'b', 'c', 'd'].flatMap((text) => [Object.assign(user(text), mark), assistant('x')]),
      tools: [{ ...tool(), ...mark }],
    },
    sent: { tools: [tool()] },
    warnings: ['adapted;tools.0.copilot_cache_control: at most 4 cache marks are accepted'],
  },
]

const learnedRefusals: readonly Case[] = [
  {
    rule: 'no cache marks',
    model: sonnet,
    learnedRefusals: ['marks:copilot_cache_control'],
    body: { messages: [{ role: 'user', content: 'q', copilot_cache_control: { type: 'ephemeral' } }] },
    sent: { messages: [user('q')] },
    warnings: [],
  },
  {
    rule: 'no more output than the prompt leaves',
    model: gpt4,
    learnedRefusals: ['output-left:7'],
    body: { max_tokens: 50 },
    sent: { max_tokens: 7 },
    warnings: ['clamped;max_tokens: the prompt leaves 7 tokens of the context window'],
    strictPath: 'max_tokens',
  },
  {
    rule: 'reasoning that the model cannot read left out',
    model: gpt4,
    learnedRefusals: ['reasoning:unreadable'],
    body: { messages: [user('q'), ownCall, { role: 'tool', tool_call_id: 'c', content: 'r' }] },
    sent: {
      messages: [
        user('q'),
        { role: 'assistant', content: null, tool_calls: [call('c')] },
        { role: 'tool', tool_call_id: 'c', content: 'r' },
      ],
    },
    warnings: [],
  },
  {
    rule: 'calls without their reasoning as text',
    model: gemini,
    learnedRefusals: ['calls:own'],
    body: {
      messages: [
        user('q'),
        { role: 'assistant', content: null, tool_calls: [call('c')] },
        { role: 'tool', tool_call_id: 'c', content: 'r' },
      ],
    },
    sent: {
      messages: [
        user('q'),
        { role: 'assistant', content: '[Called f with {"a": 1}]' },
        { role: 'user', content: [{ type: 'text', text: '[Result of f]\nr' }] },
      ],
    },
    warnings: [],
  },
  {
    rule: 'what upstream refused before left out',
    model: gpt4,
    learnedRefusals: ['field:top_p', 'field:seed', 'field:stop', 'field:stream_options'],
    body: { top_p: 0.5, seed: 1, temperature: 0 },
    sent: { top_p: undefined, seed: undefined, temperature: 0, stream_options: undefined },
    warnings: ['top_p', 'seed'].map(
      (name) => `refused_upstream;${name}: the provider has refused this field for this model`,
    ),
  },
  {
    rule: 'output cap under the name that the model takes',
    model: gpt4,
    learnedRefusals: ['rename:max_tokens'],
    body: { max_tokens: 5 },
    sent: { max_tokens: undefined, max_completion_tokens: 5 },
    warnings: ['adapted;max_tokens: sent as max_completion_tokens'],
  },
  {
    rule: 'output cap under the name that the model takes',
    model: gpt4,
    learnedRefusals: ['rename:max_tokens'],
    body: { max_completion_tokens: 5 },
    sent: { max_tokens: undefined, max_completion_tokens: 5 },
    warnings: [],
  },
  {
    rule: 'what upstream refused before left out',
    model: gpt5,
    learnedRefusals: ['field:max_completion_tokens'],
    body: { max_tokens: 5 },
    sent: { max_tokens: undefined, max_completion_tokens: undefined },
    warnings: [
      'adapted;max_tokens: sent as max_completion_tokens',
      'refused_upstream;max_completion_tokens: the provider has refused this field for this model',
    ],
  },
]

/** Parameters that some model refuses, that are renamed or replaced, that pass, and one that nothing is known of. */
const nullable =
  'temperature top_p top_k max_tokens max_completion_tokens reasoning_effort tools tool_choice parallel_tool_calls ' +
  'functions function_call store service_tier metadata prediction stop x_unknown'

const nulls: readonly Case[] = [gpt4, gpt5, opus47, efforts()].map((model) => ({
  rule: 'null left out',
  model,
  body: Object.fromEntries(nullable.split(' ').map((name) => [name, null])),
  sent: Object.fromEntries(nullable.split(' ').map((name) => [name, undefined])),
  warnings: [],
}))

const parameters = [...nulls, ...sampling, ...unsupported, ...outputCaps, ...effort, ...tools]
const changedIds = 'changed tool call ids that the provider refuses or that repeat'
const withArguments = (text: string) => [
  user('u'),
  assistant(null, { tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: text } }] }),
  result('a'),
]
const jpeg = 'data:image/jpeg;base64,/9j/4AAQSkZJRgABAQAAAQABAAD'
const picture = (url: string) => ({ type: 'image_url', image_url: { url, detail: 'low' } })

const histories: readonly Case[] = [
  {
    rule: 'stop sequences that upstream refuses looked for by the proxy',
    model: gpt5,
    body: { stop: ['END', ''] },
    sent: { stop: undefined },
    warnings: ['emulated;stop: the answer ends before them'],
  },
  {
    rule: 'stop sequences that upstream refuses looked for by the proxy',
    model: gpt4,
    body: { stop: 'END' },
    sent: { stop: undefined },
    warnings: ['emulated;stop: the answer ends before them'],
    learnedRefusals: ['field:stop'],
  },
  {
    rule: 'stop sequences that upstream refuses looked for by the proxy',
    model: gpt4,
    body: { stop: 'END' },
    sent: { stop: 'END' },
    warnings: [],
  },
  {
    rule: 'stop sequences that upstream refuses looked for by the proxy',
    model: sonnet,
    body: { stop: ['END', '\n', ''] },
    sent: { stop: ['END'] },
    warnings: ['emulated;stop: the answer ends before them'],
  },
  {
    rule: 'stop sequences that upstream refuses looked for by the proxy',
    model: gpt4,
    body: { stop: ['END', '\n'] },
    sent: { stop: ['END', '\n'] },
    warnings: [],
  },
  {
    rule: 'ids of calls that the model takes',
    model: sonnet,
    body: { messages: [user('u'), calls('f:0'), result('f:0'), calls('a', 'a'), result('a'), result('a')] },
    sent: { messages: [user('u'), calls('f_0'), result('f_0'), calls('a', 'a__2'), result('a'), result('a__2')] },
    warnings: [`adapted;messages.1: ${changedIds} (4 places)`],
  },
  {
    // Claude's adjacent assistant messages are one turn, whose results follow all of them.
    rule: 'ids of calls that the model takes',
    model: sonnet,
    body: { messages: [user('u'), calls('f:0'), calls('f:1'), result('f:1'), result('f:0')] },
    sent: { messages: [user('u'), calls('f_0', 'f_1'), result('f_1'), result('f_0')] },
    warnings: [`adapted;messages.1: ${changedIds} (4 places)`, 'adapted;messages: assistant messages in a row merged'],
  },
  {
    rule: 'ids of calls that the model takes',
    model: gpt4,
    body: { messages: [user('u'), calls('x'.repeat(41)), result('x'.repeat(41)), calls('f:0'), result('f:0')] },
    sent: {
      messages: [
        user('u'),
        calls('xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx_3164596d'),
        result('xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx_3164596d'),
        calls('f:0'),
        result('f:0'),
      ],
    },
    warnings: [`adapted;messages.1: ${changedIds} (2 places)`],
  },
  {
    rule: 'ids of calls that the model takes',
    model: gpt4,
    body: { messages: [user('u'), calls('x'.repeat(40), 'a'), result('x'.repeat(40)), result('a')] },
    sent: { messages: [user('u'), calls('x'.repeat(40), 'a'), result('x'.repeat(40)), result('a')] },
    warnings: [],
  },
  ...[gpt4, sonnet, gemini].flatMap((model) =>
    [
      ['{"path":"a.txt","text":"hel', '{"path":"a.txt","text":"hel"}'],
      ['{"a":1}{"b":2}', JSON.stringify({ input: '{"a":1}{"b":2}' })],
      ['ls -la', JSON.stringify({ input: 'ls -la' })],
      ['{"pa', JSON.stringify({ input: '{"pa' })],
      ['null', '{}'],
      [' {"a": 1.0}', ' {"a": 1.0}'],
    ].map(([text = '', sent = '']) => ({
      rule: 'arguments that are no JSON object closed or wrapped',
      model,
      body: { messages: withArguments(text) },
      sent: { messages: withArguments(sent) },
      warnings: text === sent ? [] : ['adapted;messages.1: arguments that are no JSON object closed or wrapped'],
    })),
  ),
  {
    rule: 'blank text beside calls left out',
    model: sonnet,
    body: { messages: [user('u'), { ...calls('a'), content: '\n\n' }, result('a')] },
    sent: { messages: [user('u'), calls('a'), result('a')] },
    warnings: ['adapted;messages.1.content: blank text beside calls left out'],
  },
  {
    rule: 'blank text beside calls left out',
    model: sonnet,
    body: { messages: [user('u'), { ...calls('a'), content: '\nI look.' }, result('a')] },
    sent: { messages: [user('u'), { ...calls('a'), content: '\nI look.' }, result('a')] },
    warnings: [],
  },
  {
    rule: 'image types as the bytes state them',
    model: sonnet,
    body: { messages: [user([picture(jpeg.replace('jpeg', 'png')), picture('data:image/x;base64,AAAA')])] },
    sent: { messages: [user([picture(jpeg), picture('data:image/x;base64,AAAA')])] },
    warnings: ['adapted;messages.0.content: image type corrected'],
  },
  {
    rule: 'no white space at the end of a begun answer',
    model: sonnet,
    body: { messages: [user('u'), assistant('The answer is \n')] },
    sent: { messages: [user('u'), assistant('The answer is')] },
    warnings: ['dropped;messages.1: white space at the end'],
    strictPath: 'messages.1',
  },
  {
    rule: 'no white space at the end of a begun answer',
    model: sonnet,
    body: { messages: [user('u'), assistant([{ type: 'text', text: 'a ' }]), user('v')] },
    sent: { messages: [user('u'), assistant([{ type: 'text', text: 'a ' }]), user('v')] },
    warnings: [],
  },
]

const cases = [
  ...parameters,
  ...messages,
  ...reasoning,
  ...pairing,
  ...kimi,
  ...histories,
  ...limits,
  ...forms,
  ...learnedRefusals,
  ...always,
]

describe.each(cases)(
  '$rule, $model.id: $body',
  ({ model, body, sent, warnings, strictPath, learnedRefusals: known = [] }) => {
    const request = { model: 'asked', messages: hello, ...body }

    test('sends what the model takes, and says what was changed', () => {
      const passed = pass(request, { model, learnedRefusals: known })
      for (const [key, value] of Object.entries(sent)) expect(passed.value[key], key).toEqual(value)
      expect(passed.warnings).toEqual(warnings)
    })

    test(strictPath === undefined ? 'does the same when strict' : 'refuses when strict', () => {
      const strict = () => pass(request, { model, strict: true, learnedRefusals: known })
      if (strictPath === undefined) expect(strict()).toEqual(pass(request, { model, learnedRefusals: known }))
      else
        expect(errorOf(strict)).toMatchObject({ kind: 'invalid_request', path: strictPath, code: 'unsupported_value' })
    })
  },
)

test('every rule has a case and a source', () => {
  // pass-request.test.ts tests the window, which is a setting and no fact about a model.
  const all = rules.filter(({ name }) => name !== 'older turns left out')
  expect(new Set(cases.map(({ rule }) => rule))).toEqual(new Set(all.map(({ name }) => name)))
  for (const { source } of all) expect(source).toMatch(/parameters|tool schemas|OpenAI API reference/)
})

test('says under strict what is refused and why', () => {
  const error = errorOf(() => pass({ model: 'm', messages: hello, temperature: 0 }, { model: gpt5, strict: true }))
  expect(error).toMatchObject({ detail: 'not supported by gpt-5-mini (refused because chat.strict is on)' })
})

test('leaves tool calls, tool choice, images and structured content as they are', () => {
  const body = {
    model: 'm',
    messages: [
      user([
        { type: 'text', text: ' a ' },
        { type: 'image_url', image_url: { url: 'data:image/png;base64,A=', detail: 'high' } },
      ]),
      assistant(null, { tool_calls: [call('toolu_1')], reasoning_text: 'r', reasoning_opaque: 'o' }),
      { ...result('toolu_1'), content: [{ type: 'text', text: '{"x":\n1}' }] },
    ],
    tools: [{ ...tool(), copilot_cache_control: { type: 'ephemeral' } }],
    tool_choice: { type: 'function', function: { name: 'f' } },
  }
  for (const id of ['gpt-5-mini', 'gpt-4.1', 'claude-opus-4.8', 'gemini-3-pro-preview', 'grok-code-fast-1', 'o3']) {
    const { value, warnings } = pass(body, { model: traits(id) })
    expect(value).toMatchObject({ messages: body.messages, tools: body.tools, tool_choice: body.tool_choice })
    expect(warnings).toEqual([])
  }
})

test('what was adapted once needs no adapting again', () => {
  const text = fc.constantFrom('', ' ', 'x')
  const content = fc.oneof(
    text,
    fc.array(
      fc.oneof(
        text.map((value) => ({ type: 'text', text: value })),
        fc.constant(image),
      ),
      { maxLength: 3 },
    ),
  )
  const message = fc.oneof(
    fc.record({ role: fc.constantFrom('system', 'developer', 'user'), content }),
    fc.record(
      {
        role: fc.constant('assistant'),
        content: fc.option(content),
        tool_calls: fc.constantFrom(null, [], [call('a')]),
        refusal: fc.constant(null),
        function_call: fc.constantFrom(null, { name: 'f', arguments: '' }),
        reasoning_opaque: fc.constant('o'),
      },
      { requiredKeys: ['role'] },
    ),
    fc.record({ role: fc.constant('tool'), content, tool_call_id: fc.constantFrom('a', 'b') }),
    fc.record({ role: fc.constant('function'), content: text, name: fc.constant('f') }),
  )
  const request = fc.record(
    {
      model: fc.constant('m'),
      messages: fc.array(message, { minLength: 1, maxLength: 6 }),
      max_tokens: fc.integer({ min: 1, max: 200 }),
      max_completion_tokens: fc.option(fc.integer({ min: 1, max: 200 })),
      temperature: fc.constantFrom(null, 0, 1),
      tools: fc.constantFrom(null, [], [tool({ $schema: 'x', properties: { const: { const: 1 } } })]),
      tool_choice: fc.constantFrom('auto', 'required', null),
      functions: fc.constantFrom(null, [{ name: 'g' }]),
      reasoning_effort: fc.constantFrom('max', 'none', 'medium'),
      store: fc.boolean(),
    },
    { requiredKeys: ['model', 'messages'] },
  )
  const model = fc
    .constantFrom(
      'gpt-5',
      'gpt-4o',
      'o1',
      'claude-sonnet-4',
      'claude-opus-4.8',
      'gemini-3-pro-preview',
      'grok-4.5',
      'kimi-k2.6',
      'kimi-k3',
    )
    .map((id) => traits(id, { maxOutputTokens: 100, supports: { reasoningEffort: ['low', 'high'] } }))
  fc.assert(
    fc.property(request, model, (body, target) => {
      const once = pass(body, { model: target })
      // Messages that were merged may call twice under one id, and are translated then.
      fc.pre(chatDialect.upstream.passRequest(callOf(once.json), contextOf({ model: target })) !== undefined)
      const twice = pass(once.json, { model: target })
      expect(twice.warnings).toEqual([])
      expect(twice.json).toBe(once.json)
    }),
    { numRuns: 1000 },
  )
})
