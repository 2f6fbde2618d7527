import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import { expect, onTestFinished, test } from 'vitest'
import { openSessionStore, type SessionStore } from '../../src/sessions/session-store.ts'
import { newFile } from './support.ts'

function open(file = ':memory:'): SessionStore {
  const store = openSessionStore(file)
  onTestFinished(() => {
    try {
      store.close()
    } catch {
      // The test has closed the store already.
    }
  })
  return store
}

const run = {
  id: 'run-1',
  session: 'app',
  owner: null,
  conversation: 'talk',
  state: 'running',
  startedMs: 1000,
  endedMs: null,
  data: '{}',
}
const event = (id: number, session = 'app', timeMs = id) => ({
  id,
  session,
  owner: null,
  conversation: null,
  type: 'fragment',
  timeMs,
  data: `{"n":${id}}`,
})
const limits = { sinceMs: 0, runsPerSession: 100, events: 100, entriesPerSession: 100 }

function prune(store: SessionStore, change: Partial<typeof limits>): void {
  finish(store.prune({ ...limits, ...change }))
}

/** Takes all steps. @param afterEach is called after each one */
function finish(steps: Iterator<void>, afterEach: () => void = () => {}): void {
  while (steps.next().done !== true) afterEach()
}

function putEvents(store: SessionStore, events: readonly ReturnType<typeof event>[]): void {
  for (const each of events) store.put({ event: each })
}

test('only this user can read the file, its log and its folder, whatever the umask is', async () => {
  const file = await newFile()
  const umask = process.umask(0)
  onTestFinished(() => void process.umask(umask))
  const store = open(file)
  store.put({ run })
  const names = readdirSync(dirname(file))
  expect(names).toContain('sessions.db-wal')
  expect(names.map((name) => statSync(`${dirname(file)}/${name}`).mode & 0o777)).toEqual(names.map(() => 0o600))
  expect(statSync(dirname(file)).mode & 0o777).toBe(0o700)
})

test('keeps the last version of each row', async () => {
  const file = await newFile()
  const store = open(file)
  store.put({ run })
  store.put({ part: { run: 'run-1', kind: 'approval', key: 'a', data: '1' } })
  store.put({ part: { run: 'run-1', kind: 'call', key: 'a', data: '2' } })
  store.put({ part: { run: 'run-1', kind: 'approval', key: 'a', data: '3' } })
  putEvents(store, [event(5), event(6, 'other'), event(7)])
  store.put({ run: { ...run, state: 'ended', endedMs: 2000, data: '{"end":1}' } })
  store.close()
  const again = open(file)
  expect(again.run('run-1')).toEqual({ ...run, state: 'ended', endedMs: 2000, data: '{"end":1}' })
  expect(again.unfinished()).toEqual([])
  expect(again.partsOf('run-1').map(({ kind, data }) => [kind, data])).toEqual([
    ['approval', '3'],
    ['call', '2'],
  ])
  expect(again.approval('a')).toMatchObject({ run: 'run-1', data: '3' })
  expect(again.eventsAfter(5, {}, 10).map(({ id }) => id)).toEqual([6, 7])
  expect(again.eventsAfter(0, { session: 'app' }, 1)).toEqual([event(5)])
  expect(again.lastEventId()).toBe(7)
})

test('pages start at the newest row', () => {
  const store = open()
  for (let number = 1; number <= 5; number += 1) {
    store.put({ run: { ...run, id: `run-${number}` } })
    store.put({ entry: { session: 'app', owner: null, stream: 'log', timeMs: number, data: `"${number}"` } })
  }
  store.put({ entry: { session: 'app', owner: null, stream: 'other', timeMs: 9, data: '""' } })
  const ids = (before?: string) => store.runsOf('app', { limit: 2, before }, undefined).map(({ id }) => id)
  expect(ids()).toEqual(['run-4', 'run-5'])
  expect(ids('run-4')).toEqual(['run-2', 'run-3'])
  expect(ids('run-1')).toEqual([])
  expect(ids('unknown')).toEqual([])
  expect(store.streamsOf('app', undefined)).toEqual([
    { name: 'log', entries: 5, lastMs: 5 },
    { name: 'other', entries: 1, lastMs: 9 },
  ])
  const [first, second] = store.entriesOf('app', 'log', { limit: 2 }, undefined)
  expect([first?.data, second?.data]).toEqual(['"4"', '"5"'])
  expect(
    store.entriesOf('app', 'log', { limit: 9, before: String(first?.id) }, undefined).map(({ data }) => data),
  ).toEqual(['"1"', '"2"', '"3"'])
})

