import { expect, test } from 'vitest'
import { Fault } from '../../src/errors.ts'
import { isObject, objectsOf, type JsonObject } from '../../src/json/json.ts'
import { dialects } from '../../src/translate/dialects.ts'
import type { UpstreamDialectId } from '../../src/translate/dialect.ts'
import { translateCall } from '../../src/translate/translated-call.ts'
import { fc } from '../fast-check.ts'
import { modelsOf, upstreamIds, type UpstreamId } from './boundary/models.ts'
import { encodeContext } from './turns.ts'

// A provider caches the beginning of a conversation, and Claude binds thinking to it. So a request must begin with all that
// the request of the turn before it was: a later message changes no earlier one. Cache marks move, and are no part of this.

interface Call {
  readonly id: string
  readonly args: string
}

interface Step {
  readonly prompt: string
  readonly hasImage: boolean
  readonly thought: string | undefined
  readonly answer: string
  readonly calls: readonly Call[]
  readonly result: string
  readonly hasResultImage: boolean
}

// A PNG, whose type one of its two forms states wrongly.
const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=='
const imageType = (text: string): string => (text.length % 2 === 0 ? 'image/png' : 'image/jpeg')

const texts = fc.constantFrom('Hello', 'Read it', ' padded \n', '\n', '', 'done  ')
const steps: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.record({
    prompt: texts,
    hasImage: fc.boolean(),
    thought: fc.option(fc.constantFrom('I see', ' \n'), { nil: undefined }),
    answer: texts,
    calls: fc.array(
      fc.record({
        id: fc.constantFrom('call_1', 'toolu_01', 'odd id!', 'odd.id!', 'functions.read:0', 'x'.repeat(80)),
        args: fc.constantFrom('{}', '{"path":"a","n":1.0}', 'not json', ''),
      }),
      { maxLength: 2 },
    ),
    result: texts,
    hasResultImage: fc.boolean(),
  }),
  { minLength: 2, maxLength: 5 },
)

/** How a caller writes its part of a step, and the answer that it got. */
interface Writer {
  readonly member: 'messages' | 'input'
  readonly own: (step: Step, before: Step | undefined) => readonly JsonObject[]
  readonly answer: (step: Step) => readonly JsonObject[]
  readonly others: JsonObject
}

function chatContent(text: string, hasImage: boolean) {
  const image = { type: 'image_url', image_url: { url: `data:${imageType(text)};base64,${PNG}` } }
  return hasImage ? [{ type: 'text', text }, image] : text
}

function blocks(text: string, hasImage: boolean) {
  const image = { type: 'image', source: { type: 'base64', media_type: imageType(text), data: PNG } }
  return [{ type: 'text', text }, ...(hasImage ? [image] : [])]
}

function inputParts(text: string, hasImage: boolean) {
  const image = { type: 'input_image', image_url: `data:${imageType(text)};base64,${PNG}`, detail: 'auto' }
  return [{ type: 'input_text', text }, ...(hasImage ? [image] : [])]
}

const schema = { type: 'object', properties: { path: { type: 'string' } } }
const SYSTEM = 'You help.'

const writers: Readonly<Record<UpstreamDialectId, Writer>> = {
  chat: {
    member: 'messages',
    own: ({ prompt, hasImage }, before) => {
      const results = before?.calls.map(({ id }) => ({
        role: 'tool',
        tool_call_id: id,
        content: chatContent(before.result, before.hasResultImage),
      }))
      return results !== undefined && results.length > 0
        ? results
        : [{ role: 'user', content: chatContent(prompt, hasImage) }]
    },
    answer: ({ thought, answer, calls }) => [
      {
        role: 'assistant',
        content: answer,
        ...(thought !== undefined && { reasoning_text: thought, reasoning_opaque: 'b3BhcXVl' }),
        ...(calls.length > 0 && {
          tool_calls: calls.map(({ id, args }) => ({
            id,
            type: 'function',
            function: { name: 'read', arguments: args },
          })),
        }),
      },
    ],
    others: { tools: [{ type: 'function', function: { name: 'read', parameters: schema } }] },
  },
  messages: {
    member: 'messages',
    own: ({ prompt, hasImage }, before) => {
      const results = (before?.calls ?? []).map(({ id }) => ({
        type: 'tool_result',
        tool_use_id: id,
        content: blocks(before?.result ?? '', before?.hasResultImage === true),
      }))
      // Claude Code adds reminders beside results.
      const said = results.length > 0 && !hasImage ? [] : blocks(prompt, hasImage)
      return [{ role: 'user', content: [...results, ...said] }]
    },
    answer: ({ thought, answer, calls }) => [
      {
        role: 'assistant',
        content: [
          ...(thought === undefined ? [] : [{ type: 'thinking', thinking: thought, signature: 'c2lnbmF0dXJl' }]),
          { type: 'text', text: answer },
          ...calls.map(({ id }) => ({ type: 'tool_use', id, name: 'read', input: { path: 'a' } })),
        ],
      },
    ],
    others: { max_tokens: 4000, system: SYSTEM, tools: [{ name: 'read', input_schema: schema }] },
  },
  responses: {
    member: 'input',
    own: ({ prompt, hasImage }, before) => {
      const outputs = (before?.calls ?? []).map(({ id }) => ({
        type: 'function_call_output',
        call_id: id,
        output: before?.hasResultImage === true ? inputParts(before.result, true) : before?.result,
      }))
      return outputs.length > 0 ? outputs : [{ type: 'message', role: 'user', content: inputParts(prompt, hasImage) }]
    },
    answer: ({ thought, answer, calls }) => [
      ...(thought === undefined
        ? []
        : [
            {
              type: 'reasoning',
              id: 'rs_1',
              summary: [{ type: 'summary_text', text: thought }],
              encrypted_content: 'b3BhcXVl',
            },
          ]),
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: answer }] },
      ...calls.map(({ id, args }) => ({ type: 'function_call', call_id: id, name: 'read', arguments: args })),
    ],
    others: { instructions: SYSTEM, tools: [{ type: 'function', name: 'read', parameters: schema }] },
  },
}

