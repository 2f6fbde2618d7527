import { fc } from '../fast-check.ts'
import { describe, expect, test } from 'vitest'
import { createSseDecoder } from '../../src/sse/decode.ts'
import type { SseEvent } from '../../src/sse/decode.ts'
import { encodeComment, encodeData } from '../../src/sse/encode.ts'

const utf8 = new TextEncoder()

function decode(chunks: Iterable<Uint8Array | string>, maxEventBytes?: number): SseEvent[] {
  const decoder = createSseDecoder(maxEventBytes === undefined ? {} : { maxEventBytes })
  const events: SseEvent[] = []
  for (const chunk of chunks) events.push(...decoder.push(typeof chunk === 'string' ? utf8.encode(chunk) : chunk))
  events.push(...decoder.end())
  return events
}

const dataOf = (...chunks: (Uint8Array | string)[]) => decode(chunks).map(({ data }) => data)

describe('lines', () => {
  test.each([
    ['LF', 'data: a\n\ndata: b\n\n'],
    ['CRLF', 'data: a\r\n\r\ndata: b\r\n\r\n'],
    ['CR', 'data: a\r\rdata: b\r\r'],
    ['all of them', 'data: a\r\n\ndata: b\r\r\n'],
    ['no space after the colon', 'data:a\n\ndata:b\n\n'],
    ['a byte order mark', '\ufeffdata: a\n\ndata: b\n\n'],
    ['comments', ': hello\ndata: a\n:\n\n: between\n\ndata: b\n\n'],
    ['fields nobody knows', 'id: 1\nretry: 5\nretry: soon\nfoo: bar\nbaz\ndata: a\n\ndata: b\n\n'],
    ['many blank lines', '\n\n\ndata: a\n\n\n\ndata: b\n\n\n'],
    ['no blank line at the end', 'data: a\n\ndata: b\n'],
    ['no line end at the end', 'data: a\n\ndata: b'],
    ['a carriage return at the end', 'data: a\r\rdata: b\r'],
    ['a space before the field', ' data: a\n\n  data: b\n\n'],
  ])('reads the same events with %s', (_title, text) => {
    expect(dataOf(text)).toEqual(['a', 'b'])
  })

  test('joins several data lines with LF', () => {
    expect(dataOf('data: a\ndata:\ndata: b\n\n')).toEqual(['a\n\nb'])
  })

  test('names an event, and forgets the name with the next', () => {
    expect(decode(['event: ping\ndata: 1\n\ndata: 2\n\n'])).toEqual([
      { event: 'ping', data: '1' },
      { event: '', data: '2' },
    ])
  })

  test('takes one space after the colon, and only one', () => {
    expect(dataOf('data:  a \n\n')).toEqual([' a '])
  })

  test('puts a replacement character where bytes are not UTF-8', () => {
    expect(dataOf(Uint8Array.of(...utf8.encode('data: a'), 0xff, ...utf8.encode('b\n\n')))).toEqual(['a\ufffdb'])
  })
})

test('an indented line belongs to its event', () => {
  expect(decode(['event: e\ndata: a\n data: b\n\n event: f\n data: c\n\n'])).toEqual([
    { event: 'e', data: 'a\nb' },
    { event: 'f', data: 'c' },
  ])
})

describe('a bare JSON body', () => {
  const body = { id: 'x', choices: [{ message: { content: 'a: {b}\ndata: no' } }], list: [] }

  test.each([
    ['with line feeds', JSON.stringify(body, null, 2)],
    ['with tabs and CRLF', JSON.stringify(body, null, '\t').replaceAll('\n', '\r\n')],
    ['on one line', JSON.stringify(body)],
    ['after blank lines and spaces', `\n\n ${JSON.stringify(body, null, 4)}\n\n`],
  ])('is one event: %s', (_title, text) => {
    expect(dataOf(text).map((data) => JSON.parse(data))).toEqual([body])
    expect(dataOf(...Array.from(text))).toEqual(dataOf(text))
  })

  test('comes before the event that follows it', () => {
    expect(dataOf('{\n"a": 1\n}\n\ndata: b\n\n')).toEqual(['{\n"a": 1\n}', 'b'])
  })

  test('on one line is an event before anything follows', () => {
    expect(createSseDecoder().push(utf8.encode('{"error":1}\n'))).toEqual([{ event: '', data: '{"error":1}' }])
  })
})

describe('a line of bare JSON', () => {
  test.each([
    ['in one piece', ['{"error":{"message":"gone"}}\n']],
    ['at the end without a line end', ['{"error":{"message":"gone"}}']],
    ['cut anywhere', ['{', '"error":{"mess', 'age":"gone"}', '}', '\n']],
  ])('is an event: %s', (_title, chunks) => {
    expect(dataOf('data: a\n\n', ...chunks)).toEqual(['a', '{"error":{"message":"gone"}}'])
  })

  test('is not made of other text without a field name', () => {
    expect(dataOf('error: {"message":"gone"}\n\n<html>\n\n["a"]\n\n')).toEqual([])
  })
})

