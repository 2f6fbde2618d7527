import { chooseModels } from '../../src/client-settings/choose-models.ts'
import type { ClientModel, Target, ClientId } from '../../src/client-settings/target.ts'

/** A model of Copilot’s that these APIs serve untranslated. */
export function model(
  id: string,
  native: readonly string[] = ['chat'],
  change: Partial<ClientModel> = {},
): ClientModel {
  const dialects = ['chat', 'responses', 'messages']
  const routes = dialects.map((dialect) => [dialect, native.includes(dialect) ? dialect : (native[0] ?? null)])
  return {
    id,
    provider: 'copilot',
    routes: Object.fromEntries(routes),
    contextTokens: 128_000,
    outputTokens: 16_000,
    vision: true,
    tools: true,
    thinks: true,
    ...change,
  }
}

export const models: readonly ClientModel[] = [
  model('gpt-5-mini', ['chat', 'responses']),
  model('gpt-5.3-codex', ['responses']),
  model('gpt-4.1'),
  model('claude-opus-4.8', ['chat', 'messages']),
  model('claude-sonnet-5', ['chat', 'messages']),
  model('claude-sonnet-4.5', ['chat', 'messages']),
  model('claude-haiku-4.5', ['chat', 'messages']),
  model('gemini-3-pro-preview'),
]

export function target(client: ClientId, change: Partial<Target> = {}): Target {
  const chosen = chooseModels(client, change.models ?? models)
  if (chosen === undefined) throw new Error('there are models')
  return { url: 'http://127.0.0.1:4141', key: 'copilot-proxy', isKeyAsked: false, chosen, models, ...change }
}
