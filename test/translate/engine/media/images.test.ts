import { fc } from '../../../fast-check.ts'
import { describe, expect, test } from 'vitest'
import { Fault } from '../../../../src/errors.ts'
import type { Dialect, EncodeContext, UpstreamDialect } from '../../../../src/translate/dialect.ts'
import { dialects } from '../../../../src/translate/dialects.ts'
import { translateCall } from '../../../../src/translate/translated-call.ts'
import { limitImages } from '../../../../src/translate/engine/media/images.ts'
import type { ModelTraits } from '../../../../src/translate/model-traits.ts'
import { formatWarning } from '../../../../src/translate/warning.ts'
import { callOf } from '../../refused.ts'
import { encodeContext, traits } from '../../turns.ts'

type Json = Readonly<Record<string, unknown>>

const imageLimits = { maxImageBytes: 30, mediaTypes: ['image/png', 'image/jpeg'] }
const claude = traits('claude-opus-4.6', { imageLimits })
const large = Buffer.alloc(31).toString('base64')
const small = Buffer.alloc(30).toString('base64')

function image(data = small, mediaType = 'image/png'): Json {
  return { type: 'image', source: { type: 'base64', media_type: mediaType, data } }
}

const placeholder = expect.objectContaining({ type: 'text', text: expect.stringMatching(/^\[Image omitted/) })
const user = (...content: readonly Json[]): Json => ({ role: 'user', content })
const text = { type: 'text', text: 'x' }
const call = { role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'n', input: {} }] }

function send(messages: readonly Json[], model: ModelTraits = claude, parts: Partial<EncodeContext> = {}) {
  const body = JSON.stringify({ model: 'm', max_tokens: 9, messages })
  const request = dialects.messages.decodeRequest(body)
  const sent = translateCall(
    dialects.messages,
    dialects.messages.upstream,
    request,
    encodeContext(model, parts),
  ).request
  const value: { readonly messages: readonly Json[] } = JSON.parse(sent.body.toString())
  return { messages: value.messages, warnings: sent.warnings.map(formatWarning) }
}

function refusalOf(run: () => unknown): unknown {
  try {
    run()
  } catch (error) {
    if (error instanceof Fault) return error.error
    throw error
  }
  return undefined
}

test('finds images in tool results and documents, and keeps the cache mark of one that goes', () => {
  const marked = { ...image(large), cache_control: { type: 'ephemeral' } }
  const result = { type: 'tool_result', tool_use_id: 't', content: [text, marked] }
  const document = { type: 'document', source: { type: 'content', content: [image(large), text] } }
  const { messages, warnings } = send([
    user(text),
    call,
    user(result, document),
    call,
    user({ ...result, content: 'x' }),
  ])
  expect(messages[2]).toEqual(
    user(
      // The mark moves to the result, by another rule.
      { ...result, content: [text, placeholder], cache_control: { type: 'ephemeral' } },
      // That documents become text is another rule's doing.
      placeholder,
      text,
    ),
  )
  expect(warnings).toContain('dropped;messages.2.content.0.content.1')
})

test.each([
  [
    'a new image of a type the model does not take',
    image(small, 'image/gif'),
    /has a type that .* does not accept; use image\/png, image\/jpeg/,
  ],
  ['a new image that is too large', image(large), /has 31 bytes; .* accepts at most 30\b/],
])('refuses %s, in the last turn alone', (_, odd, detail) => {
  const refusal = refusalOf(() =>
    send([user(text), call, user({ type: 'tool_result', tool_use_id: 't', content: [odd] })]),
  )
  expect(refusal).toMatchObject({
    kind: 'invalid_request',
    path: 'messages[2].content[0].content[0]',
    detail: expect.stringMatching(detail),
  })
  const history = send([user(odd), { role: 'assistant', content: 'x' }, user(text)])
  expect(history.messages[0]).toEqual(user(placeholder))
})

test('takes image/jpg for what it means', () => {
  expect(send([user(image(small, 'image/jpg'))], claude).warnings).toEqual([])
})

test('what a model answers to an answer that was begun for it is new', () => {
  const begun = { role: 'assistant', content: 'It is' }
  const model = traits('claude-opus-4.5', { imageLimits })
  expect(refusalOf(() => send([user(image(large)), begun], model))).toMatchObject({ path: 'messages[0].content[0]' })
})

test('a larger number of the catalogue counts, a smaller one does not', () => {
  const many = user(...Array.from({ length: 25 }, () => image()))
  expect(send([many], traits('claude-opus-4.6', { imageLimits: { maxImages: 25 } })).warnings).toEqual([])
  expect(refusalOf(() => send([many], traits('claude-opus-4.6', { imageLimits: { maxImages: 1 } })))).toMatchObject({
    path: 'messages[0].content[20]',
  })
})

test('under strict nothing is left out', () => {
  const messages = [user(image(large)), { role: 'assistant', content: 'x' }, user(text)]
  expect(refusalOf(() => send(messages, claude, { strict: true }))).toMatchObject({
    detail: expect.stringContaining('chat.strict'),
  })
})

