import { some } from '../thorough.ts'
import Anthropic from '@anthropic-ai/sdk'
import { APICallError, generateText } from 'ai'
import OpenAI from 'openai'
import { expect, test } from 'vitest'
import { openProxy } from '../http/harness.ts'
import type { Proxy } from '../http/harness.ts'
import { anthropicOf, clientOf, openFor, promptsFor, says, thrownBy } from './client.ts'
import { codexKinds, codexRoutes, titleOf } from './kinds.ts'
import type { ModelKind } from './kinds.ts'
import { providers } from './speakers/ai-sdk.ts'

const logins = codexKinds.map((kind) => ({ kind, title: titleOf(kind) }))

interface Asking {
  readonly model: string
  readonly text: string
  readonly stream?: boolean
}

/** One prompt for each official client. */
const asks = {
  chat: (proxy: Proxy, { model, text, stream = false }: Asking, maxRetries = 0) =>
    clientOf(proxy).chat.completions.create({ model, messages: says(text), stream }, { maxRetries }),
  responses: (proxy: Proxy, { model, text, stream = false }: Asking, maxRetries = 0) =>
    clientOf(proxy).responses.create({ model, input: text, stream }, { maxRetries }),
  messages: (proxy: Proxy, { model, text, stream = false }: Asking, maxRetries = 0) =>
    anthropicOf(proxy).messages.create({ model, max_tokens: 4000, messages: says(text), stream }, { maxRetries }),
}

const overflowWords = 'exceeds the context window'

/** Marker, status, message, and the error classes of the two packages. `code` is that of OpenAI's package. */
const failures = [
  ['error 400', 400, 'invalid_prompt', OpenAI.BadRequestError, Anthropic.BadRequestError, 'invalid_prompt'],
  [
    'error 401',
    401,
    'OpenAI refuses the ',
    OpenAI.AuthenticationError,
    Anthropic.AuthenticationError,
    'invalid_api_key',
  ],
  ['error 403', 403, '', OpenAI.PermissionDeniedError, Anthropic.PermissionDeniedError, undefined],
  ['error 413', 413, 'too large', OpenAI.APIError, Anthropic.ContentTooLargeError, 'request_too_large'],
  [
    'error 429 rate_limit_exceeded',
    429,
    'try again in 1.5s',
    OpenAI.RateLimitError,
    Anthropic.RateLimitError,
    'rate_limit_exceeded',
  ],
  ['error 500', 500, 'server_error', OpenAI.InternalServerError, Anthropic.InternalServerError, 'server_error'],
  ['overflow', 400, overflowWords, OpenAI.BadRequestError, Anthropic.BadRequestError, 'context_length_exceeded'],
  // The same failures inside a 200, before any output.
  [
    'failed context_length_exceeded',
    400,
    overflowWords,
    OpenAI.BadRequestError,
    Anthropic.BadRequestError,
    'context_length_exceeded',
  ],
  ['failed cyber_policy', 400, 'flagged', OpenAI.BadRequestError, Anthropic.BadRequestError, 'cyber_policy'],
  [
    'failed server_error event',
    500,
    'server_error',
    OpenAI.InternalServerError,
    Anthropic.InternalServerError,
    'server_error',
  ],
] as const

test.each(some(logins, 2, 0))(
  '$title: a failure has its status, its words and each package’s own class',
  async ({ kind }) => {
    const proxy = await openFor(kind)
    for (const [marker, status, words, OpenaiClass, AnthropicClass, code] of failures) {
      for (const stream of [false, true]) {
        const asking = { model: kind.model, text: `[demo:${marker}]`, stream }
        for (const ask of [asks.chat, asks.responses]) {
          const error = await thrownBy(ask(proxy, asking))
          if (!(error instanceof OpenaiClass)) throw error
          expect(error, marker).toMatchObject({ status, message: expect.stringContaining(words) })
          if (code !== undefined) expect(error.code, marker).toBe(code)
          expect(error.requestID).toMatch(/^[0-9a-f-]{36}$/)
        }
        const error = await thrownBy(asks.messages(proxy, asking))
        if (!(error instanceof AnthropicClass)) throw error
        expect(error, marker).toMatchObject({ status, apiMessage: expect.stringContaining(words) })
        if (words === overflowWords) expect(error.apiMessage).toMatch(/^prompt is too long/)
        expect(error.requestID).toMatch(/^[0-9a-f-]{36}$/)
      }
    }
  },
)

