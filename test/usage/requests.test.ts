import { describe, expect, test } from 'vitest'
import { maySee, unkeyedCaller } from '../../src/config/caller.ts'
import type { Caller } from '../../src/config/caller.ts'
import { clientOf, createRequestList, maxRequests } from '../../src/usage/requests.ts'
import type { EndedRequest, RequestFilter } from '../../src/usage/requests.ts'

function openList(change: { bodies?: boolean } = {}) {
  const settings = { bodies: change.bodies ?? false }
  const list = createRequestList({
    keepsBodies: () => settings.bodies,
    redact: (text) => text.replaceAll('sesame', '[redacted]'),
  })
  const note = (requestId: string, line: Partial<EndedRequest['line']> = {}, more: Partial<EndedRequest> = {}): void =>
    list.note({ startedAtMs: 0, kind: 'chat', ...more, line: { requestId, status: 200, ...line } })
  return {
    note,
    settings,
    noteBody: list.noteBody,
    list: (filter: RequestFilter, caller: Caller = unkeyedCaller) =>
      list.list(filter, (ownerId) => maySee(caller, ownerId)),
    find: (id: string, caller: Caller = unkeyedCaller) => list.find(id, (ownerId) => maySee(caller, ownerId)),
  }
}

const ids = (documents: readonly { readonly id: string }[]): readonly string[] => documents.map(({ id }) => id)

test('keeps the last requests, newest first', () => {
  const { note, list } = openList()
  expect(list({ limit: 5 })).toEqual([])
  for (let at = 0; at < maxRequests + 3; at += 1) note(`id-${at}`)
  expect(ids(list({ limit: 2 }))).toEqual([`id-${maxRequests + 2}`, `id-${maxRequests + 1}`])
  const all = ids(list({ limit: maxRequests }))
  expect([all.length, all.at(-1)]).toEqual([maxRequests, 'id-3'])
})

test.each<[string, Omit<RequestFilter, 'limit'>, readonly string[]]>([
  ['everything', {}, ['e', 'd', 'c', 'b', 'a']],
  ['a key', { key: 'work' }, ['c', 'a']],
  ['failures, without callers that left', { failedOnly: true }, ['e', 'c']],
  ['a model that was routed to', { model: 'gpt-5-mini' }, ['b', 'a']],
  ['a model that was asked for', { model: 'nonsense' }, ['e']],
  ['what ended after a request', { after: 'c' }, ['e', 'd']],
  ['nothing after the newest', { after: 'e' }, []],
  ['everything after an unknown request, as of an earlier daemon', { after: 'x' }, ['e', 'd', 'c', 'b', 'a']],
  ['a key after a request of another', { after: 'b', key: 'work' }, ['c']],
])('lists %s', (_what, filter, expected) => {
  const { note, list } = openList()
  note('a', { key: 'work', model: 'gpt-5-mini' })
  note('b', { model: 'gpt-5-mini' })
  note('c', { key: 'work', status: 502, httpStatus: 200 })
  note('d', { status: 499 })
  note('e', { status: 404 }, { askedModel: 'nonsense' })
  expect(ids(list({ limit: 100, ...filter }))).toEqual(expected)
})

test('a stream that broke has the status of its failure, and of its head', () => {
  const { note, list } = openList()
  const error = { kind: 'upstream_failed', message: 'open sesame' }
  note('a', { status: 502, httpStatus: 200, error, cause: new Error('secret') }, { problem: error.message })
  expect(list({ limit: 1 })).toMatchObject([{ status: 502, http_status: 200, failed: true, error: 'open [redacted]' }])
  expect(JSON.stringify(list({ limit: 1 }))).not.toContain('secret')
})

test('tells losses from adaptations', () => {
  const { note, list } = openList()
  note('a', { warnings: ['dropped;seed (no such field)'] }, { adapted: ['adapted;tools'] })
  note('b', { status: 400 })
  expect(list({ limit: 2 })).toMatchObject([
    { warnings: [], adapted: [] },
    { warnings: ['dropped;seed (no such field)'], adapted: ['adapted;tools'] },
  ])
})

test('long texts of callers are cut', () => {
  const { note, list } = openList()
  const long = 'x'.repeat(1_000_000)
  const origin = { method: 'GET', path: `/${long}`, userAgent: long }
  note(
    'a',
    { error: { kind: 'internal', message: long }, warnings: Array.from({ length: 500 }, () => long) },
    { askedModel: long, origin, problem: long, adapted: Array.from({ length: 500 }, () => long) },
  )
  expect(JSON.stringify(list({ limit: 1 })).length).toBeLessThan(20_000)
})

test('a request is found by its id, or by the start of it', () => {
  const { note, find } = openList()
  note('6f1c2a9b-0000')
  expect(find('6f1c2a9b-0000')?.id).toBe('6f1c2a9b-0000')
  expect(find('6f1c2a9b')?.id).toBe('6f1c2a9b-0000')
  expect(find('6f1c')).toBeUndefined()
  expect(find('')).toBeUndefined()
})

test('bodies are kept while the setting is on, and forgotten when it is switched off', () => {
  const { note, noteBody, find, settings } = openList()
  noteBody('request-1', 'request', 'early')
  note('request-1')
  expect(find('request-1')).toMatchObject({ bodies: 'not_kept', request_body: null })
  settings.bodies = true
  noteBody('request-2', 'request', '{"a":"sesame"}')
  noteBody('request-2', 'answer', 'one ')
  noteBody('request-2', 'answer', 'two')
  note('request-2')
  const kept = {
    bodies: 'kept',
    request_body: '{"a":"[redacted]"}',
    answer_body: 'one two',
    answer_body_truncated: false,
  }
  expect(find('request-2')).toMatchObject(kept)
  settings.bodies = false
  expect(find('request-2')).toMatchObject({ bodies: 'not_kept', request_body: null, answer_body: null })
  settings.bodies = true
  expect(find('request-2')).toMatchObject({ bodies: 'not_kept' })
})

