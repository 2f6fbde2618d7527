import { expect, test } from 'vitest'
import { textReply } from '../http/outcome.ts'
import { ask, askWithKey, eventsOf, loginHeaders, promptOf, replyOf, openCodex } from './test-client.ts'
import type { Fields } from './test-client.ts'

const NOW_MS = 1_800_000_000_000

test('[demo:error 429] is the used-up window of the plan, with the documented message', async () => {
  const codex = await openCodex({ now: () => NOW_MS })
  const response = await ask(codex, promptOf('[demo:error 429]'))
  expect(response.headers.get('x-codex-primary-used-percent')).toBe('100')
  expect(response.headers.get('retry-after')).toBe(null)
  expect(await replyOf(response)).toEqual({
    status: 429,
    body: {
      error: {
        type: 'usage_limit_reached',
        message: 'The usage limit has been reached',
        plan_type: 'plus',
        resets_at: 1_800_013_872,
        resets_in_seconds: 13_872,
        eligible_promo: null,
      },
    },
  })
})

test.for<[string, number, unknown]>([
  ['[demo:error 429 usage_not_included]', 429, { error: { type: 'usage_not_included' } }],
  [
    '[demo:error 429 rate_limit_exceeded]',
    429,
    { error: { code: 'rate_limit_exceeded', message: expect.stringContaining('try again in 1.5s') } },
  ],
  ['[demo:error 401]', 401, { error: { code: 'token_expired' }, status: 401 }],
  ['[demo:error 401 token_invalidated]', 401, { error: { code: 'token_invalidated' } }],
  ['[demo:error 401 token_revoked]', 401, { error: { code: 'token_revoked' } }],
  ['[demo:error 401 Unauthorized]', 401, { detail: 'Unauthorized' }],
  ['[demo:error 402]', 402, { detail: { code: 'deactivated_workspace' } }],
  ['[demo:error 403]', 403, expect.stringContaining('Just a moment')],
  ['[demo:error 403 invalid_workspace_selected]', 403, { detail: { code: 'invalid_workspace_selected' } }],
  ['[demo:error 404]', 404, { detail: 'Model not found gpt-5.5' }],
  ['[demo:error 413]', 413, { error: { code: 'request_too_large' } }],
  ['[demo:error 400 cyber_policy]', 400, { error: { code: 'cyber_policy' } }],
  ['[demo:error 418]', 418, { error: { code: 'simulated_error' } }],
  ['[demo:error 500]', 500, { error: { code: 'server_error' } }],
  ['[demo:error 502]', 502, expect.stringContaining('<!DOCTYPE html>')],
  ['[demo:error 503]', 503, { error: { code: 'server_is_overloaded' } }],
  ['[demo:overflow]', 400, { error: { code: 'context_length_exceeded' } }],
  ['[demo:html]', 200, expect.stringContaining('Sign in to the network')],
])('%s', async ([marker, status, body]) => {
  const codex = await openCodex()
  const reply = await replyOf(await ask(codex, promptOf(marker)))
  expect(reply.status).toBe(status)
  if (typeof reply.body === 'string') expect(reply.body).toEqual(body)
  else expect(reply.body).toMatchObject(body as Fields)
})

test('a page of Cloudflare’s says that it is one', async () => {
  const codex = await openCodex()
  const { headers } = await ask(codex, promptOf('[demo:error 403]'))
  expect(headers.get('cf-mitigated')).toBe('challenge')
  expect(headers.get('cf-ray')).toMatch(/^demo/)
})

test('seconds become a retry-after', async () => {
  const codex = await openCodex()
  const { headers, status } = await ask(codex, promptOf('[demo:error 503 7]'))
  expect([status, headers.get('retry-after')]).toEqual([503, '7'])
})

test('the key API has its own failures, and says whether to try again', async () => {
  const codex = await openCodex()
  const fail = async (marker: string) => {
    const response = await askWithKey(codex, { model: 'gpt-5.5', input: marker, stream: true })
    return { retry: response.headers.get('x-should-retry'), ...(await replyOf(response)) }
  }
  expect(await fail('[demo:error 429]')).toMatchObject({
    retry: 'true',
    status: 429,
    body: { error: { code: 'rate_limit_exceeded' } },
  })
  expect(await fail('[demo:error 429 insufficient_quota]')).toMatchObject({
    retry: 'false',
    body: { error: { code: 'insufficient_quota', type: 'insufficient_quota' } },
  })
  expect(await fail('[demo:error 401]')).toMatchObject({ retry: null, body: { error: { code: 'invalid_api_key' } } })
})

