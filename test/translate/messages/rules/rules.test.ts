import { describe, expect, test } from 'vitest'
import { rules } from '../../../../src/translate/messages/rules/rules.ts'
import { blockRows } from '../../../../src/translate/messages/rules/block-rules.ts'
import { sealOpaque } from '../../../../src/translate/engine/opaque-envelope.ts'
import { hello } from '../caller-helpers.ts'
import { models, pass, traits, type PassOptions } from '../upstream-helpers.ts'
import { errorOf } from '../../faults.ts'

interface Case extends PassOptions {
  /** The rule's name; every rule needs a case. */
  readonly rule: string
  readonly body: Readonly<Record<string, unknown>>
  /** Members as upstream gets them; `undefined`: not there. */
  readonly sent: Readonly<Record<string, unknown>>
  readonly warnings?: readonly string[]
  /** The header, where the case is about it. */
  readonly sentBetas?: string | undefined
}

/** Of a generation that thinks adaptively, but for what the model list says of it. */
const budgetOnly = traits('claude-opus-4.9', { adaptiveThinking: false, maxThinkingBudget: 32_000 })
const { haiku45, sonnet45, opus46, opus48, sonnet5 } = models
const SEARCH = 'advanced-tool-use-2025-11-20'
const CONTEXT = 'context-management-2025-06-27'
const TTL = 'extended-cache-ttl-2025-04-11'

const text = (words: string, rest = {}) => ({ type: 'text', text: words, ...rest })
const user = (content: unknown) => ({ role: 'user', content })
const assistant = (...content: unknown[]) => ({ role: 'assistant', content })
const system = (content: unknown, rest = {}) => ({ role: 'system', content, ...rest })
const call = (id: string, rest = {}) => ({ type: 'tool_use', id, name: 'f', input: {}, ...rest })
const result = (id: string, rest = {}) => ({ type: 'tool_result', tool_use_id: id, content: 'r', ...rest })
const searched = (id: string) => [
  { type: 'server_tool_use', id, name: 'web_search', input: { query: 'q' } },
  { type: 'web_search_tool_result', tool_use_id: id, content: [] },
]
const thinking = (signature: string, words = 'T') => ({ type: 'thinking', thinking: words, signature })
const schema = { type: 'object', properties: {} }
/** As structured outputs take it. */
const closed = { ...schema, additionalProperties: false }
const tool = (name = 'f', rest = {}) => ({ name, input_schema: schema, ...rest })
const mark = { cache_control: { type: 'ephemeral' } }
const reminder = (words: string) => text(`<system-reminder>\n${words}\n</system-reminder>`)

const openai = sealOpaque({ vendor: 'openai', family: 'gpt-6', form: 'encrypted_content', id: 'rs_1', value: 'E' })
const ownSignature = sealOpaque({ vendor: 'anthropic', family: 'claude', form: 'signature', value: 'SIG' })
const ownRedacted = sealOpaque({ vendor: 'anthropic', family: 'claude', form: 'redacted', value: 'DATA' })

const fields: readonly Case[] = [
  { rule: 'container refused', body: { container: null }, sent: { container: undefined } },
  { rule: 'mcp_servers refused', body: { mcp_servers: [] }, sent: { mcp_servers: undefined } },
  { rule: 'null left out', body: { system: null, tools: null }, sent: { system: undefined, tools: undefined } },
  ...['inference_geo', 'diagnostics', 'billing_policy', 'compaction'].map((field) => ({
    rule: `${field} dropped`,
    body: { [field]: 'us' },
    sent: { [field]: undefined },
    warnings: [`dropped;${field}`],
  })),
  ...[
    { field: 'service_tier', idle: 'standard_only', meant: 'priority' },
    { field: 'speed', idle: 'standard', meant: 'fast' },
    { field: 'fallbacks', idle: [], meant: [{ model: 'x' }] },
  ].flatMap(({ field, idle, meant }) => [
    { rule: `${field} dropped`, body: { [field]: idle }, sent: { [field]: undefined } },
    {
      rule: `${field} dropped`,
      body: { [field]: meant },
      sent: { [field]: undefined },
      warnings: [`dropped;${field}`],
    },
  ]),
  ...['anthropic_version', 'anthropic_beta', 'safeguards'].map((field) => ({
    rule: `${field} dropped`,
    body: { [field]: 'x' },
    sent: { [field]: undefined },
  })),
  {
    rule: 'blank stop sequences looked for by the proxy',
    body: { stop_sequences: ['END', ' \n'] },
    sent: { stop_sequences: ['END'] },
    warnings: ['emulated;stop_sequences'],
  },
  {
    rule: 'blank stop sequences looked for by the proxy',
    body: { stop_sequences: ['END'] },
    sent: { stop_sequences: ['END'] },
  },
  {
    rule: 'output_format as output_config.format',
    body: { output_format: { type: 'json_schema', schema: closed }, output_config: { effort: 'low' } },
    sent: {
      output_format: undefined,
      output_config: { effort: 'low', format: { type: 'json_schema', schema: closed } },
    },
    warnings: ['adapted;output_format'],
  },
]

const settings: readonly Case[] = [
  {
    rule: 'settings of system messages moved to the top',
    body: {
      messages: [
        user('u'),
        system('gone', { clear_at: 'next_user_message' }),
        assistant(text('a')),
        user('v'),
        system('stays', { clear_at: 'next_user_message', output_config: { effort: 'low' } }),
        system(undefined, { output_config: { effort: 'high' } }),
      ],
    },
    sent: {
      messages: [user('u'), assistant(text('a')), user('v'), system('stays')],
      output_config: { effort: 'high' },
    },
    warnings: ['adapted;messages.1'],
  },
  {
    // An effort stays in force until the next.
    rule: 'settings of system messages moved to the top',
    body: { messages: [user('u'), system('s', { output_config: { effort: 'low' } }), assistant(text('a')), user('v')] },
    sent: { messages: [user('u'), system('s'), assistant(text('a')), user('v')], output_config: { effort: 'low' } },
    warnings: ['adapted;messages.1'],
  },
  {
    rule: 'tool changes moved to the tools',
    body: {
      tools: [tool('f'), tool('g')],
      messages: [
        user('u'),
        system([
          text('tools changed'),
          { type: 'tool_addition', tool: { type: 'tool_definition', definition: tool('h') } },
          { type: 'tool_removal', tool: { type: 'tool_reference', name: 'f' } },
        ]),
      ],
    },
    sent: { tools: [tool('g'), tool('h')], messages: [user('u'), system([text('tools changed')])] },
    warnings: ['adapted;messages.1'],
  },
]

