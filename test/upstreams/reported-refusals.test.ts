import { expect, test } from 'vitest'
import { openCopilot, post } from '../demo/client.ts'
import { REFUSAL_ROWS } from './copilot/refusals/rows.ts'
import { MODELS } from './copilot/models.ts'
import { exampleOf } from './refusal-examples.ts'

// Each row refuses its example, takes the neighbour of it, and takes the example too where it is switched off.

const vision = { 'copilot-vision-request': 'true' }

test.each(REFUSAL_ROWS.map((row) => [row.id, row] as const))('%s', async (id, row) => {
  const { path, model, refused, taken, words, headers = {}, windowTokens } = exampleOf(id)
  expect(row.routes).toContain(path)
  expect(row.models(MODELS.find(model) ?? expect.fail(`no model ${model}`))).toBe(true)
  const demo = await openCopilot({ settings: { refusals: new Set([id]), windowTokens } })
  const send = (body: object) =>
    post(demo, path, { model, stream: true, ...body }, { headers: { ...vision, ...headers } })
  const reply = await send(refused)
  expect(reply.status).toBe(id === '32 MB on Responses' ? 413 : 400)
  expect(reply.headers.get('content-type')).toContain('text/plain')
  expect(await reply.text()).toContain(words)
  const neighbour = await send(taken)
  expect([neighbour.status, neighbour.ok ? '' : await neighbour.text()]).toEqual([200, ''])
  demo.configure({ refusals: new Set() })
  const lifted = await send(refused)
  if (!lifted.ok) expect(await lifted.text()).not.toContain(words)
})
