import { fc } from '../../../fast-check.ts'
import { describe, expect, test } from 'vitest'
import { refusals } from '../../../../src/translate/messages/rules/learned-refusals.ts'
import { hello } from '../caller-helpers.ts'
import { callOf, type Words } from '../../refused.ts'
import { contextOf, models, pass, readEncoded, type PassOptions } from '../upstream-helpers.ts'

interface Case extends PassOptions {
  /** The refusal's name; every one needs a case. */
  readonly name: string
  readonly message: string
  readonly code?: string
  readonly body?: Readonly<Record<string, unknown>>
  /** Members of the second request; `undefined`: not there. */
  readonly sent: Readonly<Record<string, unknown>>
  readonly sentBetas?: string | undefined
  readonly learnedRefusal?: string
  /** Next time the request is right from the start. */
  readonly remembered: boolean
}

const { haiku45, sonnet45, opus46 } = models
const SEARCH = 'advanced-tool-use-2025-11-20'
const CONTEXT = 'context-management-2025-06-27'

const text = (words: string) => ({ type: 'text', text: words })
const user = (content: unknown) => ({ role: 'user', content })
const assistant = (...content: unknown[]) => ({ role: 'assistant', content })
const system = (content: unknown) => ({ role: 'system', content })
const call = (id: string, rest = {}) => ({ type: 'tool_use', id, name: 'f', input: {}, ...rest })
const result = (id: string, rest = {}) => ({ type: 'tool_result', tool_use_id: id, content: 'r', ...rest })
const thought = { type: 'thinking', thinking: 'T', signature: 'SIG' }
const schema = { type: 'object', properties: {}, additionalProperties: false }
const tool = (name = 'f', rest = {}) => ({ name, input_schema: schema, ...rest })
const enabled = { type: 'enabled', budget_tokens: 2000 }
const edits = { edits: [{ type: 'clear_tool_uses_20250919' }] }
const search = { type: 'server_tool_use', id: 's1', name: 'tool_search_tool_bm25', input: {} }
const found = { type: 'tool_search_tool_result', tool_use_id: 's1', content: {} }

