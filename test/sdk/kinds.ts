import type { DialectId } from '../../src/translate/dialect.ts'

/** A model of the simulated Copilot, and the upstream dialect that serves a caller of each dialect. */
export interface ModelKind {
  readonly model: string
  readonly upstream: Readonly<Record<DialectId, DialectId>>
  /** Over which upstream dialects it gives away thoughts that it takes back. */
  readonly thinks: readonly DialectId[]
}

/** Every set of endpoints that a model of Copilot's has; the nine combinations of caller and upstream are all in here. */
export const kinds: readonly ModelKind[] = [
  {
    model: 'gpt-5-mini',
    upstream: { chat: 'chat', responses: 'responses', messages: 'chat' },
    // Over chat it tells its thoughts once all is said and done, for nobody to give back.
    thinks: ['responses'],
  },
  {
    model: 'gpt-5.3-codex',
    upstream: { chat: 'responses', responses: 'responses', messages: 'responses' },
    thinks: ['responses'],
  },
  {
    model: 'claude-sonnet-4.5',
    upstream: { chat: 'chat', responses: 'chat', messages: 'messages' },
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

/** Path of the simulated service by upstream dialect. */
export const upstreamRoutes = {
  chat: '/chat/completions',
  responses: '/responses',
  messages: '/v1/messages',
} as const satisfies Record<DialectId, string>

/** A small PNG of 68 bytes: one transparent pixel. */
export const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII='
