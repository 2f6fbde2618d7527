import { execFileSync } from 'node:child_process'
import * as nodeFs from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'

import { createCliLoginSource, type CliFileFs } from '../../../src/auth/codex/cli-login.ts'
import type { CodexAccount, CodexCredentialSource } from '../../../src/auth/codex/credentials.ts'
import { manualClock, recordingLog, faultOf } from '../support.ts'
import { accessToken, nameOf } from './support.ts'

const { mkdir, mkdtemp, readFile, rename, rm, stat, symlink, utimes, writeFile } = nodeFs
const never = new AbortController().signal

let base: string
let codexHome: string
let path: string
let clock = manualClock()
let log = recordingLog()
const sources: CodexCredentialSource[] = []

beforeEach(async () => {
  base = await mkdtemp(join(tmpdir(), 'copilot-proxy-cli-'))
  codexHome = join(base, 'codex')
  path = join(codexHome, 'auth.json')
  await mkdir(codexHome)
  clock = manualClock()
  log = recordingLog()
})
afterEach(async () => {
  await Promise.all(sources.splice(0).map((source) => source.close()))
  await rm(base, { recursive: true, force: true })
  expect(log.lines.join('\n')).not.toMatch(/eyJ|rt-example|sk-example/)
})

interface StartOptions {
  readonly fs?: CliFileFs
  readonly sleep?: (ms: number) => Promise<void>
  readonly watchEveryMs?: number
}

function start({ fs, sleep = async () => {}, watchEveryMs = 3600_000 }: StartOptions = {}): CodexCredentialSource {
  const { now, monotonicMs } = clock
  const deps = { now, monotonicMs, sleep, log, ...(fs !== undefined && { fs }) }
  const source = createCliLoginSource(deps, { codexHome, watchEveryMs })
  sources.push(source)
  return source
}

const token = (name: string, accountId = 'account-1'): string =>
  accessToken({ issuedAtSeconds: clock.now() / 1000, name, accountId })
const chatgpt = (name: string, more: Record<string, unknown> = {}): string =>
  JSON.stringify({
    auth_mode: 'chatgpt',
    OPENAI_API_KEY: null,
    tokens: { id_token: token('id'), access_token: token(name), refresh_token: 'rt-example', account_id: 'account-1' },
    last_refresh: '2026-11-20T00:00:00.000000Z',
    ...more,
  })
const nameGot = async (source: CodexCredentialSource): Promise<unknown> => nameOf((await source.get(never)).value)

const refuseToOpen: CliFileFs['open'] = async () => {
  throw Object.assign(new Error('EACCES'), { code: 'EACCES' })
}

