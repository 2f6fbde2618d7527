import type { Way } from './scenarios.ts'

const byChatgpt: Way = {
  title: 'Codex by a ChatGPT login',
  model: 'gpt-5.5',
  upstream: '/backend-api/codex/responses',
  codexLogin: 'stored',
  keepsThoughts: 'always',
  losses: [],
}

/** To models of Codex by a ChatGPT login; one that Copilot has too, so that it goes by its prefix. */
export const chatgptWays: readonly Way[] = [byChatgpt, { ...byChatgpt, model: 'codex/gpt-5.3-codex' }]

export const apiKeyWay: Way = {
  ...byChatgpt,
  title: 'Codex by an API key',
  upstream: '/v1/responses',
  codexLogin: 'api-key',
}
