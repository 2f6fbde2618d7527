import { describe, expect, test } from 'vitest'
import { isMadeFor, makerOf, openOpaque, sealOpaque } from '../../../src/translate/engine/opaque-envelope.ts'
import type { Opaque } from '../../../src/translate/turn.ts'
import { traits } from '../turns.ts'

const value: Opaque = { vendor: 'openai', family: 'gpt-6', form: 'encrypted_content', id: 'rs_1', value: 'gAAA' }

const envelope = (content: object) => `cpx1.${Buffer.from(JSON.stringify(content)).toString('base64url')}`

describe('an envelope', () => {
  test.each<Opaque>([
    { ...value, provider: 'codex' },
    { ...value, provider: 'copilot' },
    { vendor: 'unknown', provider: 'copilot', family: '', form: 'reasoning_opaque', value: 'x' },
    { vendor: 'anthropic', provider: 'copilot', family: '', form: 'signature', value: 'x' },
    { vendor: 'anthropic', provider: 'copilot', family: '', form: 'redacted', value: 'x' },
  ])('says who made what is in it: $provider $form', (opaque) => {
    expect(openOpaque(sealOpaque(opaque))).toEqual(opaque)
  })

  test('that names no upstream is of Copilot, and Copilot is not named', () => {
    const old = envelope({ p: 'openai', m: 'gpt-6', id: 'rs_1', ec: 'gAAA' })
    expect(openOpaque(old)).toEqual({ ...value, provider: 'copilot' })
    expect(sealOpaque({ ...value, provider: 'copilot' })).toBe(old)
    expect(sealOpaque(value)).toBe(old)
  })

  test.each(['other', 1, null, ''])('of an upstream that is not known, %j, is not opened', (u) => {
    expect(openOpaque(envelope({ p: 'openai', u, m: 'gpt-6', ec: 'gAAA' }))).toBeUndefined()
  })
})

const codex = traits('gpt-6-sol', { provider: 'codex' })
const copilot = traits('gpt-6-sol', { provider: 'copilot' })
const claude = traits('claude-opus-4.8', { provider: 'copilot' })

test.each([
  [{ ...value, provider: 'codex' } as const, codex, true],
  [{ ...value, provider: 'codex' } as const, copilot, false],
  [{ ...value, provider: 'codex' } as const, traits('gpt-6-sol'), false],
  [{ ...value, provider: 'copilot' } as const, codex, false],
  [{ ...value, provider: 'copilot' } as const, copilot, true],
  [{ ...value, provider: 'copilot' } as const, traits('gpt-6-sol'), true],
  [{ ...value, provider: 'copilot' } as const, claude, false],
  [value, codex, true],
  [value, copilot, true],
  [{ ...value, vendor: 'unknown' } as const, traits('mystery'), false],
])('%j is for %j: %s', (opaque, model, expected) => {
  expect(isMadeFor(opaque, model)).toBe(expected)
})

test('a model of Codex is of OpenAI, whatever it is called', () => {
  expect(makerOf(traits('codex-auto-review', { provider: 'codex' }))).toEqual({
    vendor: 'openai',
    provider: 'codex',
    family: '',
  })
  expect(makerOf(traits('mystery'))).toEqual({ vendor: 'unknown', family: '' })
})