const cases: readonly Case[] = [
  {
    name: 'named betas',
    message: `unsupported beta header(s): ${CONTEXT}, other-2025-01-01`,
    betas: [CONTEXT, SEARCH],
    body: { context_management: edits },
    sent: { context_management: undefined },
    sentBetas: SEARCH,
    learnedRefusal: `beta:${CONTEXT}`,
    remembered: true,
  },
  {
    name: 'some beta',
    message: 'invalid beta flag',
    betas: [CONTEXT, SEARCH],
    body: { context_management: edits, tools: [tool('f', { defer_loading: true })] },
    sent: { context_management: undefined, tools: [tool()] },
    remembered: false,
  },
  {
    name: 'keys',
    message: 'novelty: Extra inputs are not permitted',
    body: { novelty: 1 },
    sent: { novelty: undefined },
    learnedRefusal: 'field:novelty',
    remembered: true,
  },
  {
    name: 'keys',
    message: 'context_management: Extra inputs are not permitted',
    betas: [CONTEXT],
    body: { context_management: edits },
    sent: { context_management: undefined },
    sentBetas: CONTEXT,
    learnedRefusal: 'field:context_management',
    remembered: true,
  },
  {
    name: 'keys',
    message: 'tools.1.custom.novelty: Extra inputs are not permitted, novelty: Extra inputs are not permitted',
    body: { novelty: 1, tools: [tool('f', { novelty: 1 }), tool('g', { novelty: 1 })] },
    sent: { novelty: undefined, tools: [tool('f'), tool('g')] },
    learnedRefusal: 'field:tools.*.custom.novelty field:novelty',
    remembered: true,
  },
  {
    name: 'keys',
    message: 'messages.1.content.0.tool_use.caller: Extra inputs are not permitted',
    body: {
      tools: [tool()],
      messages: [user('u'), assistant(call('a', { caller: { type: 'direct' } })), user([result('a')])],
    },
    sent: { messages: [user('u'), assistant(call('a')), user([result('a')])] },
    learnedRefusal: 'field:messages.*.content.*.tool_use.caller',
    remembered: true,
  },
  {
    name: 'keys',
    message: 'thinking.adaptive.display: Extra inputs are not permitted',
    body: { thinking: { type: 'adaptive', display: 'omitted' } },
    sent: { thinking: { type: 'adaptive' } },
    learnedRefusal: 'field:thinking.adaptive.display',
    remembered: true,
  },
  {
    name: 'system messages',
    message: 'messages: Unexpected role "system". The Messages API accepts a top-level `system` parameter',
    body: { messages: [user('u'), system('S')] },
    sent: { messages: [user([text('u'), text('<system-reminder>\nS\n</system-reminder>')])] },
    learnedRefusal: 'system-messages:no',
    remembered: true,
  },
  {
    name: 'a level of effort',
    message: 'effort high is not supported by model claude-opus-4.8; supported values:[low medium]',
    body: { output_config: { effort: 'high' } },
    sent: { output_config: { effort: 'medium' } },
    learnedRefusal: 'efforts:low,medium',
    remembered: true,
  },
  {
    name: 'a level of effort',
    message: 'supported values: ["medium"]',
    code: 'invalid_reasoning_effort',
    body: { output_config: { effort: 'low' } },
    sent: { output_config: { effort: 'medium' } },
    learnedRefusal: 'efforts:medium',
    remembered: true,
  },
  {
    name: 'effort as such',
    message: 'model claude-opus-4.8 does not support reasoning effort',
    code: 'invalid_reasoning_effort',
    body: { output_config: { effort: 'low' } },
    sent: { output_config: undefined },
    learnedRefusal: 'efforts:',
    remembered: true,
  },
  {
    name: 'thinking by budget',
    message:
      '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort"',
    model: opus46,
    body: { max_tokens: 9000, thinking: enabled },
    sent: { thinking: { type: 'adaptive' }, output_config: { effort: 'medium' } },
    learnedRefusal: 'thinking:adaptive',
    remembered: true,
  },
  {
    name: 'no thinking',
    message: '"thinking.type.disabled" is not supported for this model.',
    body: { thinking: { type: 'disabled' } },
    sent: { thinking: { type: 'adaptive' }, output_config: { effort: 'low' } },
    learnedRefusal: 'thinking:always',
    remembered: true,
  },
  {
    name: 'adaptive thinking',
    message: 'adaptive thinking is not supported on this model',
    model: opus46,
    body: { max_tokens: 9000, thinking: { type: 'adaptive' }, output_config: { effort: 'low' } },
    sent: { thinking: { type: 'enabled', budget_tokens: 1024 } },
    learnedRefusal: 'thinking:budget',
    remembered: true,
  },
  {
    name: 'a type',
    message:
      "thinking: Input tag 'between_tools' found using 'type' does not match any of the expected tags: 'adaptive', 'disabled', 'enabled'",
    body: { thinking: { type: 'between_tools' } },
    sent: { thinking: { type: 'adaptive' }, output_config: { effort: 'low' } },
    learnedRefusal: 'thinking:adaptive',
    remembered: true,
  },
  {
    name: 'a type',
    message: "tools.0: Input tag 'bash_20990101' found using 'type' does not match any of the expected tags: 'custom'",
    body: { tools: [{ type: 'bash_20990101', name: 'bash' }, tool()] },
    sent: { tools: [tool()] },
    learnedRefusal: 'tag:tools:bash_20990101',
    remembered: true,
  },
  {
    name: 'a type',
    message: "messages.0.content.0: Input tag 'hologram' found using 'type' does not match any of the expected tags",
    body: { messages: [user([{ type: 'hologram' }, text('u')])] },
    sent: { messages: [user([text('u')])] },
    learnedRefusal: 'tag:messages:hologram',
    remembered: true,
  },
  {
    name: 'a type',
    message: "context_management.edits.0: Input tag 'new_20270101' found using 'type' does not match",
    betas: [CONTEXT],
    body: { context_management: { edits: [{ type: 'new_20270101' }] } },
    sent: { context_management: undefined },
    sentBetas: CONTEXT,
    learnedRefusal: 'field:context_management',
    remembered: true,
  },
  ...[
    'messages.1.content.0: Invalid `signature` in `thinking` block',
    'messages.1.content.0.thinking: each thinking block must contain thinking',
    'Invalid signature in thinking block',
    'messages.3.content.0: Invalid `data` in `redacted_thinking` block',
  ].map((message) => ({
    name: 'a thinking block',
    message,
    body: {
      messages: [
        user('u'),
        assistant(thought, text('A')),
        user('v'),
        assistant({ type: 'redacted_thinking', data: 'D' }),
        user('w'),
      ],
    },
    sent: { messages: [user('u'), assistant(text('A')), user('v'), user('w')] },
    remembered: false,
  })),
  {
    // The tool loop that is open has no thought any more.
    name: 'a thinking block',
    message: 'Invalid signature in thinking block',
    model: sonnet45,
    body: {
      max_tokens: 9000,
      thinking: enabled,
      tools: [tool()],
      messages: [user('u'), assistant(thought, call('a')), user([result('a')])],
    },
    sent: {
      thinking: { type: 'disabled' },
      messages: [user('u'), assistant(call('a')), user([result('a')])],
    },
    remembered: false,
  },
  {
    name: 'thinking where the request rules it out',
    message: 'messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`',
    body: { thinking: { type: 'adaptive' } },
    sent: { thinking: { type: 'disabled' } },
    remembered: false,
  },
  {
    name: 'thinking beside a forced tool',
    message: 'Thinking may not be enabled when tool_choice forces tool use.',
    body: { thinking: { type: 'adaptive' }, tools: [tool()], tool_choice: { type: 'any' } },
    sent: { thinking: { type: 'disabled' }, tool_choice: { type: 'any' } },
    learnedRefusal: 'thinking:unforced',
    remembered: true,
  },
  {
    name: 'a forced tool',
    message: 'tool_choice: type "tool" and "any" are not supported for this model',
    body: { tools: [tool()], tool_choice: { type: 'tool', name: 'f' } },
    sent: { tool_choice: { type: 'auto' }, system: [text('Answer with a call of the tool f.')] },
    learnedRefusal: 'choice:unforced',
    remembered: true,
  },
  {
    name: 'structured outputs',
    message:
      'FAILED_PRECONDITION: constraints/vertexai.allowedPartnerModelFeatures violated for feature structured_outputs',
    model: opus46,
    body: {
      output_config: { effort: 'low', format: { type: 'json_schema', schema } },
      tools: [tool('f', { strict: true })],
    },
    sent: {
      output_config: { effort: 'low' },
      tools: [tool()],
      system: [text(`Reply with JSON that matches this schema, and with nothing else:\n${JSON.stringify(schema)}`)],
    },
    remembered: false,
  },
  {
    name: 'a tool reference',
    message: "messages.2.content.0.tool_result.content.0: Tool reference 'g' not found in available tools",
    betas: [SEARCH],
    body: { tools: [tool(), tool('g', { defer_loading: true })] },
    sent: { tools: [tool(), tool('g')] },
    sentBetas: SEARCH,
    remembered: false,
  },
  {
    name: 'a server tool of the history',
    message: "Tool 'tool_search_tool_bm25' not found in provided tools",
    betas: [SEARCH],
    body: {
      tools: [tool(), { type: 'tool_search_tool_bm25_20251119', name: 'tool_search_tool_bm25' }],
      messages: [user('u'), assistant(search, found, text('A')), user('v')],
    },
    sent: { messages: [user('u'), assistant(text('A')), user('v')] },
    sentBetas: SEARCH,
    remembered: false,
  },
  {
    name: 'a server tool',
    message: 'The use of the image search tool is not supported.',
    code: 'unsupported_value',
    body: { tools: [tool(), { type: 'image_search_20270101', name: 'image_search' }] },
    sent: { tools: [tool()] },
    learnedRefusal: 'tag:tools:image_search_20270101',
    remembered: true,
  },
  {
    name: 'clearing thoughts without thinking',
    message: '`clear_thinking_20251015` strategy requires `thinking` to be enabled or adaptive',
    betas: [CONTEXT],
    body: { thinking: { type: 'adaptive' }, context_management: { edits: [{ type: 'clear_thinking_20251015' }] } },
    sent: { context_management: undefined, thinking: { type: 'adaptive' } },
    sentBetas: CONTEXT,
    remembered: false,
  },
  {
    name: 'max_tokens',
    message: 'max_tokens: 64000 > 32000, which is the maximum allowed number of output tokens for claude-opus-4.8',
    body: { max_tokens: 64_000 },
    sent: { max_tokens: 32_000 },
    learnedRefusal: 'max-tokens:32000',
    remembered: true,
  },
  {
    name: 'prompt and output limit together',
    message:
      'input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length or `max_tokens`',
    body: { max_tokens: 21_333 },
    sent: { max_tokens: 11_760 },
    remembered: false,
  },
  {
    name: 'sampling',
    message: '`temperature` and `top_p` cannot both be specified for this model. Please use only one.',
    model: haiku45,
    body: { temperature: 0.3, top_k: 3 },
    sent: { temperature: undefined, top_k: undefined },
    remembered: false,
  },
]