test('reads long rows a few at a time', () => {
  const store = open()
  const data = 'x'.repeat(1_000_000)
  for (let number = 1; number <= 9; number += 1) {
    store.put({ run: { ...run, id: `run-${number}`, data } })
    putEvents(store, [{ ...event(number), data }])
  }
  const ids = (before?: string) => store.runsOf('app', { limit: 100, before }, undefined).map(({ id }) => id)
  expect(ids()).toEqual(['run-6', 'run-7', 'run-8', 'run-9'])
  expect(ids('run-6')).toEqual(['run-2', 'run-3', 'run-4', 'run-5'])
  expect(ids('run-2')).toEqual(['run-1'])
  expect(store.eventsAfter(0, {}, 100).map(({ id }) => id)).toEqual([1])
  expect(store.eventsAfter(8, { session: 'app' }, 100).map(({ id }) => id)).toEqual([9])
  expect(store.eventsAfter(9, { session: 'app' }, 100)).toEqual([])
})

/** Returns the items of a conversation, newest first. */
function itemsOf(store: SessionStore, conversation: string): readonly string[] {
  const items: string[] = []
  let found = store.itemsBefore(conversation, Number.MAX_SAFE_INTEGER)
  for (; found !== undefined; found = store.itemsBefore(conversation, found.seq)) items.push(found.data)
  return items
}

test('returns the items of a conversation run by run, newest first', () => {
  const store = open()
  for (const [name, conversation] of [
    ['aaaa', 'talk'],
    ['x', 'other'],
    ['bbbb', 'talk'],
    ['cccc', 'talk'],
  ] as const) {
    store.put({
      run: { ...run, id: name, conversation },
      items: { run: name, session: 'app', owner: null, data: name },
    })
  }
  expect(itemsOf(store, 'talk')).toEqual(['cccc', 'bbbb', 'aaaa'])
})

test('deletes old runs with all their parts by age and by number, and keeps running ones', () => {
  const store = open()
  for (let number = 1; number <= 1200; number += 1) {
    const id = `run-${number}`
    store.put({ run: { ...run, id, state: number === 1 ? 'running' : 'ended', startedMs: number } })
    store.put({ part: { run: id, kind: 'call', key: 'a', data: '' } })
    store.putPiece(id, { number: 0, data: '"text"' })
    store.put({ items: { run: id, session: 'app', owner: null, data: id } })
  }
  store.put({ run: { ...run, id: 'other', session: 'other', state: 'ended', startedMs: 1190 } })
  prune(store, { runsPerSession: 20 })
  expect(store.runsOf('app', { limit: 500 }, undefined).map(({ id }) => id)).toEqual([
    'run-1',
    ...Array.from({ length: 20 }, (_, at) => `run-${at + 1181}`),
  ])
  expect(store.partsOf('run-5')).toEqual([])
  expect(itemsOf(store, 'talk')).toHaveLength(21)
  expect(store.pieceAfter('run-5', 0)).toBeUndefined()
  expect(store.pieceAfter('run-1181', 0)).toMatchObject({ number: 0, data: '"text"' })
  prune(store, { sinceMs: 1195 })
  expect(store.runsOf('app', { limit: 500 }, undefined)).toHaveLength(7)
  expect(store.run('other')).toBeUndefined()
})

