import { chmod, chown, mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, onTestFinished, test } from 'vitest'
import { isThorough, some } from '../thorough.ts'
import { makeFolder } from '../tools/session.ts'
import { callTool, serve, stop, type DaemonProcess } from './daemon-process.ts'
import { confirmPolicies } from '../workspace/policy/confirm.ts'
import { openConsents } from '../../src/workspace/policy/consents.ts'

interface Place {
  /** Holds the configuration and the data. */
  readonly home: string
  readonly root: string
  readonly file: string
}

async function makePlace(): Promise<Place> {
  const home = await makeFolder()
  const root = await makeFolder({ 'a.txt': 'one\n' })
  const file = join(home, 'workspaces', 'sessions.db')
  await mkdir(dirname(file), { mode: 0o700 })
  return { home, root, file }
}

const readFileCall = ['mcp.fs.read', { path: 'a.txt' }] as const
const contents = { result: { content: 'one\n' } }

async function expectServing(daemon: DaemonProcess): Promise<void> {
  expect(await callTool(daemon, ...readFileCall)).toMatchObject(contents)
  expect((await daemon.client.chat()).status).toBe(200)
}

async function storedCalls({ client }: DaemonProcess): Promise<unknown> {
  const { sessions } = (await client.send('/sessions')).json() as { sessions: { id: string }[] }
  const reply = await client.send(`/sessions/${sessions[0]?.id}/streams/tool-calls`)
  return [reply.status, reply.json()]
}

const isRoot = process.geteuid?.() === 0
const nobody = 65_534
/** The superuser may write everywhere, so a test of permissions needs another user. */
const asNobody = `exec setpriv --reuid ${nobody} --regid ${nobody} --clear-groups "$@"`

/** Ways to make the file unusable before the daemon starts. Some return a script that starts the daemon, or its sentence. */
const causes: Readonly<Record<string, (place: Place) => Promise<{ readonly script?: string } | void>>> = {
  async 'a second daemon with the same folder'(place) {
    const first = await serve(place)
    await expectServing(first)
    expect(await storedCalls(first)).toMatchObject([200, { entries: [{ tool: 'mcp.fs.read' }] }])
  },
  async 'a file of a newer version'({ file }) {
    const database = new DatabaseSync(file)
    database.exec('PRAGMA user_version = 9999')
    database.close()
  },
  async 'a file that another program has locked'({ file }) {
    const database = new DatabaseSync(file)
    database.exec('CREATE TABLE a (b); BEGIN EXCLUSIVE')
    onTestFinished(() => database.close())
  },
  // Every write to a file fails, here with EFBIG.
  'a full disk': async () => ({ script: 'ulimit -S -f 0; exec "$@"' }),
  async 'a damaged file that cannot be renamed'({ file }) {
    await writeFile(file, 'not a database, but long enough for the header of one\n'.repeat(20))
    await mkdir(join(`${file}.damaged`, 'folder'), { recursive: true })
  },
  async 'a folder in its place'({ file }) {
    await mkdir(file)
  },
  async 'a link in its place'({ file, home }) {
    await writeFile(join(home, 'target'), '')
    await symlink(join(home, 'target'), file)
  },
  async 'a file in the place of the data folder'({ file }) {
    await rm(dirname(file), { recursive: true })
    await writeFile(dirname(file), '')
  },
}

