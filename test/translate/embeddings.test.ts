import { fc } from '../fast-check.ts'
import OpenAI from 'openai'
import { describe, expect, test } from 'vitest'
import { Fault, type ProxyError } from '../../src/errors.ts'
import {
  decodeEmbeddingsRequest,
  encodeEmbeddingsBodies,
  encodeEmbeddingsReply,
  type EmbeddingsRequest,
} from '../../src/translate/embeddings.ts'

const model = { id: 'text-embedding-3-small', maxInputs: 512 }

const decode = (body: unknown) => decodeEmbeddingsRequest(JSON.stringify(body))
const bodiesFor = (request: EmbeddingsRequest, target: typeof model | { id: string } = model): unknown[] =>
  encodeEmbeddingsBodies(request, target).map((text): unknown => JSON.parse(text))

function refusal(run: () => unknown): ProxyError | undefined {
  try {
    run()
    return undefined
  } catch (error) {
    if (error instanceof Fault) return error.error
    throw error
  }
}

/** What upstream answers: no `object`, no `model`. */
const upstreamReply = (vectors: readonly (readonly number[])[], promptTokens = 1) => ({
  data: vectors.map((embedding, index) => ({ index, embedding, object: 'embedding' })),
  usage: { prompt_tokens: promptTokens, total_tokens: promptTokens },
})

describe('the caller’s body', () => {
  test('a single text becomes a list of one', () => {
    expect(decode({ model: 'm', input: 'hello' })).toEqual({
      model: 'm',
      inputs: ['hello'],
      encoding: 'float',
      otherMembers: {},
    })
  })

  test('a list of texts, the encoding and everything else are kept', () => {
    const body = { model: 'm', input: ['a', 'b'], encoding_format: 'base64', dimensions: 64, user: 'me', x: { y: [1] } }
    expect(decode(body)).toEqual({
      model: 'm',
      inputs: ['a', 'b'],
      encoding: 'base64',
      otherMembers: { dimensions: 64, user: 'me', x: { y: [1] } },
    })
  })

  test('null means the default', () => {
    expect(decode({ model: 'm', input: 'a', encoding_format: null, dimensions: null })).toMatchObject({
      encoding: 'float',
      otherMembers: {},
    })
  })

  test.each([
    ['an empty text', { input: '' }, 'input', /empty string/],
    ['an empty list', { input: [] }, 'input', /empty array/],
    ['an empty text in a list', { input: ['a', ''] }, 'input[1]', /empty string/],
    ['token ids', { input: [1, 2, 3] }, 'input[0]', /token ids/],
    ['lists of token ids', { input: [[1, 2], [3]] }, 'input[0]', /token ids/],
    ['a mixed list', { input: ['a', 7] }, 'input[1]', /token ids/],
    ['objects', { input: [{ text: 'a' }] }, 'input[0]', /must be a string/],
    ['a number', { input: 7 }, 'input', /string or an array of strings/],
    ['no input', {}, 'input', /string or an array of strings/],
    ['too many texts', { input: Array.from({ length: 2049 }, () => 'a') }, 'input', /2048 entries.*2049/],
    ['no model', { model: undefined, input: 'a' }, 'model', /missing required/],
    ['an empty model', { model: '', input: 'a' }, 'model', /name of a model/],
    ['an unknown encoding', { input: 'a', encoding_format: 'int8' }, 'encoding_format', /"float" or "base64"/],
    ['no dimensions', { input: 'a', dimensions: 0 }, 'dimensions', /at least 1/],
    ['half a dimension', { input: 'a', dimensions: 1.5 }, 'dimensions', /whole number/],
  ])('%s: a 400 that names the place', (_what, body, path, detail) => {
    expect(refusal(() => decode({ model: 'm', ...body }))).toMatchObject({
      kind: 'invalid_request',
      path,
      detail: expect.stringMatching(detail),
    })
  })

  test.each([null, 'text', 7, [1]])('%j is not a body', (body) => {
    expect(refusal(() => decode(body))).toMatchObject({
      kind: 'invalid_request',
      path: '',
      detail: 'must be a JSON object',
    })
  })

  test.each(['', '{"model":"m","input":"secr', '{"model":"m",}', 'input=secret'])(
    '%j is malformed, and the message does not quote it',
    (text) => {
      expect(refusal(() => decodeEmbeddingsRequest(text))).toEqual({
        kind: 'malformed_body',
        detail: expect.not.stringContaining('secr'),
      })
    },
  )

  test.each([
    ['nesting', '['.repeat(1000), 'nesting_too_deep'],
    ['members', `{${'"k":1,'.repeat(200)}`, 'too_many_members'],
    ['values', `{"input":[${'[],'.repeat(200_000)}`, 'too_many_values'],
  ])('too much %s is refused before it is parsed', (_what, text, code) => {
    expect(refusal(() => decodeEmbeddingsRequest(text))).toMatchObject({ kind: 'invalid_request', path: '', code })
  })

  test('2048 texts and a member of many values are taken', () => {
    const input = Array.from({ length: 2048 }, () => 'a, [b]')
    expect(decode({ model: 'm', input, x: Array.from({ length: 90_000 }, () => 1) }).inputs).toHaveLength(2048)
  })

  test('a fault in the JSON is named by line and column', () => {
    expect(refusal(() => decodeEmbeddingsRequest('{\n"model":x}'))).toEqual({
      kind: 'malformed_body',
      detail: 'not valid JSON at line 2, column 9 (position 10)',
    })
  })

  test('no JSON value causes anything but a request or a Fault', () => {
    const body = fc.record({ model: fc.jsonValue(), input: fc.jsonValue(), encoding_format: fc.jsonValue() })
    fc.assert(
      fc.property(fc.oneof(fc.jsonValue(), body), (value) => {
        const text = JSON.stringify(value)
        const error = refusal(() => decodeEmbeddingsRequest(text))
        expect(['invalid_request', undefined]).toContain(error?.kind)
      }),
    )
  })
})

