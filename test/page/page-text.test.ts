import { describe, expect, test } from 'vitest'
import type { RequestDetail } from '../../src/api/requests.ts'
import { emptyRequest } from '../api/empty-request.ts'
import { noTotals } from './no-totals.ts'
import { curlCommand } from '../../src/page/static/curl-command.js'
import { creditsOf } from '../../src/page/static/request-words.js'
import { clients } from '../../src/client-settings/target.ts'
import { snippets } from '../../src/client-settings/snippets.ts'
import { launched, printed } from '../../src/page/static/client-list.js'
import { createEventParser } from '../../src/page/static/event-parser.js'
import { toUntil } from '../../src/page/static/format.js'
import { toDays, toMonthShare } from '../../src/page/static/usage-days.js'
import { toVisible } from '../../src/page/static/visible-text.js'

describe('event parser', () => {
  const source = ': hello\n\nid: 7\nevent: fragment\ndata: {"a":\ndata: 1}\n\r\nid: 8\r\ndata:x\r\n\r\n'
  const events = [
    { id: '7', event: 'fragment', data: '{"a":\n1}' },
    { id: '8', event: 'message', data: 'x' },
  ]

  test('reads events however the text is cut', () => {
    expect(createEventParser().push(source)).toEqual(events)
    for (let cut = 0; cut < source.length; cut += 1) {
      const { push } = createEventParser()
      expect([...push(source.slice(0, cut)), ...push(source.slice(cut))]).toEqual(events)
    }
  })

  test('knows where to resume, also from an id that comes without an event', () => {
    const { push, lastId } = createEventParser()
    expect([push('retry: 2000\nid: 41\n\n'), lastId()]).toEqual([[], '41'])
  })

  test('holds back an event that is not complete', () => {
    const { push } = createEventParser()
    expect(push('data: 1\n')).toEqual([])
    expect(push('\n')).toEqual([{ id: '', event: 'message', data: '1' }])
  })
})

test('spells characters that hide or reorder text, and no others', () => {
  expect(toVisible('rm \u202Etxt.exe\u200B\u001B[2K\r')).toBe('rm \\u{202e}txt.exe\\u{200b}\\u{1b}[2K\\u{d}')
  expect(toVisible('\u{E0041}')).toBe('\\u{e0041}')
  expect(toVisible('a\tb\nGrüße 日本 👩‍💻')).toBe('a\tb\nGrüße 日本 👩‍💻')
})

const request: RequestDetail = {
  ...emptyRequest,
  bodies: 'kept',
  request_body: '{\n "a": "it\'s \u202E" }',
}

test('the credits of a request include those of its searches and checks', () => {
  expect(creditsOf(request)).toBeNull()
  expect(creditsOf({ ...request, credits: 1.5, search_credits: 0.25, safeguards_credits: 0.125 })).toBe(1.875)
  expect(creditsOf({ ...request, search_credits: 0.25 })).toBe(0.25)
})

describe('curl', () => {
  const place = { url: 'http://127.0.0.1:4141', isKeyAsked: false }

  test('repeats a kept body and its headers, quoted for a shell', () => {
    const headers = { 'x-test': "it's", host: 'x', authorization: 'Bearer secret', 'user-agent': 'x' }
    expect(curlCommand({ ...request, request_headers: headers }, place)).toBe(
      [
        "curl 'http://127.0.0.1:4141/v1/chat/completions'",
        '--no-buffer',
        String.raw`-H 'x-test: it'\''s'`,
        "-H 'content-type: application/json'",
        String.raw`--data-raw '{"a":"it'\''s \u202e"}'`,
      ].join(' \\\n  '),
    )
  })

  test('the body is the same JSON, whatever is hidden in it', () => {
    const body = { content: '\u202E\u{E0041}\u0007' }
    const command = curlCommand({ ...request, request_body: JSON.stringify(body) }, place) ?? ''
    expect(JSON.parse(/--data-raw '(.*)'$/.exec(command)?.[1] ?? '')).toEqual(body)
  })

  test('names the key only by its variable', () => {
    const command = curlCommand({ ...request, api: 'messages', path: '/v1/messages' }, { ...place, isKeyAsked: true })
    expect(command).toContain('-H "Authorization: Bearer $COPILOT_PROXY_API_KEY"')
    expect(command).toContain("-H 'anthropic-version: 2023-06-01'")
  })

  test.each([
    ['whose body was not kept', { request_body: null }],
    ['whose body was cut', { request_body_truncated: true }],
    ['whose body had a credential', { request_body: '{"a":"[redacted]"}' }],
    ['of a program in the daemon', { api: 'turn', method: null, path: null }],
  ])('is not given for a request %s', (_what, change) => {
    expect(curlCommand({ ...request, ...change }, place)).toBeUndefined()
  })
})

test('the chart has a bar for each day up to today, used or not', () => {
  const usage = { ...noTotals, day: '2026-03-01', requests: 3, errors: 1, input_tokens: 10, output_tokens: 2 }
  expect(toDays([usage], 3, new Date(2026, 2, 2, 0, 30))).toEqual([
    { day: '2026-02-28', requests: 0, errors: 0, tokens: 0, credits: null },
    { day: '2026-03-01', requests: 3, errors: 1, tokens: 12, credits: null },
    { day: '2026-03-02', requests: 0, errors: 0, tokens: 0, credits: null },
  ])
})

const ids = (list: readonly { readonly id: string }[]) => list.map(({ id }) => id)

test('the clients of the page are those of launch and setup', () => {
  expect(ids(launched)).toEqual(Object.keys(clients))
  const sdks = ['openai-sdk', 'anthropic-sdk', 'curl']
  expect([...ids(launched), ...ids(printed), ...sdks].toSorted()).toEqual(Object.keys(snippets).toSorted())
})

test('the month of a plan is over at its reset', () => {
  const resetsAt = '2026-12-01T00:00:00Z'
  expect(toMonthShare(resetsAt, new Date('2026-11-16T00:00:00Z'))).toBe(0.5)
  expect(toMonthShare(resetsAt, new Date('2026-12-03T00:00:00Z'))).toBe(1)
  expect(toMonthShare('soon', new Date(0))).toBeUndefined()
  expect(
    ['2026-12-01T00:00:00Z', '2026-11-29T05:00:00Z', '2026-11-29T00:00:30Z'].map((time) =>
      toUntil(time, new Date('2026-11-29T00:00:00Z')),
    ),
  ).toEqual(['2 days', '5 hours', '1 minute'])
})
