import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { runAlone, skip } from './run-alone.ts'

// `npm run test:clients`: the real Claude Code, Codex CLI and opencode against the proxy and the simulated Copilot, acpx with
// the agent, and the proxy as a client of the reference servers of MCP.
// These clients look for outside hosts whatever their opt-outs say, so everything runs in a network namespace of its
// own, in which loopback is the only network. Arguments go to vitest: `npm run test:clients -- codex`.

const folder = import.meta.dirname

const programs = ['claude', 'codex', 'opencode', 'acpx'].map((name) => join(folder, 'node_modules/.bin', name))
if (!programs.every((program) => existsSync(program))) {
  skip('the clients are not installed. `npm ci --prefix test/clients` installs them (1.1 GB).')
}

if (!existsSync(join(folder, 'mcp-servers/node_modules/.bin/mcp-server-everything'))) {
  skip('the MCP servers are not installed. `npm ci --prefix test/clients/mcp-servers` installs them (40 MB).')
}

runAlone(join(folder, 'vitest.config.ts'))
