import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { CopilotUpstream } from '../../upstreams/copilot.ts'
import { baseEnvironment } from '../place.ts'
import type { Place } from '../client.ts'
import { startClient } from '../run-client.ts'
import type { Finished } from '../run-client.ts'

const folder = import.meta.dirname

/** Runs GitHub's Copilot CLI for one prompt, with the odd MCP server. */
export async function askCli(
  place: Place,
  demo: CopilotUpstream,
  { model, prompt, more = [] }: { readonly model: string; readonly prompt: string; readonly more?: readonly string[] },
): Promise<Finished> {
  const servers = join(place.home, 'mcp.json')
  const odd = { type: 'local', command: process.execPath, args: [join(folder, 'odd-server.ts')], tools: ['*'] }
  await writeFile(servers, JSON.stringify({ mcpServers: { odd } }))
  const args = ['-p', prompt, '--allow-all-tools', '--model', model, '--additional-mcp-config', `@${servers}`, ...more]
  const client = startClient({
    program: join(folder, 'node_modules/.bin/copilot'),
    args,
    cwd: place.workspace,
    env: {
      ...baseEnvironment(place),
      COPILOT_AUTO_UPDATE: 'false',
      COPILOT_DEBUG_GITHUB_API_URL: demo.url,
      COPILOT_API_URL: demo.url,
      GH_TOKEN: demo.tokens.issueGithub('gho_'),
      // Beside the namespace: two of its calls go to the real host, whatever the variables say.
      HTTPS_PROXY: 'http://127.0.0.1:9',
      NO_PROXY: '127.0.0.1,localhost',
    },
  })
  return await client.finished
}
