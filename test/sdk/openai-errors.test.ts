import OpenAI from 'openai'
import { expect, test } from 'vitest'
import { openProxy } from '../http/harness.ts'
import { clientOf, models, openClient, says } from './client.ts'

const failures = [
  [400, OpenAI.BadRequestError, 'simulated: the request body is not acceptable', 'invalid_request_body'],
  [401, OpenAI.AuthenticationError, 'Invalid API key', 'invalid_api_key'],
  [402, OpenAI.APIError, 'You have exceeded your monthly quota', 'quota_exceeded'],
  [403, OpenAI.PermissionDeniedError, 'unauthorized: not authorized to use this Copilot feature', 'feature_refused'],
  [404, OpenAI.NotFoundError, '404 page not found', null],
  [429, OpenAI.RateLimitError, 'Sorry, you have exceeded your weekly rate limit.', 'user_weekly_rate_limited'],
  [500, OpenAI.InternalServerError, 'internal server error', null],
  [503, OpenAI.InternalServerError, 'upstream provider is rate limited', 'upstream_provider_rate_limit'],
] as const

test.each(failures)(
  'a %i of upstream is the matching error class, with its message and code',
  async (status, type, message, code) => {
    const { openai } = await openClient()
    for (const stream of [false, true]) {
      const error = await openai.chat.completions
        .create({ model: 'gpt-5-mini', messages: says(`[demo:error ${status}]`), stream })
        .then(
          () => undefined,
          (thrown: unknown) => thrown,
        )
      expect(error).toBeInstanceOf(type)
      expect(error).toMatchObject({ status, code, message: expect.stringContaining(message), type: expect.any(String) })
      expect(error).toHaveProperty('requestID', expect.stringMatching(/^[0-9a-f-]{36}$/))
    }
  },
)

test('a rate limit carries the wait that upstream asked for', async () => {
  const { openai, demo } = await openClient()
  const error = await openai.chat.completions
    .create({ model: 'gpt-5-mini', messages: says('[demo:error 429]') })
    .catch((thrown: unknown) => thrown)
  if (!(error instanceof OpenAI.RateLimitError)) throw error
  expect(error.headers.get('retry-after')).toBe('30')
  expect(demo.count('/chat/completions')).toBe(1)
})

test('a wrong key of the proxy itself is an authentication error', async () => {
  const proxy = await openProxy({ file: 'server: { api-keys: [example-key] }' })
  const request = { model: 'gpt-5-mini', messages: says('Hello') }
  await expect(clientOf(proxy, 'another-key').chat.completions.create(request)).rejects.toBeInstanceOf(
    OpenAI.AuthenticationError,
  )
  expect(proxy.demo.count('/chat/completions')).toBe(0)
  await clientOf(proxy, 'example-key').chat.completions.create(request)
})

test.each(models)('%s: a failure inside the stream is thrown after the text that came before it', async (model) => {
  const { openai } = await openClient()
  const stream = await openai.chat.completions.create({
    model,
    messages: says('[demo:error-mid] one two three'),
    stream: true,
  })
  let text = ''
  const read = async () => {
    for await (const { choices } of stream) text += choices[0]?.delta.content ?? ''
  }
  await expect(read()).rejects.toBeInstanceOf(OpenAI.APIError)
  expect(text).toMatch(/^Hello from/)
})

test.each(['[demo:cut] one two', '[demo:eof] one two'])(
  'a stream that ends too early is an error (%s)',
  async (prompt) => {
    const { openai } = await openClient()
    const request = { model: 'gpt-5-mini', messages: says(prompt) }
    await expect(openai.chat.completions.stream(request).finalChatCompletion()).rejects.toMatchObject({
      code: 'upstream_truncated',
    })
    await expect(openai.chat.completions.create(request)).rejects.toMatchObject({
      status: 502,
      code: 'upstream_truncated',
    })
  },
)

test('breaking out of a stream closes the connection to upstream', async () => {
  const { openai, demo } = await openClient()
  const gate = demo.gateNext()
  const stream = await openai.chat.completions.create(
    { model: 'gpt-5-mini', messages: says('[demo:long 50]'), stream: true },
    // The head of the answer comes with its first event.
    (gate.release(2), {}),
  )
  for await (const _ of stream) break
  expect(await gate.closed).toBe('aborted')
  await demo.until(() => demo.openStreams() === 0)
})

test('aborting a request closes the connection to upstream', async () => {
  const { openai, demo } = await openClient()
  const controller = new AbortController()
  const gate = demo.gateNext()
  const pending = openai.chat.completions.create(
    { model: 'gpt-5-mini', messages: says('Hello') },
    { signal: controller.signal },
  )
  await gate.opened
  controller.abort()
  await expect(pending).rejects.toBeInstanceOf(OpenAI.APIUserAbortError)
  expect(await gate.closed).toBe('aborted')
})