const betas: readonly Case[] = [
  {
    rule: 'betas filtered',
    model: { ...opus48, contextWindow: 200_000 },
    betas: [CONTEXT, 'context-1m-2025-08-07', 'files-api-2025-04-14', SEARCH, TTL, CONTEXT],
    body: {},
    sent: {},
    sentBetas: `${CONTEXT},${SEARCH},${TTL}`,
    warnings: ['dropped;anthropic-beta'],
  },
  {
    rule: 'betas filtered',
    betas: ['files-api-2025-04-14', 'claude-code-20250219'],
    body: {},
    sent: {},
    sentBetas: undefined,
  },
  ...[haiku45, sonnet45].map((model) => ({
    rule: 'betas filtered',
    model,
    betas: ['interleaved-thinking-2025-05-14'],
    body: {},
    sent: {},
    sentBetas: 'interleaved-thinking-2025-05-14',
  })),
  ...[opus46, opus48, sonnet5].map((model) => ({
    rule: 'betas filtered',
    model,
    betas: ['interleaved-thinking-2025-05-14'],
    body: {},
    sent: {},
    sentBetas: undefined,
  })),
  {
    rule: 'betas filtered',
    betas: [SEARCH],
    learnedRefusals: [`beta:${SEARCH}`],
    body: {},
    sent: {},
    sentBetas: undefined,
  },
  {
    rule: 'tool search beta added',
    body: { tools: [{ type: 'tool_search_tool_bm25_20251119', name: 'search' }] },
    sent: {},
    sentBetas: SEARCH,
  },
  {
    rule: 'context_management without its beta dropped',
    body: { context_management: { edits: [] } },
    sent: { context_management: undefined },
    warnings: ['dropped;context_management'],
  },
  ...([true, false] as const).map((contextEditing) => ({
    rule: contextEditing ? 'betas filtered' : 'context_management without its beta dropped',
    model: { ...opus48, supports: { ...opus48.supports, contextEditing } },
    betas: [CONTEXT, 'files-api-2025-04-14'],
    body: { context_management: { edits: [] } },
    sent: { context_management: contextEditing ? { edits: [] } : undefined },
    sentBetas: contextEditing ? CONTEXT : undefined,
    warnings: contextEditing ? [] : ['dropped;context_management'],
  })),
  {
    rule: 'context edits upstream cannot make dropped',
    betas: [CONTEXT],
    body: {
      context_management: { edits: [{ type: 'clear_thinking_20251015' }, { type: 'clear_tool_uses_20250919' }] },
    },
    sent: { context_management: { edits: [{ type: 'clear_tool_uses_20250919' }] } },
  },
  {
    rule: 'context edits upstream cannot make dropped',
    betas: [CONTEXT],
    body: { thinking: { type: 'adaptive' }, context_management: { edits: [{ type: 'compact_20260112' }] } },
    sent: { context_management: undefined },
    warnings: ['dropped;context_management.edits'],
  },
  {
    rule: 'context edits upstream cannot make dropped',
    betas: [CONTEXT],
    body: { thinking: { type: 'adaptive' }, context_management: { edits: [{ type: 'clear_thinking_20251015' }] } },
    sent: { context_management: { edits: [{ type: 'clear_thinking_20251015' }] } },
  },
]