describe('a login of Codex CLI', () => {
  test('is used as it is, and the file stays untouched', async () => {
    const text = chatgpt('cli')
    await writeFile(path, text, { mode: 0o400 })
    const before = await stat(path)
    const source = start()
    expect(await source.get(never)).toEqual({
      kind: 'chatgpt',
      value: token('cli'),
      accountId: 'account-1',
      isFedramp: false,
    })
    expect(source.status()).toEqual({
      state: 'ok',
      detail: 'Using the login of Codex CLI',
      fix: '',
      source: 'codex-cli',
      recordId: 'codex-cli-account-1',
      email: 'person@example.com',
      plan: 'plus',
      expiresAtMs: clock.now() + 3600_000,
    })
    expect(await readFile(path, 'utf8')).toBe(text)
    expect((await stat(path)).mtimeMs).toBe(before.mtimeMs)
    expect((await stat(path)).mode).toBe(before.mode)
  })

  test('without a stated account names it by the token’s claim', async () => {
    await writeFile(path, JSON.stringify({ tokens: { access_token: token('old', 'account-7') } }))
    expect(await start().get(never)).toMatchObject({ accountId: 'account-7' })
  })

  test('is found through a link, as people link their dotfiles', async () => {
    await writeFile(join(base, 'elsewhere.json'), chatgpt('linked'))
    await symlink(join(base, 'elsewhere.json'), path)
    expect(await nameGot(start())).toBe('linked')
  })

  test('is followed when the file is rewritten in place or replaced, also through a link', async () => {
    const target = join(base, 'elsewhere.json')
    await writeFile(target, chatgpt('first'))
    await symlink(target, path)
    const source = start({ watchEveryMs: 5 })
    expect(await nameGot(source)).toBe('first')
    await writeFile(target, chatgpt('second in place'))
    await vi.waitFor(async () => expect(await nameGot(source)).toBe('second in place'))
    await writeFile(`${target}.new`, chatgpt('third'))
    await rename(`${target}.new`, target)
    await vi.waitFor(async () => expect(await nameGot(source)).toBe('third'))
  })

  test('after a 401 the file is read again, whatever its times say', async () => {
    await writeFile(path, chatgpt('one'))
    await utimes(path, 1, 1)
    const source = start()
    const { value } = await source.get(never)
    expect((await source.replace(value, never)).value).toBe(value)
    await writeFile(path, chatgpt('two'))
    await utimes(path, 1, 1)
    expect(nameOf((await source.replace(value, never)).value)).toBe('two')
    expect(nameOf((await source.replace(value, never)).value)).toBe('two')
  })

  test('that has run out is not renewed from here; the CLI’s renewal is taken up', async () => {
    await writeFile(path, chatgpt('cli'))
    const source = start()
    await source.get(never)
    clock.advance(3600_000)
    expect(await faultOf(source.get(never))).toEqual({
      kind: 'codex_unavailable',
      detail: 'The login of Codex CLI has expired',
      fix: expect.stringMatching(/Renew it with a Codex CLI command.*then try again/),
    })
    expect(source.status().state).toBe('expired')
    await writeFile(path, chatgpt('renewed by the CLI'))
    expect(await nameGot(source)).toBe('renewed by the CLI')
  })

  test('whose token upstream refuses works again after the CLI has renewed it, and the fix says so', async () => {
    await writeFile(path, chatgpt('cli'))
    const source = start()
    const { value } = await source.get(never)
    expect((await source.replace(value, never)).value).toBe(value)
    expect(source.refused('Provided authentication token is expired.').error).toEqual({
      kind: 'codex_unavailable',
      detail: 'OpenAI no longer accepts the token of Codex CLI’s login',
      fix: expect.stringContaining('Renew it with a Codex CLI command'),
    })
  })

  test('that was revoked is left alone until the file has another one', async () => {
    await writeFile(path, chatgpt('cli'))
    const source = start()
    const { value } = await source.get(never)
    source.markRevoked(value, 'Your authentication token has been invalidated')
    const fault = {
      detail: 'Your authentication token has been invalidated',
      fix: expect.stringContaining('codex login'),
    }
    expect(await faultOf(source.get(never))).toMatchObject(fault)
    expect(await faultOf(source.replace(value, never))).toMatchObject(fault)
    expect(source.status().state).toBe('login_required')
    await writeFile(path, chatgpt('another login'))
    expect(await nameGot(source)).toBe('another login')
  })

  test('listeners are called for a change of account, not for a renewal', async () => {
    await writeFile(path, chatgpt('one'))
    const source = start()
    const accounts: (CodexAccount | undefined)[] = []
    source.onChange((account) => accounts.push(account))
    const one = await source.get(never)
    await writeFile(path, chatgpt('two'))
    const two = await source.replace(one.value, never)
    await writeFile(path, JSON.stringify({ tokens: { access_token: token('three', 'account-2') } }))
    const three = await source.replace(two.value, never)
    await rm(path)
    await faultOf(source.replace(three.value, never))
    expect(accounts.map((account) => account?.id)).toEqual(['codex-cli-account-1', 'codex-cli-account-2', undefined])
  })
})

describe('a file that is being written', () => {
  test('is read again after a short wait', async () => {
    const text = chatgpt('whole')
    await writeFile(path, text.slice(0, 100))
    const waits: number[] = []
    const source = start({
      sleep: async (ms) => {
        waits.push(ms)
        if (waits.length === 2) await writeFile(path, text)
      },
    })
    expect(await nameGot(source)).toBe('whole')
    expect(waits).toHaveLength(2)
    expect(log.lines).toEqual([])
  })

  test('and stays cut short is reported, once, and taken up when it is whole', async () => {
    await writeFile(path, '')
    const source = start()
    expect(await faultOf(source.get(never))).toMatchObject({ detail: 'Codex CLI’s auth.json is not valid JSON' })
    await faultOf(source.get(never))
    expect(log.lines).toHaveLength(1)
    await writeFile(path, chatgpt('whole'))
    expect(await nameGot(source)).toBe('whole')
  })
})

