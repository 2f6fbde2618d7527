import { expect, test } from 'vitest'
import { openCopilot, post } from './copilot/test-client.ts'
import { REFUSAL_ROWS } from './copilot/refusals/rows.ts'
import { MODELS } from './copilot/models.ts'
import { exampleOf } from './refusal-examples.ts'

// Each row refuses its example, takes the neighbour of it, and takes the example too where it is switched off.

const vision = { 'copilot-vision-request': 'true' }

const stateless = REFUSAL_ROWS.filter(({ id }) => id !== 'thinking of another prefix')

test.each(stateless.map((row) => [row.id, row] as const))('%s', async (id, row) => {
  const { path, model, refused, taken, words, headers = {}, takenHeaders = headers, windowTokens } = exampleOf(id)
  expect(row.routes).toContain(path)
  expect(row.models(MODELS.find(model) ?? expect.fail(`no model ${model}`))).toBe(true)
  const demo = await openCopilot({ settings: { refusals: new Set([id]), windowTokens } })
  const send = (body: object, more = headers) =>
    post(demo, path, { model, stream: true, ...body }, { headers: { ...vision, ...more } })
  const reply = await send(refused)
  expect(reply.status).toBe(id === '32 MB on Responses' ? 413 : 400)
  expect(reply.headers.get('content-type')).toContain('text/plain')
  expect(await reply.text()).toContain(words)
  const neighbour = await send(taken, takenHeaders)
  expect([neighbour.status, neighbour.ok ? '' : await neighbour.text()]).toEqual([200, ''])
  demo.configure({ refusals: new Set() })
  const lifted = await send(refused)
  if (!lifted.ok) expect(await lifted.text()).not.toContain(words)
})

test('thinking of another prefix', async () => {
  const demo = await openCopilot({ settings: { refusals: new Set(['thinking of another prefix']) } })
  const user = { role: 'user', content: '[demo:reasoning] hi' }
  const ask = (messages: readonly object[], more: object = {}, headers: Record<string, string> = {}) =>
    post(
      demo,
      '/v1/messages',
      { model: 'claude-opus-5.5', max_tokens: 4000, stream: true, thinking: { type: 'adaptive' }, messages, ...more },
      { headers },
    )
  const first = await (await ask([user])).text()
  const signature = /"signature":"([^"]+)"/.exec(first)?.[1]
  const answer = {
    role: 'assistant',
    content: [
      { type: 'thinking', thinking: '', signature },
      { type: 'text', text: 'Hi' },
    ],
  }
  const next = { role: 'user', content: 'go on' }
  expect((await ask([user, answer, next])).status).toBe(200)
  const changed = await ask([user, answer, next], { system: 'Be brief.' })
  expect([changed.status, await changed.text()]).toEqual([
    400,
    expect.stringContaining('messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound'),
  ])
  const dropping = { type: 'adaptive', block_binding: { prefix_mismatch_behavior: 'drop_block' } }
  const beta = { 'anthropic-beta': 'thinking-binding-controls-2026-08-01' }
  expect((await ask([user, answer, next], { system: 'Be brief.', thinking: dropping }, beta)).status).toBe(200)
  const withoutBeta = await ask([user, answer, next], { thinking: dropping })
  expect(await withoutBeta.text()).toContain('thinking.adaptive.block_binding: Extra inputs are not permitted')
})
