import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import {
  createApiKeySource,
  createCodexCredentials,
  type CodexCredentialsOptions,
} from '../../../src/auth/codex/credentials-in-use.ts'
import type { CodexCredentialSource } from '../../../src/auth/codex/credentials.ts'
import { codexRecordKind } from '../../../src/auth/codex/record.ts'
import { createMemoryRecordStore } from '../../../src/auth/records/memory-record-store.ts'
import { Fault } from '../../../src/errors.ts'
import { manualClock, recordingLog } from '../support.ts'
import { accessToken, codexRecord, nameOf } from './support.ts'

const never = new AbortController().signal

describe('the login that is used', () => {
  let codexHome: string
  let source: CodexCredentialSource | undefined
  beforeEach(async () => {
    codexHome = await mkdtemp(join(tmpdir(), 'copilot-proxy-cli-'))
  })
  afterEach(async () => {
    await source?.close()
    await rm(codexHome, { recursive: true, force: true })
  })

  test.each([
    ['the API key, whatever else there is', { apiKey: 'sk-example', useCliLogin: true }, 'api-key', 'sk-example'],
    ['the CLI’s, when it is asked for', { useCliLogin: true }, 'chatgpt', 'cli'],
    ['the stored one', {}, 'chatgpt', 'stored'],
  ])('is %s', async (_what, changes: Partial<CodexCredentialsOptions>, kind, expected) => {
    const { now, monotonicMs } = manualClock()
    const access_token = accessToken({ issuedAtSeconds: now() / 1000, name: 'cli' })
    await writeFile(join(codexHome, 'auth.json'), JSON.stringify({ tokens: { access_token } }))
    const options = { apiKey: '', useCliLogin: false, issuer: 'https://auth.example.com', clientId: 'app-example' }
    source = createCodexCredentials(
      {
        store: createMemoryRecordStore(codexRecordKind, [codexRecord(now(), 0)]),
        fetch: () => Promise.reject(new Error('nothing is fetched')),
        now,
        monotonicMs,
        random: () => 0,
        sleep: async () => {},
        log: recordingLog(),
      },
      { ...options, codexHome, ...changes },
    )
    const credential = await source.get(never)
    expect(source.kind).toBe(kind)
    expect(credential.kind).toBe(kind)
    expect(credential.kind === 'api-key' ? credential.value : nameOf(credential.value)).toBe(expected)
  })
})

describe('an API key', () => {
  test('stays the same, also after a 401', async () => {
    const source = createApiKeySource('sk-example')
    expect(await source.get(never)).toEqual({ kind: 'api-key', value: 'sk-example' })
    expect(await source.replace('sk-example', never)).toEqual({ kind: 'api-key', value: 'sk-example' })
    await expect(source.get(AbortSignal.abort(new Error('gone')))).rejects.toThrow('gone')
  })

  test('calls an early listener once, with an id that distinguishes keys without revealing them', async () => {
    const ids: (string | undefined)[] = []
    for (const key of ['sk-example', 'sk-other', 'sk-example']) {
      const source = createApiKeySource(key)
      const onChange = vi.fn()
      source.onChange(onChange)
      await source.get(never)
      expect(onChange).toHaveBeenCalledTimes(1)
      ids.push(source.status().recordId)
      expect(JSON.stringify([source.status(), onChange.mock.calls])).not.toContain(key)
    }
    expect(ids[0]).toBe(ids[2])
    expect(ids[0]).not.toBe(ids[1])
  })

  test('that upstream refuses is named by its setting', () => {
    expect(createApiKeySource('sk-example').refused('Incorrect API key provided.').error).toEqual({
      kind: 'upstream_status',
      status: 401,
      message: 'OpenAI refuses the API key in codex.api-key: Incorrect API key provided.',
      code: 'invalid_api_key',
    })
  })

  test('that upstream has revoked is not used any more', async () => {
    const source = createApiKeySource('sk-example')
    source.markRevoked('sk-example', 'The key was deleted')
    await expect(source.get(never)).rejects.toMatchObject({
      error: {
        kind: 'codex_unavailable',
        detail: 'The key was deleted',
        fix: expect.stringContaining('codex.api-key'),
      },
    })
  })

  test('that no header can carry is refused with a sentence', async () => {
    const source = createApiKeySource('sk-example and more')
    const error: unknown = await source.get(never).catch((reason: unknown) => reason)
    expect(error).toBeInstanceOf(Fault)
    expect(error).toMatchObject({ error: { detail: expect.stringContaining('is not a valid key') } })
    expect(source.status().state).toBe('unreadable')
  })
})
