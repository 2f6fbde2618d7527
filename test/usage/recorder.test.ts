import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, onTestFinished, test } from 'vitest'
import { createUsageRecorder } from '../../src/usage/recorder.ts'
import { openUsageStore } from '../../src/usage/store.ts'
import { noSums } from '../../src/usage/tally.ts'
import type { UsageEntry } from '../../src/usage/tally.ts'
import { recordingLog } from '../recording-log.ts'
import { newFile } from './folder.ts'

const { requests: _requests, errors: _errors, ...noAmounts } = noSums
const entry: UsageEntry = {
  ...noAmounts,
  provider: 'copilot',
  model: 'gpt-5-mini',
  key: '',
  keyId: '',
  client: '',
  session: '',
  failed: false,
  inputTokens: 10,
  outputTokens: 3,
  cachedInputTokens: 0,
}

/** A recorder whose clock stands still, and whose timer goes off when the test says so. */
function record(file: string | undefined) {
  const timers = new Set<() => void>()
  const log = recordingLog()
  const recorder = createUsageRecorder({
    file,
    now: () => new Date(2026, 10, 20, 12).getTime(),
    setTimer: (run) => {
      timers.add(run)
      return () => void timers.delete(run)
    },
    log,
  })
  onTestFinished(recorder.close)
  return {
    recorder,
    warnings: () => log.lines.map(({ message, fields }) => `${message} ${JSON.stringify(fields)}`),
    timers,
    elapse: () => {
      const due = [...timers]
      timers.clear()
      for (const run of due) run()
    },
  }
}

function requestsIn(file: string): number {
  const store = openUsageStore(file, { readOnly: true, waitMs: 0 })
  const sum = store.since('').reduce((total, { requests }) => total + requests, 0)
  store.close()
  return sum
}

const today = '2026-11-20'

test('requests gather in memory and are written together; nothing is opened before the first', async () => {
  const file = await newFile()
  const { recorder, timers, elapse } = record(file)
  expect(recorder.since(today)).toEqual([])
  expect(timers.size).toBe(0)
  recorder.note(entry)
  recorder.note({ ...entry, failed: true })
  expect(timers.size).toBe(1)
  expect(existsSync(file)).toBe(false)
  const sums = { ...noSums, requests: 2, errors: 1, inputTokens: 20, outputTokens: 6 }
  expect(recorder.since(today)).toEqual([
    {
      day: today,
      utcDay: expect.any(String),
      provider: 'copilot',
      model: 'gpt-5-mini',
      key: '',
      keyId: '',
      client: '',
      session: '',
      ...sums,
    },
  ])
  elapse()
  expect(requestsIn(file)).toBe(2)
  expect(recorder.since(today)).toMatchObject([sums])
  recorder.note(entry)
  expect(recorder.since(today).reduce((sum, { requests }) => sum + requests, 0)).toBe(3)
})

test('closing writes what is left', async () => {
  const file = await newFile()
  const { recorder } = record(file)
  recorder.note(entry)
  recorder.close()
  expect(requestsIn(file)).toBe(1)
})

test('without a file nothing is written and nothing waits', () => {
  const { recorder, timers } = record(undefined)
  recorder.note(entry)
  expect(timers.size).toBe(0)
  expect(recorder.since(today)).toMatchObject([{ requests: 1 }])
})

test('a write that another process keeps waiting is made later', async () => {
  const file = await newFile()
  const { recorder, elapse, warnings } = record(file)
  recorder.note(entry)
  elapse()
  const writer = new DatabaseSync(file)
  writer.exec('BEGIN IMMEDIATE')
  recorder.note(entry)
  elapse()
  expect(requestsIn(file)).toBe(1)
  writer.exec('COMMIT')
  writer.close()
  elapse()
  expect(requestsIn(file)).toBe(2)
  expect(warnings()).toEqual([])
})

test('a damaged file is put aside with one warning, and counting starts anew', async () => {
  const file = await newFile()
  mkdirSync(dirname(file))
  writeFileSync(file, 'not a database'.repeat(99))
  const { recorder, elapse, warnings } = record(file)
  recorder.note(entry)
  elapse()
  expect(warnings()).toEqual([expect.stringContaining(`"file":"${file}.damaged"`)])
  elapse()
  expect(requestsIn(file)).toBe(1)
})

test('a file that somebody removes is made anew', async () => {
  const file = await newFile()
  const { recorder, elapse, warnings } = record(file)
  recorder.note(entry)
  elapse()
  rmSync(file)
  recorder.note(entry)
  elapse()
  expect(requestsIn(file)).toBe(1)
  expect(warnings()).toEqual([])
})

