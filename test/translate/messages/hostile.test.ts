import { messagesDialect } from '../../../src/translate/messages/dialect.ts'
import { fc } from '../../fast-check.ts'
import { expect, test } from 'vitest'
import { Fault } from '../../../src/errors.ts'
import { textsOfMessages } from '../../../src/translate/messages/count-tokens.ts'
import { clientNames, fixture, context } from './caller-helpers.ts'
import { contextOf } from './upstream-helpers.ts'

const anything = fc.oneof(
  { withCrossShrink: true },
  fc.jsonValue({ maxDepth: 3 }),
  fc.constantFrom(
    null,
    '',
    [],
    {},
    [null],
    [[]],
    { type: 'text' },
    { type: 'text', text: 'x' },
    [{}],
    [{ type: 1 }],
    [{ type: 'tool_reference' }],
  ),
)

const blockTypes = [
  'text',
  'image',
  'document',
  'search_result',
  'thinking',
  'redacted_thinking',
  'tool_use',
  'tool_result',
  'server_tool_use',
  'web_search_tool_result',
  'unknown_result',
  'tool_reference',
  'tool_addition',
  'tool_removal',
  'compaction',
  'constructor',
  '__proto__',
]
const memberNames = [
  'text',
  'source',
  'title',
  'content',
  'thinking',
  'data',
  'id',
  'name',
  'input',
  'tool',
  'tool_use_id',
]

/** A block of a known type in which any member is anything; about half of them pass the checks. */
const block = fc
  .tuple(fc.constantFrom(...blockTypes), fc.dictionary(fc.constantFrom(...memberNames, 'cache_control'), anything))
  .map(([type, members]) =>
    Object.assign({ text: '', thinking: '', id: '', name: 'web_search', tool_use_id: '' }, members, { type }),
  )
const message = fc.record({
  role: fc.constantFrom('user', 'assistant', 'system'),
  content: fc.oneof(fc.string(), fc.array(block, { maxLength: 4 })),
})
const members = fc.dictionary(
  fc.constantFrom(
    'system',
    'tools',
    'tool_choice',
    'thinking',
    'output_config',
    'context_management',
    'metadata',
    'stop_sequences',
    'x',
  ),
  anything,
)

/** @returns whether nothing was refused; anything thrown but a Fault fails the test */
function isTaken(run: () => void): boolean {
  try {
    run()
    return true
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    expect(error.error.kind).toBe('invalid_request')
    return false
  }
}

/** @returns whether the body can be translated. A model of the same dialect may refuse it nevertheless. */
function survives(body: unknown): boolean {
  return isTaken(() => {
    const request = messagesDialect.decodeRequest(JSON.stringify(body))
    textsOfMessages(request)
    messagesDialect.decodeTurn(request, context)
    isTaken(() => messagesDialect.upstream.passRequest(request, contextOf()))
  })
}

test('answers any JSON with a Turn or a Fault', () => {
  fc.assert(fc.property(fc.jsonValue(), (body) => void survives(body)))
})

test('answers any blocks and members with a Turn or a Fault', () => {
  let taken = 0
  fc.assert(
    fc.property(fc.array(message, { minLength: 1, maxLength: 4 }), members, (messages, rest) => {
      if (survives({ ...rest, model: 'm', max_tokens: 1, messages: [...messages, { role: 'user', content: 'x' }] }))
        taken += 1
    }),
    { numRuns: 500 },
  )
  // Otherwise the property would be about refusals alone.
  expect(taken).toBeGreaterThan(0)
})

test.each(clientNames)('answers %s with any of its values replaced', (name) => {
  const body: unknown = JSON.parse(fixture(`messages-requests/${name}.json`))
  const paths = pathsOf(body)
  fc.assert(
    fc.property(fc.constantFrom(...paths), anything, (path, value) => void survives(replaced(body, path, value))),
    { numRuns: 200 },
  )
})

test('bears more blocks in one place than a call takes arguments', () => {
  const many = Array.from({ length: 200_000 }, () => ({ type: 'text', text: '' }))
  const document = { type: 'document', title: 't', source: { type: 'content', content: many } }
  const result = { type: 'tool_result', tool_use_id: 't', content: many }
  for (const content of [many, [document], [result]]) {
    expect(survives({ model: 'm', max_tokens: 1, messages: [{ role: 'user', content }] })).toBe(true)
  }
})

test('bears blocks inside blocks as deep as a body may be', () => {
  const deep = (type: string, levels: number): unknown =>
    levels === 0 ? 'x' : [{ type, tool_use_id: 't', content: deep(type, levels - 1), source: { type: 'url', url: '' } }]
  for (const type of ['tool_result', 'document', 'hologram']) {
    expect(survives({ model: 'm', max_tokens: 1, messages: [{ role: 'user', content: deep(type, 240) }] })).toBe(true)
  }
})

type Path = readonly string[]

function pathsOf(value: unknown): Path[] {
  if (typeof value !== 'object' || value === null) return [[]]
  return [[], ...Object.entries(value).flatMap(([key, inner]) => pathsOf(inner).map((path) => [key].concat(path)))]
}

function replaced(value: unknown, [key, ...rest]: Path, by: unknown): unknown {
  if (key === undefined) return by
  if (Array.isArray(value))
    return value.map((inner: unknown, at) => (String(at) === key ? replaced(inner, rest, by) : inner))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([k, inner]) => [k, k === key ? replaced(inner, rest, by) : inner]),
  )
}