/** The request of the turn `last`: everything that was said up to it, and what the caller says now. */
function requestOf(caller: UpstreamDialectId, history: readonly Step[], last: number): string {
  const { member, own, answer, others } = writers[caller]
  const said = history
    .slice(0, last + 1)
    .flatMap((step, at) => [own(step, history[at - 1]), at < last ? answer(step) : []].flat())
  const first = caller === 'chat' ? [{ role: 'system', content: SYSTEM }] : []
  return JSON.stringify({ model: 'asked', ...others, [member]: [...first, ...said] })
}

/** The request as upstream gets it; undefined if the daemon refuses it. */
function draftOf(caller: UpstreamDialectId, upstream: UpstreamId, id: string, request: string): JsonObject | undefined {
  const model = modelsOf[upstream].find((each) => each.id === id)
  if (model === undefined) throw new Error(`no model ${id}`)
  const dialect = dialects[caller]
  const profile = upstream === 'chatgpt' ? upstream : undefined
  try {
    const { body } = translateCall(
      dialect,
      dialects[upstream === 'chatgpt' ? 'responses' : upstream].upstream,
      dialect.decodeRequest(request),
      encodeContext(model, { profile }),
    ).request
    return JSON.parse(body.toString())
  } catch (error) {
    if (error instanceof Fault && error.error.kind === 'invalid_request') return undefined
    throw error
  }
}

const MARKS: ReadonlySet<string> = new Set(['cache_control', 'copilot_cache_control', 'prompt_cache_breakpoint'])

/** Without cache marks. A mark needs a part, so that a text and a list of one part are the same. */
function unmarked(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(unmarked)
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key]) => !MARKS.has(key))
      .map(([key, inner]) => [key, key === 'content' || key === 'system' ? asText(unmarked(inner)) : unmarked(inner)]),
  )
}

function asText(content: unknown): unknown {
  const [part, ...others] = Array.isArray(content) ? objectsOf(content) : []
  return part?.['type'] === 'text' && others.length === 0 ? part['text'] : content
}

interface Prefix {
  readonly conversation: readonly unknown[]
  readonly before: JsonObject
}

function prefixOf(draft: JsonObject): Prefix {
  const { messages, input, system, instructions, tools } = draft
  const conversation = unmarked(messages ?? input)
  return {
    conversation: Array.isArray(conversation) ? conversation : [],
    before: { system: asText(unmarked(system)), instructions, tools: unmarked(tools) },
  }
}

interface Exception {
  readonly name: string
  readonly reason: string
  readonly upstreams: readonly UpstreamId[]
  /** Whether the request of the next turn may begin otherwise. */
  readonly is: (step: Step, before: Step | undefined) => boolean
}

const isBlank = (text: string): boolean => text.trim() === ''

/** Requests that the next turn does not continue. */
const exceptions: readonly Exception[] = [
  {
    name: 'a prompt without content',
    reason:
      'Claude takes no blank text, so the request ends with an answer: the proxy adds "Continue." or cuts white space, for this request only',
    upstreams: ['chat', 'messages'],
    is: ({ prompt, hasImage }, before) => isBlank(prompt) && !hasImage && (before?.calls ?? []).length === 0,
  },
  {
    name: 'an answer without content',
    reason:
      'Claude takes no empty message, so two messages of the user meet and become one, with the same parts in order',
    upstreams: ['messages'],
    is: ({ answer, calls }) => isBlank(answer) && calls.length === 0,
  },
]

const cases = upstreamIds.flatMap((upstream) =>
  (['chat', 'messages', 'responses'] as const).map((caller) => [caller, upstream] as const),
)

test.each(cases)('a request of %s to %s begins with the request of the turn before it', (caller, upstream) => {
  let compared = 0
  fc.assert(
    fc.property(steps, fc.constantFrom(...modelsOf[upstream].map(({ id }) => id)), (history, id) => {
      const drafts = history.map((_, last) => draftOf(caller, upstream, id, requestOf(caller, history, last)))
      for (const [at, draft] of drafts.entries()) {
        const next = drafts[at + 1]
        const step = history[at]
        if (draft === undefined || next === undefined || step === undefined) continue
        if (exceptions.some(({ upstreams, is }) => upstreams.includes(upstream) && is(step, history[at - 1]))) continue
        compared += 1
        const earlier = prefixOf(draft)
        const later = prefixOf(next)
        expect(later.before).toEqual(earlier.before)
        expect(later.conversation.slice(0, earlier.conversation.length)).toEqual(earlier.conversation)
      }
    }),
    { numRuns: 300 },
  )
  expect(compared).toBeGreaterThan(20)
})