describe('the upstream body', () => {
  test('always has a list of texts, the routed model, and never an encoding', () => {
    const request = decode({ model: 'alias', input: 'hello', encoding_format: 'base64', dimensions: 64, x: 1 })
    expect(bodiesFor(request)).toEqual([{ model: model.id, input: ['hello'], dimensions: 64, x: 1 }])
  })

  test('is split where the model takes fewer texts at once', () => {
    const input = Array.from({ length: 1025 }, (_, index) => `text ${index}`)
    const bodies = bodiesFor(decode({ model: 'm', input, dimensions: 8 }))
    expect(bodies).toMatchObject([{ dimensions: 8 }, { dimensions: 8 }, { dimensions: 8, input: ['text 1024'] }])
  })

  test('is not split where upstream states no limit', () => {
    const input = Array.from({ length: 2048 }, () => 'a')
    expect(bodiesFor(decode({ model: 'm', input }), { id: 'm' })).toHaveLength(1)
  })
})

describe('the reply', () => {
  const two = decode({ model: 'm', input: ['a', 'b'] })

  test('gets the fields that upstream leaves out', () => {
    expect(
      encodeEmbeddingsReply(two, model, [
        upstreamReply(
          [
            [1, 2],
            [3, 4],
          ],
          5,
        ),
      ]),
    ).toEqual({
      object: 'list',
      data: [
        { object: 'embedding', index: 0, embedding: [1, 2] },
        { object: 'embedding', index: 1, embedding: [3, 4] },
      ],
      model: 'text-embedding-3-small',
      usage: { prompt_tokens: 5, total_tokens: 5 },
    })
  })

  test('keeps the model that upstream names', () => {
    const reply = { ...upstreamReply([[1], [2]]), model: 'text-embedding-3-small-inference' }
    expect(encodeEmbeddingsReply(two, model, [reply]).model).toBe('text-embedding-3-small-inference')
  })

  test('is sorted by index; an entry without an index keeps its position', () => {
    const shuffled = {
      data: [
        { index: 1, embedding: [2] },
        { index: 0, embedding: [1] },
      ],
    }
    const bare = { data: [{ embedding: [1] }, { embedding: [2] }] }
    for (const reply of [shuffled, bare]) {
      expect(encodeEmbeddingsReply(two, model, [reply]).data.map((entry) => entry.embedding)).toEqual([[1], [2]])
    }
  })

  test.each([
    [undefined, { prompt_tokens: 0, total_tokens: 0 }],
    [null, { prompt_tokens: 0, total_tokens: 0 }],
    ['odd', { prompt_tokens: 0, total_tokens: 0 }],
    [{ prompt_tokens: 3 }, { prompt_tokens: 3, total_tokens: 3 }],
    [
      { prompt_tokens: 'x', total_tokens: 4 },
      { prompt_tokens: 0, total_tokens: 4 },
    ],
  ])('fills usage %j', (usage, expected) => {
    const reply = { data: [{ embedding: [1] }, { embedding: [2] }], usage }
    expect(encodeEmbeddingsReply(two, model, [reply]).usage).toEqual(expected)
  })

  test.each([
    ['something else', { message: 'hello' }],
    ['text', '<html>'],
    ['too few', upstreamReply([[1]])],
    ['too many', upstreamReply([[1], [2], [3]])],
    [
      'an index twice',
      {
        data: [
          { index: 0, embedding: [1] },
          { index: 0, embedding: [2] },
        ],
      },
    ],
    [
      'an index out of range',
      {
        data: [
          { index: 0, embedding: [1] },
          { index: 2, embedding: [2] },
        ],
      },
    ],
    ['an empty vector', upstreamReply([[1], []])],
    ['a vector with a null', { data: [{ embedding: [1] }, { embedding: [null] }] }],
    ['a vector that is text', { data: [{ embedding: [1] }, { embedding: 'AACAPw==' }] }],
  ])('%s is unusable rather than wrongly paired', (_what, reply) => {
    expect(refusal(() => encodeEmbeddingsReply(two, model, [reply]))).toMatchObject({ kind: 'upstream_unusable' })
  })

  test('a missing part of a split request is unusable', () => {
    const small = { id: 'm', maxInputs: 1 }
    expect(refusal(() => encodeEmbeddingsReply(two, small, [upstreamReply([[1]])]))).toMatchObject({
      kind: 'upstream_unusable',
    })
  })

  test('however a request is split, the joined reply pairs each text with its vector and sums the usage', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 40 }), fc.integer({ min: 1, max: 12 }), (count, maxInputs) => {
        const target = { id: 'm', maxInputs }
        const request = decode({ model: 'm', input: Array.from({ length: count }, (_, index) => String(index)) })
        // An upstream that embeds the text "7" as [7], listed backwards.
        const replies = encodeEmbeddingsBodies(request, target).map((text) => {
          const { input } = decodeUpstream(text)
          expect(input.length).toBeLessThanOrEqual(maxInputs)
          const { data, usage } = upstreamReply(
            input.map((item) => [Number(item)]),
            input.length,
          )
          return { data: data.toReversed(), usage }
        })
        const joined = encodeEmbeddingsReply(request, target, replies)
        expect(joined.data).toEqual(
          Array.from({ length: count }, (_, index) => ({ object: 'embedding', index, embedding: [index] })),
        )
        expect(joined.usage).toEqual({ prompt_tokens: count, total_tokens: count })
      }),
    )
  })
})

