import { mkdir, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeFolder } from '../tools/session.ts'
import { copilotUser } from './doctor/logged-in.ts'
import { listenForTest } from '../listen-for-test.ts'

/** A user whose daemon has a server that failed, and no port for its gateway. */
async function userWithFailures() {
  const { user } = await copilotUser()
  const sandbox = { setting: 'auto', holds: 'none', description: 'Commands run as you.' }
  const lists = { tools: [], resources: [], templates: [], prompts: [] }
  const bodies: Readonly<Record<string, object>> = {
    '/healthz': { ok: true, version: '1.0.0', copilot: 'ok' },
    '/sessions': { sessions: [{ id: 's1', name: 'foo', path: '/foo', tools: [], runs: [], readOnly: false, sandbox }] },
    '/sessions/s1/servers': {
      servers: [
        { name: 'git', state: 'failed', error: 'it ended with exit code 7', ...lists },
        { name: 'notes', state: 'stopped', ...lists },
      ],
    },
  }
  const daemon = createServer((request, reply) => reply.end(JSON.stringify(bodies[request.url ?? ''] ?? {})))
  user.env['COPILOT_PROXY_SERVER_PORT'] = String(await listenForTest(daemon))
  const settings = {
    workspaces: [await makeFolder()],
    gateway: { enabled: true },
    'mcp-servers': { git: { command: ['git-server'] }, notes: { command: ['notes'] } },
  }
  await writeFile(join(user.home, 'config.yaml'), JSON.stringify(settings))
  await mkdir(join(user.home, 'gateway'))
  // The daemon is this process.
  const record = {
    pid: process.pid,
    process_start: '',
    started_at: 'x',
    url: null,
    problem: 'Port 9400 is in use by nc (process 17).',
    token: 'ptk-x',
    control_key: 'x',
    discovery_file: null,
  }
  await writeFile(join(user.home, 'gateway', `${process.pid}.json`), JSON.stringify(record))
  return user
}

const failures = [
  { source: 'Gateway', reason: 'Port 9400 is in use by nc (process 17).' },
  { source: 'MCP server "git" in foo', reason: 'it ended with exit code 7' },
]

test('status names the gateway and the MCP servers that do not work, with the reasons', async () => {
  const user = await userWithFailures()
  const { stdout } = await user.run('status')
  for (const { source, reason } of failures) expect(stdout).toContain(`${source}: ${reason}`)
  expect(JSON.parse((await user.run('status --json')).stdout)).toMatchObject({ tool_failures: failures })
})

test('doctor warns of them', async () => {
  const user = await userWithFailures()
  const { checks } = JSON.parse((await user.run('doctor --json')).stdout) as { checks: readonly { id: string }[] }
  expect(checks.filter(({ id }) => id === 'tools')).toEqual(
    failures.map(({ source, reason }) => ({
      id: 'tools',
      provider: null,
      status: 'warning',
      detail: `${source}: ${reason}`,
      fix: expect.stringContaining('copilot-proxy'),
    })),
  )
})
