import { cp, mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { copilotRecordKind } from '../../../src/auth/copilot/record.ts'
import { createCopilotTokenSource } from '../../../src/auth/copilot/token-source.ts'
import type { CopilotRecord } from '../../../src/auth/copilot/wire.ts'
import { createRecordStore, type RecordStore } from '../../../src/auth/records/record-store.ts'
import { manualClock, recordingLog, type RecordingLog } from '../support.ts'

/** Files that the record store of version 0.1.0 wrote. */
const written = fileURLToPath(new URL('../../fixtures/auth/records-0.1', import.meta.url))
const never = new AbortController().signal

let dir: string
let log: RecordingLog
let store: RecordStore<CopilotRecord>

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'copilot-proxy-earlier-'))
  await cp(written, dir, { recursive: true })
  log = recordingLog()
  store = createRecordStore({ kind: copilotRecordKind, dir, log })
})
afterEach(() => rm(dir, { recursive: true, force: true }))

const contentOf = async (name: string): Promise<CopilotRecord> =>
  JSON.parse(await readFile(join(written, name), 'utf8'))

test('records of 0.1 are read whole, and the newest login is the account in use', async () => {
  expect(await store.list()).toEqual([await contentOf('copilot-hubot.json'), await contentOf('copilot-octocat.json')])
  expect(await store.current()).toMatchObject({ id: 'copilot-octocat' })
  expect((await readdir(dir)).toSorted()).toEqual(['copilot-hubot.json', 'copilot-octocat.json'])
})

test('the Copilot token of 0.1 is used until it is due, and then replaced in the same record', async () => {
  const asked: string[] = []
  const clock = manualClock()
  const source = createCopilotTokenSource(
    {
      store,
      async fetch(_url, init) {
        asked.push(new Headers(init?.headers).get('authorization') ?? '')
        return Response.json({ token: 'tid=new', expires_at: 1, refresh_in: 1500 })
      },
      now: clock.now,
      monotonicMs: clock.monotonicMs,
      random: () => 0,
      log,
    },
    {
      githubBaseUrl: 'https://github.com',
      githubApiBaseUrl: 'https://api.github.com',
      baseUrl: '',
      headers: {},
      refreshSafetyMarginSeconds: 60,
    },
  )
  try {
    expect(await source.get(never)).toMatchObject({
      value: 'tid=example',
      candidates: ['https://api.individual.githubcopilot.com', 'https://api.githubcopilot.com'],
    })
    expect(asked).toEqual([])
    clock.advance(900_000)
    expect(await source.get(never)).toMatchObject({ value: 'tid=new' })
    expect(asked).toEqual(['token ghu_example_octocat'])
    const before = await contentOf('copilot-octocat.json')
    const renewed = { access_token: 'tid=new', expires_at: 1, obtained_at: clock.now() / 1000 }
    expect(await store.read('copilot-octocat')).toEqual({ ...before, metadata: { ...before.metadata, ...renewed } })
  } finally {
    await source.close()
  }
})

test('a login of 0.1 is removed by a logout', async () => {
  expect(await store.remove('copilot-octocat')).toBe(true)
  expect(await store.current()).toMatchObject({ id: 'copilot-hubot' })
})
