import { expect, onTestFinished, test } from 'vitest'
import { EVERYWHERE } from '../../upstreams/copilot/refusals/rows.ts'
import { STREAMING_ROUTES } from '../../upstreams/copilot/routes.ts'
import { startCopilot } from '../../upstreams/copilot.ts'
import { openPlace } from '../place.ts'
import { startLanguageServer } from './language-server.ts'

// All that GitHub's language server sends has to pass the rows that hold on every host.

const models = [
  'claude-haiku-4.5',
  'claude-sonnet-5',
  'claude-fable-5.1',
  'claude-opus-5.5',
  'gpt-5-mini',
  'gpt-5.3-codex',
  'gpt-6.1-sol',
  'gpt-4.1',
  'gemini-4-argon',
] as const

test.each(models)('%s: a question is answered, and a tool of the editor is called', async (model) => {
  const demo = await startCopilot({ record: 100, settings: { refusals: EVERYWHERE } })
  onTestFinished(() => demo.close())
  const server = await startLanguageServer(await openPlace(), demo)
  onTestFinished(server.kill)
  const asked = () => demo.log.filter(({ route }) => STREAMING_ROUTES.has(route)).length
  expect(await server.converse({ model, mode: 'Ask', prompt: 'hi' })).toContain('Hello from')
  const before = asked()
  const prompt = 'Go [demo:tool awkward {"list":[]}]'
  expect(await server.converse({ model, mode: 'Agent', prompt })).toContain('the odd result')
  expect(asked() - before).toBe(2)
})
