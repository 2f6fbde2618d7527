import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { identify, setAside } from '../../src/sqlite/database.ts'
import { openUsageStore } from '../../src/usage/store.ts'
import type { UsageStore } from '../../src/usage/store.ts'
import { noSums } from '../../src/usage/tally.ts'
import type { Tally } from '../../src/usage/tally.ts'
import { newFile } from './folder.ts'

const tally: Tally = {
  day: '2026-11-20',
  utcDay: '2026-11-19',
  provider: 'copilot',
  model: 'gpt-5-mini',
  key: 'work',
  keyId: 'a1',
  client: '',
  session: '',
  requests: 2,
  errors: 1,
  inputTokens: 30,
  outputTokens: 7,
  cachedInputTokens: 20,
  cacheWriteTokens: 5,
  premiumRequests: 0.33,
  measuredNanoAiu: 1e15,
  estimatedNanoAiu: null,
}

const doubled = {
  requests: 4,
  errors: 2,
  inputTokens: 60,
  outputTokens: 14,
  cachedInputTokens: 40,
  cacheWriteTokens: 10,
}

function open(file: string, waitMs = 0): UsageStore {
  const store = openUsageStore(file, { waitMs })
  onTestFinished(() => {
    try {
      store.close()
    } catch {
      // The test has closed it.
    }
  })
  return store
}

test('adds to what is there, by day, provider, model and key, and keeps it', async () => {
  const file = await newFile()
  const store = open(file)
  const other = { ...tally, provider: 'codex', key: '', keyId: '', premiumRequests: null, measuredNanoAiu: null }
  store.add([tally, { ...tally, day: '2026-11-19' }, other])
  store.add([tally, { ...other, estimatedNanoAiu: 3 }])
  store.close()
  const rows = openUsageStore(file, { readOnly: true, waitMs: 0 })
  onTestFinished(() => rows.close())
  expect(rows.since('2026-11-20')).toEqual([
    { ...other, ...doubled, estimatedNanoAiu: 3 },
    { ...tally, ...doubled, premiumRequests: 0.66, measuredNanoAiu: 2e15 },
  ])
  expect(rows.since('2026-11-19')).toHaveLength(3)
})

test('file, companions and folder are this user’s alone, whatever the umask', async () => {
  const file = await newFile()
  const umask = process.umask(0)
  onTestFinished(() => void process.umask(umask))
  const store = open(file)
  store.add([tally])
  const modes = readdirSync(dirname(file)).map((name) => statSync(`${dirname(file)}/${name}`).mode & 0o777)
  expect(modes).toEqual([0o600, 0o600, 0o600])
  expect(statSync(dirname(file)).mode & 0o777).toBe(0o700)
})

test('adds all of it or nothing', async () => {
  const store = open(await newFile())
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what the type forbids is what is tested
  const wrong = { ...tally, requests: 'many' } as unknown as Tally
  expect(() => store.add([tally, wrong])).toThrow(expect.objectContaining({ name: 'DatabaseError' }))
  expect(store.since('')).toEqual([])
  store.add([tally])
  expect(store.since('')).toEqual([tally])
})

test.each([
  ['text', (file: string) => writeFileSync(file, 'not a database at all, and longer than its header'.repeat(9))],
  [
    'a table of another form',
    (file: string) => {
      const other = new DatabaseSync(file)
      other.exec('CREATE TABLE totals (other TEXT)')
      other.close()
    },
  ],
])('%s in place of the file is damaged, and can be put aside', async (_what, make) => {
  const file = await newFile()
  mkdirSync(dirname(file))
  make(file)
  const found = identify(file)
  expect(() => open(file).add([tally])).toThrow(expect.objectContaining({ problem: 'damaged' }))
  expect(setAside(file, { inode: (found?.inode ?? 0n) + 1n })).toBeUndefined()
  expect(setAside(file, found ?? { inode: 0n })).toBe(`${file}.damaged`)
  const store = open(file)
  store.add([tally])
  expect(store.since('')).toEqual([tally])
})

