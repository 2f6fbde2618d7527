import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { sessionLabel } from '../../src/usage/session-label.ts'
import { openProxy } from './harness.ts'

const hashOf = (key: string): string => createHash('sha256').update(key).digest('hex')
const file = `server: { api-keys: ["laptop:sha256:${hashOf('laptop-key')}", "phone:sha256:${hashOf('phone-key')}"] }`
const laptop = { authorization: 'Bearer laptop-key' }
const phone = { authorization: 'Bearer phone-key' }
const messages = [{ role: 'user', content: 'hello' }]
const chat = (more: object = {}) => JSON.stringify({ model: 'gpt-5-mini', messages, ...more })

const uuid = '0196b2a4-7c1e-7aaa-8bbb-0123456789ab'

test('the name of a session is the beginning of a UUID, and else a hash that repeats nothing', () => {
  expect(sessionLabel(uuid.toUpperCase())).toBe('0196b2a4-7c1e')
  expect(sessionLabel(undefined)).toBe('')
  const prompt = 'Summarise the contract with Example Ltd'
  expect(sessionLabel(prompt)).toMatch(/^[\da-f]{12}$/)
  expect(sessionLabel(prompt)).toBe(sessionLabel(prompt))
  expect(sessionLabel(`${prompt}.`)).not.toBe(sessionLabel(prompt))
})

test('requests are summed up by session, in every dialect; a key sees its own sessions only', async () => {
  const proxy = await openProxy({ file })
  const ask = (path: string, body: string, headers: Record<string, string>) => proxy.send(path, { body, headers })
  const claude = { ...laptop, 'user-agent': 'claude-cli/2.1.329 (external)', 'x-claude-code-session-id': uuid }
  const secret = 'a prompt that a client took for a session id'
  const replies = [
    await ask('/v1/messages', JSON.stringify({ model: 'gpt-5-mini', max_tokens: 10, messages }), claude),
    await ask('/v1/messages', JSON.stringify({ model: 'gpt-5-mini', max_tokens: 10, messages }), claude),
    await ask('/v1/responses', JSON.stringify({ model: 'gpt-5-mini', input: 'hi', prompt_cache_key: secret }), phone),
    await ask('/v1/chat/completions', chat(), { ...phone, 'user-agent': 'curl/8.5.0' }),
  ]
  expect(replies.map(({ status }) => status)).toEqual([200, 200, 200, 200])

  const sessionsOf = async (headers: Record<string, string>) => {
    const { text } = await proxy.send('/usage', { headers })
    expect(text).not.toContain(secret)
    return JSON.parse(text).totals.by_session.today
  }
  const ofClaude = { session: '0196b2a4-7c1e', client: 'claude', key: 'laptop', requests: 2 }
  const ofCurl = { session: null, client: 'curl', key: 'phone', requests: 1 }
  const named = { session: sessionLabel(secret), key: 'phone', requests: 1 }
  expect(await sessionsOf(laptop)).toEqual([expect.objectContaining(ofClaude)])
  const ofPhone = await sessionsOf(phone)
  expect(ofPhone).toHaveLength(2)
  expect(ofPhone).toEqual(expect.arrayContaining([expect.objectContaining(ofCurl), expect.objectContaining(named)]))
  const all = await sessionsOf({ authorization: `Bearer ${proxy.daemon.ownerToken}` })
  expect(all).toHaveLength(3)
  const sums = all.reduce((sum: number, { credits }: { credits: number }) => sum + credits, 0)
  const { totals } = JSON.parse(
    (await proxy.send('/usage', { headers: { authorization: `Bearer ${proxy.daemon.ownerToken}` } })).text,
  )
  expect(sums).toBeCloseTo(totals.month.credits, 9)
})

test('a web search counts for the session of the request that needed it', async () => {
  const proxy = await openProxy()
  const reply = await proxy.send('/v1/messages', {
    body: JSON.stringify({
      model: 'claude-sonnet-4.6',
      max_tokens: 200,
      tools: [{ type: 'web_search_20250305', name: 'web_search' }],
      messages: [
        {
          role: 'user',
          content: '[demo:tool web_search {"query":"herons"}] go',
        },
      ],
    }),
    headers: { 'x-claude-code-session-id': uuid, 'user-agent': 'claude-cli/2.1.329' },
  })
  expect(reply.status).toBe(200)
  const { today } = JSON.parse((await proxy.send('/usage')).text).totals.by_session
  expect(today).toMatchObject([{ session: '0196b2a4-7c1e', client: 'claude' }])
  expect(today[0].requests).toBeGreaterThan(1)
})

test('a caller that names a session for each request makes a bounded number of rows', async () => {
  const proxy = await openProxy()
  for (let count = 0; count < 230; count += 1) {
    // Refused without an upstream request, and counted.
    await proxy.send('/v1/chat/completions', { body: chat({ model: 'none', prompt_cache_key: `session ${count}` }) })
  }
  const { by_session: sessions, today } = JSON.parse((await proxy.send('/usage?partial=true')).text).totals
  expect(sessions.today).toHaveLength(100)
  expect(today).toMatchObject([{ model: 'other', requests: 230 }])
})