test('deletes old events and records up to which id', () => {
  const store = open()
  putEvents(
    store,
    Array.from({ length: 1300 }, (_, at) => event(at + 1)),
  )
  prune(store, { events: 50 })
  expect(store.prunedTo()).toBe(1250)
  expect(store.eventsAfter(0, {}, 9999).map(({ id }) => id)).toEqual(Array.from({ length: 50 }, (_, at) => at + 1251))
  prune(store, { sinceMs: 1299 })
  expect(store.eventsAfter(0, {}, 9999).map(({ id }) => id)).toEqual([1299, 1300])
  prune(store, { sinceMs: 9999 })
  expect([store.prunedTo(), store.lastEventId()]).toEqual([1300, 1300])
})

test('deleted text is nowhere in the file', async () => {
  const file = await newFile()
  const store = open(file)
  store.put({ run: { ...run, data: 'a-secret-of-app' } })
  store.put({ items: { run: 'run-1', session: 'app', owner: null, data: 'a-secret-of-app' } })
  store.putPiece('run-1', { number: 0, data: 'a-secret-of-app' })
  putEvents(store, [{ ...event(1), data: 'a-secret-of-app' }])
  store.put({ entry: { session: 'app', owner: null, stream: 's', timeMs: 1, data: 'a-secret-of-app' } })
  store.put({ run: { ...run, id: 'run-2', session: 'other', data: 'kept-of-other' } })
  const steps = store.forget('app', undefined)
  putEvents(store, [{ ...event(2), data: 'of-app-and-newer' }])
  finish(steps)
  store.emptyLog()
  const bytes = readdirSync(dirname(file))
    .map((name) => readFileSync(`${dirname(file)}/${name}`, 'latin1'))
    .join('')
  expect(bytes).toContain('kept-of-other')
  expect(bytes).toContain('of-app-and-newer')
  expect(bytes).not.toContain('a-secret-of-app')
})

test('deletes large rows a few at a time', () => {
  const store = open()
  const large = 'x'.repeat(100_000)
  for (let number = 1; number <= 12; number += 1) {
    store.put({ run: { ...run, id: `run-${number}`, state: 'ended' } })
    store.put({ items: { run: `run-${number}`, session: 'app', owner: null, data: large } })
    store.put({ part: { run: `run-${number}`, kind: 'diff', key: 'a', data: large } })
  }
  const counts: number[] = []
  finish(store.forget('app', undefined), () => counts.push(itemsOf(store, 'talk').length))
  expect(itemsOf(store, 'talk')).toEqual([])
  expect(counts.every((count, at) => count >= (counts[at - 1] ?? 12) - 2)).toBe(true)
})

test('deletes long runs a few at a time', () => {
  const store = open()
  for (let number = 1; number <= 6; number += 1) {
    store.put({ run: { ...run, id: `run-${number}`, state: 'ended', data: 'x'.repeat(200_000) } })
  }
  const counts: number[] = []
  finish(store.forget('app', undefined), () => counts.push(store.runsOf('app', { limit: 9 }, undefined).length))
  expect(counts).toEqual([5, 4, 3, 2, 1, 0])
})

test('deleting from a file with a damaged index ends with that reason', async () => {
  const file = await newFile()
  const first = open(file)
  first.put({ run: { ...run, state: 'ended' } })
  first.close()
  const damaged = new DatabaseSync(file, { defensive: false })
  damaged.exec(`PRAGMA writable_schema = ON; UPDATE sqlite_schema SET rootpage =
    (SELECT rootpage FROM sqlite_schema WHERE name = 'approvals') WHERE name = 'sqlite_autoindex_runs_1'`)
  damaged.close()
  const steps = open(file).forget('app', undefined)
  expect(() => {
    for (let count = 0; count < 100 && steps.next().done !== true; count += 1);
  }).toThrow(expect.objectContaining({ problem: 'damaged' }))
})

test('prunes each session in turn, also one without runs', () => {
  const store = open()
  for (const session of ['a', 'b', 'c']) {
    for (let number = 1; number <= 5; number += 1) {
      for (const stream of [`s${number % 2}`, 'tool-calls'])
        store.put({ entry: { session, owner: null, stream, timeMs: number, data: '""' } })
      if (session !== 'b') store.put({ run: { ...run, id: `${session}-${number}`, session, state: 'ended' } })
    }
  }
  prune(store, { entriesPerSession: 2, runsPerSession: 3 })
  const left = (session: string) => [
    store.runsOf(session, { limit: 9 }, undefined).length,
    store.streamsOf(session, undefined).map(({ name, entries }) => `${name} ${entries}`),
  ]
  const entries = ['s0 1', 's1 1', 'tool-calls 2']
  expect(['a', 'b', 'c'].map(left)).toEqual([
    [3, entries],
    [0, entries],
    [3, entries],
  ])
})