test('what a newer version made is left alone', async () => {
  const file = await newFile()
  open(file).close()
  const newer = new DatabaseSync(file)
  newer.exec('PRAGMA user_version = 5')
  newer.close()
  expect(() => open(file)).toThrow(expect.objectContaining({ problem: 'newer' }))
})

/** As version 1 of the program made it. */
async function makeFirst() {
  const file = await newFile()
  mkdirSync(dirname(file), { recursive: true })
  const database = new DatabaseSync(file)
  database.exec(`
    CREATE TABLE totals (
      day TEXT NOT NULL, provider TEXT NOT NULL, model TEXT NOT NULL, requests INTEGER NOT NULL,
      errors INTEGER NOT NULL, input_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL,
      cached_input_tokens INTEGER NOT NULL, PRIMARY KEY (day, provider, model)
    ) STRICT, WITHOUT ROWID;
    INSERT INTO totals VALUES ('2026-11-20', 'copilot', 'gpt-5-mini', 2, 1, 30, 7, 20);
    INSERT INTO totals VALUES ('2026-11-19', 'codex', 'gpt-5.5', 1, 0, 3, 2, 0);
    PRAGMA user_version = 1;
  `)
  onTestFinished(() => database.close())
  return { file, database }
}

describe('a file of version 1', () => {
  const first: Tally = {
    ...noSums,
    day: '2026-11-20',
    utcDay: '2026-11-20',
    provider: 'copilot',
    model: 'gpt-5-mini',
    key: '',
    keyId: '',
    client: '',
    session: '',
    requests: 2,
    errors: 1,
    inputTokens: 30,
    outputTokens: 7,
    cachedInputTokens: 20,
  }

  test('is read as it is by who may not change it', async () => {
    const { file, database } = await makeFirst()
    const store = openUsageStore(file, { readOnly: true, waitMs: 0 })
    onTestFinished(() => store.close())
    expect(store.since('2026-11-20')).toEqual([first])
    expect(store.since('')).toHaveLength(2)
    expect(database.prepare('PRAGMA user_version').get()).toEqual({ user_version: 1 })
  })

  test('keeps what it has when it becomes one of the current version, once', async () => {
    const { file } = await makeFirst()
    open(file).close()
    const store = open(file)
    store.add([{ ...first, measuredNanoAiu: 5 }])
    expect(store.since('2026-11-20')).toEqual([
      {
        ...first,
        requests: 4,
        errors: 2,
        inputTokens: 60,
        outputTokens: 14,
        cachedInputTokens: 40,
        measuredNanoAiu: 5,
      },
    ])
    expect(store.since('')).toHaveLength(2)
  })

  test('can still be added to by the daemon that had it open, which would put it aside as damaged otherwise', async () => {
    const { file, database } = await makeFirst()
    open(file).close()
    const old = database.prepare('INSERT INTO totals VALUES (?, ?, ?, ?, ?, ?, ?, ?)')
    expect(() => old.run('2026-11-20', 'copilot', 'gpt-5-mini', 1, 0, 0, 0, 0)).not.toThrow()
  })

  test('waits unchanged while another process writes', async () => {
    const { file, database } = await makeFirst()
    database.exec('PRAGMA journal_mode = WAL; BEGIN IMMEDIATE')
    expect(() => open(file)).toThrow(expect.objectContaining({ problem: 'busy' }))
    database.exec('COMMIT')
    expect(open(file).since('2026-11-20')).toEqual([first])
  })
})

