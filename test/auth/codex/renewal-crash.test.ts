import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface, type Interface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { CodexCredentialSource } from '../../../src/auth/codex/credentials.ts'
import { createCodexLoginSource } from '../../../src/auth/codex/login-source.ts'
import { codexRecordKind, type CodexRecord } from '../../../src/auth/codex/record.ts'
import { createRecordStore, type RecordStore } from '../../../src/auth/records/record-store.ts'
import { Fault } from '../../../src/errors.ts'
import { recordingLog } from '../support.ts'
import { codexRecord, nameOf, startIssuer, type LoopbackIssuer } from './support.ts'

interface Child {
  readonly process: ChildProcess
  readonly lines: Interface
}

let dir: string
let store: RecordStore<CodexRecord>
let issuer: LoopbackIssuer
const children: Child[] = []
const sources: CodexCredentialSource[] = []
const never = new AbortController().signal

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'copilot-proxy-crash-'))
  store = createRecordStore({ kind: codexRecordKind, dir, log: recordingLog() })
  issuer = await startIssuer()
})
afterEach(async () => {
  await Promise.all(children.splice(0).map(kill))
  await Promise.all(sources.splice(0).map((source) => source.close()))
  await issuer.close()
  await rm(dir, { recursive: true, force: true })
})

function run(stopAt = 'nowhere'): Child {
  const script = fileURLToPath(new URL('children/renew.ts', import.meta.url))
  const started = spawn(process.execPath, [script, dir, issuer.url, stopAt], { stdio: ['ignore', 'pipe', 'inherit'] })
  const child = { process: started, lines: createInterface(started.stdout) }
  children.push(child)
  return child
}

/** The rest of the first line that begins with `start`. */
function line({ lines }: Child, start: string): Promise<string> {
  return new Promise((resolve) => {
    lines.on('line', (text: string) => {
      if (text.startsWith(start)) resolve(text.slice(start.length).trim())
    })
  })
}

async function kill({ process: child }: Child): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = once(child, 'exit')
  child.kill('SIGKILL')
  await gone
}

/** A fresh process's view, `laterMs` from now. */
async function restart(laterMs: number): Promise<unknown> {
  const fresh = createRecordStore({ kind: codexRecordKind, dir, log: recordingLog() })
  let update: Promise<unknown> = Promise.resolve()
  const source = createCodexLoginSource(
    {
      store: {
        ...fresh,
        update(...args) {
          const work = fresh.update(...args)
          update = work
          return work
        },
      },
      fetch,
      now: () => Date.now() + laterMs,
      monotonicMs: () => performance.now(),
      random: () => 0,
      log: recordingLog(),
    },
    { issuer: issuer.url, clientId: 'app-example' },
  )
  sources.push(source)
  try {
    await source.get(never)
    // A renewal that takes long is not waited for while the old token works; here it is.
    await update
    const credential = await source.get(never)
    return nameOf(credential.value)
  } catch (error) {
    return error instanceof Fault ? error.error : error
  }
}

const soon = 0
const afterExpiry = 10 * 60_000
const loginAgain = {
  kind: 'codex_unavailable',
  detail: expect.stringContaining('its last renewal was interrupted'),
  fix: 'Run: copilot-proxy login codex',
}

describe('C04 a renewal that is killed', () => {
  beforeEach(async () => {
    // Due, with two minutes left.
    await store.write(codexRecord(Date.now(), 3480))
  })

  test.each([
    { point: 'mark not in place', redeemed: 0, next: 'renewed-1', total: 1, later: 'renewed-1' },
    // Nobody can know that the token was not sent: it is kept for when it is needed.
    { point: 'mark in place', redeemed: 0, next: 'stored', total: 0, later: 'renewed-1' },
    { point: 'reply arrived', redeemed: 1, next: 'stored', total: 1, later: loginAgain },
    { point: 'tokens not in place', redeemed: 1, next: 'stored', total: 1, later: loginAgain },
    { point: 'tokens in place', redeemed: 1, next: 'renewed-1', total: 1, later: 'renewed-1' },
  ])(
    'at “$point” leaves the best that is possible',
    async ({ point, redeemed, next, total, later }) => {
      const child = run(point)
      await line(child, `at ${point}`)
      await kill(child)
      expect(issuer.redeemed).toHaveLength(redeemed)

      expect(await restart(soon)).toEqual(next)
      expect(issuer.presented).toHaveLength(total)
      expect(issuer.isRevoked()).toBe(false)

      expect(await restart(afterExpiry)).toEqual(later)
      // The lock of a dead process is taken over by whoever needs it next.
      expect((await readdir(dir)).filter((name) => !name.endsWith('.lock'))).toEqual(['codex-account-1.json'])
    },
    30_000,
  )

  test('before the server answered is as if it was killed after that', async () => {
    const arrived = new Promise<void>((resolve) => issuer.onArrival(resolve))
    issuer.holdReplies(new Promise(() => {}))
    const child = run()
    await arrived
    await kill(child)
    issuer.holdReplies(Promise.resolve())
    expect(await restart(soon)).toBe('stored')
    expect(issuer.presented).toHaveLength(1)
    expect(await restart(afterExpiry)).toEqual(loginAgain)
  }, 30_000)
})

test('C06 two processes that renew at once redeem one token, and both get the new one', async () => {
  await store.write(codexRecord(Date.now(), 4000))
  const release = Promise.withResolvers<void>()
  issuer.holdReplies(release.promise)
  const arrived = new Promise<void>((resolve) => issuer.onArrival(resolve))
  const both = [run(), run()] as const
  const started = both.map((child) => line(child, 'started'))
  const got = both.map((child) => line(child, 'got'))
  await Promise.all([arrived, ...started])
  release.resolve()
  expect(await Promise.all(got)).toEqual(['renewed-1', 'renewed-1'])
  expect(issuer.presented).toEqual(['rt-example-0'])
  expect((await store.current())?.metadata.refresh_token).toBe('rt-example-1')
}, 30_000)