test('the log does not grow with the number of writes', async () => {
  const file = await newFile()
  const store = open(file)
  for (let number = 1; number <= 64; number += 1) {
    putEvents(store, [{ ...event(number), data: 'x'.repeat(2 ** 18) }])
    expect(statSync(`${file}-wal`).size).toBeLessThan(3 * 2 ** 20)
  }
  expect(statSync(file).size).toBeGreaterThan(14 * 2 ** 20)
})

test('a write is all or nothing', () => {
  const store = open()
  const broken = { ...event(1), data: Symbol('no text') as unknown as string }
  expect(() => store.put({ run, event: broken })).toThrow()
  expect(store.run('run-1')).toBeUndefined()
})

test('a file belongs to one process at a time', async () => {
  const file = await newFile()
  const first = open(file)
  expect(() => open(file)).toThrow(
    expect.objectContaining({ problem: 'busy', message: expect.stringContaining('Another copilot-proxy') }),
  )
  first.close()
  open(file).close()
  const again = open(file)
  expect(() => open(file)).toThrow(expect.objectContaining({ problem: 'busy' }))
  again.close()
})

/** Turns a file of this version into one of an earlier version. */
const downgrades: Readonly<Record<number, string>> = {
  1: 'DROP TABLE texts;',
  3: `
  DROP INDEX conversations_by_session; DROP TABLE conversations;
  DROP INDEX runs_by_conversation; ALTER TABLE runs DROP COLUMN conversation;
  DROP INDEX events_by_conversation; ALTER TABLE events DROP COLUMN conversation;
  CREATE INDEX items_by_owner ON items (session, owner, seq);
`,
  2: `
  DROP INDEX runs_by_owner; ALTER TABLE runs DROP COLUMN owner;
  DROP INDEX items_by_owner; ALTER TABLE items DROP COLUMN owner; CREATE INDEX items_by_session ON items (session, seq);
  DROP INDEX events_by_owner; ALTER TABLE events DROP COLUMN owner;
  DROP INDEX entries_by_owner; ALTER TABLE entries DROP COLUMN owner;
`,
}

test.each([1, 2, 3])(
  'a file of version %d gets the tables of this one and keeps its rows, which are of no key',
  async (version) => {
    const file = await newFile()
    const first = open(file)
    first.put({ run })
    first.put({ items: { run: 'run-1', session: 'app', owner: null, data: '[]' } })
    putEvents(first, [event(1)])
    first.put({ entry: { session: 'app', owner: null, stream: 'log', timeMs: 1, data: '""' } })
    first.close()
    const older = new DatabaseSync(file)
    for (let each = 3; each >= version; each -= 1) older.exec(downgrades[each] ?? '')
    older.exec(`PRAGMA user_version = ${version}`)
    older.close()
    const store = open(file)
    const [{ id: conversation } = { id: '' }] = store.conversationsOf('app', undefined)
    expect(store.runsOf('app', { limit: 9 }, undefined)).toEqual([{ ...run, conversation }])
    expect(store.itemsBefore(conversation, Number.MAX_SAFE_INTEGER)).toMatchObject({ run: 'run-1', data: '[]' })
    expect(store.eventsAfter(0, {}, 9)).toEqual([{ ...event(1), conversation }])
    expect(store.entriesOf('app', 'log', { limit: 9 }, undefined)).toMatchObject([{ owner: null, data: '""' }])
    expect(store.runsOf('app', { limit: 9 }, 'key')).toEqual([])
    expect(store.conversationsOf('app', 'key')).toEqual([])
    expect(store.eventsAfter(0, { viewer: 'key' }, 9)).toEqual([])
    expect(store.streamsOf('app', 'key')).toEqual([])
    store.putPiece('run-1', { number: 0, data: '"x"' })
    store.put({ run: { ...run, id: 'run-2', owner: 'key' } })
    expect(store.pieceAfter('run-1', 0)).toMatchObject({ number: 0, data: '"x"' })
    expect(store.runsOf('app', { limit: 9 }, 'key')).toMatchObject([{ id: 'run-2' }])
  },
)

