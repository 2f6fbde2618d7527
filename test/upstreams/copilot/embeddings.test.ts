import { expect, test } from 'vitest'
import { post, openCopilot } from './test-client.ts'

const model = 'text-embedding-3-small'

interface Reply {
  readonly data: readonly { readonly index: number; readonly embedding: readonly number[]; readonly object: string }[]
  readonly usage: { readonly prompt_tokens: number; readonly total_tokens: number }
}

async function embed(body: Record<string, unknown>): Promise<Reply> {
  const demo = await openCopilot()
  const reply = await post(demo, '/embeddings', { model, ...body })
  expect(reply.status).toBe(200)
  return JSON.parse(await reply.text())
}

test('gives unit vectors, the same for the same text and others for others', async () => {
  const { data, usage, ...rest } = await embed({ input: ['alpha', 'beta', 'alpha', ''] })
  expect(rest).toEqual({})
  expect(usage).toEqual({ prompt_tokens: 5, total_tokens: 5 })
  const [alpha, beta, again, empty] = data.map((each) => each.embedding)
  expect(again).toEqual(alpha)
  expect(beta).not.toEqual(alpha)
  for (const vector of [alpha, beta, empty]) {
    expect(vector).toHaveLength(1536)
    expect(Math.hypot(...(vector ?? []))).toBeCloseTo(1, 5)
  }
})

test('honours dimensions', async () => {
  const { data } = await embed({ input: ['alpha'], dimensions: 3 })
  expect(data[0]?.embedding).toHaveLength(3)
})

test.for<[string, unknown]>([
  ['a scalar', 'alpha'],
  ['token ids', [[1, 2]]],
  ['nothing', []],
])('answers %s with a bare Bad Request', async ([, input]) => {
  const demo = await openCopilot()
  const reply = await post(demo, '/embeddings', { model, input })
  expect(reply.status).toBe(400)
  expect(reply.headers.get('content-type')).toBe('text/plain; charset=utf-8')
  expect(await reply.text()).toBe('Bad Request\n')
})

test('refuses broken JSON, another kind of model and too many inputs', async () => {
  const demo = await openCopilot()
  expect((await post(demo, '/embeddings', '{')).status).toBe(400)
  const chat = await post(demo, '/embeddings', { model: 'gpt-4.1', input: ['x'] })
  expect(await chat.text()).toContain('model_not_supported')
  const many = await post(demo, '/embeddings', { model, input: Array.from({ length: 513 }, () => 'x') })
  expect(await many.text()).toContain('exceeds the limit of 512')
})