function ask(body: object = {}, { betas, ...options }: PassOptions = {}) {
  return callOf({
    upstream: 'messages',
    text: JSON.stringify({ model: 'm', max_tokens: 1000, messages: hello, ...body }),
    headers: betas === undefined ? {} : { 'anthropic-beta': betas.join(', ') },
    context: contextOf(options),
  })
}

function wordsOf({ message, code }: Pick<Case, 'message' | 'code'>): Words {
  return { message, ...(code !== undefined && { code }) }
}

describe.each([...new Set(cases.map(({ name }) => name))])('%s', (name) => {
  test.each(cases.filter((each) => each.name === name).map((each, at) => [at + 1, each] as const))(
    'case %i',
    (_, { sent, sentBetas, learnedRefusal, remembered, ...each }) => {
      const asked = ask(each.body, each)
      const second = asked.refusedAs(wordsOf(each))
      if (second === undefined) throw new Error('nothing was done about it')
      for (const [key, value] of Object.entries(sent)) expect(second.value[key], key).toEqual(value)
      expect(readEncoded(second.request).betas).toBe(sentBetas)
      expect(second.learned.join(' ')).toBe(learnedRefusal ?? '')
      expect(second.warnings.join()).toMatch(/(?:refused_upstream|clamped);/)
      // The same refusal again finds nothing more to take out, or something else than before.
      expect(asked.refusedAs(wordsOf(each), wordsOf(each))?.json).not.toBe(second.json)
      if (!remembered) return
      const next = pass(each.body ?? {}, { ...each, learnedRefusals: second.learned })
      expect(next.json).toBe(second.json)
      expect(next.betas).toBe(sentBetas)
    },
  )
})

