import { describe, expect, test } from 'vitest'
import { jsonReply } from '../upstreams/http/outcome.ts'
import { dataOf } from './client.ts'
import { chatsOf, openProxy } from './harness.ts'
import type { Proxy } from './harness.ts'

const refused = (status: number) => jsonReply(status, { error: { message: `refused ${status}`, code: 'test' } })
/** Chat Completions is the only API of both models. */
const aliases = 'models: { aliases: { best: [gemini-2.5-pro, grok-code-fast-1, gpt-4.1] } }'
const servedLine = (proxy: Proxy) => proxy.log.findLast(({ message }) => message === 'request served')

describe('a list of targets', () => {
  test.each([402, 429, 500, 503])('is asked in turn after %i', async (status) => {
    const proxy = await openProxy({ file: aliases })
    proxy.demo.script('/chat/completions', { outcome: refused(status) })
    const reply = await proxy.chat({ model: 'best' })
    expect(reply.status).toBe(200)
    expect(reply.headers).toMatchObject({ 'x-copilot-proxy-fallback': `grok-code-fast-1 (${status})` })
    expect(reply.json()).toMatchObject({ model: 'grok-code-fast-1' })
    const asked = chatsOf(proxy.demo).map(({ body }) => JSON.parse(body).model)
    expect(asked).toEqual(['gemini-2.5-pro', 'grok-code-fast-1'])
    expect(servedLine(proxy)).toMatchObject({
      fields: { model: 'grok-code-fast-1', fallback: `grok-code-fast-1 (${status})`, status: 200 },
    })
    expect(proxy.log).toContainEqual(
      expect.objectContaining({
        message: 'trying the next model of the alias',
        fields: expect.objectContaining({ model: 'gemini-2.5-pro', status, next: 'grok-code-fast-1' }),
      }),
    )
    const { text } = await proxy.send('/metrics')
    expect(text).toMatch(/tokens_total\{[^}]*model="grok-code-fast-1"/)
    expect(text).not.toMatch(/tokens_total\{[^}]*model="gemini-2.5-pro"/)
  })

  test('serves a stream too', async () => {
    const proxy = await openProxy({ file: aliases })
    proxy.demo.script('/chat/completions', { outcome: refused(429), times: 2 })
    const stream = await proxy.openChat({ model: 'best' })
    expect(stream.headers).toMatchObject({ 'x-copilot-proxy-fallback': 'gpt-4.1 (429, 429)' })
    expect(dataOf(await stream.rest()).at(-1)).toBe('[DONE]')
    await expect
      .poll(async () => (await proxy.send('/requests')).json())
      .toMatchObject({ requests: [{ asked_model: 'best', model: 'gpt-4.1', fallback: 'gpt-4.1 (429, 429)' }] })
  })

  test('answers with the last failure', async () => {
    const proxy = await openProxy({ file: aliases })
    for (const status of [429, 503, 402]) proxy.demo.script('/chat/completions', { outcome: refused(status) })
    const reply = await proxy.chat({ model: 'best' })
    expect(reply.status).toBe(402)
    expect(reply.text).toContain('refused 402')
    expect(reply.headers['x-copilot-proxy-fallback']).toBe('gpt-4.1 (429, 503)')
    expect(proxy.demo.count('/chat/completions')).toBe(3)
  })

  test.each([400, 403, 404, 422])('ends with a %i', async (status) => {
    const proxy = await openProxy({ file: aliases })
    proxy.demo.script('/chat/completions', { outcome: refused(status) })
    const reply = await proxy.chat({ model: 'best' })
    expect(reply.status).toBe(status)
    expect(reply.headers).not.toHaveProperty('x-copilot-proxy-fallback')
    expect(proxy.demo.count('/chat/completions')).toBe(1)
  })

  test('has the warnings of the model that answered only', async () => {
    const file = 'models: { aliases: { best: [claude-sonnet-4.5, gemini-2.5-pro] } }'
    const proxy = await openProxy({ file })
    const body = { logprobs: true, seed: 5 }
    const alone = await proxy.chat({ model: 'gemini-2.5-pro', ...body })
    proxy.demo.script('/v1/messages', { outcome: refused(429) })
    proxy.demo.script('/chat/completions', { outcome: refused(429) })
    const first = proxy.demo.log.length
    const reply = await proxy.chat({ model: 'best', ...body })
    expect(proxy.demo.log.length).toBeGreaterThan(first)
    expect(reply.headers['x-copilot-proxy-warnings']).toBe(alone.headers['x-copilot-proxy-warnings'])
  })

  test('goes to another provider only if the target states it', async () => {
    const gpt = 'gpt-6-sol'
    const asked = async (target: string) => {
      const file = `models: { aliases: { best: [gemini-2.5-pro, ${target}] } }`
      const proxy = await openProxy({ file, codexLogin: 'stored' })
      expect((await proxy.chat({ model: gpt })).headers['x-copilot-proxy-route']).toBe('codex/responses')
      proxy.demo.script('/chat/completions', { outcome: refused(429) })
      return proxy.chat({ model: 'best' })
    }
    expect((await asked(gpt)).status).toBe(429)
    const stated = await asked(`codex/${gpt}`)
    expect(stated.status).toBe(200)
    expect(stated.headers).toMatchObject({
      'x-copilot-proxy-route': 'codex/responses',
      'x-copilot-proxy-fallback': `${gpt} (429)`,
    })
  })

  test('passes over a fallback that does not exist', async () => {
    const proxy = await openProxy({ file: 'models: { aliases: { best: [gemini-2.5-pro, gpt-9, gpt-4.1] } }' })
    proxy.demo.script('/chat/completions', { outcome: refused(429) })
    const reply = await proxy.chat({ model: 'best' })
    expect(reply.headers['x-copilot-proxy-fallback']).toBe('gpt-4.1 (429)')
  })

  test('passes over a fallback that the key may not use', async () => {
    const file =
      'server: { api-keys: [key-of-laptop], key-limits: { plain-1: { models: ["gemini-*", gpt-4.1] } } }\n' + aliases
    const proxy = await openProxy({ file })
    proxy.demo.script('/chat/completions', { outcome: refused(429) })
    const reply = await proxy.chat({ model: 'best' }, { headers: { authorization: 'Bearer key-of-laptop' } })
    expect(reply.headers['x-copilot-proxy-fallback']).toBe('gpt-4.1 (429)')
    expect(chatsOf(proxy.demo).map(({ body }) => JSON.parse(body).model)).toEqual(['gemini-2.5-pro', 'gpt-4.1'])
  })

  test('asks nobody after the caller has left', async () => {
    const proxy = await openProxy({ file: aliases })
    proxy.demo.script('/chat/completions', { outcome: refused(429) })
    proxy.demo.script('/chat/completions', { outcome: { kind: 'silent' } })
    const abort = new AbortController()
    const asked = proxy.chat({ model: 'best' }, { signal: abort.signal }).catch(() => 'left')
    await expect.poll(() => proxy.demo.count('/chat/completions')).toBe(2)
    abort.abort()
    expect(await asked).toBe('left')
    await expect.poll(async () => (await proxy.send('/metrics')).text).toMatch(/requests_total\{[^}]*status="499"/)
    expect(proxy.demo.count('/chat/completions')).toBe(2)
  })
})

