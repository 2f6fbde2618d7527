import { createServer } from 'node:http'
import { describe, expect, test } from 'vitest'
import type { CommandContext } from '../../src/commands/shared/command.ts'
import { createUser, openGithub, recordOutput } from './harness.ts'
import type { TestUser } from './harness.ts'
import { listenForTest } from '../listen-for-test.ts'

const quiet = { COPILOT_PROXY_SERVER_PORT: '0', COPILOT_PROXY_LOG_LEVEL: 'error' }

/** Runs a command that serves, and stops it with this signal as soon as it says that it listens. */
async function serveOnce(user: TestUser, commandLine: string, signal: string, change: Partial<CommandContext> = {}) {
  Object.assign(user.env, quiet)
  const stop = new AbortController()
  const output = recordOutput()
  const stdout = {
    ...output,
    write: (text: string) => {
      output.write(text)
      if (text.includes('listening on')) stop.abort(signal)
    },
  }
  const { code, stderr } = await user.run(commandLine, { stdout, signal: stop.signal, ...change })
  return { code, stderr, stdout: output.text() }
}

describe('serve', () => {
  test.each([
    ['SIGTERM', 0],
    ['SIGINT', 130],
  ])('stops on %s and ends with %d', async (signal, expected) => {
    const { code, stdout, stderr } = await serveOnce(await createUser(), 'serve --demo', signal)
    expect(code).toBe(expected)
    expect(stdout).toMatch(/^copilot-proxy listening on http:\/\/127\.0\.0\.1:\d+\n$/)
    expect(stderr).toMatch(/^ {2}curl http/m)
  })

  test('ends with a sentence for a workspace of the command line that cannot be opened', async () => {
    const user = await createUser()
    for (const [words, reason] of [
      ['--workspace /no/such/folder', '"/no/such/folder" does not exist.\n'],
      [`--workspace ${user.home} --workspace /dev/null`, 'copilot-proxy'],
    ] as const) {
      const { code, stdout, stderr } = await serveOnce(user, `serve --demo ${words}`, 'SIGTERM')
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
      expect(stderr).toContain(reason)
    }
    expect(await serveOnce(user, `serve --demo --workspace ${import.meta.dirname}`, 'SIGTERM')).toMatchObject({
      code: 0,
    })
    // A folder of the configuration may come back while the daemon runs.
    user.env['COPILOT_PROXY_WORKSPACES'] = '[/no/such/folder]'
    expect(await serveOnce(user, 'serve --demo', 'SIGTERM')).toMatchObject({ code: 0 })
  })

  test('shows where a key goes when one is asked for, and not the key', async () => {
    const user = await createUser()
    user.env['COPILOT_PROXY_SERVER_API_KEYS'] = 'example-key-0123456789'
    const { stderr } = await serveOnce(user, 'serve --demo', 'SIGTERM')
    expect(stderr).toContain('Bearer YOUR_KEY')
    expect(stderr).not.toContain('example-key')
  })

  test.each([
    ['serve --demo --log-level silent', false, false],
    ['serve --demo --log-level error --log-format json', false, false],
    ['serve --demo --log-level error --log-format json', true, true],
    ['serve --demo --log-level silent', true, false],
  ])('%s, on a terminal: %s, says what to try: %s', async (commandLine, isTerminal, expected) => {
    const stderr = { ...recordOutput(), isTerminal }
    await serveOnce(await createUser(), commandLine, 'SIGTERM', { stderr })
    expect(stderr.text().includes('curl')).toBe(expected)
  })

  test('F03 names another copilot-proxy that holds the port, and that its answers are simulated', async () => {
    const holder = createServer((_request, reply) =>
      reply.end(JSON.stringify({ ok: true, copilot: 'ok', version: '1.2.3', demo: true })),
    )
    const port = await listenForTest(holder)
    const user = await createUser()
    const { code, stderr } = await user.run(`serve --port ${port} --log-level silent`)
    expect(code).toBe(1)
    expect(stderr).toContain(`copilot-proxy 1.2.3 is already running at http://127.0.0.1:${port} with --demo`)
    const { stdout } = await user.run('status', { env: { ...user.env, COPILOT_PROXY_SERVER_PORT: String(port) } })
    expect(stdout).toMatch(/^Daemon .*, Copilot simulated \(--demo\)$/m)
  })

  test('F03 names who holds the port', async () => {
    const holder = createServer((_request, reply) => reply.end('something else'))
    const port = await listenForTest(holder)
    const user = await createUser()
    const { code, stdout, stderr } = await user.run(`serve --port ${port} --log-level silent`)
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toMatch(
      new RegExp(`^Port ${port} is in use by .*\\. Choose another port with --port or the setting server\\.port\\.\n$`),
    )
    if (process.platform === 'linux') expect(stderr).toContain(`(process ${process.pid})`)
  })

  test.runIf(process.platform === 'linux')('status names who listens in its place', async () => {
    const port = await listenForTest(createServer((_request, reply) => reply.end('something else')))
    const user = await createUser()
    const { stdout } = await user.run('status', { env: { ...user.env, COPILOT_PROXY_SERVER_PORT: String(port) } })
    expect(stdout).toMatch(/^Daemon +not running at \S+\. .+ \(process \d+\) uses this port; change server\.port$/m)
  })

  test('says when the address is not one of this machine', async () => {
    const user = await createUser()
    // TEST-NET-1 of RFC 5737: nobody's.
    const { code, stderr } = await user.run('serve --port 0 --host 192.0.2.1 --log-level silent', {
      env: { ...user.env, COPILOT_PROXY_SERVER_API_KEYS: 'example-key-0123456789' },
    })
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: '192.0.2.1 is not an address of this machine. Change --host or the setting server.host.\n',
    })
  })
})

describe('without a command', () => {
  test('a person who is not logged in is led through the login, and served', async () => {
    const user = await createUser(await openGithub())
    const { code, stdout } = await serveOnce(user, '', 'SIGTERM', { interactive: true })
    expect(code).toBe(0)
    expect(stdout).toMatch(/Logged in as demo-user.*\n\ncopilot-proxy listening on /s)
    expect(stdout).not.toContain('Next:')
  })

  test('somebody who is logged in is served at once, terminal or not', async () => {
    const user = await createUser(await openGithub())
    await user.run('login')
    const { code, stdout } = await serveOnce(user, '', 'SIGTERM')
    expect(code).toBe(0)
    expect(stdout).toMatch(/^copilot-proxy listening on /)
  })

  test('the demo needs no login, and the options of serve are taken', async () => {
    const { code, stdout, stderr } = await serveOnce(await createUser(), '--demo --host localhost', 'SIGTERM')
    expect({ code, stdout }).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^copilot-proxy listening on http:\/\/localhost:/),
    })
    expect(stderr).toMatch(/^ {2}curl http/m)
  })

  test('a failed login is not followed by serving', async () => {
    const user = await createUser(await openGithub({ polls: ['denied'] }))
    const { code, stdout } = await serveOnce(user, '', 'SIGTERM', { interactive: true })
    expect(code).toBe(1)
    expect(stdout).not.toContain('listening')
  })
})