test.for(['server_is_overloaded', 'usage_limit_reached', 'context_length_exceeded', 'invalid_encrypted_content'])(
  'a 200 can carry nothing but the failure %s, as response.failed or as error',
  async (code) => {
    const codex = await openCodex()
    const fail = async (marker: string) => {
      const response = await ask(codex, promptOf(marker))
      expect(response.status).toBe(200)
      return eventsOf(await response.text())
    }
    const lead = ['response.created', 'response.in_progress', 'codex.rate_limits']
    const failed = await fail(`[demo:failed ${code}]`)
    expect(failed.map(({ type }) => type)).toEqual([...lead, 'response.failed'])
    expect(failed.at(-1)).toMatchObject({
      sequence_number: 2,
      response: { status: 'failed', error: { code, message: expect.any(String) } },
    })
    const bare = await fail(`[demo:failed ${code} event]`)
    expect(bare.map(({ type }) => type)).toEqual([...lead, 'error'])
    const error = bare.at(-1)?.['error'] as Fields
    expect(error['code'] ?? error['type']).toBe(code)
    expect(bare.at(-1)?.['status']).toEqual(expect.any(Number))
  },
)

test('a spent window tells its reset in the stream too', async () => {
  const codex = await openCodex({ now: () => NOW_MS })
  const login = codex.login()
  const text = await (await ask(codex, promptOf('[demo:failed usage_limit_reached]'), loginHeaders(login))).text()
  expect(eventsOf(text).at(-1)?.response?.error).toMatchObject({ resets_at: 1_800_013_872, plan_type: 'plus' })
})

test.for<[string, string]>([
  ['[demo:error-mid]', 'response.failed'],
  ['[demo:error-event slow_down]', 'error'],
])('%s fails after some output', async ([marker, type]) => {
  const codex = await openCodex()
  const events = eventsOf(await (await ask(codex, promptOf(`${marker} and words`))).text())
  expect(events.some((event) => event.type === 'response.output_text.delta')).toBe(true)
  expect(events.at(-1)?.type).toBe(type)
})

test('the key API reports a failure in its flat form', async () => {
  const codex = await openCodex()
  const response = await askWithKey(codex, { model: 'gpt-5.5', input: '[demo:failed slow_down event]', stream: true })
  expect(eventsOf(await response.text()).at(-1)).toEqual({
    type: 'error',
    sequence_number: 2,
    code: 'slow_down',
    message: expect.any(String),
    param: null,
  })
})

test('a stream can end early, break off, stall, or never begin', async () => {
  const codex = await openCodex()
  const early = eventsOf(await (await ask(codex, promptOf('[demo:eof]'))).text())
  expect(early.at(-1)?.type).not.toBe('response.completed')
  const broken = await ask(codex, promptOf('[demo:cut]'))
  await expect(broken.text()).rejects.toThrow('terminated')
  for (const marker of ['[demo:stall]', '[demo:hang]']) {
    const held = await ask(codex, promptOf(marker))
    expect(held.status).toBe(200)
    codex.dropSockets()
    await expect(held.text()).rejects.toThrow('terminated')
  }
  const before = codex.count('/backend-api/codex/responses')
  const silent = ask(codex, promptOf('[demo:silent]'))
  await codex.until(() => codex.count('/backend-api/codex/responses') === before + 1)
  codex.dropSockets()
  await expect(silent).rejects.toThrow('fetch failed')
})

test('a failure can be configured for every prompt, with a status or inside a 200', async () => {
  const codex = await openCodex({ settings: { failure: { status: 429, code: 'usage_not_included' } } })
  expect((await replyOf(await ask(codex, promptOf('Hi')))).status).toBe(429)
  codex.configure({ failure: { status: 200, code: 'server_is_overloaded' } })
  const text = await (await ask(codex, promptOf('Hi'))).text()
  expect(eventsOf(text).at(-1)?.type).toBe('response.failed')
  codex.configure({ failure: undefined })
  expect(eventsOf(await (await ask(codex, promptOf('Hi'))).text()).at(-1)?.type).toBe('response.completed')
})

test('scripted replies come first, ahead of every check', async () => {
  const codex = await openCodex()
  codex.script('/backend-api/codex/responses', { outcome: textReply(418, 'scripted') })
  expect(await replyOf(await ask(codex, {}, {}))).toEqual({ status: 418, body: 'scripted\n' })
})