test('a credential that is divided among parts of a body, or cut by its end, is not shown', () => {
  const { note, noteBody, find } = openList({ bodies: true })
  for (const part of ['one ses', 'a', 'me ', 'two']) noteBody('request-1', 'answer', part)
  noteBody('request-1', 'request', `${'x'.repeat(512 * 1024 - 3)}sesame${'y'.repeat(1_000_000)}`)
  note('request-1')
  const found = find('request-1')
  expect(found?.answer_body).toBe('one [redacted] two')
  expect([found?.request_body?.slice(-6), found?.request_body_truncated]).toEqual(['xxx[re', true])
})

const keyed = (name: string, id: string): Caller => ({ key: { name, id }, isOwner: false })
const owner: Caller = { key: undefined, isOwner: true }

function openFilled() {
  const opened = openList({ bodies: true })
  const { note, noteBody } = opened
  for (const id of ['of-old-key', 'of-new-key', 'of-nobody']) noteBody(id, 'request', '{}')
  note('of-old-key', { key: 'laptop' }, { ownerId: 'old' })
  note('of-new-key', { key: 'laptop' }, { ownerId: 'new' })
  note('of-nobody', { status: 401 })
  return opened
}

describe('what a caller sees', () => {
  test.each<[string, Caller, readonly string[]]>([
    ['a key: its own, not those of an earlier key of its name', keyed('laptop', 'new'), ['of-new-key']],
    ['a key without requests: none', keyed('phone', 'a3'), []],
    ['the owner: all', owner, ['of-nobody', 'of-new-key', 'of-old-key']],
    ['a caller while there are no keys: all', unkeyedCaller, ['of-nobody', 'of-new-key', 'of-old-key']],
  ])('%s', (_what, caller, expected) => {
    const { list, find } = openFilled()
    expect(ids(list({ limit: 10 }, caller))).toEqual(expected)
    expect(ids(list({ limit: 10, key: 'laptop' }, caller))).toEqual(expected.filter((id) => id !== 'of-nobody'))
    for (const id of ['of-old-key', 'of-new-key', 'of-nobody']) {
      const isSeen = expected.includes(id)
      expect(find(id, caller)?.request_body).toBe(isSeen ? '{}' : undefined)
    }
  })

  test('the id of a request that a caller may not see is as unknown as any other', () => {
    const { list, find } = openFilled()
    const caller = keyed('laptop', 'old')
    expect(ids(list({ limit: 10, after: 'of-new-key' }, caller))).toEqual(['of-old-key'])
    expect(find('of-new-k', caller)).toBeUndefined()
  })
})

test('a long body is cut, and the oldest bodies make room', () => {
  const { note, noteBody, find } = openList({ bodies: true })
  for (let at = 10; at < 40; at += 1) {
    noteBody(`request-${at}`, 'request', 'x'.repeat(1_000_000))
    note(`request-${at}`)
  }
  const newest = find('request-39')
  expect([newest?.request_body?.length, newest?.request_body_truncated]).toEqual([512 * 1024, true])
  expect(find('request-10')?.bodies).toBe('not_kept')
})

test.each([
  [undefined, null],
  ['', null],
  ['claude-cli/2.1.3 (external, cli)', 'claude'],
  ['codex_cli_rs/0.60.0 (Linux)', 'codex'],
  ['opencode/1.0.1', 'opencode'],
  ['OpenAI/Python 2.8.0', 'openai-sdk'],
  ['AsyncAnthropic/Python 0.72.0', 'anthropic-sdk'],
  ['curl/8.5.0', 'curl'],
  [' odd', ' odd'],
])('the client of %j is %j', (userAgent, expected) => {
  expect(clientOf(userAgent)).toBe(expected)
})

describe('warnings of a conversation', () => {
  const seed = 'dropped;seed (not supported)'
  const tokens = 'clamped;max_tokens (sent as 16000)'

  test('are named as repeated after the first request, and only there', () => {
    const { note, list, find } = openList()
    note('request-1', { warnings: [seed] }, { session: 'one' })
    note('request-2', { warnings: [seed, tokens] }, { session: 'one' })
    note('request-3', { warnings: [seed] }, { session: 'other' })
    note('request-4', { warnings: [seed] }, { session: 'one', ownerId: 'somebody-else' })
    note('request-5', { warnings: [seed] })
    note('request-6', { warnings: [seed] })
    expect(list({ limit: 9 }).map(({ repeated_warnings: repeated }) => repeated)).toEqual([[], [], [], [], [seed], []])
    expect(find('request-2')).toMatchObject({ warnings: [seed, tokens], repeated_warnings: [seed] })
  })

  test('are new again when the list has forgotten the first request', () => {
    const { note, list } = openList()
    note('first', { warnings: [seed] }, { session: 'one' })
    for (let at = 0; at < maxRequests; at += 1) note(`other-${at}`)
    note('last', { warnings: [seed] }, { session: 'one' })
    expect(list({ limit: 1 })).toMatchObject([{ id: 'last', repeated_warnings: [] }])
  })
})
