import { describe, expect, test } from 'vitest'
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
    losses: ['dropped;tools.8'],
  },
  {
    title: 'translated to Chat with thoughts',
    model: 'gemini-3-pro-preview',
    upstream: '/chat/completions',
    keepsThoughts: 'always',
    losses: ['clamped;reasoning.effort', 'dropped;tools.8', 'schema_simplified;tools.0'],
  },
  {
    title: 'translated to Chat, signed at the end',
    model: 'claude-sonnet-4.5',
    upstream: '/chat/completions',
    keepsThoughts: 'always',
    losses: ['dropped;tools.8'],
  },
  {
    title: 'translated to Messages',
    model: 'claude-opus-4.7',
    upstream: '/v1/messages',
    keepsThoughts: 'always',
    losses: ['dropped;tools.8'],
  },
]

describeClient(codex, ways, {
  overflow: /^Codex ran out of room in the model's context window\./,
  unauthorized: /^unexpected status 401 Unauthorized: Invalid API key,/,
  rateLimited: /^exceeded retry limit, last status: 429 Too Many Requests,/,
  broken: /^We’re currently experiencing high demand,/,
})

describe.each(ways)('Codex CLI, $title ($model)', (way) => {
  test('runs a tool that is in a namespace', async () => {
    const { ask, received } = await openCase(codex, way)
    const { exitCode, text } = await ask({ prompt: '[demo:tool multi_agent_v1__wait_agent {"targets":["nobody"]}]' })
    expect(text).toMatch(/^The tool answered: invalid agent id nobody/)
    expect(exitCode).toBe(0)
    expect(received().at(-1)?.calls).toMatchObject([{ result: expect.stringContaining('invalid agent id') }])
  })

  test('shows the model an image that a tool has read', async () => {
    const { ask, received } = await openCase(codex, way)
    const { exitCode, text } = await ask({ prompt: '[demo:tool view_image {"path":"pixel.png"}]' })
    expect(text).toContain('image/png of 68 bytes')
    expect(exitCode).toBe(0)
    expect(received().at(-1)?.text).toContain(pixel)
  })
})

test('Codex CLI works with a model that refuses its namespaces, which is asked for them once', async () => {
  const way: Way = {
    title: 'Responses without namespaces',
    model: 'gpt-5-mini',
    upstream: '/responses',
    keepsThoughts: 'always',
    losses: [],
  }
  const { ask, file, proxy } = await openCase(codex, way)
  const { exitCode, text } = await ask({ prompt: codex.callToRead(file('heron.txt')) })
  expect(text).toContain('about a heron')
  expect(exitCode).toBe(0)
  expect(proxy.log.filter(({ message }) => message === 'upstream refused the request')).toHaveLength(1)
})
