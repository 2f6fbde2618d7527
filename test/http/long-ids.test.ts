import { expect, test } from 'vitest'
import { openApp } from '../security/open-app.ts'
import { makeFolder } from '../tools/session.ts'
import { openProxy } from './harness.ts'

/** Longer than Fastify's own limit, and about as long as a URL can be (Node.js: 16 KB of headers). */
const lengths = [101, 15_000]

const paths: readonly (readonly [method: string, path: (id: string) => string])[] = [
  ['GET', (id) => `/runs/${id}`],
  ['POST', (id) => `/runs/${id}/cancel`],
  ['POST', (id) => `/approvals/${id}`],
  ['GET', (id) => `/requests/${id}`],
  ['GET', (id) => `/sessions/${id}/messages`],
  ['DELETE', (id) => `/sessions/${id}/history`],
  ['GET', (id) => `/sessions/${id}/streams`],
  ['GET', (id) => `/sessions/${id}/streams/${id.slice(0, 7000)}`],
  ['GET', (id) => `/sessions/${id}/servers`],
  ['GET', (id) => `/v1/responses/${id}`],
  ['DELETE', (id) => `/v1/responses/${id}`],
  ['GET', (id) => `/v1/responses/${id}/input_items`],
  ['GET', (id) => `/responses/${id}`],
  ['GET', (id) => `/v1/models/${id}`],
  ['GET', (id) => `/models/${id}`],
  ['GET', (id) => `/page/${id}`],
  ['GET', (id) => `/v1/nothing/${id}`],
]

test.each(lengths)(
  'an id of %i characters is one that does not exist, and no failure of the daemon',
  async (length) => {
    const { send, log } = await openProxy({ file: JSON.stringify({ workspaces: [await makeFolder({})] }) })
    const id = 'x'.repeat(length / (length > 7000 ? 2 : 1))
    for (const [method, path] of paths) {
      const body = method === 'POST' ? { body: '{"decision":"once"}' } : {}
      const reply = await send(path(id), { method, ...body })
      expect([method, path('ID'), reply.status]).toEqual([method, path('ID'), 404])
      expect(reply.json()).toMatchObject({ error: { message: expect.any(String) } })
      const asAnthropic = await send(path(id), { method, ...body, headers: { 'anthropic-version': '2023-06-01' } })
      expect(asAnthropic.status).toBe(404)
    }
    expect((await send(`/v1/models/${id}`, { headers: { 'anthropic-version': '2023-06-01' } })).json()).toMatchObject({
      type: 'error',
      error: { type: 'not_found_error' },
    })
    expect(log.filter(({ level }) => level === 'error')).toEqual([])
  },
)

test('a model whose name is longer than 100 characters is found', async () => {
  const name = 'm'.repeat(300)
  const { send } = await openProxy({ file: JSON.stringify({ models: { aliases: { [name]: 'gpt-5-mini' } } }) })
  expect((await send(`/v1/models/${name}`)).json()).toMatchObject({ object: 'model' })
})

test.each([
  [{ code: 'FST_ERR_OF_A_LATER_VERSION', statusCode: 422 }, 400],
  [{ code: 'FST_ERR_OF_A_LATER_VERSION', statusCode: 500 }, 500],
  [{ code: 'FST_ERR_OF_A_LATER_VERSION' }, 500],
  [{ code: 'ENOENT', statusCode: 404 }, 500],
])('an error of the framework with %j is answered with %i', async (fields, status) => {
  const url = await openApp({
    routes: (fastify) => {
      fastify.get('/broken', () => {
        throw Object.assign(new Error('example'), fields)
      })
    },
  })
  expect((await fetch(`${url}/broken`)).status).toBe(status)
})