describe.skipIf(process.platform === 'win32')('while the session file cannot be used', { timeout: 120_000 }, () => {
  test.each(some(Object.keys(causes), 3))('because of %s, tools and models are served', async (cause) => {
    const place = await makePlace()
    const { script } = (await causes[cause]?.(place)) ?? {}
    const daemon = await serve(place, { script })
    expect(await callTool(daemon, ...readFileCall)).toMatchObject(contents)
    await daemon.cli.seen('stderr', /sessions cannot be stored/)
    await expectServing(daemon)
    const body = JSON.stringify({ text: 'Hello' })
    const message = await daemon.client.send('/message', { body })
    expect([message.status, message.json()]).toMatchObject([
      503,
      { error: { code: 'sessions_unavailable', message: expect.stringMatching(/\w+\.$/) } },
    ])
    expect((await daemon.client.send('/events')).status).toBe(503)
    await expectServing(daemon)
    await stop(daemon)
  })

  test.skipIf(process.platform !== 'linux' && isRoot)(
    'because its folder is read-only, tools and models are served',
    async () => {
      const place = await makePlace()
      if (isRoot) for (const dir of [place.home, place.root, dirname(place.file)]) await chown(dir, nobody, nobody)
      await chmod(dirname(place.file), 0o500)
      onTestFinished(() => chmod(dirname(place.file), 0o700))
      const daemon = await serve(place, { script: isRoot ? asNobody : undefined })
      expect(await callTool(daemon, ...readFileCall)).toMatchObject(contents)
      await daemon.cli.seen('stderr', /sessions cannot be stored/)
      await expectServing(daemon)
      await stop(daemon)
    },
  )

  test.skipIf(process.platform !== 'linux' && isRoot)(
    'because its folder is read-only, a patch states that reason and changes nothing',
    async () => {
      const place = await makePlace()
      await writeFile(join(place.home, 'config.yaml'), 'workspace: { read-only: false }\n')
      await writeFile(join(place.root, '.agent-policy.yaml'), "writes: { allow: ['*.txt'] }\n")
      const dir = dirname(place.file)
      await confirmPolicies(dir, place.root)
      const consents = openConsents(dir, place.root).path
      if (isRoot) {
        for (const path of [place.home, place.root, dir, dirname(consents), consents, join(place.root, 'a.txt')])
          await chown(path, nobody, nobody)
      }
      for (const each of [dirname(consents), dir]) await chmod(each, 0o500)
      onTestFinished(() => chmod(dir, 0o700))
      const daemon = await serve(place, { script: isRoot ? asNobody : undefined })
      const unifiedDiff = '--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+two\n'
      expect(await callTool(daemon, 'mcp.edit.applyPatch', { unifiedDiff })).toMatchObject({
        error: { data: { kind: 'failed' }, message: expect.stringContaining(`cannot write to ${dir}`) },
      })
      expect(await readFile(join(place.root, 'a.txt'), 'utf8')).toBe('one\n')
      for (const each of [dir, dirname(consents)]) await chmod(each, 0o700)
      expect(await callTool(daemon, 'mcp.edit.applyPatch', { unifiedDiff })).toMatchObject({ result: { ok: true } })
      expect(await readFile(join(place.root, 'a.txt'), 'utf8')).toBe('two\n')
    },
  )
})

test('a damaged file is set aside, and calls are stored in a new one', { timeout: 60_000 }, async () => {
  const place = await makePlace()
  const damaged = 'not a database, but long enough for the header of one\n'.repeat(20)
  await writeFile(place.file, damaged)
  const daemon = await serve(place)
  await expectServing(daemon)
  expect(await storedCalls(daemon)).toMatchObject([200, { entries: [{ tool: 'mcp.fs.read', outcome: 'ok' }] }])
  expect(await readFile(`${place.file}.damaged`, 'utf8')).toBe(damaged)
  await stop(daemon)
})

test.runIf(isThorough)(
  'calls are stored once another daemon no longer uses the file',
  { timeout: 60_000 },
  async () => {
    const place = await makePlace()
    const first = await serve(place)
    await expectServing(first)
    const second = await serve(place)
    await expectServing(second)
    await second.cli.seen('stderr', /sessions cannot be stored/)
    await stop(first)
    await second.cli.seen('stderr', /sessions are stored again/)
    expect(await storedCalls(second)).toMatchObject([200, { entries: [{ outcome: 'ok' }, { outcome: 'ok' }] }])
    await stop(second)
  },
)
