import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'

// `npm run test:clients`: the real Claude Code, Codex CLI and opencode against the proxy and the simulated Copilot, and the
// proxy as a client of the reference servers of MCP.
// These clients look for outside hosts whatever their opt-outs say, so everything runs in a network namespace of its
// own, in which loopback is the only network. Arguments go to vitest: `npm run test:clients -- codex`.

const folder = import.meta.dirname
const root = join(folder, '../..')

function skip(reason: string): never {
  console.log(`Skipped: ${reason}`)
  process.exit(0)
}

const programs = ['claude', 'codex', 'opencode'].map((name) => join(folder, 'node_modules/.bin', name))
if (!programs.every((program) => existsSync(program))) {
  skip('the clients are not installed. `npm ci --prefix test/clients` installs them (1.1 GB).')
}

if (!existsSync(join(folder, 'mcp-servers/node_modules/.bin/mcp-server-everything'))) {
  skip('the MCP servers are not installed. `npm ci --prefix test/clients/mcp-servers` installs them (40 MB).')
}

const alone = ['-rn', 'sh', '-c', 'ip link set lo up && exec "$@"', 'sh']
const probe = spawnSync('unshare', [...alone, 'true'], { encoding: 'utf8' })
if (probe.error !== undefined || probe.status !== 0) {
  const detail = probe.error?.message ?? probe.stderr.trim()
  skip(`this machine gives no network namespace (unshare -rn; ip link set lo up), which these tests need: ${detail}`)
}

const vitest = [join(root, 'node_modules/vitest/vitest.mjs'), 'run', '--config', join(folder, 'vitest.config.ts')]
const { status } = spawnSync('unshare', [...alone, process.execPath, ...vitest, ...process.argv.slice(2)], {
  cwd: root,
  stdio: 'inherit',
})
process.exit(status ?? 1)
