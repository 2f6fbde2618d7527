import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openProxy } from '../http/harness.ts'
import { askClient } from './client.ts'
import type { Ask } from './client.ts'
import { codex } from './codex.ts'
import { openPlace } from './place.ts'
import { generationsOf } from './upstream-view.ts'

// Codex CLI with an MCP server of 150 tools, on models of other makers.

const server = join(import.meta.dirname, 'many-tools-server.ts')
const more = `
[mcp_servers.zoo]
command = ${JSON.stringify(process.execPath)}
args = [${JSON.stringify(server)}]
`

async function openUser(model: string, file = '') {
  const proxy = await openProxy({ file })
  const place = await openPlace()
  const settings = { url: proxy.url, model, isThinking: false, key: 'not-a-key', more }
  return { proxy, ask: (asked: Ask) => askClient(codex, place, settings, asked) }
}

test('all tools reach a model that takes them on one route only', async () => {
  const { proxy, ask } = await openUser('claude-sonnet-4.5')
  const { text, failure } = await ask({ prompt: '[demo:tool mcp__zoo__zebra_149 {}]' })
  expect([failure, text]).toEqual(['', expect.stringMatching(/^The tool answered: [^]*zebra_149 is striped/)])
  const [first] = generationsOf(proxy)
  expect(first?.route).toBe('/v1/messages')
  expect(first?.tools.filter((name) => String(name).startsWith('mcp__zoo__'))).toHaveLength(150)
})

// A model that Codex CLI believes to know, so that it keeps the tools of servers behind a search of its own.
test.each(['claude-sonnet-4.5', 'gemini-3-pro-preview'])('a search finds a tool, which %s calls', async (model) => {
  const { proxy, ask } = await openUser('gpt-5.5', `models: { aliases: { gpt-5.5: ${model} } }`)
  const found = await ask({ prompt: '[demo:tool tool_search {"query":"zebra 42","limit":3}]' })
  expect(found.failure).toBe('')
  expect(found.text).toMatch(/^The tool answered: Found tools/)
  const before = generationsOf(proxy)
  expect(before[0]?.tools).not.toContainEqual(expect.stringContaining('zebra'))
  const name = /mcp__zoo__zebra_\d+/.exec(found.text)?.[0]
  const called = await ask({ prompt: `[demo:tool ${name} {}]`, isResumed: true })
  expect([called.failure, called.text]).toEqual(['', expect.stringMatching(/^The tool answered: [^]*is striped/)])
  // The search and what it has found are still in the history.
  expect(generationsOf(proxy).at(-1)?.calls).toMatchObject([
    { name: 'tool_search', arguments: expect.stringContaining('zebra 42'), result: expect.stringContaining('Found') },
    { name, result: expect.stringContaining('is striped') },
  ])
})