test.each([
  ['no image at all', { content: 'x' }, claude],
  ['images within the limits', { content: [image()] }, claude],
  ['another provider', { content: [image(large)] }, traits('gpt-6-sol', { provider: 'codex', imageLimits })],
])('leaves the request alone: %s', (_, message, model) => {
  const { messages: dialect } = dialects
  const request = dialect.decodeRequest(
    JSON.stringify({ model: 'm', max_tokens: 9, messages: [{ role: 'user', ...message }] }),
  )
  expect(limitImages(request, dialect.upstream.conversation, 'messages', encodeContext(model))).toBeUndefined()
})

test('after a 413 the images of the history go once, whatever else is in the body', () => {
  const part = fc.oneof(fc.constant(image()), fc.constant(text), fc.constant(call))
  const message = fc.record({
    role: fc.constantFrom('user', 'assistant'),
    content: fc.oneof(fc.array(part), fc.string()),
  })
  fc.assert(
    fc.property(fc.array(message), (messages) => {
      const body = JSON.stringify({ model: 'm', max_tokens: 9, seed: 1, messages })
      const asked = refusable(() => callOf({ upstream: 'messages', text: body, context: encodeContext(claude) }))
      const size = { status: 413, message: 'Request Entity Too Large' }
      const recovered = asked?.refusedAs(size)
      if (recovered === undefined) return
      expect(recovered.request.body.length).not.toBe(asked?.sent.body.length)
      expect(recovered.value).toMatchObject({ seed: 1 })
      expect(recovered.learned).toEqual([])
      expect(asked?.refusedAs(size, size)).toBeUndefined()
    }),
  )
})

function refusable<Result>(run: () => Result): Result | undefined {
  try {
    return run()
  } catch (error) {
    if (error instanceof Fault) return undefined
    throw error
  }
}

describe('a caller of a dialect that no upstream speaks', () => {
  const callerOnly: Dialect = { ...dialects.messages, upstream: undefined }
  const pdf = {
    type: 'document',
    source: { type: 'base64', media_type: 'application/pdf', data: small },
    cache_control: { type: 'ephemeral' },
  }
  const result = (...content: readonly Json[]): Json => ({ type: 'tool_result', tool_use_id: 't', content })
  const gif = image(small, 'image/gif')
  const said = { role: 'assistant', content: 'x' }

  /** The request that upstream gets, and the warnings; the refusal if there is one. */
  function sentBy(caller: Dialect, upstream: UpstreamDialect, messages: readonly Json[], learned: readonly string[]) {
    const request = dialects.messages.decodeRequest(JSON.stringify({ model: 'm', max_tokens: 9, messages }))
    const context = encodeContext(claude, { learnedRefusals: new Set(learned) })
    try {
      const sent = translateCall(caller, upstream, request, context).request
      return { body: sent.body.toString(), warnings: sent.warnings }
    } catch (error) {
      if (error instanceof Fault && error.error.kind === 'invalid_request') return { refusal: error.error }
      throw error
    }
  }

  test.each<[string, readonly Json[], (readonly string[])?]>([
    ['images within the limits', [user(image(), text)]],
    ['too many images in the history', [user(...Array.from({ length: 25 }, () => image())), said, user(image())]],
    [
      'odd images of the history',
      [user(image(large)), said, user(gif), call, user(result(text, gif)), said, user(text)],
    ],
    ['an image of a tool result in the newest turn', [user(text), call, user(result(image(large)))]],
    ['a new image that is odd', [user(text), call, user(result(text), gif)]],
    ['too many new images', [user(...Array.from({ length: 21 }, () => image()))]],
    ['an image by its address', [user({ type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } })]],
    ['a request that was too large', [user(image()), said, user(image())], ['images:seen']],
    ['an image that was refused', [user(text), call, user(result(image()), image())], ['images:unprompted']],
    ['documents of the history', [user(pdf, text), said, user(text)]],
    ['a document of a tool result', [user(text), call, user(result(pdf))]],
    ['a document of the prompt', [user(pdf, text)]],
  ])('has the same limits: %s', (_, messages, learned = []) => {
    for (const { upstream } of [dialects.chat, dialects.responses]) {
      const other = sentBy(dialects.messages, upstream, messages, learned)
      const own = sentBy(callerOnly, upstream, messages, learned)
      const fieldsOf = ({ warnings = [] }: typeof own) => warnings.map(({ field }) => field)
      expect({
        ...own,
        ...(own.warnings && { warnings: own.warnings.map((each, at) => ({ ...each, field: fieldsOf(other)[at] })) }),
        ...(own.refusal && { refusal: { ...own.refusal, path: other.refusal?.path } }),
      }).toEqual(other)
      // Paths lead to the item, or further.
      for (const [at, field] of fieldsOf(own).entries()) expect(fieldsOf(other)[at]).toContain(field)
      expect(other.refusal?.path ?? '').toContain(own.refusal?.path ?? '')
      if (own.refusal !== undefined) expect(own.refusal.path).toMatch(/^messages\[\d\]/)
    }
  })
})