test('every refusal has a case and says where it comes from', () => {
  const names = refusals.map(({ name }) => name)
  expect([...new Set(cases.map(({ name }) => name))].toSorted()).toEqual(names.toSorted())
  for (const { source } of refusals) expect(source).toMatch(/messages, [a-z]|Anthropic/)
})

test('sends a reference to a tool that is not there as text', () => {
  const tools = [tool(), tool('g')]
  const messages = [
    user('u'),
    assistant(call('a')),
    user([result('a', { content: [{ type: 'tool_reference', tool_name: 'g' }] })]),
  ]
  const searchTool = { type: 'tool_search_tool_bm25_20251119', name: 'tool_search_tool_bm25' }
  const asked = ask({ tools: [...tools, searchTool], messages }, { betas: [SEARCH] })
  expect(asked.refusedAs("Tool reference 'g' not found in available tools")?.value['messages']).toEqual([
    user('u'),
    assistant(call('a')),
    user([result('a', { content: [text('The tool g can be called now.')] })]),
  ])
})

test.each([
  ['a prompt that is too long', 'prompt is too long: 210194 tokens > 200000 maximum', 400],
  [
    'prefill',
    'This model does not support assistant message prefill. The conversation must end with a user message.',
    400,
  ],
  ['an unknown model', 'The requested model is not supported.', 400],
  ['another status', 'novelty: Extra inputs are not permitted', 401],
  ['an essential member', 'messages: Extra inputs are not permitted', 400],
  ['an essential key', 'messages.0.content.0.text.text: Extra inputs are not permitted', 400],
  ['a key that was not sent', 'inference_geo: Extra inputs are not permitted', 400],
  ['a beta that was not sent', 'unsupported beta header(s): x-2025-01-01', 400],
  ['some beta where none was sent', 'invalid beta flag', 400],
  ['an effort that was not sent', 'effort x; supported values:[low]', 400],
  ['blank text', 'messages: text content blocks must be non-empty', 400],
  ['a tool that was not sent', 'The use of the web search tool is not supported.', 400],
  ['a type of something else', "metadata: Input tag 'x' found using 'type'", 400],
  ['a way of thinking nobody knows', "thinking: Input tag 'turbo' found using 'type'", 400],
])('leaves the refusal as the answer: %s', (_, message, status) => {
  expect(ask({ novelty: 1 }).refusedAs({ message, status })).toBeUndefined()
})