/** As version 2 of the program made it. */
async function makeSecond() {
  const file = await newFile()
  mkdirSync(dirname(file), { recursive: true })
  const database = new DatabaseSync(file)
  database.exec(`
    CREATE TABLE tallies (
      day TEXT NOT NULL, utc_day TEXT NOT NULL, provider TEXT NOT NULL, model TEXT NOT NULL, key TEXT NOT NULL,
      requests INTEGER NOT NULL, errors INTEGER NOT NULL, input_tokens INTEGER NOT NULL,
      output_tokens INTEGER NOT NULL, cached_input_tokens INTEGER NOT NULL, cache_write_tokens INTEGER NOT NULL,
      premium_requests REAL, measured_nano_aiu REAL, estimated_nano_aiu REAL,
      PRIMARY KEY (day, utc_day, provider, model, key)
    ) STRICT, WITHOUT ROWID;
    INSERT INTO tallies VALUES ('2026-11-20', '2026-11-19', 'copilot', 'gpt-5-mini', 'work', 2, 1, 30, 7, 20, 5, 0.33, 1e15, NULL);
    PRAGMA user_version = 2;
  `)
  onTestFinished(() => database.close())
  return { file, database }
}

describe('a file of version 2', () => {
  const sums = { ...tally, keyId: '' }

  test('is read as it is by who may not change it', async () => {
    const { file, database } = await makeSecond()
    const store = openUsageStore(file, { readOnly: true, waitMs: 0 })
    onTestFinished(() => store.close())
    expect(store.since('')).toEqual([sums])
    expect(database.prepare('PRAGMA user_version').get()).toEqual({ user_version: 2 })
  })

  test('keeps its totals under the names of their keys, once; new ones also have the id', async () => {
    const { file } = await makeSecond()
    open(file).close()
    const store = open(file)
    store.add([tally])
    expect(store.since('')).toEqual([sums, tally])
  })

  test('can still be added to by the daemon that had it open', async () => {
    const { file, database } = await makeSecond()
    open(file).close()
    const old = database.prepare('INSERT INTO tallies VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)')
    const write = () =>
      old.run('2026-11-20', '2026-11-20', 'copilot', 'gpt-5-mini', 'work', 1, 0, 0, 0, 0, 0, null, null, null)
    expect(write).not.toThrow()
  })
})

/** As version 3 of the program made it. */
async function makeThird() {
  const file = await newFile()
  mkdirSync(dirname(file), { recursive: true })
  const database = new DatabaseSync(file)
  database.exec(`
    CREATE TABLE key_tallies (
      day TEXT NOT NULL, utc_day TEXT NOT NULL, provider TEXT NOT NULL, model TEXT NOT NULL, key TEXT NOT NULL,
      key_id TEXT NOT NULL, requests INTEGER NOT NULL, errors INTEGER NOT NULL, input_tokens INTEGER NOT NULL,
      output_tokens INTEGER NOT NULL, cached_input_tokens INTEGER NOT NULL, cache_write_tokens INTEGER NOT NULL,
      premium_requests REAL, measured_nano_aiu REAL, estimated_nano_aiu REAL,
      PRIMARY KEY (day, utc_day, provider, model, key, key_id)
    ) STRICT, WITHOUT ROWID;
    INSERT INTO key_tallies VALUES ('2026-11-20', '2026-11-19', 'copilot', 'gpt-5-mini', 'work', 'a1', 2, 1, 30, 7, 20, 5, 0.33, 1e15, NULL);
    PRAGMA user_version = 3;
  `)
  onTestFinished(() => database.close())
  return { file, database }
}

describe('a file of version 3', () => {
  test('is read as it is by who may not change it', async () => {
    const { file, database } = await makeThird()
    const store = openUsageStore(file, { readOnly: true, waitMs: 0 })
    onTestFinished(() => store.close())
    expect(store.since('')).toEqual([tally])
    expect(database.prepare('PRAGMA user_version').get()).toEqual({ user_version: 3 })
  })

  test('keeps its totals, once; new ones also have a session', async () => {
    const { file } = await makeThird()
    open(file).close()
    const store = open(file)
    const inSession = { ...tally, client: 'claude', session: '0196b2a4-7c1e' }
    store.add([inSession, tally])
    expect(store.since('')).toEqual([{ ...tally, ...doubled, premiumRequests: 0.66, measuredNanoAiu: 2e15 }, inSession])
  })

  test('can still be added to by the daemon that had it open', async () => {
    const { file, database } = await makeThird()
    open(file).close()
    const old = database.prepare(`INSERT INTO key_tallies VALUES (${Array.from({ length: 15 }, () => '?').join()})`)
    const write = () =>
      old.run('2026-11-20', '2026-11-20', 'copilot', 'gpt-5-mini', 'work', 'a1', 1, 0, 0, 0, 0, 0, null, null, null)
    expect(write).not.toThrow()
  })
})

