import { describe, expect, test } from 'vitest'
import { createKnownSecrets } from '../../src/redaction/known-secrets.ts'
import { cpuMs } from '../cpu-time.ts'
import { fc } from '../fast-check.ts'

const known = 'example-key-4711'
const shaped = 'gho_abcdefghijklmnop0123456789'

function redactBody(text: string): string {
  const secrets = createKnownSecrets()
  secrets.note(known)
  return secrets.redactBody(text)
}

type Json = Readonly<Record<string, unknown>>

const frame = (event: Json) => `data: ${JSON.stringify(event)}\n\n`
const inChat = (piece: string) => ({ choices: [{ index: 0, delta: { content: piece } }] })
const inResponses = (piece: string) => ({
  type: 'response.output_text.delta',
  output_index: 0,
  content_index: 0,
  delta: piece,
})
const inMessages = (piece: string) => ({
  type: 'content_block_delta',
  index: 0,
  delta: { type: 'text_delta', text: piece },
})
const inArguments = (piece: string) => ({
  choices: [{ index: 0, delta: { tool_calls: [{ index: 0, function: { arguments: piece } }] } }],
})

/** All strings in the JSON of a body, joined. */
function stringsOf(text: string): string {
  const strings: string[] = []
  for (const line of text.split('\n')) {
    const json = line.replace(/^data: /, '')
    if (!json.startsWith('{')) continue
    JSON.parse(json, (_name, value: unknown) => {
      if (typeof value === 'string') strings.push(value)
      return value
    })
  }
  return strings.join('')
}

describe.each([
  ['Chat', inChat],
  ['Responses', inResponses],
  ['Messages', inMessages],
  ['arguments of a call', inArguments],
])('a streamed answer, %s', (_what, toEvent) => {
  test.each([
    ['a known secret', known],
    ['a token by its shape', shaped],
  ])('hides %s however it is cut into pieces, and nothing else', (_which, secret) => {
    const said = `The key is ${secret}. Do not tell.`
    for (const size of [1, 2, 3, 5, 8, 13, said.length]) {
      const pieces = said.match(new RegExp(`.{1,${size}}`, 'gs')) ?? []
      const shown = redactBody(pieces.map((piece) => frame(toEvent(piece))).join(''))
      const text = stringsOf(shown)
      expect(text).toContain('[redacted]')
      expect(text.replaceAll(/response\.output_text\.delta|content_block_delta|text_delta/g, '')).toBe(
        'The key is [redacted]. Do not tell.',
      )
      expect(shown.split('\n\n')).toHaveLength(pieces.length + 1)
    }
  })
})

function frameAt(index: number, piece: string): string {
  return frame({ ...inMessages(piece), index })
}

test('answers that arrive in turns are told apart', () => {
  const body = [0, 1, 0, 1]
    .map((index, at) => frameAt(index, index === 0 ? (at === 0 ? 'example-' : 'key-4711') : 'x'))
    .join('')
  expect(stringsOf(redactBody(body))).not.toMatch(/example|4711/)
})

const part = (text: string) => ({ type: 'text', text })
const ask = (...content: readonly Json[]) => JSON.stringify({ messages: [{ role: 'user', content }] })

