import { expect, test } from 'vitest'
import type { Emitted } from './emitted.ts'
import { createMessagesJudge } from './messages-shapes.ts'
import { verdictOn } from './verdict.ts'
import type { Exception } from './verdict.ts'

function lacking(place: string, ...members: readonly string[]): readonly string[] {
  return members.map((member) => `${place}: must have required property '${member}'`)
}

const exceptions: readonly Exception[] = [
  {
    what: [
      ...lacking('message', 'container', 'diagnostics', 'stop_details'),
      ...lacking('message/content/#', 'caller', 'citations'),
      ...lacking('message/usage', 'inference_geo', 'server_tool_use', 'service_tier', 'speed'),
      ...lacking('event/message', 'container', 'diagnostics', 'stop_details'),
      ...lacking(
        'event/message/usage',
        'inference_geo',
        'output_tokens_details',
        'server_tool_use',
        'service_tier',
        'speed',
      ),
      ...lacking('event/content_block', 'caller', 'citations'),
      ...lacking('event/delta', 'container', 'stop_details'),
      ...lacking('event/usage', 'server_tool_use'),
    ],
    pairs: ['messages over messages'],
    reason: 'Copilot’s events go on as they came, without members that are newer than they are',
  },
]

const violations = createMessagesJudge()

function judge({ from, value }: Emitted): readonly string[] {
  const name = value['type'] === 'error' ? 'error' : from === 'body' ? 'message' : 'event'
  return violations(name, value).map(({ path, message }) => `${name}${path}: ${message}`)
}

test('what callers of Messages get is what Anthropic’s package describes', { timeout: 60_000 }, async () => {
  expect(await verdictOn('messages', judge, exceptions)).toEqual({ unexpected: [], unused: [] })
})

test('a delta without its index is not what it describes', () => {
  const value = { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'a' } }
  expect(judge({ from: 'event', name: '', status: 200, value })).toEqual([])
  expect(judge({ from: 'event', name: '', status: 200, value: { ...value, index: undefined } })).toEqual([
    "event: must have required property 'index'",
  ])
})
