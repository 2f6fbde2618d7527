import { expect, test } from 'vitest'
import { isClaudeFrom, isReasoningGpt, modelFamily } from '../../../src/translate/engine/model-family.ts'

const claude = (tier: string, major: number, minor: number) =>
  ({ kind: 'claude', tier, version: { major, minor } }) as const

test.each([
  ['gpt-5-mini', { kind: 'gpt', major: 5 }],
  ['gpt-5.3-codex', { kind: 'gpt', major: 5, minor: 3 }],
  ['gpt-5.6-luna', { kind: 'gpt', major: 5, minor: 6 }],
  ['gpt-4.1', { kind: 'gpt', major: 4, minor: 1 }],
  ['gpt-41-copilot', { kind: 'gpt', major: 4 }],
  ['gpt-4-o-preview', { kind: 'gpt', major: 4 }],
  ['gpt-4o-mini-2024-07-18', { kind: 'gpt', major: 4 }],
  ['gpt-3.5-turbo-0613', { kind: 'gpt', major: 3, minor: 5 }],
  ['o1', { kind: 'o-series', generation: 1 }],
  ['o1-preview-2024-09-12', { kind: 'o-series', generation: 1 }],
  ['o4-mini', { kind: 'o-series', generation: 4 }],
  ['claude-opus-4.8', claude('opus', 4, 8)],
  ['claude-opus-4-8-20260715', claude('opus', 4, 8)],
  ['claude-opus-4.6-1m', claude('opus', 4, 6)],
  ['claude-opus-4-1m', claude('opus', 4, 0)],
  ['claude-opus-4.10', claude('opus', 4, 10)],
  ['claude-opus-41', claude('opus', 4, 1)],
  ['claude-sonnet-4', claude('sonnet', 4, 0)],
  ['claude-sonnet-4-20250514', claude('sonnet', 4, 0)],
  ['claude-sonnet-5', claude('sonnet', 5, 0)],
  ['claude-3.7-sonnet-thought', claude('sonnet', 3, 7)],
  ['claude-3-5-haiku-20241022', claude('haiku', 3, 5)],
  ['Claude-Haiku-4.5', claude('haiku', 4, 5)],
  ['claude-next', { kind: 'claude' }],
  ['gemini-3.1-pro-preview', { kind: 'gemini' }],
  ['grok-code-fast-1', { kind: 'grok' }],
  ['kimi-k2.6', { kind: 'kimi', generation: 2 }],
  ['kimi-k2-thinking', { kind: 'kimi', generation: 2 }],
  ['Kimi-K3', { kind: 'kimi', generation: 3 }],
  ['kimi-latest', { kind: 'kimi' }],
  ['mai-code-1-flash', { kind: 'other' }],
])('reads the family of %s from its id', (id, family) => {
  expect(modelFamily({ id, family: id, supports: {} })).toEqual(family)
})

test.each([
  [
    { id: 'oswe-vscode-prime', family: 'gpt-5-mini' },
    { kind: 'gpt', major: 5 },
  ],
  [{ id: 'raptor', family: 'raptor', vendor: 'Azure OpenAI' }, { kind: 'gpt' }],
  [{ id: 'x', family: 'x', vendor: 'Anthropic' }, { kind: 'claude' }],
  [{ id: 'x', family: 'x', vendor: 'Google' }, { kind: 'gemini' }],
  [{ id: 'x', family: 'x', vendor: 'xAI' }, { kind: 'grok' }],
  [{ id: 'x', family: 'x', vendor: 'Moonshot AI' }, { kind: 'kimi' }],
])('falls back to family, then vendor: %o', (model, family) => {
  expect(modelFamily({ ...model, supports: {} })).toEqual(family)
})

test('counts GPT from 5 on and the o-series as reasoning models', () => {
  expect(isReasoningGpt({ kind: 'gpt', major: 5 })).toBe(true)
  expect(isReasoningGpt({ kind: 'o-series', generation: 3 })).toBe(true)
  expect(isReasoningGpt({ kind: 'gpt', major: 4 })).toBe(false)
  expect(isReasoningGpt({ kind: 'gpt' })).toBe(false)
  expect(isReasoningGpt({ kind: 'gemini' })).toBe(false)
})

test('compares Claude versions as versions, not as decimals', () => {
  expect(isClaudeFrom(claude('opus', 4, 10), 4, 7)).toBe(true)
  expect(isClaudeFrom(claude('opus', 5, 0), 4, 7)).toBe(true)
  expect(isClaudeFrom(claude('opus', 4, 6), 4, 7)).toBe(false)
  expect(isClaudeFrom({ kind: 'claude' }, 4, 7)).toBe(false)
  expect(isClaudeFrom({ kind: 'gpt', major: 5 }, 4, 7)).toBe(false)
})