const apiKey = { OPENAI_API_KEY: 'sk-example' }

describe('a file without a login that can be used', () => {
  test.each([
    ['API-key mode', { auth_mode: 'apikey', ...apiKey }, 'has an API key', 'set codex.api-key'],
    [
      'API-key mode beside stale tokens',
      chatgpt('stale', { auth_mode: 'apikey', ...apiKey }),
      'API key',
      'codex.api-key',
    ],
    [
      'no stated mode and a key beside stale tokens',
      chatgpt('stale', { auth_mode: undefined, ...apiKey }),
      'API key',
      'codex.api-key',
    ],
    [
      'a mode that lives elsewhere',
      { auth_mode: 'agentIdentity', agent_identity: 'x' },
      '(agentIdentity)',
      'codex login',
    ],
    ['a mode of a later version', { auth_mode: 'a b\n', tokens: {} }, 'has no usable ChatGPT login', 'codex login'],
    ['no tokens', { auth_mode: 'chatgpt', tokens: null }, 'has no usable ChatGPT login', 'codex login'],
    [
      'a token no header can carry',
      { tokens: { access_token: 'a b', account_id: 'x' } },
      'no usable ChatGPT login',
      'codex login',
    ],
    [
      'an account no header can carry',
      { tokens: { access_token: 'a', account_id: 'x\n' } },
      'no usable ChatGPT',
      'codex login',
    ],
    ['no account', { tokens: { access_token: 'opaque' } }, 'no usable ChatGPT login', 'codex login'],
    ['no object', '[]', 'no usable ChatGPT login', 'codex login'],
    ['megabytes', ' '.repeat(1024 * 1024 + 1), 'no usable ChatGPT login', 'codex login'],
  ])('%s: a clear sentence, and nothing is sent', async (_what, content, detail, fix) => {
    await writeFile(path, typeof content === 'string' ? content : JSON.stringify(content))
    const source = start()
    const fault = await faultOf(source.get(never))
    expect(fault).toMatchObject({
      kind: 'codex_unavailable',
      detail: expect.stringContaining(detail),
      fix: expect.stringContaining(fix),
    })
    expect(JSON.stringify([fault, source.status()])).not.toMatch(/sk-example|eyJ/)
    expect(source.status().state).toBe('unreadable')
  })

  test('no file: the keyring is named, and another way', async () => {
    const source = start()
    expect(await faultOf(source.get(never))).toMatchObject({
      detail: expect.stringContaining('keyring'),
      fix: expect.stringContaining('copilot-proxy login codex'),
    })
    expect(source.status().state).toBe('login_required')
    await writeFile(path, chatgpt('later'))
    expect(await nameGot(source)).toBe('later')
  })

  test.each([
    ['a folder', () => mkdir(path)],
    ['a pipe', async () => execFileSync('mkfifo', [path])],
  ])('%s in its place neither blocks nor is read', async (_what, make) => {
    await make()
    expect(await faultOf(start().get(never))).toMatchObject({ kind: 'codex_unavailable' })
  })

  test('one that may not be read is reported', async () => {
    await writeFile(path, chatgpt('cli'))
    const source = start({ fs: { ...nodeFs, open: refuseToOpen } })
    expect(await faultOf(source.get(never))).toMatchObject({ detail: 'Codex CLI’s auth.json cannot be read' })
    expect(log.lines).toEqual([expect.stringContaining('EACCES')])
  })
})

test('a caller that leaves does not wait, and a closed source says so', async () => {
  const stop = new AbortController()
  await writeFile(path, '{')
  const source = start({ sleep: () => new Promise(() => {}) })
  const waiting = source.get(stop.signal)
  stop.abort(new Error('gone'))
  await expect(waiting).rejects.toThrow('gone')
  sources.pop()
  void source.close()
  expect(await faultOf(source.get(never))).toEqual({ kind: 'shutting_down' })
})