test.each([
  ['image', assistant({ type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AA==' } }, text('A'))],
  ['tool_use', user([call('a'), text('u')])],
  ['thinking', user([thought, text('u')])],
])('a block in the wrong place says nothing about blocks of its type: %s', (tag, message) => {
  const words = `messages.1.content.0: Input tag '${tag}' found using 'type' does not match any of the expected tags`
  expect(ask({ messages: [user('u'), message, user('v')] }).refusedAs(words)?.learned ?? []).toEqual([])
})

test('leaves the refusal as the answer where nothing is left without what was refused', () => {
  const asked = ask({ messages: [user([{ type: 'hologram' }])] })
  expect(asked.refusedAs("messages.0.content.0: Input tag 'hologram'")).toBeUndefined()
})

test('whatever upstream says, each try differs from the one before, and nothing essential goes', () => {
  const part = fc.constantFrom(
    'messages',
    '0',
    'content',
    'text',
    'role',
    '__proto__',
    'type',
    'tools',
    'custom',
    'x',
    '*',
    '',
  )
  const message = fc.oneof(
    fc.string(),
    fc.array(part, { maxLength: 6 }).map((path) => `${path.join('.')}: Extra inputs are not permitted`),
    fc.tuple(part, part).map(([path, tag]) => `${path}.0: Input tag '${tag}' found using 'type'`),
    fc.constantFrom(...cases.map((each) => each.message)),
  )
  fc.assert(
    fc.property(fc.constantFrom(...cases), message, (each, words) => {
      const { sent, refusedAs } = ask(each.body, each)
      const second = refusedAs(words)
      if (second === undefined) return
      expect(`${second.json}${JSON.stringify(second.request.headers)}`).not.toBe(
        `${sent.body.toString()}${JSON.stringify(sent.headers)}`,
      )
      expect(Object.keys(second.value)).toEqual(expect.arrayContaining(['model', 'max_tokens', 'messages', 'stream']))
    }),
    { numRuns: 500 },
  )
})

test.each<[string, readonly string[], Record<string, unknown>, Record<string, unknown>]>([
  ['an effort', ['efforts:low', 'efforts:'], { output_config: { effort: 'high' } }, {}],
  [
    'a way of thinking',
    ['thinking:budget', 'thinking:adaptive'],
    { thinking: enabled, max_tokens: 9000 },
    { thinking: { type: 'adaptive' } },
  ],
  ['a limit', ['max-tokens:900', 'max-tokens:800'], { max_tokens: 1000 }, { max_tokens: 800 }],
])('the newest of several learned refusals that exclude each other holds: %s', (_, learnedRefusals, body, expected) => {
  expect(pass(body, { learnedRefusals }).value).toMatchObject(expected)
})

test('passes over learned refusals that it does not know', () => {
  const learnedRefusals = ['', 'x', 'max-tokens:0', 'max-tokens:x', 'thinking:x', 'constructor:x']
  expect(pass({ thinking: { type: 'adaptive' } }, { learnedRefusals }).value).toEqual(
    pass({ thinking: { type: 'adaptive' } }).value,
  )
})

test.each(['model', 'messages.0', 'messages.0.content', 'tools.0.custom.name', 'custom.messages', '', 'a..b', '0.a'])(
  'a field is the request itself, or none: %s',
  (path) => {
    expect(ask({ tools: [tool()], b: 1 }).refusedAs(`${path}: Extra inputs are not permitted`)).toBeUndefined()
  },
)
