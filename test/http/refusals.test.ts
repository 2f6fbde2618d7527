import { expect, test } from 'vitest'
import { openProxy } from './harness.ts'

/** The three APIs, with a body that asks the same of each. */
const apis = [
  ['/v1/chat/completions', (text: string) => ({ messages: [{ role: 'user', content: text }] })],
  ['/v1/responses', (text: string) => ({ input: text })],
  ['/v1/messages', (text: string) => ({ max_tokens: 100, messages: [{ role: 'user', content: text }] })],
] as const

/** What a marker asks for; the status, and what the message must have. */
const refusals = [
  ['error 402 free_quota_exceeded', 402, /^You have exceeded your free quota\. It resets at .* UTC\. .*paid plan/],
  ['error 403 policy', 403, /^access denied by Copilot policy\. Ask the administrator/],
  ['error 429 user_global_rate_limited:pro', 429, /It resets in 5 h\. This is the five-hour session limit/],
  ['error 466', 466, /Set copilot\.headers\.x-github-api-version/],
  ['error 400 editor-version', 400, /^bad request: unknown Editor-Version.* Set copilot\.headers\.editor-version/],
] as const

test.each(apis)('%s states what happened, what to do and GitHub’s request id', async (path, bodyOf) => {
  const proxy = await openProxy()
  for (const [marker, status, words] of refusals) {
    const body = { model: 'gpt-5-mini', ...bodyOf(`[demo:${marker}]`) }
    const reply = await proxy.send(path, {
      body: JSON.stringify(body),
      headers: { 'content-type': 'application/json' },
    })
    expect([marker, reply.status]).toEqual([marker, status])
    const { message } = JSON.parse(reply.text).error
    expect(message).toMatch(words)
    const id = String(reply.headers['x-github-request-id'])
    expect(id).toMatch(/^DEMO:/)
    expect(message).toContain(` (GitHub request id ${id})`)
    const line = proxy.log.find(
      (entry) => entry.message === 'request refused' && JSON.stringify(entry).includes(`"${id}"`),
    )
    expect(line).toMatchObject({ level: 'info' })
  }
})

test.each(apis)('a broken stream of %s states GitHub’s request id', async (path, bodyOf) => {
  const proxy = await openProxy()
  const body = { model: 'gpt-5-mini', stream: true, ...bodyOf('[demo:cut] one two three') }
  const reply = await proxy.send(path, { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } })
  expect(reply.status).toBe(200)
  const id = String(reply.headers['x-github-request-id'])
  expect(reply.text).toContain(`(GitHub request id ${id})`)
  const line = proxy.log.find(({ message }) => message === 'stream ended in an error event')
  expect(JSON.stringify(line)).toContain(`"${id}"`)
})

test('a 401 has upstream’s request id in its headers and the message that clients know', async () => {
  const { chat } = await openProxy()
  const reply = await chat({ messages: [{ role: 'user', content: '[demo:error 401]' }] })
  expect(reply.status).toBe(401)
  expect(reply.json()).toMatchObject({ error: { message: 'Invalid API key' } })
  expect(reply.headers['x-github-request-id']).toMatch(/^DEMO:/)
})
