import { expect, test } from 'vitest'
import { loaded, refused } from './loading.ts'

test.each([
  ['codex.base-url', 'https://api.githubcopilot.com'],
  ['codex.base-url', 'https://api.openai.com/v1'],
  ['codex.base-url', 'https://chatgpt.com.example/backend-api/codex'],
  ['codex.issuer', 'https://github.com'],
  ['codex.issuer', 'https://notopenai.com'],
  ['codex.api-base-url', 'https://chatgpt.com/backend-api/codex'],
  ['codex.api-base-url', 'https://api.individual.githubcopilot.com'],
  ['codex.api-base-url', 'https://api.github.com'],
  ['copilot-oauth.github-api-base-url', 'https://chatgpt.com'],
  ['copilot-oauth.github-base-url', 'https://auth.openai.com'],
  ['copilot-oauth.token-url', 'https://auth.openai.com/oauth/token'],
])('%s may not be %s, which belongs to another login', (key, url) => {
  const [section, name] = key.split('.')
  expect(refused({ file: `${section}:\n  ${name}: ${url}` })).toMatch(/^config\.yaml:2:\d+ .*must not be sent to/)
})

test.each([
  ['base-url', 'https://chatgpt.com/other'],
  ['base-url', 'https://eu.chatgpt.com/backend-api/codex'],
  ['base-url', 'http://127.0.0.1:9/backend-api/codex'],
  ['issuer', 'https://auth.openai.com'],
  ['issuer', 'http://localhost:9'],
  ['api-base-url', 'https://gateway.example/v1'],
  ['api-base-url', 'https://eu.api.openai.com/v1'],
])('codex.%s may be %s', (name, url) => {
  expect(loaded({ file: `codex:\n  ${name}: ${url}` }).config.codex).toMatchObject({
    [name.replaceAll(/-(.)/g, (_, letter: string) => letter.toUpperCase())]: url,
  })
})
