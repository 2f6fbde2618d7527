import { unkeyedCaller } from '../../src/config/caller.ts'
import { describe, expect, test } from 'vitest'
import { createCacheWatch } from '../../src/pipeline/cache-watch.ts'
import { openProxy } from '../http/harness.ts'
import type { Proxy } from '../http/harness.ts'

type Json = Readonly<Record<string, unknown>>

const secret = 'a very private prompt'
const user = (content: unknown): Json => ({ role: 'user', content })
const answer: Json = { role: 'assistant', content: 'ok' }
const first = [user(secret)]
const base: Json = {
  model: 'm',
  tools: [{ name: 'a' }],
  system: [
    { type: 'text', text: 's' },
    { type: 'text', text: 't' },
  ],
}

function watched(clock = { ms: 0 }) {
  const watch = createCacheWatch(() => clock.ms)
  return {
    watch,
    send: (body: Json, sessionId: string | null = 's', usage?: readonly [number, number]): void => {
      const used = watch.note({
        sessionId: sessionId ?? undefined,
        keyId: undefined,
        model: 'm',
        body: Buffer.from(JSON.stringify(body)),
      })
      if (usage !== undefined) used({ inputTokens: usage[0], cachedInputTokens: usage[1], outputTokens: 1 })
    },
  }
}

describe('between two requests of a session', () => {
  test.each<[string, Json, string | undefined]>([
    ['nothing but new messages', { messages: [...first, answer, user('more')] }, undefined],
    ['another model', { model: 'other', messages: first }, 'model'],
    ['other tools', { tools: [], messages: first }, 'tools'],
    ['other thinking', { thinking: { type: 'adaptive' }, messages: first }, 'settings'],
    ['other system text', { system: [base['system'], { type: 'text', text: 'u' }], messages: first }, 'system[0]'],
    ['an edited message', { messages: [user('else'), answer] }, 'messages[0]'],
    ['a message that is gone', { messages: [] }, 'messages[0]'],
    [
      'a cache mark that moved',
      {
        system: [
          { type: 'text', text: 's' },
          { type: 'text', text: 't', cache_control: { type: 'ephemeral' } },
        ],
        messages: first,
      },
      undefined,
    ],
  ])('%s', (_, change, segment) => {
    const { watch, send } = watched()
    send({ ...base, messages: first })
    send({ ...base, ...change })
    const [session] = watch.sessions(unkeyedCaller)
    expect(session?.changes.map((each) => each.segment)).toEqual(segment === undefined ? [] : [segment])
    expect(JSON.stringify(watch.sessions(unkeyedCaller))).not.toContain('private')
  })

  test('a pause that is longer than the cache lasts', () => {
    const clock = { ms: 0 }
    const { watch, send } = watched(clock)
    send({ ...base, messages: first })
    clock.ms = 301_000
    send({ ...base, messages: first }, 's', [100, 0])
    expect(watch.sessions(unkeyedCaller)[0]?.changes).toEqual([
      { request: 2, since: 1, idleSeconds: 301, cachedTokens: 0 },
    ])
  })
})

test('another agent of the session is compared with itself', () => {
  const { watch, send } = watched()
  const other = { model: 'small', system: 'title', messages: [user('name it')] }
  send({ ...base, messages: first })
  send(other)
  send({ ...base, messages: [...first, answer, user('x')] })
  send(other)
  expect(watch.sessions(unkeyedCaller)).toMatchObject([{ requests: 4, changes: [] }])
})

test('a session without a name goes by how it begins', () => {
  const { watch, send } = watched()
  send({ ...base, messages: first }, null)
  send({ ...base, messages: [...first, answer] }, null)
  send({ ...base, messages: [user('other')] }, null)
  expect(watch.sessions(unkeyedCaller)).toMatchObject([
    { named: false, requests: 1 },
    { named: false, requests: 2 },
  ])
})

test('holds the last fifty sessions and twenty changes', () => {
  const { watch, send } = watched()
  for (let at = 0; at < 60; at += 1) send({ ...base, messages: first }, `s${at}`)
  for (let at = 0; at < 60; at += 1) send({ ...base, tools: [at], messages: first }, 's59')
  expect(watch.sessions(unkeyedCaller)).toHaveLength(50)
  expect(watch.sessions(unkeyedCaller)[0]).toMatchObject({ requests: 61 })
  expect(watch.sessions(unkeyedCaller)[0]?.changes).toHaveLength(20)
})

test('a key sees its own sessions, not those of another with the same session id or name', () => {
  const { watch } = watched()
  const callers = ['old', 'new'].map((id) => ({ key: { name: 'laptop', id }, isOwner: false }))
  for (const { key } of callers) {
    watch.note({ sessionId: 's', keyId: key.id, model: key.id, body: Buffer.from('{}') })(undefined)
  }
  for (const caller of callers) expect(watch.sessions(caller)).toMatchObject([{ model: caller.key.id, requests: 1 }])
  expect(watch.sessions(unkeyedCaller)).toHaveLength(2)
})

test('an invalid body is recorded without an error', () => {
  const { watch, send } = watched()
  for (const body of [{}, { messages: 'x' }, { input: [null, 1] }]) send(body)
  watch.note({ sessionId: 's', keyId: undefined, model: 'm', body: Buffer.from('{') })(undefined)
  expect(watch.sessions(unkeyedCaller)).toHaveLength(1)
})

async function ask({ send }: Proxy, path: string, body: Json): Promise<number> {
  return (await send(path, { headers: { 'x-session-id': secret }, body: JSON.stringify(body) })).status
}

test('GET /cache needs a key, returns hashes only, and nothing while diagnostics are off', async () => {
  const off = await openProxy()
  expect(await ask(off, '/v1/chat/completions', { model: 'gpt-5-mini', messages: first })).toBe(200)
  expect((await off.send('/cache')).json()).toEqual({ on: false, sessions: [] })

  const on = await openProxy({ file: 'log: {cache-diagnostics: true}\nserver: {api-keys: [k1]}' })
  expect((await on.send('/cache')).status).toBe(401)
  const headers = { authorization: 'Bearer k1', 'x-session-id': secret }
  for (const tools of [undefined, [{ type: 'function', function: { name: 'f' } }]]) {
    const body = JSON.stringify({ model: 'gpt-5-mini', messages: first, tools })
    expect((await on.send('/v1/chat/completions', { headers, body })).status).toBe(200)
  }
  const { text, json } = await on.send('/cache', { headers })
  expect(json()).toMatchObject({
    on: true,
    sessions: [
      { named: true, model: 'gpt-5-mini', requests: 2, changes: [{ request: 2, since: 1, segment: 'tools' }] },
    ],
  })
  expect(text).not.toMatch(/private/)
})
