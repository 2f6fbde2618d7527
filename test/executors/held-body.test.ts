import { createServer } from 'node:http'
import { expect, onTestFinished, test } from 'vitest'
import { Fault } from '../../src/errors.ts'
import { createAccountRequests } from '../../src/executors/account-requests.ts'
import { createPool } from '../../src/executors/connection-pool.ts'
import { createCodexExecutor } from '../../src/executors/codex.ts'
import { createCopilotExecutor } from '../../src/executors/copilot.ts'
import type { Executor, UpstreamStream } from '../../src/executors/executor.ts'
import { asIs } from '../as-is.ts'
import { isCollected } from '../garbage.ts'
import { recordingLog } from '../recording-log.ts'
import { listenForTest } from '../listen-for-test.ts'

const deadlines = { connectMs: 10_000, headersMs: 10_000, idleMs: 10_000 }

/** An upstream that takes a request whole, begins an answer and holds it. */
async function startHolding(): Promise<string> {
  const server = createServer((request, response) => {
    request.resume().once('end', () => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write('data: {"type":"response.output_text.delta","delta":"Hi"}\n\n')
    })
  })
  return `http://127.0.0.1:${await listenForTest(server)}`
}

function deps() {
  const pool = createPool({ connectMs: deadlines.connectMs, env: {} })
  onTestFinished(() => pool.destroy())
  return { pool, log: recordingLog(), redact: asIs, requests: createAccountRequests() }
}

function copilot(url: string): Executor {
  const token = { value: 'token-1', recordId: 'copilot-1', candidates: [url], completionsUrl: url }
  const tokens = { get: () => Promise.resolve(token), replace: () => Promise.resolve(token), renewBeforeNext: () => {} }
  return createCopilotExecutor({ ...deps(), tokens }, { ...deadlines, refreshOnUnauthorized: true, headers: {} })
}

function codex(url: string): Executor {
  const credential = { kind: 'chatgpt', value: 'token-1', accountId: 'account-1', isFedramp: false } as const
  const credentials = {
    kind: 'chatgpt',
    get: () => Promise.resolve(credential),
    replace: () => Promise.resolve(credential),
    markAccepted: () => {},
    markRevoked: () => {},
    refused: (message: string) => new Fault({ kind: 'upstream_unauthorized', upstreamMessage: message }),
  } as const
  const names = { originator: 'copilot-proxy', version: '1.2.3', clientVersion: '0.169.0' }
  return createCodexExecutor(
    { ...deps(), credentials, now: Date.now },
    { ...deadlines, ...names, baseUrl: url, apiBaseUrl: url },
  )
}

/** In a function of its own, so that nothing of the test holds the bytes. */
async function openLarge(executor: Executor): Promise<readonly [UpstreamStream, WeakRef<ArrayBufferLike>]> {
  const body = Buffer.alloc(1024 * 1024, ' ')
  const call = { path: '/any', body, initiator: 'user', hasImage: false, requestId: 'req-1' } as const
  const stream = await executor.stream(call, { signal: new AbortController().signal })
  return [stream, new WeakRef(body.buffer)]
}

test.each([
  ['Copilot', copilot],
  ['Codex', codex],
])('while an answer streams, its request’s body is not held: %s', async (_, open) => {
  const [stream, bytes] = await openLarge(open(await startHolding()))
  let heard = 0
  stream.body.read({ data: () => (heard += 1), end: () => {}, fail: () => {} })
  expect(await isCollected(bytes)).toBe(true)
  stream.body.destroy()
  expect(heard).toBeLessThanOrEqual(1)
})
