import { assert, property, string, stringMatching } from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createKnownSecrets } from '../src/known-secrets.ts'
import { leaksIn } from './security/canaries.ts'

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
    assert(
      property(stringMatching(/^[\x21-\x7e]{8,40}$/), string(), string(), (value, before, after) => {
        const secrets = createKnownSecrets()
        secrets.note(value)
        expect(secrets.redact(before + value + after)).not.toContain(value)
      }),
    )
  })
})