test('old sessions are added together, and no sum changes', async () => {
  const store = open(await newFile())
  const inSession = (session: string): Tally => ({ ...tally, client: 'claude', session })
  const later = { ...inSession('a'), day: '2026-11-21' }
  store.add([inSession('a'), inSession('b'), inSession(''), later, tally])
  store.forgetSessionsBefore('2026-11-21')
  store.forgetSessionsBefore('2026-11-21')
  expect(store.since('2026-11-21')).toEqual([later])
  expect(store.since('')).toEqual([
    expect.objectContaining({ client: '', session: '', requests: 8, measuredNanoAiu: 4e15, estimatedNanoAiu: null }),
    later,
  ])
})

test('a link is not followed', async () => {
  const file = await newFile()
  mkdirSync(dirname(file))
  writeFileSync(`${file}.other`, '')
  symlinkSync(`${file}.other`, file)
  expect(() => open(file)).toThrow(expect.objectContaining({ problem: 'unusable' }))
})

test('somebody else’s write is waited for no longer than asked', async () => {
  const file = await newFile()
  const store = open(file)
  const writer = new DatabaseSync(file)
  writer.exec('BEGIN IMMEDIATE')
  expect(() => store.add([tally])).toThrow(expect.objectContaining({ problem: 'busy' }))
  writer.exec('COMMIT')
  writer.close()
  store.add([tally])
  expect(store.since('')).toEqual([tally])
})

function count(file: string, most?: number) {
  const program = fileURLToPath(new URL('children/count.ts', import.meta.url))
  const args = most === undefined ? [program, file] : [program, file, String(most)]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  return { child, lines: createInterface(child.stdout) }
}

test('a process that is killed in the midst of writing costs nothing that it had stored', async () => {
  const file = await newFile()
  const { child, lines } = count(file)
  let reported = 0
  const ended = once(child, 'close')
  for await (const line of lines) {
    reported = Number(line)
    if (reported === 50) child.kill('SIGKILL')
  }
  await ended
  const rows = open(file).since('')
  const [one, other] = rows
  expect(rows).toHaveLength(2)
  // All reported requests are stored. One more complete request may be stored too.
  expect([reported, reported + 1]).toContain(one?.requests)
  expect(other?.requests).toBe(one?.requests)
  expect(one?.inputTokens).toBe(10 * (one?.requests ?? 0))
})

test('two processes add to one file', async () => {
  const file = await newFile()
  open(file).close()
  const children = [count(file, 40), count(file, 40)].map(({ child }) => child)
  const codes = await Promise.all(children.map((child) => once(child, 'close')))
  expect(codes.map(([code]) => code)).toEqual([0, 0])
  expect(
    open(file)
      .since('')
      .map(({ requests }) => requests),
  ).toEqual([80, 80])
})

test('hides Node’s warning about SQLite while loading it, and no other warning', async () => {
  const file = await newFile()
  const emitWarning = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
  const getBuiltinModule = vi.spyOn(process, 'getBuiltinModule').mockImplementation(() => {
    process.emitWarning('SQLite is an experimental feature', 'ExperimentalWarning')
    return undefined
  })
  onTestFinished(() => {
    emitWarning.mockRestore()
    getBuiltinModule.mockRestore()
  })
  expect(() => openUsageStore(file, { waitMs: 0 })).toThrow('this Node.js was built without SQLite')
  expect(emitWarning).not.toHaveBeenCalled()
  process.emitWarning('something else')
  expect(emitWarning).toHaveBeenCalledOnce()
})
