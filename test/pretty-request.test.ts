import { stripVTControlCharacters } from 'node:util'
import { expect, test } from 'vitest'
import { formatLogLine } from '../src/pretty-log.ts'

const time = new Date(2026, 10, 20, 14, 3, 7, 512).getTime()
const requestId = '0b1c'
const served = { level: 'info', time, requestId, model: 'gpt-5-mini', route: 'copilot/chat', msg: 'request served' }
const tokens = { tokensIn: 12_345, tokensOut: 340, tokensCached: 0 }
const error = { kind: 'upstream_status', status: 429, message: 'slow down' }

const lines = [
  { ...served, ...tokens, stream: true, status: 200, ttfbMs: 412, ms: 3105 },
  { ...served, ...tokens, tokensCached: 8000, stream: false, status: 200, ms: 61_250, key: 'laptop' },
  { ...served, stream: true, status: 200, ttfbMs: 1, ms: 2, warnings: ['temperature was left out', 'effort: high'] },
  { ...served, stream: false, status: 200, tokenCount: 'estimate', ms: 9, skippedEvents: 2 },
  {
    ...served,
    level: 'warn',
    ...tokens,
    stream: true,
    status: 200,
    ttfbMs: 412,
    ms: 3105,
    error,
    endedAs: 502,
    msg: 'stream ended in an error event',
  },
  {
    level: 'info',
    time,
    requestId,
    status: 429,
    error,
    route: 'copilot/chat',
    warnings: 'dropped;seed',
    model: 'gpt-5-mini',
    ms: 80,
    msg: 'request refused',
  },
  { level: 'error', time, requestId, status: 500, error: { kind: 'internal' }, ms: 80, msg: 'request failed' },
  { ...served, model: 'a\u001B[2Jb', status: 200, ms: 1, key: 'x\ny', requestId: 'r\u0007' },
  { level: 'info', time, status: 'ready', msg: 'request served' },
]

function formatAll(colors: boolean): string {
  return lines.map((line) => formatLogLine(`${JSON.stringify(line)}\n`, { colors })).join('')
}

test('a request that is over reads from left to right', async () => {
  await expect(formatAll(false)).toMatchFileSnapshot('golden/log/requests.txt')
  expect(stripVTControlCharacters(formatAll(true))).toBe(formatAll(false))
  expect(formatAll(true)).toContain('\u001B[33mwarnings: ')
})
