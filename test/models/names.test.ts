import { fc } from '../fast-check.ts'
import { describe, expect, test } from 'vitest'
import { createAliasTable, nameForms, resolveName, type Aliases, type NameForm } from '../../src/models/names.ts'

const windows = new Map([
  ['claude-haiku-4.5', 200_000],
  ['claude-sonnet-4', 216_000],
  ['claude-3.7-sonnet', 200_000],
  ['claude-opus-4.6', 200_000],
  ['claude-opus-4.6-1m', 1_000_000],
  ['claude-opus-4.6-fast', 200_000],
  ['claude-opus-4.8', 1_000_000],
  ['gpt-4.1', 128_000],
  ['gpt-4-1', 128_000],
  // The entries of long context tiers, as the catalogue names them.
  ['gpt-5.4', 272_000],
  ['gpt-5.4[1m]', 922_000],
  ['claude-sonnet-4.6', 200_000],
  ['claude-sonnet-4.6[1m]', 936_000],
])

const find = ({ name, minContextWindow = 0 }: NameForm) => {
  const id = name.replace(/^copilot\//, '')
  return (windows.get(id) ?? -1) >= minContextWindow ? id : undefined
}

function resolve(name: string, aliases: Aliases = {}): string | undefined {
  const result = resolveName(name, createAliasTable(aliases).targetsOf(name)?.[0], find)
  return result.ok ? result.value : undefined
}

describe('normal forms', () => {
  test.each([
    ['claude-haiku-4.5', 'claude-haiku-4.5'],
    ['claude-haiku-4-5', 'claude-haiku-4.5'],
    ['claude-haiku-4-5-20251001', 'claude-haiku-4.5'],
    ['claude-haiku-4.5-20251001', 'claude-haiku-4.5'],
    ['claude-haiku-4-5-latest', 'claude-haiku-4.5'],
    ['claude-sonnet-4-20250514', 'claude-sonnet-4'],
    ['claude-3-7-sonnet-20250219', 'claude-3.7-sonnet'],
    ['claude-3-7-sonnet-latest', 'claude-3.7-sonnet'],
    ['claude-opus-4-6-fast', 'claude-opus-4.6-fast'],
    ['claude-opus-4-6[1m]', 'claude-opus-4.6-1m'],
    ['claude-opus-4.6[1m]', 'claude-opus-4.6-1m'],
    ['claude-opus-4-6-20260205[1m]', 'claude-opus-4.6-1m'],
    ['claude-opus-4-6-1m', 'claude-opus-4.6-1m'],
    ['copilot/claude-haiku-4-5-20251001', 'claude-haiku-4.5'],
    ['copilot/claude-opus-4-6[1m]', 'claude-opus-4.6-1m'],
    ['claude-opus-4-6-long-context', 'claude-opus-4.6-1m'],
    ['claude-sonnet-4-6[1m]', 'claude-sonnet-4.6[1m]'],
    ['claude-sonnet-4-6-20260301[1m]', 'claude-sonnet-4.6[1m]'],
    ['claude-sonnet-4-6-long-context', 'claude-sonnet-4.6[1m]'],
    ['gpt-5.4[1m]', 'gpt-5.4[1m]'],
    ['copilot/gpt-5.4-long-context', 'gpt-5.4[1m]'],
    ['Claude-Haiku-4.5', 'claude-haiku-4.5'],
    ['GPT-4.1', 'gpt-4.1'],
    ['anthropic/claude-haiku-4.5', 'claude-haiku-4.5'],
    ['Anthropic/Claude-Haiku-4-5-20251001', 'claude-haiku-4.5'],
    ['claude-haiku-4-5@20251001', 'claude-haiku-4.5'],
    ['openai/gpt-4.1', 'gpt-4.1'],
    ['openai/copilot/gpt-4.1', 'gpt-4.1'],
    ['github_copilot/claude-haiku-4-5', 'claude-haiku-4.5'],
    ['GitHub-Copilot/gpt-5.4[1m]', 'gpt-5.4[1m]'],
  ])('%s is %s', (name, id) => {
    expect(resolve(name)).toBe(id)
  })

  test('[1m] is satisfied by a model whose own window is that long', () => {
    expect(resolve('claude-opus-4-8[1m]')).toBe('claude-opus-4.8')
  })

  test.each([
    ['a shorter window than the one asked for', 'claude-haiku-4-5[1m]'],
    ['a long context where there is none', 'gpt-4.1[1m]'],
    ['a long context in another spelling', 'gpt-5.4-1m'],
    ['two marks', 'gpt-5.4[1m][1m]'],
    ['another version', 'claude-haiku-5-5'],
    ['another variant', 'claude-haiku-4-5-fast'],
    ['a dated OpenAI name', 'gpt-4.1-2025-04-14'],
    ['an OpenAI name with -latest', 'gpt-4.1-latest'],
    ['another provider', 'codex/claude-haiku-4-5'],
    ['an unknown prefix', 'somebody/claude-haiku-4.5'],
    ['two prefixes', 'openai/anthropic/claude-haiku-4.5'],
    ['nothing', ''],
  ])('%s is never taken for a known model', (_what, name) => {
    expect(resolve(name)).toBeUndefined()
  })

  test('dashes of other vendors’ names are left alone', () => {
    expect(resolve('gpt-4-1')).toBe('gpt-4-1')
    expect(nameForms('gpt-5-4-20250101')).toEqual([{ name: 'gpt-5-4-20250101' }])
  })
})

describe('aliases', () => {
  test('an alias wins over the model of that name, which its provider’s prefix still reaches', () => {
    const aliases = { 'gpt-4.1': 'claude-haiku-4.5', 'copilot/gpt-5.4': 'gpt-4.1', 'copilot/old': 'gpt-4.1' }
    expect(resolve('gpt-4.1', aliases)).toBe('claude-haiku-4.5')
    expect(resolve('copilot/gpt-4.1', aliases)).toBe('gpt-4.1')
    expect(resolve('github_copilot/gpt-4.1', aliases)).toBe('gpt-4.1')
    expect(resolve('copilot/gpt-5.4', aliases)).toBe('gpt-5.4')
    expect(resolve('copilot/old', aliases)).toBe('gpt-4.1')
  })

  test.each([
    ['claude-x-latest', 'claude-sonnet-4'],
    ['claude-haiku-4.5', 'gpt-4.1'],
    ['claude-opus-4-6-fast', 'gpt-4-1'],
    ['claude-exact', 'claude-opus-4.8'],
    ['gpt-x', 'gpt-5.4'],
    ['gpt-x[1m]', 'gpt-5.4[1m]'],
    ['gpt-x-long-context', 'gpt-5.4[1m]'],
    ['some[1m]', 'claude-sonnet-4.6[1m]'],
    ['copilot/claude-haiku-4.5', 'claude-haiku-4.5'],
    ['copilot/claude-x-latest', undefined],
    ['Claude-x-latest', undefined],
    ['other', undefined],
  ])('with patterns, the exact alias wins, then the longest pattern: %s is %s', (name, id) => {
    const aliases = {
      'claude-*': 'gpt-4.1',
      'claude-*-latest': 'claude-sonnet-4',
      'claude-opus*fast': ['gpt-4-1', 'gpt-4.1'],
      'claude-exact': 'claude-opus-4.8',
      'gpt-*': 'gpt-5.4',
      '*[1m]': 'claude-sonnet-4.6[1m]',
    }
    const wins = name === 'gpt-x[1m]' ? { 'gpt-*': 'gpt-5.4' } : aliases
    expect(resolve(name, wins)).toBe(id)
  })

  test('an alias wins over normalisation', () => {
    expect(resolve('claude-haiku-4-5-20251001', { 'claude-haiku-4-5-20251001': 'gpt-4.1' })).toBe('gpt-4.1')
  })

  test('the target may be written in a normal form or with a prefix', () => {
    expect(resolve('small', { small: 'claude-haiku-4-5-20251001' })).toBe('claude-haiku-4.5')
    expect(resolve('small', { small: 'copilot/gpt-4.1' })).toBe('gpt-4.1')
  })

  test('an alias of an alias leads nowhere, so that there are no loops', () => {
    const aliases = { a: 'b', b: 'a', c: 'd', d: 'gpt-4.1' }
    expect(resolve('a', aliases)).toBeUndefined()
    expect(resolve('c', aliases)).toBeUndefined()
    expect(resolve('d', aliases)).toBe('gpt-4.1')
  })

  test('an alias with a mark of long context is the long tier of its target', () => {
    const aliases = { big: 'gpt-5.4', long: 'gpt-5.4[1m]', small: 'gpt-4.1' }
    for (const name of ['big[1m]', 'big-long-context', 'long[1m]']) expect(resolve(name, aliases)).toBe('gpt-5.4[1m]')
    expect(resolve('small[1m]', aliases)).toBeUndefined()
    expect(resolve('nobody[1m]', aliases)).toBeUndefined()
  })

  test('an alias whose target is missing fails instead of falling back to the name', () => {
    const result = resolveName('claude-haiku-4-5', 'gpt-9', find)
    expect(result).toEqual({ ok: false, wanted: 'gpt-9', viaAlias: true })
  })
})

describe('properties', () => {
  const someName = fc.oneof(
    fc.string(),
    fc.constantFrom(
      'constructor',
      '__proto__',
      'claude-',
      'claude-[1m]',
      '[1m]',
      '-long-context',
      'copilot/',
      'codex/claude-',
    ),
    fc
      .tuple(fc.constantFrom('', 'copilot/', 'codex/'), fc.constantFrom(...windows.keys()), fc.string())
      .map((parts) => parts.join('')),
  )

  test('the name as it was written is always tried first', () => {
    fc.assert(
      fc.property(someName, (name) => {
        expect(nameForms(name)[0]).toEqual({ name })
      }),
    )
  })

  test('no form changes the provider a name is for', () => {
    const prefix = /^(copilot|codex)\//
    fc.assert(
      fc.property(someName, (name) => {
        for (const form of nameForms(name)) expect(prefix.exec(form.name)?.[1]).toBe(prefix.exec(name)?.[1])
      }),
    )
  })

  test('every id that Copilot lists with dots is found by its dashed, dated and latest spelling', () => {
    const version = fc.integer({ min: 0, max: 99 })
    const date = fc.integer({ min: 20_000_101, max: 20_991_231 })
    fc.assert(
      fc.property(
        fc.constantFrom('opus', 'sonnet', 'haiku', 'some-new-name'),
        version,
        version,
        fc.constantFrom('', '-fast', '-high', '-1m'),
        fc.oneof(
          date.map((day) => `-${day}`),
          fc.constantFrom('', '-latest'),
        ),
        (name, major, minor, variant, suffix) => {
          const id = `claude-${name}-${major}.${minor}${variant}`
          const asked = `claude-${name}-${major}-${minor}${variant}${suffix}`
          const result = resolveName(asked, undefined, (form) => (form.name === id ? id : undefined))
          expect(result).toEqual({ ok: true, value: id })
        },
      ),
    )
  })

  test('whatever is found was one of the forms: nothing else is ever put in a name’s place', () => {
    fc.assert(
      fc.property(someName, (name) => {
        const asked: string[] = []
        resolveName(name, undefined, (form) => {
          asked.push(form.name)
          return undefined
        })
        expect([...new Set(asked)]).toEqual([...new Set(nameForms(name).map((form) => form.name))])
      }),
    )
  })
})
