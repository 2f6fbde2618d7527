import { expect, test } from 'vitest'
import { runAgent } from '../../src/agent/run-agent.ts'
import { openAgent } from './support.ts'

test('a chat is answered by the model, and its text is told as it comes', async () => {
  const { deps, task, events } = await openAgent({ mode: 'chat', text: 'Hello' })
  const outcome = await runAgent(deps, task)
  expect(outcome).toMatchObject({ outcome: 'completed', model: 'gpt-5-mini' })
  expect(outcome.answer).toContain('You said: Hello')
  expect(events.map((event) => ('text' in event ? event.text : '')).join('')).toBe(outcome.answer)
})
