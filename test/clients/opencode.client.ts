import { expect, test } from 'vitest'
import { opencode } from './opencode.ts'
import { describeClient, openCase } from './scenarios.ts'
import type { Failures } from './scenarios.ts'

const failures: Failures = {
  overflow: /^ContextOverflowError: /,
  unauthorized: /^APIError: Invalid API key$/,
  rateLimited: /^APIError: Sorry, you have exceeded your weekly rate limit\.$/,
  broken: /^APIError: internal server error$/i,
}

describeClient(
  opencode('@ai-sdk/openai-compatible'),
  [{ title: 'Chat', model: 'gpt-4.1', upstream: '/chat/completions', keepsThoughts: 'never', losses: [] }],
  failures,
)

describeClient(
  opencode('@ai-sdk/openai'),
  [{ title: 'Responses', model: 'gpt-5.3-codex', upstream: '/responses', keepsThoughts: 'always', losses: [] }],
  failures,
)

describeClient(
  opencode('@ai-sdk/anthropic'),
  [{ title: 'Messages', model: 'claude-sonnet-4.5', upstream: '/v1/messages', keepsThoughts: 'always', losses: [] }],
  failures,
)

test('opencode runs tools for a model that wants back what the Chat package throws away', async () => {
  const client = opencode('@ai-sdk/openai-compatible')
  const { ask, file, proxy } = await openCase(client, {
    title: 'Chat',
    model: 'gemini-3-pro-preview',
    upstream: '/chat/completions',
    keepsThoughts: 'never',
    losses: [],
  })
  const { exitCode, text, failure } = await ask({ prompt: client.callToRead(file('heron.txt')) })
  expect(failure).toBe('')
  expect(text).toContain('about a heron')
  expect(exitCode).toBe(0)
  // What the package threw away was kept here, by the id of the call.
  expect(proxy.log.filter(({ message }) => message === 'upstream refused the request')).toEqual([])
})