describe('a body in JSON', () => {
  test.each([
    ['between two parts', ask(part('my example-'), part('key-4711 ok'))],
    ['between two parts, a token by its shape', ask(part('gho_abcdefgh'), part('ijklmnop ok'))],
    [
      'between two messages',
      '{"messages":[{"role":"user","content":"example-ke"},{"role":"user","content":"y-4711"}]}',
    ],
    ['as escapes of letters', String.raw`{"content":"\u0065xample\u002dkey-4711"}`],
    ['as escapes of letters, a token by its shape', String.raw`{"content":"\u0067ho_abcdefgh\u0069jklmnop"}`],
    ['with an escaped line end before it', String.raw`{"content":"a\nexample-key-4711\nb"}`],
    ['in JSON within JSON', JSON.stringify({ arguments: JSON.stringify({ key: known }) })],
    ['in Base64', JSON.stringify({ content: Buffer.from(`user:${known}`).toString('base64') })],
    [
      'in Base64 in two parts',
      ask(
        ...(
          Buffer.from(known)
            .toString('base64')
            .match(/.{1,12}/g) ?? []
        ).map(part),
      ),
    ],
    ['as the name of a member', JSON.stringify({ [known]: 1 })],
  ])('hides a secret %s', (_where, body) => {
    const shown = redactBody(body)
    expect(shown).toContain('[redacted]')
    expect(() => JSON.parse(shown)).not.toThrow()
    const text = stringsOf(shown).replaceAll('[redacted]', '')
    expect(text).not.toMatch(/example|4711|ijklmnop|gho_/)
    expect(text).not.toContain(Buffer.from(known).toString('base64').slice(4, 16))
  })

  test.each([
    [
      'a word at the end of a message',
      '{"messages":[{"content":"the password:","role":"user"},{"content":"Hi","role":"user"}]}',
    ],
    [
      'a scheme at the end of a message',
      '{"messages":[{"role":"user","content":"Bearer"},{"role":"user","content":"tokens"}]}',
    ],
    ['escapes', String.raw`{"a" : "\u00e9\/\n\"" ,"b":[ "x\\" ], "c":"😀\ud83d\ude00"}`],
    ['numbers and spaces', '{ "temperature" : 1.0e-2,\r\n "seed":12345678901234567890 }'],
    ['broken JSON', '{"a":"\\'],
    ['no JSON', 'just "text" and \\ more: "x'],
    [
      'an event stream',
      `event: ping\ndata: {"type": "ping"}\n\n: comment "\n\n${frame(inChat('Hello'))}data: [DONE]\n\n`,
    ],
    ['an open quote', '"'.repeat(1001)],
  ])('leaves %s as it is', (_what, body) => {
    expect(redactBody(body)).toBe(body)
  })

  test('a shape does not reach from one message into the next', () => {
    const body =
      '{"messages":[{"role":"user","content":[{"type":"text","text":"gho_abcdefgh"}]},' +
      '{"role":"user","content":[{"type":"text","text":"Hello"}]}]}'
    expect(redactBody(body)).toBe(body.replace('gho_abcdefgh', '[redacted]'))
  })
})

test('any JSON without a secret is unchanged, byte for byte', () => {
  fc.assert(
    fc.property(fc.json(), fc.nat(4), (json, space) => {
      const body = JSON.stringify(JSON.parse(json), null, space)
      fc.pre(!/bearer|basic|[sp]k-|eyj|password|:\/\//i.test(body))
      expect(redactBody(body)).toBe(body)
    }),
  )
})

test.each([
  ['one long string', (size: number) => JSON.stringify({ content: 'a'.repeat(size) })],
  ['many pieces', (size: number) => frame(inChat('ab')).repeat(size / 60)],
  ['many quotes', (size: number) => '"'.repeat(size)],
  ['backslashes', (size: number) => `"${'\\'.repeat(size)}`],
  ['escapes', (size: number) => JSON.stringify({ content: '\n'.repeat(size / 2) })],
  ['many secrets', (size: number) => frame(inChat(`${known} gho_abcdef`)).repeat(size / 80)],
  [
    'many parts of a secret',
    (size: number) =>
      Array.from(known)
        .map((letter) => frame(inChat(letter)))
        .join('')
        .repeat(size / 900),
  ],
  ['many names', (size: number) => `{${Array.from({ length: size / 12 }, (_, at) => `"n${at}":"v"`).join(',')}}`],
])('the time grows in proportion to the length: %s', { timeout: 60_000 }, (_what, toBody) => {
  const msFor = (size: number): number => {
    const body = toBody(size)
    const times = [0, 1, 2].map(() => {
      const startMs = cpuMs()
      redactBody(body)
      return cpuMs() - startMs
    })
    return Math.min(...times)
  }
  msFor(10_000)
  expect(msFor(1_000_000)).toBeLessThan(40 * (msFor(100_000) + 10))
})