test.each(some(logins, 2, 1))('$title: an overload has the error class of the package', async ({ kind }) => {
  const proxy = await openFor(kind)
  for (const marker of ['error 503', 'failed server_is_overloaded']) {
    const asking = { model: kind.model, text: `[demo:${marker}]` }
    for (const ask of [asks.chat, asks.responses]) {
      await expect(ask(proxy, asking)).rejects.toMatchObject({ status: 503, code: 'server_is_overloaded' })
    }
    await expect(asks.messages(proxy, asking)).rejects.toBeInstanceOf(Anthropic.OverloadedError)
  }
})

/** These limits last for hours, so no client should retry, whatever its own setting. */
const spent = ['error 429 usage_limit_reached', 'failed usage_limit_reached']

test.each(some(logins, 2, 0))('$title: a used-up plan is not retried and states its reset time', async ({ kind }) => {
  const proxy = await openFor(kind)
  for (const marker of spent) {
    const asking = { model: kind.model, text: `[demo:${marker}]` }
    for (const ask of Object.values(asks)) {
      const before = promptsFor(proxy, kind).length
      const error = await thrownBy(ask(proxy, asking, 2))
      if (!(error instanceof OpenAI.RateLimitError) && !(error instanceof Anthropic.RateLimitError)) throw error
      expect(error.message).toMatch(/The usage limit has been reached\. It resets in 3 h 5\d min, at \d{4}-/)
      expect(Number(error.headers.get('retry-after'))).toBeGreaterThan(13_000)
      expect(promptsFor(proxy, kind)).toHaveLength(before + 1)
    }
    for (const provider of providers) {
      const before = promptsFor(proxy, kind).length
      const request = { model: provider.model(proxy, kind.model), prompt: asking.text, maxRetries: 0 }
      const error = await thrownBy(generateText(request))
      if (!APICallError.isInstance(error)) throw error
      expect(error).toMatchObject({ statusCode: 429, message: expect.stringContaining('It resets in 3 h') })
      expect(error.responseHeaders).toMatchObject({ 'x-should-retry': 'false' })
      expect(promptsFor(proxy, kind)).toHaveLength(before + 1)
    }
  }
})

test('a plan without Codex and a used-up quota are not retried', async () => {
  for (const [login, marker, status, words] of [
    ['stored', 'error 429 usage_not_included', 403, 'does not include Codex'],
    ['api-key', 'error 429 insufficient_quota', 429, 'exceeded your current quota'],
    ['stored', 'error 402', 402, 'deactivated'],
  ] as const) {
    const kind = { ...anyKind, codexLogin: login }
    const proxy = await openFor(kind)
    for (const ask of Object.values(asks)) {
      const before = promptsFor(proxy, kind).length
      const error = await thrownBy(ask(proxy, { model: kind.model, text: `[demo:${marker}]` }, 2))
      expect(error).toMatchObject({ status, message: expect.stringContaining(words) })
      expect(promptsFor(proxy, kind)).toHaveLength(before + 1)
    }
  }
})

const anyKind: ModelKind = {
  model: 'gpt-5.5',
  upstream: { chat: 'responses', responses: 'responses', messages: 'responses' },
  thinks: [],
}

test('a revoked login names the command to run and is not retried', async () => {
  const proxy = await openProxy({ codexLogin: 'stored' })
  await asks.chat(proxy, { model: 'gpt-5.5', text: 'Hello' })
  proxy.codex.logins.revokeAll()
  for (const ask of Object.values(asks)) {
    await expect(ask(proxy, { model: 'gpt-5.5', text: 'Hello' }, 2)).rejects.toMatchObject({
      status: 503,
      message: expect.stringContaining('copilot-proxy login codex'),
    })
  }
  // The request that was answered, and the one that was refused.
  expect(proxy.codex.count(codexRoutes.stored)).toBe(2)
})