const tools: readonly Case[] = [
  {
    rule: 'server tools dropped',
    body: {
      tools: [
        { type: 'web_search_20260318', name: 'web_search' },
        { type: 'advisor_20260301', name: 'advisor' },
        { type: 'bash_20250124', name: 'bash' },
        { type: 'memory_20250818', name: 'memory' },
        tool('f', { type: 'custom' }),
      ],
    },
    sent: {
      tools: [
        { type: 'bash_20250124', name: 'bash' },
        { type: 'memory_20250818', name: 'memory' },
        tool('f', { type: 'custom' }),
      ],
    },
    warnings: ['dropped;tools.0', 'dropped;tools.1'],
  },
  {
    rule: 'tools of refused types dropped',
    learnedRefusals: ['tag:tools:text_editor_20990101'],
    body: { tools: [{ type: 'text_editor_20990101', name: 'e' }, tool()] },
    sent: { tools: [tool()] },
    warnings: ['refused_upstream;tools.0'],
  },
  {
    rule: 'tool search tools without the beta dropped',
    learnedRefusals: [`beta:${SEARCH}`],
    body: { tools: [{ type: 'tool_search_tool_regex_20251119', name: 's' }, tool()] },
    sent: { tools: [tool()] },
    warnings: ['dropped;tools.0'],
  },
  {
    rule: 'tool search tools without the beta dropped',
    model: { ...opus48, supports: { ...opus48.supports, toolSearch: false } },
    betas: [SEARCH],
    body: { tools: [{ type: 'tool_search_tool_regex_20251119', name: 's' }, tool('f', { defer_loading: true })] },
    sent: { tools: [tool()] },
    sentBetas: undefined,
    warnings: ['dropped;tools.0', 'adapted;tools.1'],
  },
  {
    rule: 'deferred placeholders without the beta dropped',
    body: {
      tools: [tool(), { name: 'later', defer_loading: true, input_schema: {} }, { name: 'x', defer_loading: true }],
    },
    sent: { tools: [tool()] },
    warnings: ['adapted;tools.1'],
  },
  {
    rule: 'defer_loading without the beta dropped',
    body: { tools: [tool('f', { defer_loading: true })] },
    sent: { tools: [tool()] },
    warnings: ['adapted;tools.0'],
  },
  {
    rule: 'defer_loading without the beta dropped',
    betas: [SEARCH],
    body: { tools: [tool('f', { defer_loading: true })] },
    sent: { tools: [tool('f', { defer_loading: true })] },
  },
  {
    rule: 'hints on tools dropped',
    body: { tools: [tool('f', { eager_input_streaming: true, allowed_callers: ['direct'] })] },
    sent: { tools: [tool()] },
    warnings: ['adapted;tools.0'],
  },
  {
    rule: 'input_examples and allowed_callers dropped',
    body: { tools: [tool(), tool('g', { input_examples: [{}], allowed_callers: ['code_execution_20250825'] })] },
    sent: { tools: [tool(), tool('g')] },
    warnings: ['dropped;tools.1'],
  },
  {
    rule: 'tool schemas fitted to the model',
    body: {
      tools: [
        { name: 'a' },
        { name: 'b', input_schema: { properties: { x: {} } } },
        { name: 'c', input_schema: { type: 'object', required: null, $schema: 's' } },
        { name: 'd', input_schema: { ...schema, required: ['x'] } },
        { name: 'e', input_schema: { ...schema, enum: [] } },
      ],
    },
    sent: {
      tools: [
        { name: 'a', input_schema: schema },
        { name: 'b', input_schema: { type: 'object', properties: { x: {} } } },
        { name: 'c', input_schema: { ...schema, description: '{$schema: "s"}' } },
        { name: 'd', input_schema: { ...schema, required: ['x'] } },
        { name: 'e', input_schema: schema },
      ],
    },
    warnings: ['adapted;tools.0.input_schema', 'schema_simplified;tools.4.input_schema'],
  },
  {
    rule: 'duplicate tools dropped',
    body: { tools: [tool('f'), tool('g'), tool('f', { description: 'last' })] },
    sent: { tools: [tool('g'), tool('f', { description: 'last' })] },
    warnings: ['duplicate_tool_dropped;tools.0'],
  },
  {
    rule: 'a forced tool requested in the system text',
    learnedRefusals: ['choice:unforced'],
    body: { system: 'S', tools: [tool()], tool_choice: { type: 'tool', name: 'f', disable_parallel_tool_use: true } },
    sent: {
      system: [text('S'), text('Answer with a call of the tool f.')],
      tool_choice: { type: 'auto', disable_parallel_tool_use: true },
    },
    warnings: ['clamped;tool_choice'],
  },
  {
    rule: 'a forced tool requested in the system text',
    body: { tools: [tool()], tool_choice: { type: 'any' } },
    sent: { system: undefined, tool_choice: { type: 'any' } },
  },
  { rule: 'empty tools dropped', body: { tools: [] }, sent: { tools: undefined } },
  {
    rule: 'tool_choice without tools dropped',
    body: { tool_choice: { type: 'auto' } },
    sent: { tool_choice: undefined },
  },
]

const systems: readonly Case[] = [
  {
    rule: 'leading system messages as system text',
    body: { system: 'S', messages: [system('D1'), system([text('D2')]), user('u')] },
    sent: { system: [text('S'), text('D1'), text('D2')], messages: [user('u')] },
    warnings: ['adapted;messages.0'],
  },
  {
    rule: 'billing line and blank system blocks dropped',
    body: { system: [text('x-anthropic-billing-header: cc_version=2; cch=1;'), text('You are X.', mark)] },
    sent: { system: [text('You are X.', mark)] },
  },
  {
    rule: 'billing line and blank system blocks dropped',
    body: { system: 'x-anthropic-billing-header: cch=1;\nYou are X.' },
    sent: { system: 'You are X.' },
  },
  {
    rule: 'billing line and blank system blocks dropped',
    body: { system: [text(' \n'), text('S')] },
    sent: { system: [text('S')] },
  },
  { rule: 'billing line and blank system blocks dropped', body: { system: [text('')] }, sent: { system: undefined } },
  { rule: 'billing line and blank system blocks dropped', body: { system: '' }, sent: { system: undefined } },
  ...[haiku45, sonnet45, opus46].map((model) => ({
    rule: 'system messages as reminders in the user turn',
    model,
    body: { messages: [user('u'), system('D2'), user([text('v')])] },
    sent: { messages: [user([text('u'), reminder('D2'), text('v')])] },
    warnings: ['adapted;messages.1'],
  })),
  ...[opus48, sonnet5].map((model) => ({
    rule: 'system messages as reminders in the user turn',
    model,
    body: { messages: [user('u'), system('D2'), assistant(text('a')), user('v')] },
    sent: { messages: [user('u'), system('D2'), assistant(text('a')), user('v')] },
  })),
  {
    rule: 'system messages as reminders in the user turn',
    learnedRefusals: ['system-messages:no'],
    body: { messages: [user('u'), system('D2')] },
    sent: { messages: [user([text('u'), reminder('D2')])] },
    warnings: ['adapted;messages.1'],
  },
  {
    // Between a call and its result nothing may stand.
    rule: 'system messages as reminders in the user turn',
    body: { messages: [user('u'), assistant(call('a')), system('D'), user([result('a')])], tools: [tool()] },
    sent: { messages: [user('u'), assistant(call('a')), user([result('a'), reminder('D')])] },
    warnings: ['adapted;messages.2', 'tool_result_moved;a'],
  },
]

const picture = (media_type: string, data: string) => ({ type: 'image', source: { type: 'base64', media_type, data } })

