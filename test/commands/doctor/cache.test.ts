import { expect, test } from 'vitest'
import { openProxy } from '../../http/harness.ts'
import { createUser } from '../harness.ts'
import type { TestUser } from '../harness.ts'

const user = { role: 'user', content: [{ type: 'text', text: 'a private word' }] }
const assistant = { role: 'assistant', content: 'ok' }

async function userOf(port: number): Promise<TestUser> {
  const someone = await createUser()
  someone.env['COPILOT_PROXY_SERVER_PORT'] = String(port)
  return someone
}

test('tells for each session its hit rate, and what changed from one request to the next', async () => {
  const proxy = await openProxy({ file: 'log: { cache-diagnostics: true }' })
  const send = async (session: string, change: Readonly<Record<string, unknown>>): Promise<void> => {
    const body = { model: 'claude-sonnet-4.5', max_tokens: 50, messages: [user], ...change }
    const headers = session === '' ? {} : { 'x-claude-code-session-id': session }
    expect((await proxy.send('/v1/messages', { headers, body: JSON.stringify(body) })).status).toBe(200)
  }
  await send('one', { system: [{ type: 'text', text: 's' }] })
  await send('one', { system: [{ type: 'text', text: 't' }], messages: [user, assistant, user] })
  await send('one', { system: [{ type: 'text', text: 't' }], messages: [user, { ...assistant, content: 'no' }, user] })
  await send('same', {})
  await send('same', { messages: [user, assistant, user] })
  await send('', {})

  const someone = await userOf(proxy.port)
  const { code, stdout, stderr } = await someone.run('doctor --cache')
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout.replaceAll(/[0-9a-f]{12}/g, 'HASH')).toBe(
    [
      'Session HASH (named by copilot-proxy): claude-sonnet-4.5, 1 request, 0 % of the input from the cache',
      '  Only one request yet, so there is nothing to compare.',
      '',
      'Session HASH: claude-sonnet-4.5, 2 requests, 0 % of the input from the cache',
      '  The start of the prompt did not change. Nothing came from the cache: prompts under about 1000 tokens are not cached.',
      '',
      'Session HASH: claude-sonnet-4.5, 3 requests, 0 % of the input from the cache',
      '  between request 1 and 2: the system text changed at block 0',
      '  between request 2 and 3: messages[1] was changed or removed',
      '',
    ].join('\n'),
  )
  const { sessions } = JSON.parse((await someone.run('doctor --cache --json')).stdout)
  expect(sessions).toMatchObject([
    { named: false },
    { changes: [] },
    { changes: [{ segment: 'system[0]' }, { segment: 'messages[1]' }] },
  ])
})

test('says what to switch on, and what to start', async () => {
  const someone = await userOf((await openProxy()).port)
  expect(await someone.run('doctor --cache')).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('Set log.cache-diagnostics to true'),
  })
  const nobody = await userOf(2)
  expect(await nobody.run('doctor --cache')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('copilot-proxy start'),
  })
})
