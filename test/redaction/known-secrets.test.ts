import { fc } from '../fast-check.ts'
import { describe, expect, test } from 'vitest'
import { createKnownSecrets, redactValues } from '../../src/redaction/known-secrets.ts'
import { leaksIn } from '../security/canaries.ts'

const secret = 'made-up.Gh7Qm2+Xr9/Lp4=Vt8;Zk3"Wd'

const encodings: readonly (readonly [how: string, text: string])[] = [
  ['plain', secret],
  ['in JSON', JSON.stringify({ said: `refused ${secret} today` })],
  ['in a URL', `https://host.example/?token=${encodeURIComponent(secret)}&x=1`],
  [
    'in a URL in lower case',
    `?t=${encodeURIComponent(secret).replaceAll(/%[\dA-F]{2}/g, (code) => code.toLowerCase())}`,
  ],
  ['in a form', new URLSearchParams({ token: secret }).toString()],
  ['in hexadecimal', Buffer.from(secret).toString('hex')],
  ...['', 'k', 'k:', 'Bearer ', 'user:'].flatMap((before) =>
    (['base64', 'base64url'] as const).flatMap((encoding) =>
      ['', '!', '!!'].map(
        (after) =>
          [
            `in ${encoding} between "${before}" and "${after}"`,
            Buffer.from(before + secret + after).toString(encoding),
          ] as const,
      ),
    ),
  ),
]

describe('known secrets', () => {
  test.each(encodings)('are taken out %s', (_how, text) => {
    const secrets = createKnownSecrets()
    secrets.note(secret)
    expect(leaksIn(text, { secret })).not.toEqual([])
    expect(leaksIn(secrets.redact(text), { secret })).toEqual([])
    expect(secrets.redact(text)).toContain('[redacted]')
  })

  test('leave other text as it is', () => {
    const secrets = createKnownSecrets()
    secrets.note(secret, undefined, '', 'short', 'gpt-5')
    expect(secrets.redact('a short answer of gpt-5')).toBe('a short answer of gpt-5')
  })

  test('of which one holds the other leave nothing of either', () => {
    const secrets = createKnownSecrets()
    secrets.note('made-up-1', 'made-up-1-and-more')
    expect(secrets.redact('made-up-1-and-more made-up-1')).toBe('[redacted] [redacted]')
  })

  test('are forgotten from the oldest on, so that a long run holds a bounded number', () => {
    const secrets = createKnownSecrets()
    for (let i = 0; i < 1000; i += 1) secrets.note(`made-up-token-${i}-`)
    expect(secrets.redact('made-up-token-0- made-up-token-999-')).toBe('made-up-token-0- [redacted]')
  })

  test('stay known for as long as they are used', () => {
    const secrets = createKnownSecrets()
    for (const round of [0, 1]) {
      secrets.note('made-up-in-use')
      for (let i = 0; i < 40; i += 1) secrets.note(`made-up-token-${round}-${i}-`)
    }
    expect(secrets.redact('made-up-in-use made-up-token-0-0-')).toBe('[redacted] made-up-token-0-0-')
  })

  test('that are held stay known, however many there are and whatever comes and goes beside them', () => {
    const secrets = createKnownSecrets()
    const keys = Array.from({ length: 200 }, (_, i) => `made-up-key-${i}-`)
    secrets.hold('configuration', ...keys)
    for (let i = 0; i < 1000; i += 1) secrets.note(`made-up-token-${i}-`)
    expect(keys.map(secrets.redact)).toEqual(keys.map(() => '[redacted]'))
  })

  test('that are held no more are the newest of those that come and go, and those of another holder stay', () => {
    const secrets = createKnownSecrets()
    secrets.hold('environment', 'made-up-password')
    secrets.hold('configuration', 'made-up-old-key')
    secrets.hold('configuration', 'made-up-new-key')
    const said = 'made-up-password made-up-old-key made-up-new-key'
    expect(secrets.redact(said)).toBe('[redacted] [redacted] [redacted]')
    for (let i = 0; i < 64; i += 1) secrets.note(`made-up-token-${i}-`)
    expect(secrets.redact(said)).toBe('[redacted] made-up-old-key [redacted]')
  })

  test('of an odd upstream may hold half a character', () => {
    const secrets = createKnownSecrets()
    secrets.note('made-up-\ud800')
    expect(secrets.redact('said made-up-\ud800')).toBe('said [redacted]')
  })

  test('are taken out of any text around them, whatever they are made of', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[\x21-\x7e]{8,40}$/), fc.string(), fc.string(), (value, before, after) => {
        const secrets = createKnownSecrets()
        secrets.note(value)
        expect(secrets.redact(before + value + after)).not.toContain(value)
      }),
    )
  })
})

