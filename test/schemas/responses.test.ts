import { expect, test } from 'vitest'
import { isObject } from '../../src/json/json.ts'
import type { Emitted } from './emitted.ts'
import { hasSpecs, openSpec, skipNote } from './spec.ts'
import type { Spec } from './spec.ts'
import { verdictOn } from './verdict.ts'
import type { Exception, Pair } from './verdict.ts'

const all: readonly Pair[] = ['responses over responses', 'responses over chat', 'responses over messages']

const exceptions: readonly Exception[] = [
  {
    what: ['openai response/usage: must be object'],
    pairs: all,
    reason: 'OpenAI’s servers say null until there is one, and Open Responses demands that',
  },
  {
    what: ['openai response/error/code: must be equal to one of the allowed values'],
    pairs: ['responses over responses', 'responses over messages'],
    reason: 'an overload has the code that Codex CLI acts on, which OpenAI’s servers send and their schema leaves out',
  },
  {
    what: ['openresponses response/text/format/schema: must be null'],
    pairs: all,
    reason: 'the response repeats the request’s own format, and Open Responses has no schema in it',
  },
  {
    what: ['openai response/text/format/description: must be string'],
    pairs: all,
    reason: 'Open Responses demands a null where there is none, and OpenAI’s schema has no null for it',
  },
  {
    what: [
      'openresponses response/output/#/type: must be equal to one of the allowed values',
      'openresponses response/tools/#/type: must be equal to one of the allowed values',
      "openresponses response/tools/#: must have required property 'parameters'",
      "openresponses response/tools/#: must have required property 'strict'",
      'openresponses response.output_item.added/item/type: must be equal to one of the allowed values',
      'openresponses response.output_item.done/item/type: must be equal to one of the allowed values',
      'openresponses has no event response.custom_tool_call_input.delta',
      'openresponses has no event response.custom_tool_call_input.done',
    ],
    pairs: all,
    reason: 'Open Responses has functions only: no custom tools, no namespaces',
  },
  {
    what: [
      "openresponses response/tools/#: must have required property 'name'",
      "openresponses response/tools/#: must have required property 'description'",
      'openresponses has no event response.web_search_call.in_progress',
      'openresponses has no event response.web_search_call.searching',
      'openresponses has no event response.web_search_call.completed',
      "openresponses response/tools/#: must have required property 'description'",
    ],
    pairs: all,
    reason: 'Open Responses has no web search',
  },
  {
    what: [
      "openai response.output_item.added/item: must have required property 'action'",
      "openai response.function_call_arguments.done: must have required property 'name'",
      'openai response/user: must be string',
      "openai response/usage/input_tokens_details: must have required property 'cache_write_tokens'",
    ],
    pairs: ['responses over responses'],
    reason: 'Copilot’s usage, items and texts go on as they came, without members that are newer than they are',
  },
]

/** What must have been looked at over every upstream dialect, so that the verdict is on more than a text. */
const judged = [
  'completed body',
  'incomplete body',
  'response.completed',
  'response.incomplete',
  'response.failed',
  'error',
  'response.output_text.delta',
  'response.refusal.delta',
  'response.reasoning_summary_text.delta',
  'response.function_call_arguments.delta',
  'response.custom_tool_call_input.delta',
  '2 calls',
]

function kindsOf({ from, value }: Emitted): readonly string[] {
  const { type, status, output } = value
  const outputs: readonly unknown[] = Array.isArray(output) ? output : []
  const calls = outputs.filter((item) => isObject(item) && item['type'] === 'function_call').length
  return from === 'body' ? [`${String(status)} body`, `${calls} calls`] : [String(type)]
}

/** What each document calls the whole response. */
const wholes = { openai: 'Response', openresponses: 'ResponseResource' } as const

/** And what is in the body of an error. */
const errors = { openai: 'Error', openresponses: 'ErrorPayload' } as const

function judgeWith(id: keyof typeof wholes, { violations, eventSchema }: Spec) {
  return ({ from, value }: Emitted): readonly string[] => {
    if (from === 'error body') return list('error', errors[id], value['error'])
    const { type, response } = value
    if (from === 'body') return list('response', wholes[id], value)
    const schema = eventSchema(String(type))
    if (schema === undefined) return [`${id} has no event ${String(type)}`]
    if (response === undefined) return list(String(type), schema, value)
    // The same object in every one of these events, and in a body.
    return [
      ...list('response', wholes[id], response),
      ...list(String(type), schema, value).filter((found) => !found.includes('/response')),
    ]
  }

  function list(name: string, schema: string, value: unknown): readonly string[] {
    return violations(schema, value).map(({ path, message }) => `${id} ${name}${path}: ${message}`)
  }
}

test.skipIf(!hasSpecs)(
  `what callers of Responses get is what OpenAI’s schemas and Open Responses describe${skipNote}`,
  { timeout: 60_000 },
  async () => {
    const openai = judgeWith('openai', openSpec('openai'))
    const open = judgeWith('openresponses', openSpec('openresponses'))
    const seen = new Map(all.map((pair) => [pair, new Set<string>()]))
    const judge = (emitted: Emitted, pair: Pair) => {
      for (const kind of kindsOf(emitted)) seen.get(pair)?.add(kind)
      return [...openai(emitted), ...open(emitted)]
    }
    expect(await verdictOn('responses', judge, exceptions)).toEqual({ unexpected: [], unused: [] })
    for (const [pair, kinds] of seen) {
      // Claude refuses by its stop reason, not in words of their own.
      const due = judged.filter((kind) => kind !== 'response.refusal.delta' || pair !== 'responses over messages')
      expect([...kinds], pair).toEqual(expect.arrayContaining(due))
    }
  },
)

test.skipIf(!hasSpecs)(`an event without its number is not what they describe${skipNote}`, () => {
  for (const id of ['openai', 'openresponses'] as const) {
    const judge = judgeWith(id, openSpec(id))
    const value = {
      type: 'response.output_text.delta',
      item_id: 'msg_1',
      output_index: 0,
      content_index: 0,
      delta: 'a',
      logprobs: [],
    }
    expect(judge({ from: 'event', name: '', status: 200, value: { ...value, sequence_number: 4 } })).toEqual([])
    expect(judge({ from: 'event', name: '', status: 200, value })).toEqual([
      `${id} response.output_text.delta: must have required property 'sequence_number'`,
    ])
  }
})
