import { some } from '../thorough.ts'
import { expect, test } from 'vitest'
import { streamReply } from '../upstreams/http/outcome.ts'
import { answers } from '../security/upstream-answers.ts'
import { saying } from './client.ts'
import { openProxy } from './harness.ts'
import type { Proxy } from './harness.ts'

/** The log line of the only model request. */
function lineOf({ log }: Proxy): Readonly<Record<string, unknown>> | undefined {
  return log.find(({ fields }) => fields?.['model'] === 'gpt-5-mini' && fields['status'] !== undefined)?.fields
}

/** Expects one status in the log, `/requests`, `/metrics` and `/usage`. */
async function expectOneStatus(proxy: Proxy, status: number, failed: boolean): Promise<void> {
  await expect.poll(() => lineOf(proxy)).toMatchObject({ status, httpStatus: 200 })
  const list = (await proxy.send('/requests')).json()
  expect(list).toMatchObject({ requests: [{ status, http_status: 200, failed }] })
  const metrics = (await proxy.send('/metrics')).text
  expect(metrics).toMatch(new RegExp(`^copilot_proxy_requests_total\\{.*status="${status}"\\} 1$`, 'm'))
  const usage = (await proxy.send('/usage')).json()
  expect(usage).toMatchObject({ totals: { today: [{ requests: 1, errors: failed ? 1 : 0 }] } })
}

const shortIdle = 'copilot: { timeouts: { idle-seconds: 0.2 } }'

test.each([
  ['upstream breaks the connection', '[demo:cut]', 502],
  ['upstream ends without a finish', '[demo:eof]', 502],
  ['upstream is overloaded', '[demo:error-mid overloaded_error]', 503],
  ['upstream falls silent', '[demo:stall]', 504],
])('%s: %s has one status everywhere', async (_what, marker, status) => {
  const proxy = await openProxy({ file: shortIdle })
  await proxy.chat({ ...saying(marker), stream: true })
  await expectOneStatus(proxy, status, true)
})

test('a caller that leaves a stream has one status everywhere', async () => {
  const proxy = await openProxy()
  const { next, leave } = await proxy.openChat({ ...saying('[demo:stall]'), stream: true })
  await next()
  leave()
  await expectOneStatus(proxy, 499, false)
})

test('a stream that a shutdown ends has the status of the shutdown', async () => {
  const proxy = await openProxy()
  const { next } = await proxy.openChat({ ...saying('[demo:stall]'), stream: true })
  await next()
  await proxy.daemon.close(0)
  expect(lineOf(proxy)).toMatchObject({ status: 503, httpStatus: 200 })
})

test('a stream of Messages has the status of its dialect', async () => {
  const proxy = await openProxy()
  const { messages } = saying('[demo:error-mid overloaded_error]')
  const body = JSON.stringify({ model: 'gpt-5-mini', max_tokens: 100, messages, stream: true })
  expect((await proxy.send('/v1/messages', { body })).text).toContain('overloaded_error')
  await expectOneStatus(proxy, 529, true)
})

const keepAlives = [
  ['comments', ': keepalive\n\n'],
  ['pings', 'event: ping\ndata: {"type":"ping"}\n\n'],
  ['unnamed keepalives', 'data: {"type":"keepalive","sequence_number":1}\n\n'],
] as const

test.each(some(keepAlives, 3))(
  'upstream that sends only %s is silent after four times the idle timeout',
  async (_name, text) => {
    const proxy = await openProxy({ file: shortIdle })
    const { begin, say } = answers.chat
    const pieces = [...begin, say('"one"'), ...Array.from({ length: 1000 }, () => text)]
    proxy.demo.script('/chat/completions', { outcome: streamReply(pieces, { delayMs: 20 }) })
    await proxy.chat({ ...saying('Hello'), stream: true })
    await expectOneStatus(proxy, 504, true)
  },
)

test.each(some(keepAlives, 3))(
  'a model that thinks for longer than the idle timeout while upstream sends %s answers',
  async (_name, text) => {
    const proxy = await openProxy({ file: 'copilot: { timeouts: { idle-seconds: 1 } }' })
    const { begin, say, finish, mark } = answers.chat
    const pieces = [
      ...begin,
      ...Array.from({ length: 30 }, () => text),
      say('"thought"'),
      ...finish('thought'),
      ...mark,
    ]
    proxy.demo.script('/chat/completions', { outcome: streamReply(pieces, { delayMs: 50 }) })
    const { status, text: answer } = await proxy.chat(saying('Hello'))
    expect(status).toBe(200)
    expect(answer).toContain('thought')
  },
)
