import Anthropic from '@anthropic-ai/sdk'
import { expect, test } from 'vitest'
import { openAnthropic, promptsOf, says, thrownBy } from './client.ts'
import { kinds, upstreamRoutes } from './kinds.ts'

/** One model for each upstream dialect. */
const fewModels = ['claude-opus-4.7', 'gpt-4.1', 'gpt-5.3-codex']

function asking(model: string, text: string) {
  return { model, max_tokens: 4000, messages: says(text) }
}

const failures = [
  [400, 400, Anthropic.BadRequestError, 'invalid_request_error', 'simulated: the request body is not acceptable'],
  [401, 401, Anthropic.AuthenticationError, 'authentication_error', 'Invalid API key'],
  [402, 402, Anthropic.PaymentRequiredError, 'billing_error', 'You have exceeded your monthly quota'],
  [403, 403, Anthropic.PermissionDeniedError, 'permission_error', 'not authorized to use this Copilot feature'],
  [429, 429, Anthropic.RateLimitError, 'rate_limit_error', 'Sorry, you have exceeded your weekly rate limit.'],
  [500, 500, Anthropic.InternalServerError, 'api_error', 'nternal server error'],
  [503, 529, Anthropic.OverloadedError, 'overloaded_error', 'upstream provider is rate limited'],
] as const

test.each(failures)(
  'a %i of upstream is a %i of its error class, whichever upstream it is',
  async (status, seen, Type, type, words) => {
    const { anthropic } = await openAnthropic()
    for (const model of fewModels) {
      for (const stream of [false, true]) {
        const error = await thrownBy(anthropic.messages.create({ ...asking(model, `[demo:error ${status}]`), stream }))
        if (!(error instanceof Type)) throw error
        expect(error).toMatchObject({ status: seen, type, apiMessage: expect.stringContaining(words) })
        expect(error.requestID).toMatch(/^[0-9a-f-]{36}$/)
        expect(error.error).toMatchObject({ type: 'error', request_id: error.requestID })
      }
    }
  },
)

test('an overload of OpenAI’s models is reported as Anthropic’s overloaded_error', async () => {
  const { anthropic } = await openAnthropic()
  await expect(anthropic.messages.create(asking('claude-opus-4.7', '[demo:error 529]'))).rejects.toBeInstanceOf(
    Anthropic.OverloadedError,
  )
  // The failure is inside a stream that has shown nothing to the caller yet.
  await expect(anthropic.messages.create(asking('gpt-5.3-codex', '[demo:error-mid]'))).rejects.toBeInstanceOf(
    Anthropic.OverloadedError,
  )
})

test.each(kinds)('$model: a prompt that is too long is worded as clients look for it', async ({ model }) => {
  const { anthropic } = await openAnthropic()
  for (const stream of [false, true]) {
    const error = await thrownBy(anthropic.messages.create({ ...asking(model, '[demo:overflow]'), stream }))
    if (!(error instanceof Anthropic.BadRequestError)) throw error
    expect(error.apiMessage).toMatch(
      model.startsWith('gemini') ? /^prompt is too long/ : /^prompt is too long: \d+ tokens > \d+ maximum$/,
    )
  }
})

test('a limit that lasts for days is not retried', async () => {
  const { url, demo } = await openAnthropic()
  const patient = new Anthropic({ baseURL: url, apiKey: 'unused', maxRetries: 2 })
  const error = await thrownBy(patient.messages.create(asking('claude-opus-4.7', '[demo:error 429]')))
  if (!(error instanceof Anthropic.RateLimitError)) throw error
  expect(error.headers.get('x-should-retry')).toBe('false')
  expect(error.headers.get('retry-after')).toBe('30')
  expect(promptsOf(demo)).toHaveLength(1)
})

test.each(kinds)('$model: a stream that fails is thrown after the text that came before', async ({ model }) => {
  const { anthropic } = await openAnthropic()
  for (const marker of ['error-mid', 'error-event', 'cut', 'eof']) {
    const stream = anthropic.messages.stream(asking(model, `[demo:${marker}] one two three four five six`))
    let text = ''
    stream.on('text', (delta) => {
      text += delta
    })
    const error = await thrownBy(stream.finalMessage())
    expect(error, marker).toBeInstanceOf(Anthropic.APIError)
    expect(error, marker).toMatchObject({ message: expect.stringMatching(/"type":"error"/) })
    expect(text, marker).toMatch(/^Hello from/)
  }
})

test.each(fewModels)('%s: a caller who leaves closes the connection to upstream', async (model) => {
  const { anthropic, demo } = await openAnthropic()
  const route = upstreamRoutes[kinds.find((kind) => kind.model === model)?.upstream.messages ?? 'chat']
  const gate = demo.gateNext(route)
  gate.release(12)
  const stream = anthropic.messages.stream(asking(model, '[demo:long 50]'))
  stream.once('text', () => stream.abort())
  await expect(stream.finalMessage()).rejects.toBeInstanceOf(Anthropic.APIUserAbortError)
  expect(await gate.closed).toBe('aborted')

  const controller = new AbortController()
  const held = demo.gateNext(route)
  const pending = anthropic.messages.create(asking(model, 'Hello'), { signal: controller.signal })
  await held.opened
  controller.abort()
  await expect(pending).rejects.toBeInstanceOf(Anthropic.APIUserAbortError)
  expect(await held.closed).toBe('aborted')
  await demo.until(() => demo.openStreams() === 0)
})

test('an invalid request is refused with the name of the field', async () => {
  const { anthropic, demo } = await openAnthropic()
  const block = {
    type: 'image' as const,
    source: { type: 'base64' as const, media_type: 'image/png' as const, data: 7 },
  }
  // What the package's types do not allow is what is sent here.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  const messages = [{ role: 'user', content: [block] }] as unknown as Anthropic.MessageParam[]
  await expect(anthropic.messages.create({ model: 'gpt-5-mini', max_tokens: 10, messages })).rejects.toMatchObject({
    status: 400,
    type: 'invalid_request_error',
    apiMessage: expect.stringContaining('messages[0].content[0].source.data'),
  })
  await expect(anthropic.messages.create(asking('claude-sonnet-9', 'Hello'))).rejects.toMatchObject({
    status: 404,
    type: 'not_found_error',
    apiMessage: expect.stringContaining('claude-sonnet-'),
  })
  expect(promptsOf(demo)).toHaveLength(0)
})
