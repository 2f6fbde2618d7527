import { describe, expect, test } from 'vitest'
import { codexRoutes } from '../sdk/kinds.ts'
import { apiKeyWay, chatgptWays } from './codex-ways.ts'
import { codex } from './codex.ts'
import { pixel } from './place.ts'
import { describeClient, openCase } from './scenarios.ts'
import type { Way } from './scenarios.ts'

const ways: readonly Way[] = [
  { title: 'Responses', model: 'gpt-5.3-codex', upstream: '/responses', keepsThoughts: 'always', losses: [] },
  {
    title: 'translated to Chat',
    model: 'gpt-4.1',
    upstream: '/chat/completions',
    keepsThoughts: 'never',
    losses: [],
  },
  {
    title: 'translated to Chat with thoughts',
    model: 'gemini-3-pro-preview',
    upstream: '/chat/completions',
    keepsThoughts: 'always',
    losses: ['clamped;reasoning.effort'],
  },
  {
    title: 'translated to Chat, signed at the end',
    model: 'claude-sonnet-4.5',
    upstream: '/chat/completions',
    config: 'copilot: { upstream-dialect: chat }',
    keepsThoughts: 'always',
    losses: [],
  },
  {
    title: 'translated to Messages',
    model: 'claude-opus-4.7',
    upstream: '/v1/messages',
    keepsThoughts: 'always',
    losses: [],
  },
]

const shown = {
  overflow: /^Codex ran out of room in the model's context window\./,
  unauthorized: /^unexpected status 401 Unauthorized: Invalid API key,/,
  rateLimited: /^You’ve hit your usage limit\./,
  broken: /^We’re currently experiencing high demand,/,
}

describeClient(codex, ways, shown)
const refused = /^unexpected status 401 Unauthorized: OpenAI refuses the /
describeClient(codex, [apiKeyWay], {
  ...shown,
  unauthorized: refused,
  rateLimited: /^exceeded retry limit, last status: 429 Too Many Requests,/,
})
describeClient(codex, chatgptWays, { ...shown, unauthorized: refused })

const codexWays = [...chatgptWays, apiKeyWay]

// Of a model that its own catalogue has, such as gpt-5.5, it keeps these tools to itself.
const offeredNamespaces = [...ways, ...codexWays.filter(({ model }) => model !== 'gpt-5.5')]

describe.each(offeredNamespaces)('Codex CLI, $title ($model)', (way) => {
  test('runs a tool that is in a namespace', async () => {
    const { ask, received } = await openCase(codex, way)
    const { exitCode, text } = await ask({ prompt: '[demo:tool multi_agent_v1__wait_agent {"targets":["nobody"]}]' })
    expect(text).toMatch(/^The tool answered: invalid agent id nobody/)
    expect(exitCode).toBe(0)
    expect(received().at(-1)?.calls).toMatchObject([{ result: expect.stringContaining('invalid agent id') }])
  })
})

describe.each([...ways, ...codexWays])('Codex CLI, $title ($model)', (way) => {
  test('shows the model an image that a tool has read', async () => {
    const { ask, received } = await openCase(codex, way)
    const { exitCode, text } = await ask({ prompt: '[demo:tool view_image {"path":"pixel.png"}]' })
    expect(text).toContain('image/png of 68 bytes')
    expect(exitCode).toBe(0)
    expect(received().at(-1)?.text).toContain(pixel)
  })
})

const responsesWay: Way = {
  title: 'Responses',
  model: 'gpt-5-mini',
  upstream: '/responses',
  keepsThoughts: 'always',
  losses: [],
}

test('Codex CLI works with a model that refuses its namespaces, which is asked for them once', async () => {
  const { ask, file, proxy } = await openCase(codex, responsesWay)
  const { exitCode, text } = await ask({ prompt: codex.callToRead(file('heron.txt')) })
  expect(text).toContain('about a heron')
  expect(exitCode).toBe(0)
  expect(proxy.log.filter(({ message }) => message === 'the provider refused the request')).toHaveLength(1)
})

test('Codex CLI says when a limit of Copilot resets, instead of waiting for days in silence', async () => {
  const { ask } = await openCase(codex, responsesWay)
  const { exitCode, failure } = await ask({ prompt: '[demo:error 429 604800]' })
  expect(failure).toMatch(/^You’ve hit your usage limit\. Try again at \w+ \d+\w+, \d{4}/)
  expect(exitCode).toBe(1)
})

describe.each(chatgptWays)('Codex CLI, $title ($model)', (way) => {
  test('says what to run when the login was revoked', async () => {
    const { ask, proxy } = await openCase(codex, way)
    proxy.codex.logins.revokeAll()
    const { exitCode, failure } = await ask({ prompt: 'Hello' })
    expect(failure).toMatch(/Run: copilot-proxy login codex/)
    expect(exitCode).toBe(1)
    expect(proxy.codex.count(codexRoutes.stored)).toBeLessThanOrEqual(1)
  })

  test('asks once when the plan is spent', async () => {
    const { ask, proxy } = await openCase(codex, way)
    const { exitCode, failure } = await ask({ prompt: '[demo:error 429]' })
    expect(failure).toMatch(/^You’ve hit your usage limit\./)
    expect(exitCode).toBe(1)
    expect(proxy.codex.count(codexRoutes.stored)).toBe(1)
  })
})

/** It runs these models by a program it has them write, and declares its tools in the input. */
const bySource: Way = { ...apiKeyWay, ...chatgptWays[0], model: 'gpt-6-sol' }

test.each([[false], [true]])(
  'Codex CLI works with a model of the lite form, asked only in it: %s',
  async (isLiteOnly) => {
    const { ask, file, proxy, received } = await openCase(codex, bySource)
    if (isLiteOnly) proxy.codex.configure({ liteOnly: { 'gpt-6-sol': 'not_found' } })
    const code = `text(JSON.stringify(await tools.exec_command({ cmd: "cat '${file('heron.txt')}'" })))`
    const { exitCode, text, failure } = await ask({
      prompt: `[demo:reasoning][demo:tool exec ${JSON.stringify(code)}]`,
    })
    expect(failure).toBe('')
    expect(text).toMatch(/about a heron/)
    expect(exitCode).toBe(0)
    if (!isLiteOnly) expect(received().at(-1)?.thoughts).toHaveLength(1)
  },
)
