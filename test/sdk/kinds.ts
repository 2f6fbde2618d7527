import type { UpstreamDialectId } from '../../src/translate/dialect.ts'

/** A model of the simulated upstreams, and the upstream dialect that serves a caller of each dialect. */
export interface ModelKind {
  readonly model: string
  /** The login that a Codex model needs; undefined for a Copilot model. */
  readonly codexLogin?: 'stored' | 'api-key'
  readonly upstream: Readonly<Record<UpstreamDialectId, UpstreamDialectId>>
  /** The upstream dialects on which the model sends reasoning that it accepts back. */
  readonly thinks: readonly UpstreamDialectId[]
}

/** Every set of endpoints of Copilot's models. All nine combinations of caller and upstream dialect occur. */
export const kinds: readonly ModelKind[] = [
  {
    model: 'gpt-5-mini',
    upstream: { chat: 'chat', responses: 'responses', messages: 'responses' },
    // On chat, the model sends its reasoning only at the end, and does not accept it back.
    thinks: ['responses'],
  },
  {
    model: 'gpt-5.3-codex',
    upstream: { chat: 'responses', responses: 'responses', messages: 'responses' },
    thinks: ['responses'],
  },
  {
    model: 'claude-sonnet-4.5',
    upstream: { chat: 'chat', responses: 'messages', messages: 'messages' },
    thinks: ['chat', 'messages'],
  },
  {
    model: 'claude-opus-4.7',
    upstream: { chat: 'messages', responses: 'messages', messages: 'messages' },
    thinks: ['messages'],
  },
  { model: 'gpt-4.1', upstream: { chat: 'chat', responses: 'chat', messages: 'chat' }, thinks: [] },
  {
    model: 'gemini-3-pro-preview',
    upstream: { chat: 'chat', responses: 'chat', messages: 'chat' },
    thinks: ['chat'],
  },
]

const overResponses = {
  upstream: { chat: 'responses', responses: 'responses', messages: 'responses' },
  thinks: ['responses'],
} as const

/** Codex models with either login. Copilot has one of them too, so its name needs the prefix. */
export const codexKinds: readonly ModelKind[] = [
  { model: 'gpt-5.5', codexLogin: 'stored', ...overResponses },
  { model: 'codex/gpt-5.3-codex', codexLogin: 'stored', ...overResponses },
  { model: 'gpt-5.5', codexLogin: 'api-key', ...overResponses },
]

/** For a test's title. */
export function titleOf({ model, codexLogin }: ModelKind): string {
  const login = { stored: 'a ChatGPT login', 'api-key': 'an API key' }
  return codexLogin === undefined ? model : `${model} by ${login[codexLogin]}`
}

/** Upstream's name of the model, which the simulated model uses in its answers. */
export function ownName({ model }: ModelKind): string {
  return model.replace(/^codex\//, '')
}

/** Path of the simulated Codex by login. */
export const codexRoutes = {
  stored: '/backend-api/codex/responses',
  'api-key': '/v1/responses',
} as const satisfies Record<NonNullable<ModelKind['codexLogin']>, string>

/** Path of the simulated Copilot by upstream dialect. */
export const upstreamRoutes = {
  chat: '/chat/completions',
  responses: '/responses',
  messages: '/v1/messages',
} as const satisfies Record<UpstreamDialectId, string>

/** A small PNG of 68 bytes: one transparent pixel. */
export const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII='
