import { expect, test } from 'vitest'
import { saying } from './client.ts'
import { openProxy } from './harness.ts'
import type { Proxy } from './harness.ts'

const thinking = { ...saying('[demo:reasoning]'), model: 'claude-sonnet-4.5' }

/** The deltas of a stream, or the message of a body. */
async function repliesOf({ chat }: Proxy, stream: boolean, agent: string): Promise<readonly Record<string, unknown>[]> {
  const { text } = await chat({ ...thinking, stream }, { headers: { 'user-agent': agent } })
  const found = text.matchAll(/"(?:delta|message)":(\{[^}]*\})/g)
  return Array.from(found, ([, json = '']): Record<string, unknown> => JSON.parse(json)).filter(
    ({ reasoning_text: readable }) => readable !== undefined,
  )
}

const always = 'chat: { reasoning-content: always }'

test.each([
  ['curl/8.5.0', '', false],
  ['OpenAI/JS 6.1.0', '', false],
  ['Cline/3.74.0', '', true],
  ['RooCode/3.52.1', '', true],
  ['opencode/1.18.33', '', true],
  ['acme ai-sdk/openai-compatible/2.0.1 runtime/node.js/24', '', true],
  ['curl/8.5.0', always, true],
])('%s with %j gets reasoning_content: %s', async (agent, file, expected) => {
  const proxy = await openProxy({ file })
  for (const stream of [true, false]) {
    const replies = await repliesOf(proxy, stream, agent)
    expect(replies.length).toBeGreaterThan(0)
    for (const { reasoning_text: text, reasoning_content: content } of replies) {
      expect(content).toBe(expected ? text : undefined)
    }
  }
})