/** The upstream body has the shape of a caller's with a list, so the decoder reads it. */
function decodeUpstream(text: string): { readonly input: readonly string[] } {
  return { input: decodeEmbeddingsRequest(text).inputs }
}

describe('base64', () => {
  const request = decode({ model: 'm', input: 'a', encoding_format: 'base64' })
  const encoded = (vector: readonly number[]) =>
    encodeEmbeddingsReply(request, model, [upstreamReply([vector])]).data[0]?.embedding

  test('is little-endian 32-bit floats', () => {
    expect(encoded([1, -2])).toBe(Buffer.from([0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0]).toString('base64'))
  })

  test('gives back every 32-bit float exactly', () => {
    const vectors = fc.array(fc.float({ noNaN: true, noDefaultInfinity: true }), { minLength: 1, maxLength: 64 })
    fc.assert(
      fc.property(vectors, (vector) => {
        const bytes = Buffer.from(String(encoded(vector)), 'base64')
        expect(Array.from(vector, (_, position) => bytes.readFloatLE(position * 4))).toEqual(vector)
        expect(bytes).toHaveLength(vector.length * 4)
      }),
    )
  })

  test('is what the openai package asks for and decodes', async () => {
    const asked: EmbeddingsRequest[] = []
    const client = new OpenAI({
      apiKey: 'example',
      baseURL: 'http://127.0.0.1/v1',
      fetch: async (_url, init) => {
        const body = decodeEmbeddingsRequest(typeof init?.body === 'string' ? init.body : '')
        asked.push(body)
        return Response.json(
          encodeEmbeddingsReply(body, model, [
            upstreamReply(
              [
                [0.5, -0.25],
                [1, 2],
              ],
              7,
            ),
          ]),
        )
      },
    })
    const reply = await client.embeddings.create({ model: 'text-embedding-3-small', input: ['a', 'b'] })
    expect(asked).toMatchObject([{ encoding: 'base64', inputs: ['a', 'b'] }])
    expect(reply.data.map((entry) => Array.from(entry.embedding))).toEqual([
      [0.5, -0.25],
      [1, 2],
    ])
    expect(reply.usage.total_tokens).toBe(7)
  })
})
