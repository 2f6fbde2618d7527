import { expect, test } from 'vitest'
import { bodyOfPrompt, callers, dialectPaths } from '../http/callers.ts'
import { openProxy } from '../http/harness.ts'
import { envelopeOf, expectUnharmed } from './unharmed.ts'

/** A small valid request for each path that takes one. */
const requests: readonly (readonly [path: string, body: string])[] = [
  ...callers.map((caller) => [dialectPaths[caller], bodyOfPrompt(caller, 'gpt-5-mini', 'Hello')] as const),
  ['/v1/messages/count_tokens', bodyOfPrompt('messages', 'gpt-5-mini', 'Hello')],
  ['/v1/embeddings', '{"model":"text-embedding-3-small","input":"a"}'],
]

const nested = (levels: number, open: string, close: string): string => `${open.repeat(levels)}1${close.repeat(levels)}`

test.each(requests)('D06 JSON nested 1,000 deep is a 400 on %s, wherever it is', async (path, body) => {
  const proxy = await openProxy()
  for (const value of [nested(1000, '[', ']'), nested(1000, '{"a":', '}'), nested(1000, '[{"a":', '}]')]) {
    for (const text of [body.replace('{', `{"metadata":${value},`), value, body.replace(/"(?:Hello|a)"/, value)]) {
      const reply = await proxy.send(path, { body: text })
      expect(reply.status).toBe(400)
      expect(reply.json()).toEqual(envelopeOf(path))
      expect(reply.text).toContain('nested')
      await expectUnharmed(proxy, reply.text)
    }
  }
  expect(proxy.demo.count('/chat/completions')).toBe(0)
})

const polluting = '{"stream":true,"model":"nothing","temperature":"polluted","role":"system","toString":1}'

test.each(requests)('D07 keys that name a prototype change nothing on %s, now or later', async (path, body) => {
  const proxy = await openProxy()
  for (const key of ['__proto__', 'constructor', 'prototype']) {
    const value = key === 'constructor' ? `{"prototype":${polluting}}` : polluting
    for (const text of [body.replace('{', `{"${key}":${value},`), `{"${key}":${body}}`]) {
      const reply = await proxy.send(path, { body: text })
      expect(reply.status).toBeOneOf([200, 400])
      await expectUnharmed(proxy, reply.text)
      const clean = await proxy.send(path, { body })
      expect(clean.status).toBe(200)
      expect(clean.headers['content-type']).toContain('application/json')
    }
  }
  expect(Object.keys(Object.prototype)).toEqual([])
  expect(Reflect.get({}, 'stream')).toBeUndefined()
})

const malformed = ['', '{', '{"model":', '{"model":"a"}}', "{'model':1}", '{"model":undefined}', '\u0000', '[1,]']

test.each(requests)('D08 malformed JSON is a 400 in the shape of %s', async (path) => {
  const proxy = await openProxy()
  for (const body of malformed) {
    const reply = await proxy.send(path, { body })
    expect(reply.status).toBe(400)
    expect(reply.headers['content-type']).toBe('application/json; charset=utf-8')
    expect(reply.json()).toEqual(envelopeOf(path))
    expect(reply.json()).toMatchObject({ error: { type: 'invalid_request_error' } })
    await expectUnharmed(proxy, reply.text)
  }
})
