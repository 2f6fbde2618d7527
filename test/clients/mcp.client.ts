import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { openProxy } from '../http/harness.ts'
import { claudeCode } from './claude-code.ts'
import { askClient } from './client.ts'
import type { Client, Place, Settings } from './client.ts'
import { codex } from './codex.ts'
import { baseEnvironment, openPlace } from './place.ts'
import { startClient } from './run-client.ts'

const program = join(import.meta.dirname, '../../bin/copilot-proxy.cjs')
const key = 'key-of-the-client'

interface Case {
  readonly client: Client
  readonly id: 'claude' | 'codex'
  readonly model: string
  /** A prompt that makes the model call a tool of the server. */
  readonly call: (tool: string, args: object) => string
  /** A prompt that makes the model find such tools first. */
  readonly find?: (tool: string) => string
  /** Adds the server by its URL. Returns what the client's own configuration needs. */
  readonly addUrl: (place: Place, url: string) => Promise<string>
}

const cases: readonly Case[] = [
  {
    client: claudeCode,
    id: 'claude',
    model: 'claude-sonnet-4.5',
    call: (tool, args) => `[demo:tool mcp__copilot-proxy__${tool} ${JSON.stringify(args)}]`,
    // It holds back the tools of servers until the model asks for them.
    find: (tool) => `[demo:tool ToolSearch ${JSON.stringify({ query: `select:mcp__copilot-proxy__${tool}` })}]`,
    async addUrl({ home }, url) {
      const server = { type: 'http', url, headers: { Authorization: `Bearer ${key}` } }
      await writeFile(join(home, '.claude.json'), JSON.stringify({ mcpServers: { 'copilot-proxy': server } }))
      return ''
    },
  },
  {
    client: codex,
    id: 'codex',
    model: 'gpt-5.3-codex',
    call: (tool, args) => `[demo:tool mcp__copilot_proxy__${tool} ${JSON.stringify(args)}]`,
    addUrl: async (_place, url) =>
      `\n[mcp_servers.copilot-proxy]\nurl = "${url}"\nbearer_token_env_var = "COPILOT_PROXY_API_KEY"\n`,
  },
]

/** Runs `setup --mcp` as a person does. Returns what it wrote into Codex's configuration. */
async function setUp(place: Place, id: Case['id']): Promise<string> {
  const { exitCode, stderr } = await startClient({
    program: process.execPath,
    args: [program, 'setup', id, '--mcp', '--yes'],
    cwd: place.workspace,
    env: baseEnvironment(place),
  }).finished
  expect(stderr).toMatch(/The MCP server has \d+ tools\./)
  expect(exitCode).toBe(0)
  return id === 'codex' ? await readFile(join(place.home, '.codex/config.toml'), 'utf8') : ''
}

/** Calls a tool of the server in a conversation of its own. */
async function use({ client, call, find }: Case, place: Place, settings: Settings, tool: string, args: object) {
  if (find !== undefined) await askClient(client, place, settings, { prompt: find(tool) })
  return await askClient(client, place, settings, { prompt: call(tool, args), isResumed: find !== undefined })
}

describe.each(cases)('$client.name', (each) => {
  const { id, model, addUrl } = each

  test('reads a file with the tool of copilot-proxy mcp that setup added', async () => {
    const proxy = await openProxy()
    const place = await openPlace()
    const more = await setUp(place, id)
    const settings = { url: proxy.url, model, isThinking: false, key, more }
    const { text, exitCode, finished } = await use(each, place, settings, 'fs_read', { path: 'heron.txt' })
    expect(text, finished.stderr).toMatch(/^The tool answered: [^]*The first note is about a heron\./)
    expect(text).toContain('sha256')
    expect(exitCode).toBe(0)
  })

  test('searches and is refused a change at /mcp of the daemon, with its key', async () => {
    const place = await openPlace()
    const proxy = await openProxy({ file: `workspaces: ['${place.workspace}']\nserver: { api-keys: [${key}] }` })
    const more = await addUrl(place, `${proxy.url}/mcp`)
    const settings = { url: proxy.url, model, isThinking: false, key, more }
    const found = await use(each, place, settings, 'search_code', { query: 'otter' })
    expect(found.text, found.finished.stderr).toMatch(/^The tool answered: [^]*otter\.txt/)
    const unifiedDiff = '--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+text\n'
    const refused = await use(each, place, settings, 'edit_applyPatch', { unifiedDiff })
    expect(refused.text).toMatch(/This workspace is read-only/)
    const audit = proxy.log.flatMap(({ fields, message }) =>
      message === 'tool call' ? [[fields['tool'], fields['caller'], fields['outcome']]] : [],
    )
    expect(audit).toEqual([
      ['mcp.search.code', 'mcp:plain-1', 'ok'],
      // Claude Code can ask its person, and there is none in this mode.
      ...(id === 'claude' ? [['mcp.edit.applyPatch', 'mcp:plain-1', 'asked']] : []),
      ['mcp.edit.applyPatch', 'mcp:plain-1', 'denied'],
    ])
  })
})
