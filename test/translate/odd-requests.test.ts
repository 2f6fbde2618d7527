import { expect, test } from 'vitest'
import type { CallerHeaders, UpstreamDialectId, EncodeContext } from '../../src/translate/dialect.ts'
import { dialects } from '../../src/translate/dialects.ts'
import { translateCall } from '../../src/translate/translated-call.ts'
import { encodeContext, traits, translateForResponses } from './turns.ts'

// Bodies that fuzzing found: values of the wrong kind in places that nobody checks, and names that every object has.

/** The body that an upstream of the caller's own dialect gets. */
function sentTo(
  dialect: UpstreamDialectId,
  body: object,
  context: EncodeContext,
  headers?: CallerHeaders,
): Record<string, unknown> {
  const text = JSON.stringify(body)
  const request = dialects[dialect].decodeRequest(text, { bytes: Buffer.from(text), headers })
  return JSON.parse(
    translateCall(dialects[dialect], dialects[dialect].upstream, request, context).request.body.toString(),
  )
}

const odd = { toString: 1, valueOf: 1 }

test('blocks of server tools may have anything for a name and an id', () => {
  const messages = [
    { role: 'user', content: 'hello' },
    {
      role: 'assistant',
      content: [
        { type: 'mcp_tool_use', id: odd, name: odd, input: {} },
        { type: 'mcp_tool_result', tool_use_id: odd, content: [] },
        { type: 'text', text: 'done' },
      ],
    },
    { role: 'user', content: 'go on' },
  ]
  const sent = sentTo('messages', { model: 'm', max_tokens: 9, messages }, encodeContext(traits('claude-opus-4.6')))
  expect(JSON.stringify(sent)).toContain('done')
})

test('edits of a context may be of any type', () => {
  const body = {
    model: 'm',
    max_tokens: 9,
    messages: [{ role: 'user', content: 'hello' }],
    context_management: { edits: [{ type: odd }, odd, null] },
  }
  const beta = { 'anthropic-beta': 'context-management-2025-06-27' }
  expect(() => sentTo('messages', body, encodeContext(traits('claude-opus-4.6')), beta)).not.toThrow()
})

test('a member that every object inherits is left out of a lite request like any other that is unknown', () => {
  const body = '{"model":"m","input":"hello","constructor":1,"toString":2,"__proto__":{"a":1}}'
  const context = encodeContext(traits('gpt-6-sol'), {
    profile: 'chatgpt',
    learnedRefusals: new Set(['lite']),
  })
  const request = dialects.responses.decodeRequest(body)
  const sent: Record<string, unknown> = JSON.parse(
    translateForResponses(dialects.responses, request, context).request.body.toString(),
  )
  expect(Object.keys(sent)).not.toContain('constructor')
  expect(Object.keys(sent)).not.toContain('toString')
})
