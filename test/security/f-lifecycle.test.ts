import { some } from '../thorough.ts'
import { spawnSync } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { readdir, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import type { Socket } from 'node:net'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { startCli, startShell } from '../cli/cli.ts'
import { createUser, githubVariables, inputOf, openGithub } from '../commands/harness.ts'
import { createClient, dataOf, saying } from '../http/client.ts'
import { openFiles, runDaemon } from './running-daemon.ts'
import { expectUnharmed } from './unharmed.ts'

// A process takes its time to start on a busy machine; nothing here waits for a time to pass.
vi.setConfig({ testTimeout: 60_000 })

const onLinux = describe.runIf(process.platform === 'linux')
const internal = /internal error|\n\s+at /

test('F01 SIGTERM lets a stream finish, takes no new connection, and ends with 0', async () => {
  const { client, cli } = await runDaemon()
  const stream = await client.openChat(saying('[demo:long 10][demo:slow 50]'))
  expect(await stream.next()).toContain('data: ')
  cli.child.kill('SIGTERM')
  await cli.seen(
    'stderr',
    /stopping when the running requests have finished; send the signal again to stop immediately/,
  )
  await expect(client.chat()).rejects.toMatchObject({ code: 'ECONNREFUSED' })
  expect(dataOf(await stream.rest()).at(-1)).toBe('[DONE]')
  const { code, stderr } = await cli.ended
  expect(code).toBe(0)
  expect(stderr).not.toMatch(internal)
})

test('F01 a stream that outlives the grace ends in an error event', async () => {
  const { client, cli } = await runDaemon({ env: { COPILOT_PROXY_SERVER_SHUTDOWN_GRACE_SECONDS: '0' } })
  const stream = await client.openChat(saying('[demo:long 500][demo:slow 1000]'))
  await stream.next()
  cli.child.kill('SIGTERM')
  const last = dataOf(await stream.rest()).at(-1) ?? ''
  expect(JSON.parse(last)).toMatchObject({ error: { code: 'shutting_down' } })
  expect((await cli.ended).code).toBe(0)
})

test(
  'F04 a file that becomes invalid changes only the health; a corrected one takes effect',
  { timeout: 30_000 },
  async () => {
    const { client, cli, home } = await runDaemon()
    const file = join(home, 'config.yaml')
    const healthOf = async () => (await client.send('/healthz')).json()
    const models = async () => (await client.send('/v1/models')).text
    expect(await healthOf()).not.toHaveProperty('config')

    await writeFile(file, 'models: { hide: [gpt-4.1] }\nserver:\n  api-keys: [{ nmae: x }]\n')
    await cli.seen('stderr', /is invalid; the old settings remain in use: \S+config\.yaml:3:\d+ {2}server\.api-keys/)
    expect(await healthOf()).toMatchObject({ ok: true, config: 'invalid' })
    expect((await client.send('/readyz')).status).toBe(200)
    expect(await models()).toContain('"gpt-4.1"')
    expect((await client.chat()).status).toBe(200)

    await writeFile(file, 'models: { hide: [gpt-4.1] }\n')
    await cli.seen('stderr', /configuration reloaded/)
    expect(await healthOf()).not.toHaveProperty('config')
    expect(await models()).not.toContain('"gpt-4.1"')
    await expectUnharmed(client)
  },
)

onLinux('F07 output that cannot be written', () => {
  test('F07 a log on a full disk does not end a daemon', async () => {
    const { client, stop } = await runDaemon({ script: 'exec "$@" 2>/dev/full' })
    for (let round = 0; round < 5; round += 1) expect((await client.chat()).status).toBe(200)
    await expectUnharmed(client)
    expect((await stop('SIGTERM')).code).toBe(0)
  })

  test('F07 pipes whose reader leaves do not end a daemon', async () => {
    const { client, cli, stop } = await runDaemon()
    cli.child.stdout?.destroy()
    cli.child.stderr?.destroy()
    for (let round = 0; round < 5; round += 1) expect((await client.chat()).status).toBe(200)
    await expectUnharmed(client)
    expect((await stop('SIGTERM')).code).toBe(0)
  })

  test('F07 a daemon that is started with its outputs closed serves', async () => {
    const { home } = await createUser()
    const port = await freePort()
    const args = ['serve', '--demo', '--port', String(port)]
    const cli = startShell('exec "$@" >&- 2>&-', args, { COPILOT_PROXY_HOME: home })
    const client = createClient(`http://127.0.0.1:${port}`)
    onTestFinished(client.close)
    await expect
      .poll(
        () =>
          client.send('/healthz').then(
            ({ status }) => status,
            () => 0,
          ),
        { timeout: 15_000 },
      )
      .toBe(200)
    for (let round = 0; round < 5; round += 1) expect((await client.chat()).status).toBe(200)
    await expectUnharmed(client)
    cli.child.kill('SIGTERM')
    expect((await cli.ended).code).toBe(0)
  })
})

onLinux('F08 few file descriptors', () => {
  test('F08 connections beyond them are refused, and when they are free again everything is served', async () => {
    const { client, cli, stop } = await runDaemon({ script: 'ulimit -n 64; exec "$@"' })
    expect((await client.chat()).status).toBe(200)
    const sockets: Socket[] = []
    for (let at = 0; at < 200; at += 1) sockets.push(await client.socket())
    // Some were taken, the others closed as they came.
    await expect.poll(() => openFiles(cli)).toBeGreaterThan(60)
    const starved = await client.chat().then(
      ({ status }) => status,
      (error: unknown) => Reflect.get(Object(error), 'code'),
    )
    expect(starved).toBeOneOf([200, 429, 502, 503, 'ECONNRESET', 'EPIPE'])
    for (const socket of sockets) socket.destroy()
    await expect
      .poll(
        () =>
          client.chat().then(
            ({ status }) => status,
            () => 0,
          ),
        { timeout: 20_000 },
      )
      .toBe(200)
    await expectUnharmed(client)
    const { code, stderr } = await stop('SIGTERM')
    expect(code).toBe(0)
    expect(stderr).not.toMatch(internal)
  })
})

/** Makes the program fail outside of any request when it is sent SIGUSR2. */
function defectOn(code: string): Record<string, string> {
  const script = `process.on('SIGUSR2', () => { ${code} })`
  return { NODE_OPTIONS: `--import "data:text/javascript,${encodeURIComponent(script).replaceAll("'", '%27')}"` }
}

onLinux('F09 a failure outside of any request', () => {
  const defects = [
    ['a rejection that nobody handles', `Promise.reject(new Error('lost ghu_example'))`],
    ['a rejection with nothing', 'Promise.reject()'],
    ['an exception that nobody catches', `throw new TypeError('lost ghu_example')`],
  ] as const
  test.each(some(defects, 3, 2))(
    'F09 %s ends the daemon with 1 and is reported, without secrets',
    async (_what, code) => {
      const { cli } = await runDaemon({ env: { ...defectOn(code) } })
      cli.child.kill('SIGUSR2')
      const ended = await cli.ended
      expect(ended.code).toBe(1)
      expect(ended.stderr).toMatch(/^copilot-proxy: internal error$/m)
      expect(ended.stderr).not.toContain('ghu_example')
    },
  )
})

test('F10 a daemon that was killed is started again as it was', async () => {
  const port = await freePort()
  const { home } = await createUser()
  const env = { COPILOT_PROXY_HOME: home }
  for (let round = 0; round < 2; round += 1) {
    const cli = startCli(['serve', '--demo', '--port', String(port)], env)
    await cli.seen('stdout', /listening on/)
    const client = createClient(`http://127.0.0.1:${port}`)
    const stream = await client.openChat(saying('[demo:long 100][demo:slow 100]'))
    await stream.next()
    cli.child.kill('SIGKILL')
    await cli.ended
    client.close()
  }
})

test('F10 what a killed process left beside the logins is no hindrance', async () => {
  const github = await openGithub()
  const user = await createUser(github)
  await user.run('login --token-stdin', { stdin: inputOf(github.tokens.issueGithub()) })
  const auth = join(user.home, 'auth')
  const record = (await readdir(auth)).find((name) => name.endsWith('.json'))
  // A process that has ended: its lock, and files it had not put in place yet.
  const dead = spawnSync(process.execPath, ['--version']).pid
  const holder = JSON.stringify({ nonce: '0123456789abcdef01234567', pid: dead, host: hostname() })
  writeFileSync(join(auth, `${record}.lock`), holder, { mode: 0o600 })
  writeFileSync(join(auth, `${record}.${dead}-0123456789ab.tmp`), '{"id":', { mode: 0o600 })
  const cli = startCli(['serve', '--port', '0'], { COPILOT_PROXY_HOME: user.home, ...githubVariables(github) })
  const [, url = ''] = await cli.seen('stdout', /listening on (\S+)/)
  const client = createClient(url)
  onTestFinished(client.close)
  expect((await client.chat()).status).toBe(200)
  expect((await user.run('logout')).code).toBe(0)
  await expect.poll(() => readdir(auth)).toEqual([])
  cli.child.kill('SIGTERM')
  expect((await cli.ended).code).toBe(0)
})

/** A port that is free, and below those that the system gives to connections: other tests open many. */
async function freePort(): Promise<number> {
  const port = randomInt(20_000, 30_000)
  const server = createServer().listen(port, '127.0.0.1')
  const isFree = await once(server, 'listening').then(
    () => true,
    () => false,
  )
  if (!isFree) return freePort()
  await new Promise((resolve) => server.close(resolve))
  return port
}