test('where nothing can be written, totals stay in memory, with one warning', async () => {
  const file = await newFile()
  // A file stands where the folder belongs; a folder that is read-only would not stop the superuser.
  writeFileSync(dirname(file), '')
  const { recorder, elapse, warnings } = record(file)
  for (let each = 0; each < 3; each += 1) {
    recorder.note(entry)
    elapse()
  }
  expect(warnings()).toEqual([expect.stringMatching(/^keeping usage totals in memory only: .*usage\.sqlite/)])
  expect(recorder.since(today)).toMatchObject([{ requests: 3 }])
})

test('a request belongs to the day it ended on, to the minute', () => {
  let time = new Date(2026, 10, 20, 23, 59, 59, 999).getTime()
  const recorder = createUsageRecorder({
    file: undefined,
    now: () => time,
    setTimer: () => () => {},
    log: recordingLog(),
  })
  recorder.note(entry)
  time += 1
  recorder.note(entry)
  recorder.note(entry)
  // A clock that is set back.
  time -= 60_000
  recorder.note(entry)
  expect(recorder.since('').map(({ day, requests }) => [day, requests])).toEqual([
    ['2026-11-20', 2],
    ['2026-11-21', 2],
  ])
})

test('keys are counted apart, and a day of this calendar is kept in two where UTC begins another within it', () => {
  let time = Date.parse('2026-11-20T23:59:00.000Z')
  const recorder = createUsageRecorder({
    file: undefined,
    now: () => time,
    setTimer: () => () => {},
    log: recordingLog(),
  })
  recorder.note(entry)
  recorder.note({ ...entry, key: 'work', measuredNanoAiu: 7 })
  time += 60_000
  recorder.note({ ...entry, key: 'work', measuredNanoAiu: 5 })
  expect(recorder.since('').map(({ utcDay, key, measuredNanoAiu }) => [utcDay, key, measuredNanoAiu])).toEqual([
    ['2026-11-20', '', null],
    ['2026-11-20', 'work', 7],
    ['2026-11-21', 'work', 5],
  ])
})

test('the spending of a key today survives a restart and counts every request once', async () => {
  const file = await newFile()
  const laptop = { name: 'laptop', id: 'a1' }
  const paid = { ...entry, key: 'laptop', keyId: 'a1', measuredNanoAiu: 2e9 }
  const { recorder, elapse } = record(file)
  expect(recorder.spent('day', laptop)).toEqual({ requests: 0, nanoAiu: 0 })
  recorder.note(paid)
  recorder.note({ ...paid, model: 'gpt-5.5', measuredNanoAiu: null, estimatedNanoAiu: 1e9 })
  recorder.note({ ...paid, key: 'phone', keyId: 'a2' })
  recorder.note({ ...paid, provider: '', measuredNanoAiu: null })
  expect(recorder.spent('day', laptop)).toEqual({ requests: 2, nanoAiu: 3e9 })
  elapse()
  expect(recorder.spent('day', laptop)).toEqual({ requests: 2, nanoAiu: 3e9 })
  recorder.note(paid)
  recorder.close()
  const { recorder: next } = record(file)
  next.note(paid)
  expect(next.spent('day', laptop)).toEqual({ requests: 4, nanoAiu: 7e9 })
  expect(next.spent('day', { name: 'phone', id: 'a2' })).toEqual({ requests: 1, nanoAiu: 2e9 })
})

test('a key made anew under an old name has spent nothing, but what an earlier version stored under the name counts', async () => {
  const file = await newFile()
  const paid = { ...entry, key: 'laptop', measuredNanoAiu: 2e9 }
  const { recorder } = record(file)
  // As a file of an earlier version is read.
  recorder.note({ ...paid, keyId: '' })
  recorder.note({ ...paid, keyId: 'old' })
  recorder.close()
  const { recorder: next } = record(file)
  expect(next.spent('day', { name: 'laptop', id: 'old' })).toEqual({ requests: 2, nanoAiu: 4e9 })
  expect(next.spent('day', { name: 'laptop', id: 'new' })).toEqual({ requests: 1, nanoAiu: 2e9 })
  next.note({ ...paid, keyId: 'new' })
  expect(next.spent('day', { name: 'laptop', id: 'new' })).toEqual({ requests: 2, nanoAiu: 4e9 })
  expect(next.spent('day', { name: 'laptop', id: 'old' })).toEqual({ requests: 2, nanoAiu: 4e9 })
})