const blocks: readonly Case[] = [
  {
    rule: 'image types as the bytes state them',
    body: { messages: [user([picture('image/png', '/9j/4AAQSkZJRgAB'), picture('image/webp', 'AAAA')])] },
    sent: { messages: [user([picture('image/jpeg', '/9j/4AAQSkZJRgAB'), picture('image/webp', 'AAAA')])] },
    warnings: ['adapted;messages.0'],
  },
  {
    rule: 'blank text blocks dropped',
    body: { messages: [user([text(''), text('go')]), user('  '), assistant(text(' ')), user('on')] },
    sent: { messages: [user([text('go')]), user('on')] },
    warnings: ['adapted;messages.0', 'adapted;messages.1'],
  },
  {
    rule: 'blank text blocks dropped',
    body: {
      tools: [tool()],
      messages: [user('u'), assistant(call('a')), user([result('a', { content: [text(''), text('x')] })])],
    },
    sent: { messages: [user('u'), assistant(call('a')), user([result('a', { content: [text('x')] })])] },
    warnings: ['adapted;messages.2'],
  },
  {
    rule: 'reasoning of other models dropped, our envelope opened',
    body: {
      messages: [
        user('u'),
        assistant(thinking(openai), { type: 'redacted_thinking', data: openai }, text('A')),
        user('v'),
        assistant(thinking(ownSignature), { type: 'redacted_thinking', data: ownRedacted }, text('B')),
        user('w'),
      ],
    },
    sent: {
      messages: [
        user('u'),
        assistant(text('A')),
        user('v'),
        assistant(thinking('SIG'), { type: 'redacted_thinking', data: 'DATA' }, text('B')),
        user('w'),
      ],
    },
    warnings: ['thinking_dropped;messages.1'],
  },
  {
    rule: 'thinking blocks without a signature dropped',
    body: {
      messages: [
        user('u'),
        assistant({ type: 'thinking', thinking: 'T' }, thinking(''), thinking('SIG', ''), text('A')),
        user('v'),
      ],
    },
    sent: { messages: [user('u'), assistant(thinking('SIG', ''), text('A')), user('v')] },
    warnings: ['thinking_dropped;messages.1'],
  },
  {
    rule: 'tool calls given an object',
    body: { tools: [tool()], messages: [user('u'), assistant(call('a', { input: null })), user([result('a')])] },
    sent: { messages: [user('u'), assistant(call('a')), user([result('a')])] },
  },
  {
    rule: 'ids of tool calls made legal and unique',
    body: { tools: [tool()], messages: [user('u'), assistant(call('a.b')), user([result('a.b')])] },
    sent: { messages: [user('u'), assistant(call('a_b')), user([result('a_b')])] },
    warnings: ['adapted;messages.1'],
  },
  {
    rule: 'ids of tool calls made legal and unique',
    body: {
      tools: [tool()],
      messages: [
        user('u'),
        assistant(call('a')),
        user([result('a')]),
        assistant(call('a'), call('a')),
        user([result('a', { content: 'second' }), result('a', { content: 'third' })]),
      ],
    },
    sent: {
      messages: [
        user('u'),
        assistant(call('a')),
        user([result('a')]),
        assistant(call('a__2'), call('a__3')),
        user([result('a__2', { content: 'second' }), result('a__3', { content: 'third' })]),
      ],
    },
    warnings: ['adapted;messages.3'],
  },
  {
    rule: 'ids of tool calls made legal and unique',
    body: {
      tools: [tool()],
      messages: [
        user('u'),
        assistant(call('f:0'), call('f_0'), call('')),
        user([result(''), result('f_0', { content: 'second' }), result('f:0', { content: 'first' })]),
      ],
    },
    sent: {
      messages: [
        user('u'),
        assistant(call('f_0'), call('f_0__2'), call('call')),
        user([result('call'), result('f_0__2', { content: 'second' }), result('f_0', { content: 'first' })]),
      ],
    },
    warnings: ['adapted;messages.1'],
  },
  {
    rule: 'failed tool results given text',
    body: {
      tools: [tool()],
      messages: [user('u'), assistant(call('a')), user([result('a', { content: [text('')], is_error: true })])],
    },
    sent: { messages: [user('u'), assistant(call('a')), user([result('a', { content: 'Error', is_error: true })])] },
    warnings: ['adapted;messages.2'],
  },
  {
    rule: 'tool references as text',
    body: {
      tools: [tool()],
      messages: [
        user('u'),
        assistant(call('a')),
        user([result('a', { content: [{ type: 'tool_reference', tool_name: 'f' }] })]),
      ],
    },
    sent: {
      messages: [
        user('u'),
        assistant(call('a')),
        user([result('a', { content: [text('The tool f can be called now.')] })]),
      ],
    },
    warnings: ['adapted;messages.2'],
  },
  {
    rule: 'tool references as text',
    betas: [SEARCH],
    body: {
      tools: [tool()],
      messages: [
        user('u'),
        assistant(call('a')),
        user([result('a', { content: ['f', 'gone'].map((name) => ({ type: 'tool_reference', tool_name: name })) })]),
      ],
    },
    sent: {
      messages: [
        user('u'),
        assistant(call('a')),
        user([
          result('a', {
            content: [{ type: 'tool_reference', tool_name: 'f' }, text('The tool gone can be called now.')],
          }),
        ]),
      ],
    },
    warnings: ['adapted;messages.2'],
  },
  {
    rule: 'calls of server tools that are not offered dropped',
    body: {
      messages: [
        user('u'),
        assistant(
          { type: 'server_tool_use', id: 's1', name: 'web_search', input: {} },
          { type: 'web_search_tool_result', tool_use_id: 's1', content: [] },
          text('A'),
        ),
        user('v'),
      ],
    },
    sent: { messages: [user('u'), assistant(text('A')), user('v')] },
    warnings: ['dropped;messages.1'],
  },
  {
    rule: 'calls of server tools that are not offered dropped',
    body: {
      messages: [
        user('u'),
        assistant(...searched('s1'), text('A')),
        user('v'),
        assistant(text('B'), ...searched('s2')),
        assistant(...searched('s3')),
      ],
    },
    sent: {
      messages: [
        user('u'),
        assistant(text('[Web search: q]\nThe web search found nothing.'), text('A')),
        user('v'),
        assistant(text('B'), ...searched('s2')),
        assistant(...searched('s3')),
      ],
    },
    warnings: ['adapted;messages.1'],
  },
  {
    rule: 'results of server tools without their call dropped',
    body: {
      messages: [
        user('u'),
        assistant(
          { type: 'server_tool_use', id: 's1', name: 'web_search', input: { query: 'q' } },
          {
            type: 'web_search_tool_result',
            tool_use_id: 's1',
            content: [{ type: 'web_search_result', url: 'https://e.x', title: 'E', encrypted_content: 'foreign' }],
          },
          { type: 'server_tool_use', id: 's2', name: 'web_search', input: { query: 'r' } },
          {
            type: 'web_search_tool_result',
            tool_use_id: 's2',
            content: { type: 'web_search_tool_result_error', error_code: 'too_many_requests' },
          },
          text('A'),
        ),
        user('v'),
      ],
    },
    sent: {
      messages: [
        user('u'),
        assistant(
          text(
            '[Web search: q]\nPages found. Cite those you use as markdown links, [title](address):\n- E: https://e.x',
          ),
          text('[Web search: r]\nThe web search failed: too_many_requests.'),
          text('A'),
        ),
        user('v'),
      ],
    },
    warnings: ['adapted;messages.1'],
  },
  {
    rule: 'results of server tools without their call dropped',
    betas: [SEARCH],
    body: {
      tools: [{ type: 'tool_search_tool_bm25_20251119', name: 'find' }],
      messages: [
        user('u'),
        assistant(
          { type: 'server_tool_use', id: 's1', name: 'find', input: {} },
          { type: 'tool_search_tool_result', tool_use_id: 's1', content: {} },
          { type: 'mcp_tool_use', id: 'm1', name: 'x', server_name: 's', input: {} },
          { type: 'mcp_tool_result', tool_use_id: 'm1', content: [] },
        ),
        user('v'),
      ],
    },
    sent: {
      messages: [
        user('u'),
        assistant(
          { type: 'server_tool_use', id: 's1', name: 'find', input: {} },
          { type: 'tool_search_tool_result', tool_use_id: 's1', content: {} },
        ),
        user('v'),
      ],
    },
    warnings: ['dropped;messages.1'],
  },
  {
    rule: 'documents that are no PDF as text',
    body: {
      messages: [
        user([
          { type: 'document', title: 'N', source: { type: 'text', media_type: 'text/plain', data: 'note' }, ...mark },
          { type: 'document', source: { type: 'content', content: [text('a'), text('b')] } },
          { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0=' } },
        ]),
      ],
    },
    sent: {
      messages: [
        user([
          text('N'),
          text('note', mark),
          text('a'),
          text('b'),
          { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0=' } },
        ]),
      ],
    },
    warnings: ['adapted;messages.0'],
  },
  {
    rule: 'compacted history as text',
    body: { messages: [user('u'), assistant({ type: 'compaction', content: 'S' }, text('A')), user('v')] },
    sent: { messages: [user('u'), assistant(text('S'), text('A')), user('v')] },
    warnings: ['compaction_dropped;messages.1'],
  },
  {
    rule: 'files in containers dropped',
    body: { messages: [user([{ type: 'container_upload', file_id: 'x' }, text('u')])] },
    sent: { messages: [user([text('u')])] },
    warnings: ['dropped;messages.0'],
  },
  {
    rule: 'content blocks',
    learnedRefusals: ['tag:messages:hologram'],
    body: { messages: [user([{ type: 'hologram' }, text('u')])] },
    sent: { messages: [user([text('u')])] },
    warnings: ['refused_upstream;messages.0'],
  },
]

const order: readonly Case[] = [
  {
    rule: 'no white space at the end of a begun answer',
    model: sonnet45,
    body: { messages: [user('u'), assistant(text('The answer is \n'))] },
    sent: { messages: [user('u'), assistant(text('The answer is'))] },
    warnings: ['dropped;messages.1'],
  },
  {
    rule: 'no white space at the end of a begun answer',
    body: { messages: [user('u'), assistant(text('a ')), user('v')] },
    sent: { messages: [user('u'), assistant(text('a ')), user('v')] },
  },
  {
    rule: 'prefill refused',
    body: { messages: [user('u'), assistant(text('A'), ...searched('s1'))] },
    sent: { messages: [user('u'), assistant(text('A'), ...searched('s1'))] },
  },
  {
    rule: 'prefill refused',
    model: sonnet45,
    body: { messages: [user('u'), assistant(text('{'))] },
    sent: { messages: [user('u'), assistant(text('{'))] },
  },
  {
    rule: 'tool results paired with their calls',
    body: {
      tools: [tool()],
      messages: [
        user('u'),
        assistant(call('a'), call('b')),
        user([text('next'), result('zz'), result('a', { content: 'ra' })]),
      ],
    },
    sent: {
      messages: [
        user('u'),
        assistant(call('a'), call('b')),
        user([
          result('a', { content: 'ra' }),
          result('b', { is_error: true, content: 'No result was provided for this tool call.' }),
          text('next'),
        ]),
      ],
    },
    warnings: ['tool_result_orphan_dropped;zz', 'tool_result_moved;a', 'tool_result_synthesised;b'],
  },
  {
    // Split over messages that upstream would only merge afterwards.
    rule: 'tool results paired with their calls',
    body: {
      tools: [tool()],
      messages: [user('u'), assistant(call('a')), assistant(call('b')), user([result('b')]), user([result('a')])],
    },
    sent: {
      messages: [user('u'), assistant(call('a')), assistant(call('b')), user([result('b'), result('a')])],
    },
  },
  {
    rule: 'tool results paired with their calls',
    body: {
      tools: [tool()],
      messages: [
        user('u'),
        assistant(call('a')),
        user([result('a'), text('go')]),
        user('on'),
        assistant(text('A')),
        user('v'),
      ],
    },
    sent: {
      messages: [
        user('u'),
        assistant(call('a')),
        user([result('a'), text('go')]),
        user('on'),
        assistant(text('A')),
        user('v'),
      ],
    },
  },
  {
    rule: 'a user message at the start',
    body: { messages: [assistant(text('A')), user('u')] },
    sent: { messages: [user('(continued)'), assistant(text('A')), user('u')] },
    warnings: ['adapted;messages.0'],
  },
]

const enabled = (budget: number, rest = {}) => ({ type: 'enabled', budget_tokens: budget, ...rest })

const binding = { block_binding: { prefix_mismatch_behavior: 'drop_block' } }
const BINDING = 'thinking-binding-controls-2026-08-01'
const opus51 = traits('claude-opus-5.1', { adaptiveThinking: true })

const thoughts: readonly Case[] = [
  ...['claude-fable-5.1', 'claude-mythos-5.1'].flatMap((id) => [
    {
      rule: 'thinking stated for models that think adaptively only',
      model: traits(id, { adaptiveThinking: false, maxThinkingBudget: 32_000 }),
      body: {},
      sent: { thinking: id.includes('fable') ? { type: 'adaptive', ...binding } : { type: 'adaptive' } },
    },
    {
      rule: 'thinking and effort fitted to the model',
      model: traits(id, { reasoningEffort: ['low', 'high'] }),
      body: { thinking: { type: 'disabled' } },
      sent: {
        thinking: id.includes('fable') ? { type: 'adaptive', ...binding } : { type: 'adaptive' },
        output_config: { effort: 'low' },
      },
      warnings: ['adapted;thinking'],
    },
  ]),
  {
    rule: 'thinking stated for models that think adaptively only',
    model: opus48,
    body: {},
    sent: { thinking: undefined },
  },
  {
    rule: 'thinking bound to what stands before it, or dropped',
    model: opus51,
    body: { thinking: { type: 'adaptive' } },
    sent: { thinking: { type: 'adaptive', ...binding } },
    sentBetas: BINDING,
  },
  {
    rule: 'thinking bound to what stands before it, or dropped',
    model: opus51,
    betas: [BINDING],
    body: { thinking: { type: 'adaptive', block_binding: { prefix_mismatch_behavior: 'error' } } },
    sent: { thinking: { type: 'adaptive', block_binding: { prefix_mismatch_behavior: 'error' } } },
    sentBetas: BINDING,
  },
  ...[
    { model: opus51, learnedRefusals: [`beta:${BINDING}`] },
    { model: opus51, learnedRefusals: ['field:thinking.adaptive.block_binding'] },
    { model: opus48, learnedRefusals: [] },
  ].map(({ model, learnedRefusals }) => ({
    rule: 'thinking bound to what stands before it, or dropped',
    model,
    learnedRefusals,
    betas: [BINDING],
    body: { thinking: { type: 'adaptive', ...binding } },
    sent: { thinking: { type: 'adaptive' } },
    sentBetas: undefined,
  })),
  {
    rule: 'max_tokens lowered',
    model: sonnet45,
    body: { max_tokens: 64_000 },
    sent: { max_tokens: 32_000 },
    warnings: ['clamped;max_tokens'],
  },
  {
    rule: 'max_tokens lowered',
    learnedRefusals: ['max-tokens:500'],
    body: { max_tokens: 1000 },
    sent: { max_tokens: 500 },
    warnings: ['clamped;max_tokens'],
  },
  ...[opus48, sonnet5].map((model) => ({
    rule: 'thinking and effort fitted to the model',
    model,
    body: { max_tokens: 32_000, thinking: enabled(10_000, { display: 'omitted' }) },
    sent: { thinking: { type: 'adaptive', display: 'omitted' }, output_config: { effort: 'high' } },
    warnings: ['adapted;thinking'],
  })),
  {
    rule: 'thinking and effort fitted to the model',
    model: budgetOnly,
    body: { max_tokens: 32_000, thinking: { type: 'adaptive' }, output_config: { effort: 'medium' } },
    sent: { thinking: enabled(8192), output_config: undefined },
    warnings: ['adapted;thinking'],
  },
  {
    rule: 'thinking and effort fitted to the model',
    model: opus46,
    body: { max_tokens: 32_000, thinking: enabled(10_000) },
    sent: { thinking: enabled(10_000), output_config: undefined },
  },
  ...[haiku45, sonnet45].flatMap((model) => [
    {
      rule: 'thinking and effort fitted to the model',
      model,
      body: { max_tokens: 32_000, thinking: { type: 'adaptive' }, output_config: { effort: 'medium' } },
      sent: { thinking: enabled(8192), output_config: undefined },
      warnings: ['adapted;thinking'],
    },
    {
      rule: 'thinking and effort fitted to the model',
      model,
      body: { max_tokens: 2000, thinking: { type: 'adaptive' } },
      sent: { thinking: enabled(1500) },
      warnings: ['adapted;thinking'],
    },
    {
      rule: 'thinking and effort fitted to the model',
      model,
      body: { max_tokens: 32_000, thinking: enabled(500) },
      sent: { thinking: enabled(1024) },
      warnings: ['clamped;thinking.budget_tokens'],
    },
    {
      rule: 'thinking and effort fitted to the model',
      model,
      body: { max_tokens: 1024, thinking: enabled(1024) },
      sent: { thinking: { type: 'disabled' } },
      warnings: ['dropped;thinking'],
    },
    {
      rule: 'thinking and effort fitted to the model',
      model,
      body: { max_tokens: 4096, thinking: enabled(1024), tools: [tool()], tool_choice: { type: 'any' } },
      sent: { thinking: { type: 'disabled' } },
      warnings: ['dropped;thinking'],
    },
    {
      rule: 'thinking and effort fitted to the model',
      model,
      body: {
        max_tokens: 4096,
        thinking: enabled(1024),
        tools: [tool()],
        messages: [user('u'), assistant(call('a')), user([result('a')])],
      },
      sent: { thinking: { type: 'disabled' } },
      warnings: ['dropped;thinking'],
    },
    {
      rule: 'thinking and effort fitted to the model',
      model,
      body: { output_config: { effort: 'high' } },
      sent: { output_config: undefined },
      warnings: ['dropped;output_config.effort'],
    },
  ]),
  {
    rule: 'thinking and effort fitted to the model',
    body: { thinking: { type: 'adaptive', budget_tokens: 5, budget_tokens_max: 9 } },
    sent: { thinking: { type: 'adaptive' } },
  },
  {
    rule: 'thinking and effort fitted to the model',
    body: { thinking: { type: 'adaptive' }, output_config: { effort: 'xhigh' } },
    sent: { output_config: { effort: 'high' } },
    warnings: ['clamped;output_config.effort'],
  },
  {
    rule: 'thinking and effort fitted to the model',
    model: traits('claude-opus-4.7', { reasoningEffort: ['medium'] }),
    body: { output_config: { effort: 'low' } },
    sent: { output_config: { effort: 'medium' } },
    warnings: ['clamped;output_config.effort'],
  },
  {
    rule: 'thinking and effort fitted to the model',
    model: sonnet5,
    body: { thinking: { type: 'disabled' }, output_config: { effort: 'max' } },
    sent: { thinking: { type: 'disabled' }, output_config: { effort: 'high' } },
    warnings: ['clamped;output_config.effort'],
  },
  {
    rule: 'thinking and effort fitted to the model',
    learnedRefusals: ['efforts:low,medium'],
    body: { output_config: { effort: 'high' } },
    sent: { output_config: { effort: 'medium' } },
    warnings: ['clamped;output_config.effort'],
  },
  {
    rule: 'thinking and effort fitted to the model',
    model: opus46,
    learnedRefusals: ['thinking:adaptive'],
    body: { max_tokens: 9000, thinking: enabled(2000) },
    sent: { thinking: { type: 'adaptive' }, output_config: { effort: 'medium' } },
    warnings: ['adapted;thinking'],
  },
  {
    rule: 'thinking.display beyond the beta as summarized',
    body: { thinking: { type: 'adaptive', display: 'updates' } },
    sent: { thinking: { type: 'adaptive', display: 'summarized' } },
    warnings: ['adapted;thinking.display'],
  },
  {
    rule: 'output_config reduced to what upstream knows',
    body: {
      output_config: { format: { type: 'json_schema', schema: closed, name: 'x', strict: true }, task_budget: {} },
    },
    sent: { output_config: { format: { type: 'json_schema', schema: closed } } },
    warnings: ['dropped;output_config.task_budget'],
  },
  {
    rule: 'output_config reduced to what upstream knows',
    body: { output_config: {} },
    sent: { output_config: undefined },
  },
  {
    rule: 'output_config.format fitted to structured outputs',
    body: { output_config: { format: { type: 'json_schema', schema: { type: 'string', minLength: 2 } } } },
    sent: { output_config: { format: { type: 'json_schema', schema: { type: 'string' } } } },
    warnings: ['schema_simplified;output_config.format.minLength'],
  },
  {
    rule: 'output_config.format as system text',
    model: traits('claude-opus-4.8', { adaptiveThinking: true, structuredOutputs: false }),
    body: { output_config: { effort: 'low', format: { type: 'json_schema', schema: closed } } },
    sent: {
      output_config: { effort: 'low' },
      system: [text(`Reply with JSON that matches this schema, and with nothing else:\n${JSON.stringify(closed)}`)],
    },
    warnings: ['json_hinted;output_config.format'],
  },
  {
    rule: 'output_config.format as system text',
    model: haiku45,
    body: { system: 'S', output_config: { format: { type: 'json_schema', schema: closed } } },
    sent: {
      output_config: undefined,
      system: [
        text('S'),
        text(`Reply with JSON that matches this schema, and with nothing else:\n${JSON.stringify(closed)}`),
      ],
    },
    warnings: ['json_hinted;output_config.format'],
  },
  {
    rule: 'sampling fitted to the model',
    model: sonnet45,
    body: { temperature: 0.2, top_p: 0.9, top_k: 3 },
    sent: { temperature: 0.2, top_p: undefined, top_k: 3 },
    warnings: ['dropped;top_p'],
  },
  {
    rule: 'sampling fitted to the model',
    model: sonnet45,
    body: { temperature: 1, top_p: 0.9 },
    sent: { temperature: undefined, top_p: 0.9 },
  },
  {
    rule: 'sampling fitted to the model',
    model: sonnet45,
    body: { temperature: 1.4 },
    sent: { temperature: 1 },
    warnings: ['clamped;temperature'],
  },
  {
    rule: 'sampling fitted to the model',
    body: { temperature: 0.2, top_p: 1, top_k: 3 },
    sent: { temperature: undefined, top_p: undefined, top_k: undefined },
    warnings: ['dropped;temperature', 'dropped;top_k'],
  },
  {
    rule: 'sampling fitted to the model',
    model: opus46,
    body: { thinking: { type: 'adaptive' }, temperature: 1 },
    sent: { temperature: undefined },
  },
]

const inside = (id: string) => result(id, { content: [text('a', mark), text('b')] })
const outside = (id: string) => result(id, { content: [text('a'), text('b')], ...mark })

const marks: readonly Case[] = [
  {
    rule: 'a mark for the whole request put on its last block',
    body: { cache_control: { type: 'ephemeral' } },
    sent: { cache_control: undefined, messages: [user([text('hello', mark)])] },
    warnings: ['adapted;cache_control'],
  },
  {
    rule: 'cache marks moved from the inside of tool results to the results',
    body: {
      tools: [tool()],
      messages: [user('u'), assistant(call('a'), call('b')), user([inside('a'), { ...inside('b'), ...mark }])],
    },
    sent: {
      messages: [user('u'), assistant(call('a'), call('b')), user([outside('a'), outside('b')])],
    },
  },
  {
    rule: 'cache marks added',
    body: { system: 'S', messages: [user('u'.repeat(4096)), assistant(text('A')), user('v')] },
    sent: {
      system: [text('S', mark)],
      messages: [user('u'.repeat(4096)), assistant(text('A', mark)), user([text('v', mark)])],
    },
  },
  {
    rule: 'cache marks reduced',
    body: { system: [text('S', { cache_control: { type: 'ephemeral', scope: 'global', ttl: '5m' } })] },
    sent: { system: [text('S', mark)] },
    sentBetas: undefined,
  },
  {
    rule: 'cache marks reduced',
    body: { system: [text('S', { cache_control: { type: 'ephemeral', ttl: '1h' } })] },
    sent: { system: [text('S', { cache_control: { type: 'ephemeral', ttl: '1h' } })] },
    sentBetas: TTL,
  },
  {
    rule: 'cache marks reduced',
    learnedRefusals: [`beta:${TTL}`],
    body: { system: [text('S', { cache_control: { type: 'ephemeral', ttl: '1h' } })] },
    sent: { system: [text('S', mark)] },
    sentBetas: undefined,
  },
  {
    rule: 'cache marks reduced',
    body: {
      tools: [tool('f', mark)],
      system: [text('S', mark)],
      messages: [user([text('a', mark), text('b', mark), text('c', mark)])],
    },
    sent: {
      tools: [tool('f')],
      system: [text('S', mark)],
      messages: [user([text('a', mark), text('b', mark), text('c', mark)])],
    },
  },
  {
    rule: 'cache marks reduced',
    body: { messages: [user('u'), assistant({ ...thinking('SIG'), ...mark }, text('A')), user('v')] },
    sent: { messages: [user('u'), assistant(thinking('SIG'), text('A')), user('v')] },
  },
]

const learned: readonly Case[] = [
  {
    rule: 'what upstream refused before left out',
    learnedRefusals: ['field:novelty', 'field:tools.*.custom.novelty', 'field:system.*.cache_control.ephemeral.scope'],
    body: { novelty: 1, tools: [tool('f', { novelty: 1 }), { ...tool('g', { type: 'custom', novelty: 1 }) }] },
    sent: { novelty: undefined, tools: [tool('f'), tool('g', { type: 'custom' })], messages: hello },
    warnings: ['refused_upstream;novelty', 'refused_upstream;tools.*.custom.novelty'],
  },
  {
    rule: 'no more output than the prompt leaves',
    learnedRefusals: ['output-left:700'],
    body: { max_tokens: 1000 },
    sent: { max_tokens: 700 },
    warnings: ['clamped;max_tokens'],
  },
  {
    rule: 'no thinking in this request',
    learnedRefusals: ['thinking:off'],
    body: { thinking: { type: 'adaptive' } },
    sent: { thinking: { type: 'disabled' } },
  },
  {
    rule: 'defer_loading of tools that upstream does not find dropped',
    learnedRefusals: ['tool-at-once:g'],
    betas: [SEARCH],
    body: { tools: [tool('f', { defer_loading: true }), tool('g', { defer_loading: true })] },
    sent: { tools: [tool('f', { defer_loading: true }), tool('g')] },
    warnings: ['refused_upstream;tools.1'],
  },
  {
    rule: 'strict tools without structured outputs',
    learnedRefusals: ['format:no'],
    body: { tools: [tool('f', { strict: true })] },
    sent: { tools: [tool('f')] },
    warnings: ['adapted;tools.0'],
  },
]

/** Those of every request, and those that pass-request.test.ts tests in depth. */
const always: readonly Case[] = [
  { rule: 'a stream of the routed model', body: { stream: false }, sent: { stream: true } },
  {
    rule: 'names of tools that every host takes',
    body: { tools: [tool('a.b')], tool_choice: { type: 'tool', name: 'a.b' } },
    sent: { tools: [tool('a_b')], tool_choice: { type: 'tool', name: 'a_b' } },
  },
]

const cases = [
  ...always,
  ...fields,
  ...settings,
  ...betas,
  ...tools,
  ...systems,
  ...blocks,
  ...order,
  ...thoughts,
  ...marks,
  ...learned,
]

describe.each([...new Set(cases.map(({ rule }) => rule))])('%s', (rule) => {
  test.each(cases.filter((each) => each.rule === rule).map((each, at) => [at + 1, each] as const))(
    'case %i',
    (_, each) => {
      const passed = pass(each.body, each)
      for (const [key, value] of Object.entries(each.sent)) expect(passed.value[key], key).toEqual(value)
      expect(passed.warnings).toEqual(each.warnings ?? [])
      if ('sentBetas' in each) expect(passed.betas).toBe(each.sentBetas)
    },
  )

  test.each(cases.filter((each) => each.rule === rule).map((each, at) => [at + 1, each] as const))(
    'case %i is done when it is done',
    (_, each) => {
      const { json, betas: sentBetas } = pass(each.body, each)
      const again = pass(json, { ...each, betas: sentBetas?.split(',') ?? [] })
      expect(again.json).toBe(json)
      expect(again.betas).toBe(sentBetas)
    },
  )
})

test('every rule has a case and says where it comes from', () => {
  // Only a request of another dialect lacks the beta.
  const all = [...rules, ...blockRows].filter(({ name }) => name !== 'interleaved thinking beta added')
  expect([...new Set(all.map(({ name }) => name))].toSorted()).toEqual(
    [...new Set(cases.map(({ rule }) => rule))].toSorted(),
  )
  for (const { source } of all) expect(source).toMatch(/messages, [a-z]|tool schemas|Anthropic|row/)
})

test.each([
  ['remote MCP servers', { mcp_servers: [{ type: 'url', url: 'https://e.x' }] }, 'mcp_servers', 'unsupported_value'],
  ['a container', { container: 'c1' }, 'container', 'unsupported_value'],
  ['a final assistant message', { messages: [user('u'), assistant(text('{'))] }, 'messages', 'assistant_prefill'],
  ['a turn that waits for results', { messages: [user('u'), assistant(call('a'))] }, 'messages', 'assistant_prefill'],
  [
    'a turn after which nothing is left',
    { messages: [user('u'), assistant(text('A')), user([result('lost')])] },
    'messages',
    'assistant_prefill',
  ],
  [
    'a final assistant message with text after the calls of a server tool',
    { messages: [user('u'), assistant(...searched('s1'), text('{'))] },
    'messages',
    'assistant_prefill',
  ],
  ['nothing but blanks', { messages: [user(' ')] }, 'messages', 'invalid_value'],
  ['nothing but system messages', { messages: [system('S')] }, 'messages', 'invalid_value'],
  [
    'a server tool that is demanded',
    { tools: [{ type: 'web_search_20250305', name: 'web_search' }], tool_choice: { type: 'tool', name: 'web_search' } },
    'tools[0]',
    'unsupported_tool',
  ],
  [
    'any tool where only server tools are offered',
    { tools: [{ type: 'web_search_20250305', name: 'web_search' }], tool_choice: { type: 'any' } },
    'tool_choice',
    'unsupported_tool',
  ],
])('refuses %s', (_, body, path, code) => {
  expect(errorOf(() => pass(body))).toMatchObject({ kind: 'invalid_request', path, code })
})
