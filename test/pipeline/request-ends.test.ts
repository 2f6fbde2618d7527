import { expect, test } from 'vitest'
import { Fault } from '../../src/errors.ts'
import { createTurn, userMessage } from '../../src/translate/turn-request.ts'
import { foldTurn } from '../../src/translate/fold-turn.ts'
import { saying } from '../http/client.ts'
import { openProxy } from '../http/harness.ts'
import type { Proxy } from '../http/harness.ts'

const oneAtATime = 'server: { max-concurrent-requests: 1, max-queued-requests: 0 }'
const left = 'the caller disconnected before the answer was complete'

/** A program of the daemon asks, reads the first event and then all others. */
async function askAsProgram(proxy: Proxy, marker: string, onFirst: (abort: AbortController) => void = () => {}) {
  const abort = new AbortController()
  const turn = createTurn([userMessage(marker)])
  try {
    const { events } = await proxy.daemon.runTurn({ id: 'program', turn, model: 'gpt-5-mini', signal: abort.signal })
    const iterator = events[Symbol.asyncIterator]()
    await iterator.next()
    onFirst(abort)
    await foldTurn({ [Symbol.asyncIterator]: () => iterator })
  } catch {
    // The log tells how it ended.
  }
}

async function leave(proxy: Proxy) {
  const { next, leave: disconnect } = await proxy.openChat({ ...saying('[demo:stall]'), stream: true })
  await next()
  disconnect()
}

const ends: readonly [string, (proxy: Proxy) => Promise<unknown>, number, string][] = [
  ['a body', ({ chat }) => chat({}), 200, 'request served'],
  ['a stream', ({ chat }) => chat({ stream: true }), 200, 'request served'],
  ['a refusal', ({ chat }) => chat({ ...saying('[demo:error 429]'), stream: true }), 429, 'request refused'],
  ['a failed body', ({ chat }) => chat(saying('[demo:cut]')), 502, 'request failed'],
  [
    'an error event',
    ({ chat }) => chat({ ...saying('[demo:cut]'), stream: true }),
    502,
    'stream ended in an error event',
  ],
  ['a caller that leaves', leave, 499, left],
  ['the events of a program', (proxy) => askAsProgram(proxy, 'Hello'), 200, 'request served'],
  ['a refusal of a program', (proxy) => askAsProgram(proxy, '[demo:error 429]'), 429, 'request refused'],
  ['events that fail', (proxy) => askAsProgram(proxy, '[demo:cut]'), 502, 'stream ended in an error event'],
  ['a program that leaves', (proxy) => askAsProgram(proxy, '[demo:stall]', (abort) => abort.abort()), 499, left],
  [
    'a program that the daemon ends',
    (proxy) => askAsProgram(proxy, '[demo:stall]', (abort) => abort.abort(new Fault({ kind: 'shutting_down' }))),
    503,
    'stream ended in an error event',
  ],
]

test.each(ends)(
  'a request that ends in %s is logged, listed and counted once, and the next request is admitted',
  async (_end, run, status, message) => {
    const proxy = await openProxy({ file: oneAtATime })
    await run(proxy)
    const endLines = () =>
      proxy.log.filter(({ level, fields }) => level !== 'debug' && fields?.['status'] !== undefined)
    await expect.poll(endLines).toMatchObject([{ message, fields: { model: 'gpt-5-mini', status } }])
    expect((await proxy.send('/requests')).json()).toMatchObject({ requests: [{ status, asked_model: 'gpt-5-mini' }] })
    const counted = (await proxy.send('/metrics')).text.match(/^copilot_proxy_requests_total.*$/gm)
    expect(counted).toEqual([expect.stringMatching(new RegExp(`status="${status}"\\} 1$`))])
    expect((await proxy.chat({})).status).toBe(200)
  },
)
