import { expect, test } from 'vitest'
import { inWords, toUpstreamMessage } from '../../src/upstream-errors/message.ts'
import { asIs } from '../as-is.ts'

const webPage = 'The answer was a web page, not the API (a sign-in page, a firewall or an outage page).'

test('passes plain text on', () => {
  expect(toUpstreamMessage(' The requested model is not supported.\n', asIs)).toBe(
    'The requested model is not supported.',
  )
})

test.each([
  ['a document', '<!doctype html>\n<p>Sign in</p>'],
  ['a fragment', '\ufeff  <h1>502 Bad Gateway</h1>'],
  ['XML', '<?xml version="1.0"?><Error/>'],
  ['a page after words', 'upstream said: <HTML lang="en"><head><title>504</title></head></HTML>'],
])('puts a sentence in place of %s', (_title, text) => {
  expect(toUpstreamMessage(text, asIs)).toBe(webPage)
})

test('leaves text about markup unchanged', () => {
  expect(toUpstreamMessage('unexpected tag <html> in messages[0]', asIs)).toBe('unexpected tag <html> in messages[0]')
})

test('takes out credentials', () => {
  expect(toUpstreamMessage('bad token ghu_example0000', asIs)).toBe('bad token [redacted]')
})

test('cuts what is too long, and no half of a credential stays', () => {
  expect(toUpstreamMessage('x'.repeat(100_000), asIs)).toHaveLength(4000)
  const across = `${'x'.repeat(3980)} https://user:example-password@host/`
  expect(toUpstreamMessage(across, asIs)).not.toContain('user:ex')
})

test('cuts no character in half', () => {
  expect(toUpstreamMessage(`${'x'.repeat(3999)}\u{1f600}`, asIs).isWellFormed()).toBe(true)
})

const secret = 'made-up-credential-without-any-shape'
const redact = (text: string): string => text.replaceAll(secret, '[redacted]')

test.each([
  ['the cut goes through it', 'x'.repeat(3980)],
  ['it ends what is looked at', 'x'.repeat(7980)],
  ['many of them make the text short', secret.repeat(222)],
])('takes a known credential out whole, also where %s', (_what, before) => {
  expect(toUpstreamMessage(`${before}${secret} and more`, redact)).not.toContain('made')
})

test('takes a known credential out before a shape is found in a part of it', () => {
  const whole = 'sk-example"with-a-quote'
  expect(toUpstreamMessage(`bad key ${whole}`, (text) => text.replaceAll(whole, '[redacted]'))).toBe(
    'bad key [redacted]',
  )
})

test.each([
  [45, '45 s'],
  [61, '2 min'],
  [3600, '1 h'],
  [13_860, '3 h 51 min'],
  [172_800, '2 d'],
  [183_600, '2 d 3 h'],
])('%i seconds are %s', (seconds, words) => {
  expect(inWords(seconds)).toBe(words)
})