test('a file of a newer version is refused and stays unchanged', async () => {
  const file = await newFile()
  open(file).close()
  const newer = new DatabaseSync(file)
  newer.exec('PRAGMA user_version = 99')
  newer.close()
  expect(() => open(file)).toThrow(
    expect.objectContaining({ problem: 'newer', message: expect.stringContaining('newer copilot-proxy') }),
  )
})

test.each([
  ['text', (file: string) => writeFileSync(file, 'not a database at all, and longer than its header'.repeat(90))],
  [
    'half of a file',
    (file: string) => {
      open(file).close()
      truncateSync(file, statSync(file).size / 2)
    },
  ],
  [
    'a database of somebody else',
    (file: string) => {
      const other = new DatabaseSync(file)
      other.exec('CREATE TABLE runs (other TEXT); PRAGMA user_version = 1')
      other.close()
    },
  ],
])('%s in place of the file is damaged', async (_what, make) => {
  const file = await newFile()
  mkdirSync(dirname(file))
  make(file)
  const use = () => {
    const store = open(file)
    store.put({ run })
  }
  expect(use).toThrow(expect.objectContaining({ problem: 'damaged' }))
})

test('a link is not followed', async () => {
  const file = await newFile()
  mkdirSync(dirname(file))
  writeFileSync(`${file}.other`, '')
  symlinkSync(`${file}.other`, file)
  expect(() => open(file)).toThrow(expect.objectContaining({ problem: 'unusable' }))
})

type Step = { readonly run: number; readonly ends: boolean; readonly hasEvent: boolean }

test('a copy of the file between any writes contains complete writes in order', async () => {
  const step: fc.Arbitrary<Step> = fc.record({ run: fc.nat(3), ends: fc.boolean(), hasEvent: fc.boolean() })
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 12 }), fc.nat(), async (steps, cut) => {
      const file = await newFile()
      const store = openSessionStore(file)
      const crashAt = cut % steps.length
      const copy = await newFile()
      let id = 0
      for (const [at, { run: number, ends, hasEvent }] of steps.entries()) {
        store.put({
          run: { ...run, id: `run-${number}`, state: ends ? 'ended' : 'running', data: String(at) },
          ...(hasEvent && { event: event((id += 1), `step-${at}`) }),
        })
        if (at !== crashAt) continue
        // Copy the files of a process that is killed here: the database, and a log that is not moved into it.
        mkdirSync(dirname(copy), { recursive: true })
        for (const name of readdirSync(dirname(file))) {
          if (!name.endsWith('-shm'))
            writeFileSync(`${dirname(copy)}/${name}`, readFileSync(`${dirname(file)}/${name}`))
        }
      }
      store.close()
      const after = openSessionStore(copy)
      const kept = steps.slice(0, crashAt + 1)
      for (const number of new Set(kept.map((each) => each.run))) {
        const last = kept.findLastIndex((each) => each.run === number)
        expect(after.run(`run-${number}`)).toMatchObject({
          data: String(last),
          state: kept[last]?.ends === true ? 'ended' : 'running',
        })
      }
      const total = kept.filter(({ hasEvent }) => hasEvent).length
      expect(after.eventsAfter(0, {}, 1000).map((each) => each.id)).toEqual(
        Array.from({ length: total }, (_, at) => at + 1),
      )
      after.close()
    }),
    { numRuns: 40 },
  )
})