test.each(some(logins, 2, 1))(
  '$title: an invalid request is refused with the name of the field',
  async ({ kind: { model }, kind }) => {
    const proxy = await openFor(kind)
    const image = { type: 'input_image' as const, detail: 'auto' as const, image_url: 'data:image/bmp;base64,AAAA' }
    await expect(
      clientOf(proxy).responses.create({ model, input: [{ role: 'user', content: [image] }] }),
    ).rejects.toMatchObject({
      status: 400,
      code: 'invalid_value',
      param: 'input[0].content[0].image_url',
      message: expect.stringContaining('does not represent a valid image'),
    })
    // The proxy refuses this request before it asks upstream.
    const wrong = { model, input: [{ role: 'user', content: [{ type: 'input_text' }] }] }
    // What the package's types do not allow is what is sent here.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    const request = wrong as unknown as OpenAI.Responses.ResponseCreateParamsNonStreaming
    await expect(clientOf(proxy).responses.create(request)).rejects.toMatchObject({
      status: 400,
      param: 'input[0].content[0].text',
    })
    await expect(asks.messages(proxy, { model: 'codex/gpt-9', text: 'Hello' })).rejects.toMatchObject({
      status: 404,
      type: 'not_found_error',
    })
    expect(promptsFor(proxy, kind)).toHaveLength(1)
  },
)

test.each(some(logins, 2, 0))(
  '$title: a stream that fails is thrown after the text that came before',
  async ({ kind }) => {
    const proxy = await openFor(kind)
    const { model } = kind
    for (const marker of ['error-mid', 'error-event', 'cut', 'eof']) {
      const prompt = `[demo:${marker}] one two three four five six`
      let text = ''
      const chat = await clientOf(proxy).chat.completions.create({ model, messages: says(prompt), stream: true })
      const read = async () => {
        for await (const { choices } of chat) text += choices[0]?.delta.content ?? ''
      }
      await expect(read(), marker).rejects.toBeInstanceOf(OpenAI.APIError)
      expect(text, marker).toMatch(/^Hello from/)

      const responses = clientOf(proxy).responses.stream({ model, input: prompt })
      let said = ''
      responses.on('response.output_text.delta', ({ delta }) => {
        said += delta
      })
      // The proxy forwards upstream's own failed response, and this client takes it for a normal end.
      if (marker === 'error-mid') await expect(responses.finalResponse()).resolves.toMatchObject({ status: 'failed' })
      else await expect(responses.finalResponse(), marker).rejects.toBeInstanceOf(OpenAI.OpenAIError)
      expect(said, marker).toMatch(/^Hello from/)

      const messages = anthropicOf(proxy).messages.stream({ model, max_tokens: 4000, messages: says(prompt) })
      let written = ''
      messages.on('text', (delta) => {
        written += delta
      })
      expect(await thrownBy(messages.finalMessage()), marker).toBeInstanceOf(Anthropic.APIError)
      expect(written, marker).toMatch(/^Hello from/)
    }
  },
)

test.each(some(logins, 2, 1))('$title: a caller who leaves closes the connection to upstream', async ({ kind }) => {
  const proxy = await openFor(kind)
  const { model, codexLogin = 'stored' } = kind
  const gate = proxy.codex.gateNext(codexRoutes[codexLogin])
  gate.release(12)
  const stream = await clientOf(proxy).responses.create({ model, input: '[demo:long 50]', stream: true })
  for await (const { type } of stream) if (type === 'response.output_text.delta') break
  expect(await gate.closed).toBe('aborted')
  await proxy.codex.until(() => proxy.codex.openStreams() === 0)
})

test('a failure that looks like a wrong request form does not change later requests', async () => {
  const proxy = await openProxy({ codexLogin: 'stored' })
  await expect(asks.responses(proxy, { model: 'gpt-5.5', text: '[demo:error 404]' })).rejects.toMatchObject({
    status: 404,
    code: 'model_not_found',
  })
  for (const ask of Object.values(asks)) await ask(proxy, { model: 'gpt-5.5', text: 'Hello' })
})
