import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { bind, openTestGateway } from '../gateway/support.ts'
import { makeFolder } from '../tools/session.ts'
import { createUser } from './harness.ts'

/** A user whose running daemon has this gateway. */
async function userOf(of: Awaited<ReturnType<typeof openTestGateway>>) {
  const user = await createUser()
  await mkdir(join(user.home, 'gateway'))
  const [name = ''] = await readdir(of.dataDir)
  const record = JSON.parse(await readFile(join(of.dataDir, name), 'utf8')) as object
  // The daemon is this process.
  await writeFile(join(user.home, 'gateway', name), JSON.stringify({ ...record, process_start: '' }))
  return user
}

describe('gateway status', () => {
  it('says where the gateway is and where its token lies, never the token', async () => {
    const of = await openTestGateway()
    await bind(of)
    const { run } = await userOf(of)
    const shown = await run('gateway status')
    expect(shown).toMatchObject({ code: 0, stderr: '' })
    expect(shown.stdout).toContain(of.url)
    expect(shown.stdout).toContain(of.discoveryFile)
    expect(shown.stdout).not.toContain('ptk-')
    expect(JSON.parse((await run('gateway status --json')).stdout)).toEqual({
      open: true,
      url: of.url,
      pid: process.pid,
      started_at: expect.stringMatching(/^\d{4}-/),
      token_file: of.discoveryFile,
      providers: 1,
    })
  })

  it.each([
    ['', 'is off'],
    ['gateway: { enabled: true }', 'no workspace is configured'],
    ['gateway: { enabled: true }\nworkspaces: [/tmp]', 'is not running'],
  ])('with the configuration %j says why the gateway is closed', async (file, reason) => {
    const { run, home } = await createUser()
    await writeFile(join(home, 'config.yaml'), file)
    const shown = await run('gateway status')
    expect(shown.code).toBe(1)
    expect(shown.stdout).toContain(reason)
    expect(JSON.parse((await run('gateway status --json')).stdout)).toEqual({
      open: false,
      problem: expect.stringContaining(reason),
    })
    expect(await run('gateway token')).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining(reason) })
    expect((await run('gateway programs')).code).toBe(1)
  })

  it('says who holds the port', async () => {
    const first = await openTestGateway()
    const port = Number(new URL(first.url).port)
    const of = await openTestGateway({ settings: { gateway: { enabled: true, port } } })
    const { run } = await userOf(of)
    expect(await run('gateway status')).toMatchObject({
      code: 1,
      stdout: `Port ${port} is in use by another program. The gateway opens when the port is free, or set gateway.port to another one.\n`,
    })
  })

  it('ignores the record of a daemon that was killed', async () => {
    const { run, home } = await createUser()
    await writeFile(join(home, 'config.yaml'), `gateway: { enabled: true }\nworkspaces: [${await makeFolder()}]`)
    await mkdir(join(home, 'gateway'))
    const record = {
      pid: 2 ** 22 + 1,
      process_start: 'x',
      started_at: 'x',
      url: 'ws://127.0.0.1:1',
      problem: null,
      token: 'ptk-old',
      control_key: 'x',
      discovery_file: null,
    }
    await writeFile(join(home, 'gateway', `${record.pid}.json`), JSON.stringify(record))
    expect((await run('gateway token')).stderr).toContain('is not running')
  })
})

describe('gateway token', () => {
  it('prints the token alone', async () => {
    const of = await openTestGateway()
    const { run } = await userOf(of)
    expect(await run('gateway token')).toEqual({ code: 0, stdout: `${of.token()}\n`, stderr: '' })
    expect(JSON.parse((await run('gateway token --json')).stdout)).toEqual({ token: of.token() })
  })

  it('--rotate disconnects all providers', async () => {
    const of = await openTestGateway()
    const provider = await bind(of)
    const before = of.token()
    const { run } = await userOf(of)
    expect((await run('gateway token --rotate')).code).toBe(0)
    expect(await provider.closed).toBe(1008)
    expect(of.token()).not.toBe(before)
  })
})

describe('gateway programs', () => {
  it('lists who is connected, with tools and calls', async () => {
    const of = await openTestGateway()
    const { run } = await userOf(of)
    expect(await run('gateway programs')).toMatchObject({ stdout: 'No tool programs are connected.\n' })
    const provider = await bind(of)
    const result = of.call('greet', { name: 'x' })
    const { id } = await provider.next()
    provider.send({ type: 'tool.result', id, data: 1 })
    await result
    expect((await run('gateway programs')).stdout).toMatch(/my-provider +p-[0-9a-f]{8} +foo +1 \(0 failed\) +greet/)
    expect(JSON.parse((await run('gateway programs --json')).stdout)).toEqual({
      providers: [
        {
          id: provider.id,
          name: 'my-provider',
          session: { id: of.session.id, name: 'foo' },
          tools: ['greet'],
          calls: { pending: 0, ended: 1, failed: 0, dropped: 0 },
        },
      ],
    })
  })
})