test('killing a process during a write loses nothing that it has stored', async () => {
  const file = await newFile()
  const program = fileURLToPath(new URL('children/write.ts', import.meta.url))
  const child = spawn(process.execPath, [program, file], { stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  let reported = 0
  const ended = once(child, 'close')
  for await (const line of createInterface(child.stdout)) {
    reported = Number(line)
    if (reported === 200) child.kill('SIGKILL')
  }
  await ended
  const store = open(file)
  const stored = Number(store.run('run')?.data)
  // All reported writes are stored. One more complete write may be stored too.
  expect([reported, reported + 1]).toContain(stored)
  expect(store.lastEventId()).toBe(stored)
  expect(store.eventsAfter(0, {}, 1e6)).toHaveLength(stored)
  expect(store.unfinished()).toHaveLength(1)
})

const message = (text: string): string => JSON.stringify({ text })

test('what a file of an earlier version has becomes one conversation of each key and session, with its first line as title', async () => {
  const file = await newFile()
  const first = open(file)
  const rows = [
    { id: 'a', owner: null, startedMs: 5, data: message('Look at this\nplease') },
    { id: 'b', owner: 'key', startedMs: 6, data: message('x'.repeat(90)) },
    { id: 'c', owner: null, startedMs: 7, data: message('later') },
    { id: 'd', owner: null, startedMs: 8, data: 'no JSON', session: 'other' },
  ]
  for (const [at, row] of rows.entries()) {
    const { id, session = 'app', owner } = row
    first.put({
      run: { ...run, session, ...row, state: 'ended' },
      items: { run: id, session, owner, data: `"${id}"` },
      event: { ...event(at + 1, session), owner, type: 'done' },
    })
  }
  putEvents(first, [{ ...event(9), type: 'push' }])
  first.close()
  const older = new DatabaseSync(file)
  older.exec(`${downgrades[3]} PRAGMA user_version = 3`)
  older.close()
  const store = open(file)
  const ofNobody = store.conversationsOf('app', undefined).find(({ owner }) => owner === null)
  const [ofKey] = store.conversationsOf('app', 'key')
  expect(ofNobody).toMatchObject({ title: 'Look at this', createdMs: 5, lastMs: 7 })
  expect(ofKey).toMatchObject({ title: 'x'.repeat(60), createdMs: 6, lastMs: 6 })
  expect(store.conversationsOf('app', undefined)).toHaveLength(2)
  expect(store.conversationsOf('other', undefined)).toMatchObject([{ title: '', lastMs: 8 }])
  expect(itemsOf(store, ofNobody?.id ?? '')).toEqual(['"c"', '"a"'])
  expect(itemsOf(store, ofKey?.id ?? '')).toEqual(['"b"'])
  expect(store.eventsAfter(0, { session: 'app' }, 9).map(({ conversation }) => conversation)).toEqual([
    ofNobody?.id,
    ofKey?.id,
    ofNobody?.id,
    null,
  ])
  finish(store.forgetConversation(ofNobody?.id ?? ''))
  expect(store.runsOf('app', { limit: 9 }, undefined).map(({ id }) => id)).toEqual(['b'])
  expect(store.eventsAfter(0, { session: 'app' }, 9).map(({ id }) => id)).toEqual([2, 9])
  expect(store.conversationsOf('app', undefined)).toEqual([ofKey])
})

test('conversations without messages are deleted when they are old or very many, and with the history', () => {
  const store = open()
  const conversation = { id: 'talk', session: 'app', owner: null, title: '', createdMs: 1 }
  store.put({ conversation, run: { ...run, state: 'ended', startedMs: 1 } })
  for (let number = 1; number <= 1002; number += 1)
    store.put({ conversation: { ...conversation, id: `empty-${number}`, createdMs: number } })
  prune(store, {})
  expect(store.conversation('empty-2')).toBeUndefined()
  expect(store.conversationsOf('app', undefined)).toHaveLength(1001)
  prune(store, { sinceMs: 1000 })
  expect(store.conversationsOf('app', undefined).map(({ id }) => id)).toEqual([
    'empty-1002',
    'empty-1001',
    'empty-1000',
  ])
  store.put({ conversation: { ...conversation, id: 'other', session: 'other' } })
  finish(store.forget('app', undefined))
  expect(store.conversationsOf('app', undefined)).toEqual([])
  expect(store.conversation('other')).toBeDefined()
})
