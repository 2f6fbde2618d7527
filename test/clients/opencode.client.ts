import { expect, test } from 'vitest'
import { apiKeyWay, chatgptWays } from './codex-ways.ts'
import { opencode } from './opencode.ts'
import { describeClient, openCase } from './scenarios.ts'
import type { Failures } from './scenarios.ts'

const failures: Failures = {
  overflow: /^ContextOverflowError: /,
  unauthorized: /^APIError: Invalid API key$/,
  rateLimited: /^APIError: Sorry, you have exceeded your weekly rate limit\. /,
  broken: /^APIError: internal server error\. /i,
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

const packages = [
  // It throws them away; those before calls the proxy has kept, by the ids of the calls.
  { npm: '@ai-sdk/openai-compatible', keepsThoughts: 'calls', limit: 'max_tokens' },
  { npm: '@ai-sdk/openai', keepsThoughts: 'always', limit: 'max_output_tokens' },
  { npm: '@ai-sdk/anthropic', keepsThoughts: 'always', limit: 'max_tokens' },
] as const

for (const { npm, keepsThoughts } of packages) {
  describeClient(opencode(npm), [{ ...apiKeyWay, keepsThoughts }], {
    ...failures,
    unauthorized: /^APIError: OpenAI refuses the API key in codex\.api-key: /,
    rateLimited: /^APIError: Rate limit reached/,
    broken: /^APIError: Simulated failure/,
  })
}

// Without the scenarios of failure: a limit of the plan is one that it waits for, hours long.
test.each(packages)(
  'opencode, $npm, runs a tool for a model of a ChatGPT login',
  async ({ npm, keepsThoughts, limit }) => {
    const client = opencode(npm)
    for (const way of chatgptWays) {
      // Each of its requests has a limit of output, which this upstream does not take.
      const { ask, file, received } = await openCase(client, { ...way, keepsThoughts, losses: [`dropped;${limit}`] })
      const { exitCode, text } = await ask({ prompt: client.callToRead(file('heron.txt')) })
      expect(text).toContain('about a heron')
      expect(exitCode).toBe(0)
      expect(received()).toHaveLength(2)
    }
  },
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
  expect(proxy.log.filter(({ message }) => message === 'the provider refused the request')).toEqual([])
})