test('an alias is listed in all shapes, with its model in a field of its own', async () => {
  const { send, chat } = await openProxy({ file: 'models: { aliases: { fast: [gpt-4.1, gpt-5-mini] } }' })
  await chat({ model: 'fast' })
  const row = { id: 'fast', copilot_proxy: { alias_of: 'gpt-4.1', fallbacks: ['gpt-5-mini'] } }
  const openai: { data: unknown[] } = JSON.parse((await send('/v1/models')).text)
  expect(openai.data.at(-1)).toMatchObject(row)
  expect((await send('/v1/models/fast')).json()).toMatchObject(row)
  const anthropic = JSON.parse((await send('/v1/models?limit=1000')).text)
  expect(anthropic.data.at(-1)).toMatchObject({ id: 'fast', alias_of: 'gpt-4.1', type: 'model' })
  const codex = JSON.parse((await send('/v1/models?client_version=0.169.0')).text)
  expect(codex.models.at(-1)).toMatchObject({ slug: 'fast', alias_of: 'gpt-4.1' })
  expect(codex.models[0]).not.toHaveProperty('alias_of')
})

test('the log names targets that the model list does not have, once, and again after a change', async () => {
  const proxy = await openProxy({ file: 'models: { aliases: { old: gpt-9, fast: gpt-4.1 } }' })
  await proxy.chat({ model: 'fast' })
  const warned = () => proxy.log.flatMap(({ level, fields }) => (level === 'warn' && fields['target']) || [])
  expect(warned()).toEqual(['gpt-9'])
  proxy.daemon.reconfigure(proxy.configure('models: { aliases: { old: gpt-9, older: gpt-8 } }'))
  expect(warned()).toEqual(['gpt-9', 'gpt-8'])
})

test('the error of an unknown name ends with the command that lists models', async () => {
  const { chat } = await openProxy()
  const { status, text } = await chat({ model: 'gpt-5-mni' })
  expect(status).toBe(404)
  expect(JSON.parse(text).error.message).toMatch(/ Similar: gpt-5-mini.*\. Run: copilot-proxy models$/)
})
