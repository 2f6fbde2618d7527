import { randomBytes } from 'node:crypto'
import { chmod, chown, lstat, mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { describe, expect, test, vi } from 'vitest'
import { copilotRecordKind } from '../../src/auth/copilot/record.ts'
import { createRecordStore } from '../../src/auth/records/record-store.ts'
import type { CopilotUpstream } from '../upstreams/copilot.ts'
import { startCli, startProcess, startShell } from '../cli/cli.ts'
import type { RunningCli } from '../cli/cli.ts'
import { createUser, githubVariables, openGithub } from '../commands/harness.ts'
import { createClient } from '../http/client.ts'
import type { Client } from '../http/client.ts'
import { openProxy, recordOf } from '../http/harness.ts'
import { recordingLog } from '../recording-log.ts'
import { expectUnharmed } from './unharmed.ts'

const recordName = 'copilot-demo-user.json'

/** For processes to start and end on a busy machine. */
const hangGuard = { timeout: 60_000 }
vi.setConfig({ testTimeout: hangGuard.timeout })

/** A user with a stored login at this GitHub, as `login` leaves it, without a Copilot token. */
async function createLogin(
  github: CopilotUpstream,
): Promise<{ home: string; dir: string; env: Record<string, string> }> {
  const { home } = await createUser()
  const dir = join(home, 'auth')
  const store = createRecordStore({ kind: copilotRecordKind, dir, log: recordingLog() })
  await store.write(recordOf(github.tokens.issueGithub()))
  return { home, dir, env: { COPILOT_PROXY_HOME: home, ...githubVariables(github) } }
}

const serving = ['serve', '--port', '0', '--log-format', 'json']

async function clientOf(cli: RunningCli): Promise<Client> {
  const [, url = ''] = await cli.seen('stdout', /^copilot-proxy listening on (\S+)$/m)
  return createClient(url)
}

function warningsIn(stderr: string): readonly string[] {
  const lines = stderr.split('\n').filter((line) => line.startsWith('{'))
  return lines.filter((line) => JSON.parse(line).level === 'warn' || JSON.parse(line).level === 40)
}

test('C01 with no umask nobody else can do anything with folder or file at any moment of 100 writes', async () => {
  const { home } = await createUser()
  const dir = join(home, 'auth')
  const writer = startProcess([fileURLToPath(new URL('children/write-unmasked.ts', import.meta.url)), dir, '100'], {})
  const over = new AbortController()
  void writer.ended.then(() => over.abort())
  const modes = new Set<string>()
  let seen = 0
  while (!over.signal.aborted) {
    const names = await readdir(dir).catch(() => [])
    for (const path of [dir, ...names.map((name) => join(dir, name))]) {
      const found = await lstat(path).catch(() => undefined)
      if (found === undefined) continue
      seen += 1
      modes.add((found.mode & 0o777).toString(8))
    }
    await turn()
  }
  expect((await writer.ended).code).toBe(0)
  expect([...modes].toSorted()).toEqual(['600', '700'])
  expect(seen).toBeGreaterThan(100)
})

describe('C02 a stored login that others can read', () => {
  test('is made private when the daemon starts, with one warning', async () => {
    const github = await openGithub()
    const { dir, env } = await createLogin(github)
    await chmod(join(dir, recordName), 0o644)
    const cli = startCli(serving, env)
    const client = await clientOf(cli)
    expect((await client.chat()).status).toBe(200)
    await expectUnharmed(client)
    expect((await stat(join(dir, recordName))).mode & 0o777).toBe(0o600)
    cli.child.kill('SIGTERM')
    const { stderr } = await cli.ended
    const logged = warningsIn(stderr).filter((line) => line.includes('could be read by other users'))
    expect(logged).toHaveLength(1)
    expect(stderr).not.toMatch(/ghu_demo|tid=demo/)
  })

  // Only the superuser can give a folder away.
  test.runIf(process.geteuid?.() === 0)(
    'in a folder of another user is used by the daemon, with one warning',
    async () => {
      const github = await openGithub()
      const { dir, env } = await createLogin(github)
      await chown(dir, 12_345, 12_345)
      await chmod(dir, 0o777)
      const cli = startCli(serving, env)
      const client = await clientOf(cli)
      expect((await client.chat()).status).toBe(200)
      await expectUnharmed(client)
      cli.child.kill('SIGTERM')
      const { stderr } = await cli.ended
      expect(warningsIn(stderr).filter((line) => line.includes('belongs to another user'))).toHaveLength(1)
    },
  )

  test.each(['serve --port 0', ''])('keeps “%s” from starting where permissions are strict', async (commandLine) => {
    const github = await openGithub()
    const { dir, env } = await createLogin(github)
    await chmod(join(dir, recordName), 0o644)
    const args = commandLine.split(' ').filter((word) => word !== '')
    const cli = startCli(args, { ...env, COPILOT_PROXY_AUTH_STRICT_PERMISSIONS: 'true' })
    const { code, stdout, stderr } = await cli.ended
    expect([code, stdout]).toEqual([1, ''])
    expect(stderr).toContain(`chmod 600 ${join(dir, recordName)}`)
    expect((await stat(join(dir, recordName))).mode & 0o777).toBe(0o644)
    expect(github.exchanges()).toBe(0)
  })
})

test.each(['link', 'folder'])('C03 a %s in the place of a login is refused at every step, and stays', async (what) => {
  const github = await openGithub()
  const { home } = await createUser()
  const dir = join(home, 'auth')
  const path = join(dir, recordName)
  const target = join(home, 'elsewhere')
  await mkdir(dir, { mode: 0o700 })
  await writeFile(target, JSON.stringify(recordOf(github.tokens.issueGithub())), { mode: 0o644 })
  await (what === 'link' ? symlink(target, path) : mkdir(path))
  const cli = startCli(serving, { COPILOT_PROXY_HOME: home, ...githubVariables(github) })
  const client = await clientOf(cli)
  const reply = await client.chat()
  expect([reply.status, reply.json()]).toMatchObject([503, { error: { code: 'copilot_unavailable' } }])
  await expectUnharmed(client, reply.text)
  const found = await lstat(path)
  expect(what === 'link' ? found.isSymbolicLink() : found.isDirectory()).toBe(true)
  expect((await stat(target)).mode & 0o777).toBe(0o644)
  expect(github.exchanges()).toBe(0)
  cli.child.kill('SIGTERM')
  expect((await cli.ended).stderr).toContain('is not a plain file')
})

test('C05 a daemon that can write no file serves from memory, warns once, and leaves the old file as it was', async () => {
  const github = await openGithub()
  const { dir, env } = await createLogin(github)
  const before = await readFile(join(dir, recordName))
  // As a full disk: every write to a file fails, here with EFBIG.
  const cli = startShell('ulimit -S -f 0; exec "$@"', serving, env)
  const client = await clientOf(cli)
  expect((await client.chat()).status).toBe(200)
  // A second exchange that cannot be stored.
  github.tokens.expireAll()
  expect((await client.chat()).status).toBe(200)
  expect(github.exchanges()).toBe(2)
  await expectUnharmed(client)
  expect((await readFile(join(dir, recordName))).equals(before)).toBe(true)
  cli.child.kill('SIGTERM')
  const { code, stderr } = await cli.ended
  expect(code).toBe(0)
  expect(warningsIn(stderr).filter((line) => line.includes('could not be stored'))).toHaveLength(1)
  expect(stderr).not.toMatch(/ghu_demo|tid=demo/)
  expect(await readdir(dir)).toEqual([recordName])
})

describe('C06 two daemons with one folder', () => {
  test('whose token has run out make one exchange between them, and the file is whole at every moment', async () => {
    const github = await openGithub()
    const { dir, env } = await createLogin(github)
    const over = new AbortController()
    let reads = 0
    const reading = (async () => {
      while (!over.signal.aborted) {
        expect(JSON.parse(await readFile(join(dir, recordName), 'utf8'))).toMatchObject({ id: 'copilot-demo-user' })
        reads += 1
        await turn()
      }
    })()
    const clients = await Promise.all([startCli(serving, env), startCli(serving, env)].map(clientOf))
    const replies = await Promise.all(clients.flatMap((client) => [client.chat(), client.chat(), client.chat()]))
    expect(replies.map(({ status }) => status)).toEqual(replies.map(() => 200))
    over.abort()
    await reading
    expect(reads).toBeGreaterThan(0)
    expect(github.exchanges()).toBe(1)
    await Promise.all(clients.map((client) => expectUnharmed(client)))
  })

  test('one that is killed in its exchange holds up the other for less than ten seconds', async () => {
    const github = await openGithub({ record: 100 })
    const { dir, env } = await createLogin(github)
    github.script('/copilot_internal/v2/token', { outcome: { kind: 'silent' }, times: 1 })
    const first = startCli(serving, env)
    await expect.poll(() => github.log.length, hangGuard).toBe(1)
    expect(await readdir(dir)).toContain(`${recordName}.lock`)
    const second = startCli(serving, env)
    const client = await clientOf(second)
    const reply = client.chat()
    const startedMs = performance.now()
    first.child.kill('SIGKILL')
    expect((await reply).status).toBe(200)
    expect(performance.now() - startedMs).toBeLessThan(10_000)
    expect(github.log.filter(({ route }) => route === '/copilot_internal/v2/token')).toHaveLength(2)
    second.child.kill('SIGTERM')
    await second.ended
    expect(await readdir(dir)).toEqual([recordName])
  })
})

describe('C07 a stored login', () => {
  const good = JSON.stringify(recordOf('ghu_example'))
  test.each([
    ['empty', ''],
    ['truncated', good.slice(0, 40)],
    ['binary', randomBytes(500)],
    ['of wrong types', '{"id":7,"provider":[],"metadata":null}'],
    ['of 50 MB', Buffer.alloc(50 * 1024 * 1024, 0x20)],
    ['with a byte order mark', `\uFEFF${good}`],
    ['of another account', good.replace('copilot-demo-user', 'copilot-other')],
  ])('that is %s counts as none, is kept, and a new login is used at once', async (_what, content) => {
    const proxy = await openProxy({ login: 'none' })
    const path = proxy.store.locationOf('copilot-demo-user')
    await writeFile(path, content, { mode: 0o600 })
    const refused = await proxy.chat()
    expect([refused.status, refused.text]).toEqual([503, expect.stringContaining('copilot-proxy login')])
    await expectUnharmed(proxy, refused.text)
    await proxy.store.write(recordOf(proxy.demo.tokens.issueGithub()))
    expect((await proxy.chat()).status).toBe(200)
    const kept = await readFile(`${path}.corrupt-1`)
    expect(kept.equals(Buffer.from(content))).toBe(true)
    expect(JSON.stringify(proxy.log)).toContain('corrupt-1')
  })
})
