import { stripVTControlCharacters } from 'node:util'
import { expect, test } from 'vitest'
import { formatLogLine } from '../../src/logging/pretty-log.ts'

const time = new Date(2026, 10, 20, 14, 3, 7, 512).getTime()
const request_id = '0b1c'
const served = { level: 'info', time, request_id, model: 'gpt-5-mini', route: 'copilot/chat', msg: 'request served' }
const tokens = { tokens_in: 12_345, tokens_out: 340, tokens_cached: 0 }
const error = { kind: 'upstream_status', status: 429, message: 'slow down' }

const lines = [
  { ...served, ...tokens, stream: true, status: 200, ttfb_ms: 412, ms: 3105 },
  { ...served, ...tokens, tokens_cached: 8000, stream: false, status: 200, ms: 61_250, key: 'laptop' },
  { ...served, ...tokens, credits: 0.0288, stream: false, status: 200, ms: 900 },
  { ...served, ...tokens, credits: 0.16, search_credits: 0.007, stream: false, status: 200, ms: 900 },
  { ...served, ...tokens, credits: 12.345, estimated: true, stream: true, status: 200, ttfb_ms: 5, ms: 900 },
  { ...served, stream: true, status: 200, ttfb_ms: 1, ms: 2, warnings: ['temperature was left out', 'effort: high'] },
  { ...served, stream: false, status: 200, tokenCount: 'estimate', ms: 9, skippedEvents: 2 },
  {
    ...served,
    level: 'warn',
    ...tokens,
    stream: true,
    status: 502,
    http_status: 200,
    ttfb_ms: 412,
    ms: 3105,
    error,
    msg: 'stream ended in an error event',
  },
  {
    level: 'info',
    time,
    request_id,
    status: 429,
    error,
    route: 'copilot/chat',
    warnings: ['dropped;seed'],
    model: 'gpt-5-mini',
    ms: 80,
    msg: 'request refused',
  },
  { level: 'error', time, request_id, status: 500, error: { kind: 'internal' }, ms: 80, msg: 'request failed' },
  {
    ...served,
    status: 429,
    ms: 3,
    error: {
      kind: 'upstream_status',
      status: 429,
      message: 'You have used it up.',
      code: 'user_weekly_rate_limited',
      advice: 'Wait until Monday.',
      retry_after: '30',
      headers: { 'x-github-request-id': 'AB\u0007:1', 'x-ratelimit-exceeded': 'user_weekly' },
    },
    msg: 'request refused',
  },
  {
    level: 'info',
    time,
    request_id,
    status: 400,
    asked: 'POST /v1/messages',
    ms: 1,
    error: { kind: 'invalid_request', path: 'messages', detail: 'expected at least one message', code: 'empty_array' },
    msg: 'request refused',
  },
  {
    ...served,
    level: 'error',
    status: 504,
    ms: 300_000,
    error: { kind: 'upstream_silent', phase: 'idle', after_ms: 300_000 },
    cause: { name: 'Error', message: 'quiet', stack: 'Error: quiet\n    at here' },
    msg: 'request failed',
  },
  {
    ...served,
    level: 'warn',
    status: 502,
    http_status: 200,
    ms: 12,
    error: { kind: 'upstream_truncated' },
    cause: {
      name: 'SocketError',
      message: 'other side closed',
      code: 'UND_ERR_SOCKET',
      socket: { bytesRead: 157_890 },
    },
    msg: 'stream ended in an error event',
  },
  {
    level: 'warn',
    time,
    status: 503,
    error: { kind: 'copilot_unavailable', detail: 'Nobody is logged in', fix: 'Run copilot-proxy login.' },
    msg: 'request failed',
  },
  { level: 'info', time, status: 404, error: 'of another version', msg: 'request refused' },
  {
    ...served,
    ...tokens,
    status: 499,
    ttfb_ms: 20,
    ms: 512,
    msg: 'the caller disconnected before the answer was complete',
  },
  { ...served, model: 'a\u001B[2Jb', status: 200, ms: 1, key: 'x\ny', request_id: 'r\u0007' },
  { level: 'info', time, status: 'ready', msg: 'request served' },
]

function formatAll(colors: boolean): string {
  return lines.map((line) => formatLogLine(`${JSON.stringify(line)}\n`, { colors })).join('')
}

test('a request that is over reads from left to right', async () => {
  await expect(formatAll(false)).toMatchFileSnapshot('../golden/log/requests.txt')
  expect(stripVTControlCharacters(formatAll(true))).toBe(formatAll(false))
  expect(formatAll(true)).toContain('\u001B[33mwarnings: ')
})

test('names the requested model, then the one that upstream has chosen', () => {
  const line = JSON.stringify({ ...served, chosen_for: 'auto', stream: false, status: 200, ms: 9 })
  expect(formatLogLine(`${line}\n`, { colors: false })).toContain('auto → gpt-5-mini → copilot/chat → 200')
})
