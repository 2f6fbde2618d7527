import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import {
  codexRecordId,
  codexRecordKind,
  isRenewalInDoubt,
  toCodexRecord,
  withRenewalBegun,
  withRenewedTokens,
} from '../../../src/auth/codex/record.ts'
import { copilotRecordKind } from '../../../src/auth/copilot/record.ts'
import { createRecordStore } from '../../../src/auth/records/record-store.ts'
import { exampleRecord, recordingLog } from '../support.ts'
import { accessToken, codexRecord, jwt } from './support.ts'

const nowMs = Date.UTC(2026, 10, 20)
const nowSeconds = nowMs / 1000

describe('the id of a record', () => {
  test.each([
    '0198c0de-0000-7000-8000-000000000001',
    'Person@Example.com',
    '',
    '../../etc/passwd',
    'ü\0',
    'x'.repeat(500),
  ])('is safe as a file name, whatever the account is called: %j', (account) => {
    const id = codexRecordId(account)
    expect(id).toMatch(/^codex-[a-z0-9_-]+$/)
    expect(codexRecordKind.isRecordId(id)).toBe(true)
    expect(copilotRecordKind.isRecordId(id)).toBe(false)
  })

  test('keeps accounts apart that differ in what cannot stay', () => {
    expect(new Set(['a+b@example.com', 'a.b@example.com', 'a-b-example-com'].map(codexRecordId)).size).toBe(3)
    expect(codexRecordId('0198C0DE')).toBe('codex-0198c0de')
  })
})

describe('the record of a login', () => {
  test('says whose it is, and counts the token’s life from now, by this machine’s clock', () => {
    const upstreamIsAheadBy = 7200
    const access = accessToken({ issuedAtSeconds: nowSeconds + upstreamIsAheadBy, lifeSeconds: 600 })
    const tokens = { accessToken: access, refreshToken: 'r', idToken: jwt({ email: 'id@example.com' }) }
    expect(toCodexRecord(tokens, { nowMs, issuer: 'https://auth.example.com' })).toEqual({
      id: 'codex-account-1',
      provider: 'codex',
      label: 'person@example.com',
      attributes: {},
      metadata: {
        access_token: access,
        refresh_token: 'r',
        id_token: tokens.idToken,
        account_id: 'account-1',
        email: 'person@example.com',
        plan: 'plus',
        expires_at: nowSeconds + 600,
        last_refresh: nowSeconds,
        logged_in_at: nowSeconds,
        issuer: 'https://auth.example.com',
      },
    })
  })

  test('there is none without an account', () => {
    expect(toCodexRecord({ accessToken: 'opaque', refreshToken: 'r' }, { nowMs, issuer: '' })).toBeUndefined()
  })
})

describe('after a renewal', () => {
  test('what the reply leaves out stays, unknown keys too, and the mark is gone', () => {
    const old = withRenewalBegun({ ...codexRecord(nowMs, 3000, { id_token: 'i', note: 'mine' }), extra: 1 })
    const access = accessToken({ issuedAtSeconds: nowSeconds, plan: 'pro' })
    const { renewal_begun: _, ...metadata } = old.metadata
    expect(withRenewedTokens(old, { accessToken: access }, nowMs)).toEqual({
      ...old,
      metadata: {
        ...metadata,
        access_token: access,
        plan: 'pro',
        expires_at: nowSeconds + 3600,
        last_refresh: nowSeconds,
      },
    })
  })

  test('an old access token keeps the end it had', () => {
    const old = codexRecord(nowMs, 3000)
    const renewed = withRenewedTokens(old, { refreshToken: 'rt-example-1' }, nowMs)
    expect(renewed.metadata).toMatchObject({ expires_at: old.metadata.expires_at, refresh_token: 'rt-example-1' })
  })

  test('a mark belongs to one refresh token', () => {
    const begun = withRenewalBegun(codexRecord(nowMs, 0))
    expect(JSON.stringify(begun.metadata.renewal_begun)).not.toContain('rt-example')
    expect(isRenewalInDoubt(begun)).toBe(true)
    expect(isRenewalInDoubt({ ...begun, metadata: { ...begun.metadata, refresh_token: 'other' } })).toBe(false)
    expect(isRenewalInDoubt(codexRecord(nowMs, 0))).toBe(false)
  })
})

describe('beside Copilot’s records', () => {
  let dir: string
  beforeEach(async () => (dir = await mkdtemp(join(tmpdir(), 'copilot-proxy-codex-'))))
  afterEach(() => rm(dir, { recursive: true, force: true }))

  test('each store sees, changes and removes its own kind only', async () => {
    const log = recordingLog()
    const codex = createRecordStore({ kind: codexRecordKind, dir, log })
    const copilot = createRecordStore({ kind: copilotRecordKind, dir, log })
    const record = { ...codexRecord(nowMs, 0), from_a_newer_program: { a: [1] } }
    await codex.write(record)
    await copilot.write(exampleRecord())
    expect((await readdir(dir)).toSorted()).toEqual(['codex-account-1.json', 'copilot-octocat.json'])
    expect(await codex.list()).toEqual([record])
    expect(await copilot.list()).toEqual([exampleRecord()])
    await expect(copilot.read('codex-account-1')).rejects.toThrow(/cannot name a record/)
    await expect(copilot.remove('codex-account-1')).rejects.toThrow(/cannot name a record/)
    await expect(codex.read('copilot-octocat')).rejects.toThrow(/cannot name a record/)
    expect(log.lines).toEqual([])
  })

  test('a broken one is set aside with the command that helps', async () => {
    const log = recordingLog()
    await writeFile(join(dir, 'codex-account-1.json'), '{}', { mode: 0o600 })
    expect(await createRecordStore({ kind: copilotRecordKind, dir, log }).current()).toBeUndefined()
    expect(log.lines).toEqual([])
    expect(await createRecordStore({ kind: codexRecordKind, dir, log }).current()).toBeUndefined()
    expect(log.lines).toEqual([expect.stringContaining('Log in again: copilot-proxy login codex')])
    expect(await readdir(dir)).toEqual(['codex-account-1.json.corrupt-1'])
  })
})