describe('every secret in a text is replaced', () => {
  test.each([
    ['alone', 'needle-1', '[redacted]'],
    ['at both ends', 'needle-1 and needle-2', '[redacted] and [redacted]'],
    ['in the middle', 'a needle-1 b', 'a [redacted] b'],
    ['one right after the other', 'needle-1needle-2', '[redacted][redacted]'],
    ['the longest where one begins with the other', 'needle-2-long needle-2', '[redacted] [redacted]'],
    ['one that begins before another and ends after it', 'a needle-1-embraced-needle-2 b', 'a [redacted] b'],
    ['overlapping ones together', 'needle-10verlap9', '[redacted]'],
    ['one inside another with it', 'the-longest-needle-1-of-all', '[redacted]'],
    ['none where there is none', 'needle-3 needle-', 'needle-3 needle-'],
    ['one with marks of a pattern', 'a not.a(pattern)*[x] b', 'a [redacted] b'],
    ['none in nothing', '', ''],
  ])('%s', (_what, text, expected) => {
    const secrets = createKnownSecrets()
    secrets.note(
      'needle-1',
      'needle-2',
      'needle-2-long',
      '10verlap9',
      'the-longest-needle-1-of-all',
      'needle-1-embraced-needle-2',
      'not.a(pattern)*[x]',
    )
    expect(secrets.redact(text)).toBe(expected)
  })

  test('none where none is known', () => {
    expect(createKnownSecrets().redact('needle-1')).toBe('needle-1')
  })

  /** Few letters, so that secrets meet and overlap, with one outside Latin-1. */
  const letters = fc.constantFrom('a', 'b', 'é', '€')
  const values = fc.array(fc.string({ unit: letters, minLength: 8, maxLength: 12 }), { minLength: 1, maxLength: 30 })
  const pieces = fc.array(fc.string({ unit: letters, maxLength: 12 }))

  test('as by looking for each of them at each place', () => {
    fc.assert(
      fc.property(values, pieces, (wanted, between) => {
        const secrets = createKnownSecrets()
        secrets.note(...wanted)
        const text = between.map((piece, i) => piece + (wanted[i % wanted.length] ?? '')).join('')
        expect(secrets.redact(text)).toBe(replacedOneByOne(text, wanted))
      }),
    )
  })
})

function replacedOneByOne(text: string, values: readonly string[]): string {
  const spans = Array.from({ length: text.length }, (_, start) => start).flatMap((start) =>
    values.filter((value) => text.startsWith(value, start)).map((value) => [start, start + value.length] as const),
  )
  const merged: [number, number][] = []
  for (const [start, end] of spans) {
    const last = merged.at(-1)
    if (last !== undefined && start < last[1]) last[1] = Math.max(last[1], end)
    else merged.push([start, end])
  }
  const ends = [0, ...merged.map(([, end]) => end)]
  const starts = [...merged.map(([start]) => start), text.length]
  return starts.map((start, i) => text.slice(ends[i], start)).join('[redacted]')
}

describe('upstream headers', () => {
  const secrets = createKnownSecrets()
  secrets.note('gho_notARealToken0001')

  test('headers that hold no credential stay the ones they are', () => {
    const headers = { 'x-github-request-id': 'ABC', 'retry-after-ms': '20' }
    expect(redactValues(headers, secrets.redact)).toBe(headers)
    expect(redactValues({}, secrets.redact)).toEqual({})
  })

  test('a credential is taken out of each value that holds it, and of no other', () => {
    const headers = {
      first: 'a gho_notARealToken0001',
      second: 'b',
      third: 'gho_notARealToken0001 gho_notARealToken0001',
    }
    expect(redactValues(headers, secrets.redact)).toEqual({
      first: 'a [redacted]',
      second: 'b',
      third: '[redacted] [redacted]',
    })
  })

  test('what only reads like a credential across two values is none', () => {
    const headers = { first: 'gho_notARe', second: 'alToken0001' }
    expect(redactValues(headers, secrets.redact)).toBe(headers)
  })
})
