import { fc } from '../../fast-check.ts'

/** Words of the dialect, so that what is made up gets past the first check now and then. */
const types = [
  'message',
  'reasoning',
  'function_call',
  'function_call_output',
  'custom_tool_call',
  'custom_tool_call_output',
  'web_search_call',
  'compaction',
  'compaction_trigger',
  'additional_tools',
  'tool_search_output',
  'configuration_update',
  'function',
  'custom',
  'namespace',
  'web_search',
  'mcp',
  'allowed_tools',
  'input_text',
  'output_text',
  'input_image',
  'input_file',
  'refusal',
  'summary_text',
  'json_schema',
  '__proto__',
]
const keys = [
  'type',
  'role',
  'content',
  'id',
  'call_id',
  'name',
  'namespace',
  'arguments',
  'input',
  'output',
  'tools',
  'format',
  'filters',
  'action',
  'summary',
  'encrypted_content',
  'text',
  'image_url',
  'file_data',
  'mode',
  '__proto__',
  'toString',
]

const leaf = fc.oneof(
  fc.constantFrom(
    ...types,
    'user',
    'assistant',
    'developer',
    'auto',
    'data:text/plain;base64,aGk=',
    'cpx1.e30',
    'cps1.aGk',
    '',
  ),
  fc.jsonValue({ maxDepth: 1 }),
)

const { tree } = fc.letrec<{ tree: unknown }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    leaf,
    fc.array(tie('tree'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom(...keys), tie('tree'), { maxKeys: 6 }),
  ),
}))

/** Any JSON, leaning towards what a body of this dialect holds. */
export const arbitraryJson = tree

const word = fc.constantFrom(
  'a',
  'b',
  '',
  'toString',
  '__proto__',
  'data:text/plain;base64,aGk=',
  'cpx1.e30',
  'cps1.aGk',
)

const part = fc.record(
  {
    type: fc.constantFrom(
      'input_text',
      'output_text',
      'refusal',
      'input_image',
      'input_file',
      'input_audio',
      'input_video',
    ),
    text: word,
    refusal: word,
    image_url: word,
    file_data: word,
    file_id: fc.constant('file_1'),
    filename: word,
    input_audio: leaf,
  },
  { noNullPrototype: true },
)
const content = fc.oneof(word, fc.array(part, { maxLength: 3 }))

const tool = fc.record(
  {
    type: fc.constantFrom('function', 'custom', 'web_search', 'web_search_preview', 'mcp', '__proto__'),
    name: fc.constantFrom('f', 'g', '__proto__'),
    description: word,
    parameters: fc.constantFrom(null, {}),
    filters: fc.constantFrom(null, {}, { allowed_domains: ['e.x'] }),
    defer_loading: leaf,
    anything: leaf,
  },
  { requiredKeys: ['type', 'name'], noNullPrototype: true },
)

/** An item that has all that its type may ask for, each of the right type. */
const item = fc.record(
  {
    type: fc.constantFrom(...types.slice(0, 12), 'item_of_tomorrow', null),
    role: fc.constantFrom('user', 'assistant', 'developer', 'system'),
    content: fc.array(part, { maxLength: 3 }),
    call_id: word,
    id: word,
    name: word,
    namespace: word,
    arguments: word,
    input: word,
    output: content,
    summary: fc.array(fc.record({ type: fc.constant('summary_text'), text: word }), { maxLength: 2 }),
    encrypted_content: fc.oneof(word, fc.constant(null)),
    tools: fc.array(tool, { maxLength: 2 }),
    action: tree,
  },
  { noNullPrototype: true },
)

/** A body whose members are the dialect's own: mostly well-formed, now and then anything. */
export const arbitraryBody = fc
  .record(
    {
      model: fc.constantFrom('gpt-5-mini', 'claude-opus-4.6'),
      input: fc.oneof(
        { weight: 1, arbitrary: fc.string() },
        { weight: 8, arbitrary: fc.array(item, { maxLength: 5 }) },
        { weight: 1, arbitrary: fc.array(tree, { maxLength: 4 }) },
      ),
      instructions: word,
      tools: fc.oneof(
        { weight: 6, arbitrary: fc.array(tool, { maxLength: 3 }) },
        { weight: 1, arbitrary: fc.array(tree, { maxLength: 3 }) },
      ),
      tool_choice: fc.oneof(
        fc.constantFrom('auto', 'none', 'required', null),
        fc.record({ type: fc.constantFrom('function', 'custom', 'mcp'), name: fc.constantFrom('f', 'g', 'h') }),
        fc.record({ type: fc.constant('allowed_tools'), mode: fc.constant('auto'), tools: fc.array(tool) }),
        tree,
      ),
      reasoning: fc.oneof(fc.constantFrom({ effort: 'low' }, null), tree),
      text: fc.oneof(fc.constantFrom({ format: { type: 'json_object' } }, null), tree),
      anything: tree,
    },
    { requiredKeys: ['model', 'input'], noNullPrototype: true },
  )
  .map((body) => JSON.stringify(body))

/** Items that an upstream might have sent: objects, and nothing more is known. */
export const arbitraryItems = fc.array(
  fc.oneof(item, fc.dictionary(fc.constantFrom(...keys), tree, { maxKeys: 8, noNullPrototype: true })),
  { maxLength: 5 },
)
