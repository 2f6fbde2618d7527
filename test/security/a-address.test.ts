import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, test, vi } from 'vitest'
import { createUser } from '../commands/harness.ts'
import { startCli } from '../cli/cli.ts'
import type { RunningCli } from '../cli/cli.ts'
import { openProxy } from '../http/harness.ts'

// Guards against a hang only: processes take their time to start on a busy machine.
vi.setConfig({ testTimeout: 60_000 })

/** Whether somebody listens there: `open`, or the code of the refusal. */
async function knock(host: string, port: number): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>()
  const socket = connect({ host, port })
  socket
    .once('connect', () => resolve('open'))
    .once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? ''))
  const answer = await promise
  socket.destroy()
  return answer
}

const hasIpv6 = Object.values(networkInterfaces()).some((list) => list?.some(({ address }) => address === '::1'))

/** The addresses of this machine at which another one could reach it. */
function outsideAddresses(): readonly string[] {
  return Object.entries(networkInterfaces()).flatMap(([name, list]) =>
    (list ?? []).flatMap(({ address, internal, scopeid }) => {
      if (internal) return []
      return [scopeid === undefined || scopeid === 0 ? address : `${address}%${name}`]
    }),
  )
}

async function serve(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<{ readonly cli: RunningCli; readonly url: string; readonly port: number }> {
  const { home } = await createUser()
  const cli = startCli(['serve', '--demo', '--port', '0', ...args], { COPILOT_PROXY_HOME: home, ...env })
  const [, url = ''] = await cli.seen('stdout', /listening on (\S+)/)
  return { cli, url, port: Number(new URL(url).port) }
}

test('A01 without a setting it listens at 127.0.0.1 and at no other address', async () => {
  const { url, port } = await serve([])
  expect(new URL(url).hostname).toBe('127.0.0.1')
  expect(await knock('127.0.0.1', port)).toBe('open')
  for (const host of [...outsideAddresses(), '127.0.0.2', '::1']) {
    expect([host, await knock(host, port)]).not.toEqual([host, 'open'])
  }
  expect((await fetch(`${url}/v1/models`)).status).toBe(200)
})

describe('A02 a wildcard, however it is spelt', () => {
  test.each(['0.0.0.0', '::', '[::]', '', '0', '0x0', '::ffff:0.0.0.0', '0.0', '00000000000'])(
    'is refused without a key: %j',
    async (host) => {
      const { home } = await createUser()
      const file = join(home, 'config.yaml')
      await writeFile(file, `server: { host: ${JSON.stringify(host)}, port: 0 }\n`)
      const { code, stdout, stderr } = await startCli(['serve', '--demo'], { COPILOT_PROXY_HOME: home }).ended
      expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
      expect(stderr).toContain('server.host')
      expect(stderr).toContain('copilot-proxy key add NAME')
      expect(stderr).not.toMatch(/\n\s+at /)
    },
  )

  test('with a key, it starts and says who can reach it', async () => {
    const { cli, port } = await serve(['--host', '0.0.0.0'], { COPILOT_PROXY_SERVER_API_KEYS: 'right-key-0123456789' })
    await cli.seen('stderr', /WARN other machines can use copilot-proxy at 0\.0\.0\.0 \(server\.host\)/)
    await cli.seen(
      'stderr',
      /WARN other machines must use an IP address; to use a name, add it to server\.allowed-hosts/,
    )
    const ask = (headers: Readonly<Record<string, string>>) => fetch(`http://127.0.0.1:${port}/v1/models`, { headers })
    for (const address of outsideAddresses().filter((each) => !each.includes(':'))) {
      const headers = { authorization: 'Bearer right-key-0123456789' }
      expect((await fetch(`http://${address}:${port}/v1/models`, { headers })).status).toBe(200)
      expect((await fetch(`http://${address}:${port}/v1/models`)).status).toBe(401)
    }
    expect((await ask({})).status).toBe(401)
    expect((await ask({ authorization: 'Bearer right-key-0123456789' })).status).toBe(200)
    cli.child.kill('SIGTERM')
    const { stderr } = await cli.ended
    expect(stderr).not.toContain('right-key')
    expect(stderr).not.toContain('easy to guess')
  })

  test('with a key and a name in server.allowed-hosts, it starts without a warning about names', async () => {
    const { cli } = await serve(['--host', '0.0.0.0'], {
      COPILOT_PROXY_SERVER_API_KEYS: 'right-key-0123456789',
      COPILOT_PROXY_SERVER_ALLOWED_HOSTS: 'proxy.example',
    })
    cli.child.kill('SIGTERM')
    expect((await cli.ended).stderr).not.toContain('must use an IP address')
  })

  test('with a key that can be guessed, it says that too', async () => {
    const { cli } = await serve(['--host', '0.0.0.0'], { COPILOT_PROXY_SERVER_API_KEYS: 'pass' })
    await cli.seen('stderr', /WARN a key in server\.api-keys is short and easy to guess/)
  })
})

describe('A15 the name localhost', () => {
  test('reaches the address of the documentation, by fetch and by curl', async () => {
    const { port } = await serve([])
    expect((await fetch(`http://localhost:${port}/v1/models`)).status).toBe(200)
    const curl = ['-sS', '-o', '/dev/null', '-w', '%{http_code}', `http://localhost:${port}/v1/models`]
    expect((await promisify(execFile)('curl', curl)).stdout).toBe('200')
  })

  test.runIf(hasIpv6)('reaches it too where the name means ::1 first', async () => {
    const { port } = await serve([])
    // What a system's resolver answers there; the client tries one address after the other.
    const resolve = `localhost:${port}:[::1],127.0.0.1`
    const curl = [
      '-sS',
      '-o',
      '/dev/null',
      '-w',
      '%{http_code}',
      '--resolve',
      resolve,
      `http://localhost:${port}/v1/models`,
    ]
    expect((await promisify(execFile)('curl', curl)).stdout).toBe('200')
  })

  test.runIf(hasIpv6)('as server.host means both families, on one port, and nothing else', async () => {
    const { cli, url, port } = await serve(['--host', 'localhost'])
    expect(url).toBe(`http://localhost:${port}`)
    for (const host of ['127.0.0.1', '[::1]', 'localhost']) {
      const reply = await fetch(`http://${host}:${port}/v1/models`)
      expect([host, reply.status]).toEqual([host, 200])
      const foreign = await fetch(`http://${host}:${port}/v1/models`, { headers: { origin: 'https://evil.example' } })
      expect([host, foreign.status]).toEqual([host, 403])
    }
    for (const host of outsideAddresses()) expect([host, await knock(host, port)]).not.toEqual([host, 'open'])
    cli.child.kill('SIGTERM')
    expect(await cli.ended).toMatchObject({ code: 0 })
    expect(await knock('::1', port)).toBe('ECONNREFUSED')
  })

  test.runIf(hasIpv6)('is given up at both addresses at once, while a request still runs', async () => {
    const { demo, port, chat, daemon } = await openProxy({ file: 'server: { host: localhost }' })
    expect([await knock('127.0.0.1', port), await knock('::1', port)]).toEqual(['open', 'open'])
    const gate = demo.gateNext()
    const reply = chat()
    await gate.opened
    const closed = daemon.close(60_000)
    expect([await knock('127.0.0.1', port), await knock('::1', port)]).toEqual(['ECONNREFUSED', 'ECONNREFUSED'])
    gate.open()
    expect((await reply).status).toBe(200)
    await closed
  })
})
