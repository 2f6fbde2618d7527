import { readdir, readFile, writeFile } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { streamReply } from '../upstreams/http/outcome.ts'
import { dataOf } from '../http/client.ts'
import { fakeIntervals } from '../http/fake-intervals.ts'
import { openProxy, recordOf } from '../http/harness.ts'
import type { Proxy } from '../http/harness.ts'
import { event } from '../http/word-stream.ts'
import { expectUnharmed } from './unharmed.ts'

afterEach(() => {
  vi.useRealTimers()
})

const endless = streamReply([event('one '), event('two '), event('never')])

/** A stream that has begun and will not end by itself. `goOn` lets it say its next word. */
async function begin(proxy: Proxy) {
  proxy.demo.script('/chat/completions', { outcome: endless })
  const gate = proxy.demo.gateNext()
  gate.release(1)
  const stream = await proxy.openChat()
  expect(await stream.next()).toContain('one ')
  return {
    stream,
    goOn: async () => {
      gate.release(1)
      expect(await stream.next()).toContain('two ')
      stream.leave()
    },
  }
}

async function loggedIn(): Promise<{ readonly proxy: Proxy; readonly look: () => void }> {
  const look = fakeIntervals()
  const proxy = await openProxy({ login: 'none' })
  await proxy.store.write(recordOf(proxy.demo.tokens.issueGithub()))
  return { proxy, look }
}

describe('C12 after a logout', () => {
  test('streams of the account end in an error event, what still waits is a 503, and so is the next call', async () => {
    const { proxy, look } = await loggedIn()
    const { stream } = await begin(proxy)
    const gate = proxy.demo.gateNext()
    const waiting = proxy.chat()
    await gate.opened
    await proxy.store.remove('copilot-demo-user')
    look()
    const ending = await stream.rest()
    expect(dataOf(ending)).not.toContain('[DONE]')
    expect(ending).toContain('copilot_unavailable')
    expect(ending).toContain('logged out')
    const refused = await waiting
    expect([refused.status, refused.json()]).toMatchObject([503, { error: { code: 'copilot_unavailable' } }])
    const next = await proxy.chat()
    expect([next.status, next.text]).toEqual([503, expect.stringContaining('copilot-proxy login')])
    await expectUnharmed(proxy, ending, refused.text, next.text)
    await expect.poll(() => proxy.demo.openStreams()).toBe(0)
    expect(await readdir(dirname(proxy.store.locationOf('copilot-demo-user')))).toEqual([])
  })

  test('streams of another account go on, and those of an account that was replaced before end too', async () => {
    const { proxy, look } = await loggedIn()
    const { stream: first } = await begin(proxy)
    const other = recordOf(proxy.demo.tokens.issueGithub())
    await proxy.store.write({
      ...other,
      id: 'copilot-other',
      metadata: { ...other.metadata, login: 'other', logged_in_at: 2 },
    })
    look()
    await expect.poll(async () => (await proxy.store.read('copilot-other'))?.metadata.access_token).toBeDefined()
    const second = await begin(proxy)
    await proxy.store.remove('copilot-demo-user')
    look()
    expect(await first.rest()).toContain('logged out')
    await second.goOn()
  })

  test('an account whose record was only changed goes on', async () => {
    const { proxy, look } = await loggedIn()
    const { goOn } = await begin(proxy)
    await proxy.store.update('copilot-demo-user', (record) => ({ ...record, label: 'edited' }))
    look()
    await new Promise((resolve) => setImmediate(resolve))
    await goOn()
  })

  test('an account whose record is corrupt for a moment goes on, and the record stays where it is', async () => {
    const { proxy, look } = await loggedIn()
    const { goOn } = await begin(proxy)
    const path = proxy.store.locationOf('copilot-demo-user')
    const whole = await readFile(path)
    // As an editor does: emptied, then written.
    await writeFile(path, whole.subarray(0, 20))
    look()
    await expect.poll(() => JSON.stringify(proxy.log)).toContain('is not usable')
    expect(await readdir(dirname(path))).toEqual([basename(path)])
    expect((await proxy.chat()).status).toBe(200)
    await writeFile(path, whole)
    look()
    await expect.poll(async () => (await proxy.send('/healthz')).status).toBe(200)
    await goOn()
    expect(await readdir(dirname(path))).toEqual([basename(path)])
    expect((await proxy.chat()).status).toBe(200)
  })

  test('a Codex login that is corrupt for a moment goes on, and its record stays where it is', async () => {
    const look = fakeIntervals()
    const proxy = await openProxy({ codexLogin: 'stored' })
    await expect.poll(async () => (await proxy.send('/v1/models')).text, { timeout: 10_000 }).toContain('gpt-5.5')
    const [record] = await proxy.codexStore.list()
    const path = proxy.codexStore.locationOf(record?.id ?? '')
    await writeFile(path, '{"id":')
    look()
    await expect.poll(() => JSON.stringify(proxy.log)).toContain('is not usable')
    const body = JSON.stringify({ model: 'codex/gpt-5.5', input: 'Hello' })
    expect((await proxy.send('/v1/responses', { body })).status).toBe(200)
    expect(await readdir(dirname(path))).toEqual([basename(path)])
  })

  test('a stream with a token of the environment has no record to be removed', async () => {
    const look = fakeIntervals()
    const proxy = await openProxy()
    const { goOn } = await begin(proxy)
    await proxy.store.write(recordOf('ghu_example'))
    await proxy.store.remove('copilot-demo-user')
    look()
    await new Promise((resolve) => setImmediate(resolve))
    await goOn()
  })

  test('of Codex its streams end, and Copilot’s go on', async () => {
    const look = fakeIntervals()
    const proxy = await openProxy({ codexLogin: 'stored' })
    await expect.poll(async () => (await proxy.send('/v1/models')).text, { timeout: 10_000 }).toContain('gpt-5.5')
    const ofCopilot = await begin(proxy)
    const gate = proxy.codex.gateNext()
    const waiting = proxy.send('/v1/responses', {
      body: JSON.stringify({ model: 'codex/gpt-5.5', input: 'Hello' }),
    })
    await gate.opened
    const [record] = await proxy.codexStore.list()
    await proxy.codexStore.remove(record?.id ?? '')
    look()
    const refused = await waiting
    expect([refused.status, refused.json()]).toMatchObject([503, { error: { code: 'codex_unavailable' } }])
    expect(refused.text).toContain('copilot-proxy login codex')
    await ofCopilot.goOn()
    await expectUnharmed(proxy, refused.text)
  })
})
