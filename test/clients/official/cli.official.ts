import { expect, onTestFinished, test } from 'vitest'
import { EVERYWHERE } from '../../upstreams/copilot/refusals/rows.ts'
import { STREAMING_ROUTES } from '../../upstreams/copilot/routes.ts'
import { startCopilot } from '../../upstreams/copilot.ts'
import type { CopilotUpstream } from '../../upstreams/copilot.ts'
import { openPlace } from '../place.ts'
import { askCli } from './cli.ts'

// All that GitHub's CLI sends has to pass the rows that hold on every host. If a row refuses it, the row is wrong.

async function openCopilot(): Promise<CopilotUpstream> {
  const demo = await startCopilot({ record: 100, settings: { refusals: EVERYWHERE } })
  onTestFinished(() => demo.close())
  return demo
}

/** The model routes that the CLI has used, in order. */
function routesOf({ log }: CopilotUpstream): readonly string[] {
  return log.map(({ route }) => route).filter((route) => STREAMING_ROUTES.has(route))
}

const models = [
  ['claude-haiku-4.5', '/v1/messages'],
  ['claude-sonnet-4.5', '/v1/messages'],
  ['claude-sonnet-5', '/v1/messages'],
  ['claude-fable-5.1', '/v1/messages'],
  ['claude-mythos-5.1', '/v1/messages'],
  ['claude-opus-5.5', '/v1/messages'],
  ['gpt-5-mini', '/responses'],
  ['gpt-5.3-codex', '/responses'],
  ['gpt-5.6-sol', '/responses'],
  ['gpt-6.1-sol', '/responses'],
  ['gemini-3.8-flash', '/chat/completions'],
  ['gemini-4-argon', '/chat/completions'],
  ['grok-4.7', '/chat/completions'],
  ['kimi-k3', '/chat/completions'],
  ['mai-code-2', '/chat/completions'],
] as const

test.each(models)('%s: an awkward MCP tool is offered and called, and its image comes back', async (model, route) => {
  const demo = await openCopilot()
  const { stdout, stderr } = await askCli(await openPlace(), demo, {
    model,
    prompt: 'Go [demo:tool odd-awkward {"list":[]}]',
  })
  expect(`${stdout}${stderr}`).not.toContain('Execution failed')
  expect(stdout).toContain('the odd result')
  expect(routesOf(demo)).toEqual([route, route])
  expect(demo.log.at(-1)?.body).toContain('the odd result')
})

test.each(['claude-sonnet-5', 'claude-opus-5.5', 'gpt-6.1-sol', 'gemini-4-argon'])(
  '%s: thinking comes back with a call',
  async (model) => {
    const demo = await openCopilot()
    const { stdout, stderr } = await askCli(await openPlace(), demo, {
      model,
      prompt: '[demo:reasoning][demo:tool odd-awkward {"list":[]}]',
      more: ['--reasoning-effort', 'high'],
    })
    expect(`${stdout}${stderr}`).not.toContain('Execution failed')
    expect(routesOf(demo)).toHaveLength(2)
  },
)

test.each(['claude-sonnet-5', 'gpt-6.1-sol', 'gemini-4-argon'])('%s: an image is attached', async (model) => {
  const demo = await openCopilot()
  const place = await openPlace()
  const more = ['--attachment', `${place.workspace}/pixel.png`]
  const { stdout, stderr } = await askCli(place, demo, { model, prompt: 'Look', more })
  expect(`${stdout}${stderr}`).not.toContain('Execution failed')
  expect(stdout).toContain('image/png')
})
