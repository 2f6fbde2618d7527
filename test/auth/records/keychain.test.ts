import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { createSystemKeychain } from '../../../src/auth/records/keychain.ts'

let dir: string
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'copilot-proxy-keychain-'))
})
afterAll(() => rm(dir, { recursive: true, force: true }))

/** A program in the place of the one that asks the system. */
async function helper(source: string): Promise<string> {
  const path = join(dir, `${crypto.randomUUID()}.mjs`)
  await writeFile(path, source)
  return path
}

const reading = `import { text } from 'node:stream/consumers'; const asked = JSON.parse(await text(process.stdin));`
/** For a program to start on a busy machine. Ms. */
const patient = { timeoutMs: 30_000 }

test('a question and its secret go through pipes, and the answer comes back', async () => {
  const script = await helper(`${reading}
    const seen = JSON.stringify([asked, process.argv.length, Object.keys(process.env).toSorted()])
    process.stdout.write(JSON.stringify({ found: true, secret: seen }))`)
  const env = { HOME: dir, COPILOT_GITHUB_TOKEN: 'ghu_example', NODE_OPTIONS: '--no-warnings', DISPLAY: undefined }
  const keychain = createSystemKeychain({ env, helper: script, ...patient })
  expect(JSON.parse((await keychain.get('an entry')) ?? '')).toEqual([{ do: 'get', entry: 'an entry' }, 2, ['HOME']])
  await keychain.set('an entry', 'a key')
  expect(await keychain.remove('an entry')).toBe(true)
})

test('what is not there is no failure', async () => {
  const script = await helper(`${reading} process.stdout.write(JSON.stringify({ found: false }))`)
  const keychain = createSystemKeychain({ env: {}, helper: script, ...patient })
  expect(await keychain.get('an entry')).toBeUndefined()
  expect(await keychain.remove('an entry')).toBe(false)
})

describe('C19 a keychain that', () => {
  test('hangs is given up, and its process is ended', async () => {
    // A call into the system that does not return, as a locked keychain with nobody to unlock it.
    const script = await helper(`Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)`)
    const keychain = createSystemKeychain({ env: {}, helper: script, timeoutMs: 200 })
    await expect(keychain.get('an entry')).rejects.toMatchObject({
      problem: 'keychain',
      message: expect.stringMatching(/did not answer.*Unlock it.*auth\.store to file/),
    })
  })

  test('hangs is waited for three seconds, and no longer', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const script = await helper(`Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)`)
    const onEnd = vi.fn()
    const asked = createSystemKeychain({ env: {}, helper: script })
      .get('an entry')
      .catch((error: unknown) => onEnd(error))
    await vi.advanceTimersByTimeAsync(2_999)
    expect(onEnd).not.toHaveBeenCalled()
    await vi.advanceTimersByTimeAsync(1)
    await asked
    expect(onEnd).toHaveBeenCalledWith(expect.objectContaining({ problem: 'keychain' }))
  })

  test.each([
    ['is locked', { reason: 'locked', words: 'made up' }, /it is locked, or not set up \(made up\)\. Unlock it/],
    ['is not there', { reason: 'absent', words: 'no bus' }, /this session has none \(no bus\)\. Start one/],
    [
      'is full',
      { reason: 'refused', words: 'no room' },
      /it returned an error \(no room\)\. Check that it has free space/,
    ],
  ])('%s is reported in words', async (_what, answer, words) => {
    const script = await helper(`${reading} process.stdout.write(${JSON.stringify(JSON.stringify(answer))})`)
    const keychain = createSystemKeychain({ env: {}, helper: script, ...patient })
    await expect(keychain.set('an entry', 'a key')).rejects.toThrow(words)
  })

  test.each([
    ['crashes', `process.kill(process.pid, 'SIGSEGV')`],
    ['answers nothing', ''],
    ['answers something else', `process.stdout.write('{"found":"perhaps"}')`],
  ])('%s takes nobody along', async (_what, source) => {
    const keychain = createSystemKeychain({ env: {}, helper: await helper(source), ...patient })
    await expect(keychain.get('an entry')).rejects.toMatchObject({ problem: 'keychain' })
  })

  test('is reported as missing by the real helper, which does not use the kernel’s keyring instead', async () => {
    // No session bus to find a Secret Service by. On macOS and Windows there is a keychain all the same.
    const asked = createSystemKeychain({ env: { HOME: dir }, ...patient }).get('trial')
    if (process.platform === 'linux') await expect(asked).rejects.toMatchObject({ problem: 'keychain' })
    else await asked.catch(() => {})
  })
})