describe('bounds', () => {
  const refusal = expect.objectContaining({
    error: { kind: 'upstream_unusable', detail: 'it sent an event of more than 100 bytes' },
  })

  test.each([
    ['a line without an end', (n: number) => [`data: ${'x'.repeat(n)}`]],
    ['a line in small pieces', (n: number) => ['data: ', ...Array.from({ length: n }, () => 'x')]],
    ['many data lines', (n: number) => Array.from({ length: n / 10 }, () => 'data: 789\n')],
    ['a comment without an end', (n: number) => [`: ${'x'.repeat(n)}`]],
    ['text that is no field', (n: number) => ['x'.repeat(n)]],
    ['a bare body of many lines', (n: number) => ['{\n', ...Array.from({ length: n / 10 }, () => '"a": 12,\n')]],
  ])('E24 refuses %s', (_title, chunks) => {
    expect(() => decode(chunks(80), 100)).not.toThrow()
    expect(() => decode(chunks(1000), 100)).toThrow(refusal)
  })

  test('counts every event for itself', () => {
    const chunks = Array.from({ length: 50 }, () => `data: ${'x'.repeat(60)}\n\n`)
    expect(decode(chunks, 100)).toHaveLength(50)
  })

  test('reads a long event in small pieces without copying it again and again', () => {
    const piece = 'x'.repeat(64)
    const pieces = 100_000
    const chunks = function* () {
      yield 'data: '
      for (let i = 0; i < pieces; i += 1) yield piece
      yield '\n\n'
    }
    expect(decode(chunks())[0]?.data).toHaveLength(pieces * piece.length)
  })
})

describe('properties', () => {
  const lineEnds = fc.constantFrom('\n', '\r\n', '\r')
  const lines = fc.oneof(
    fc.constantFrom(
      '',
      '',
      '',
      ':',
      ': comment',
      'data',
      'data:',
      'event: e',
      'id: 1',
      'nonsense',
      'datax: 1',
      '{}',
      '{',
      '}',
      ' data: 1',
    ),
    fc.string({ unit: 'binary' }).map((text) => `data: ${text.replaceAll(/[\r\n]/g, '')}`),
    fc.json().map((text) => `data:${text}`),
    fc.json().map((text) => `{"error":${text}}`),
  )
  const streams = fc
    .array(fc.tuple(lines, lineEnds), { maxLength: 30 })
    .map((pairs) => utf8.encode(pairs.map(([line, end]) => line + end).join('')))

  test('E23 any cut of the bytes gives the same events', () => {
    fc.assert(
      fc.property(streams, fc.array(fc.nat(), { maxLength: 20 }), (bytes, cuts) => {
        expect(decode(cutAt(bytes, cuts))).toEqual(decode([bytes]))
      }),
      { numRuns: 3000 },
    )
  })

  test('E23 one byte at a time gives the same events', () => {
    fc.assert(
      fc.property(streams, (bytes) => {
        expect(decode(Array.from(bytes, (byte) => Uint8Array.of(byte)))).toEqual(decode([bytes]))
      }),
      { numRuns: 1000 },
    )
  })

  test('bytes that are not all UTF-8 come out as the platform reads them, wherever they are cut', () => {
    const byte = fc.oneof(fc.constantFrom(0x61, 0xc3, 0xa4, 0xe2, 0x82, 0xac, 0xf0, 0x9f, 0xed, 0xff), fc.nat(255))
    const text = fc.array(byte, { maxLength: 12 })
    fc.assert(
      fc.property(text, fc.array(fc.nat(), { maxLength: 6 }), (found, cuts) => {
        const value = Uint8Array.from(found.filter((each) => each !== 10 && each !== 13))
        const wire = Uint8Array.of(...utf8.encode('data: '), ...value, ...utf8.encode('\n\n'))
        const expected = new TextDecoder('utf-8', { ignoreBOM: true }).decode(value)
        expect(dataOf(...cutAt(wire, cuts))).toEqual([expected])
      }),
      { numRuns: 3000 },
    )
  })

  test('what was encoded comes out, with its line ends as LF', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: fc.oneof(fc.string({ minLength: 1 }), lineEnds) })), (texts) => {
        const wire = texts.map((text) => encodeComment(text) + encodeData(text)).join('')
        expect(dataOf(wire)).toEqual(texts.map((text) => text.replaceAll(/\r\n|\r/g, '\n')))
      }),
      { numRuns: 1000 },
    )
  })
})

function cutAt(bytes: Uint8Array, cuts: readonly number[]): Uint8Array[] {
  const at = cuts.map((cut) => cut % (bytes.length + 1)).toSorted((a, b) => a - b)
  return [0, ...at].map((start, i) => bytes.subarray(start, at[i] ?? bytes.length))
}
