import type { FastifyInstance } from 'fastify'
import { expect, onTestFinished, test } from 'vitest'
import { createClient } from '../http/client.ts'
import { recordingLog } from '../recording-log.ts'
import { openApp } from './open-app.ts'
import { envelopeOf, expectUnharmed } from './unharmed.ts'

const canary = 'canary-5e1f'

/** Ways in which code can fail that nobody thought of. */
const failures: Readonly<Record<string, () => unknown>> = {
  'throws an Error': () => {
    throw new Error(canary)
  },
  'throws in what it awaits': async () => {
    await Promise.resolve()
    throw new TypeError(canary)
  },
  'rejects with a text': () => Promise.reject(canary),
  'throws a text': () => {
    throw canary
  },
  'rejects with an object': () => Promise.reject({ statusCode: 418, message: canary, headers: { 'x-leak': canary } }),
  'throws an Error that names a status': () => {
    throw Object.assign(new Error(canary), { statusCode: 404, code: 'ERR_OTHER', headers: { 'x-leak': canary } })
  },
  'rejects with nothing': () => Promise.reject(undefined),
  'throws null': () => {
    throw null
  },
  'answers with what no JSON can say': () => ({ canary: 1n }),
  'answers with a circle': () => {
    const circle: Record<string, unknown> = { canary }
    circle['self'] = circle
    return circle
  },
}

const paths = ['/v1/failing', '/v1/messages/failing']

function addFailing(fastify: FastifyInstance): void {
  for (const path of paths) {
    const config = path.startsWith('/v1/messages') ? { dialect: 'messages' as const } : {}
    fastify.get(`${path}/:how`, { config }, async (request) => {
      const { how } = request.params as { how: string }
      return failures[how]?.()
    })
    fastify.get(`${path}/at-once/:how`, { config }, (request, reply) => {
      const { how } = request.params as { how: string }
      const answer = failures[how]?.()
      if (answer instanceof Promise) return answer
      return reply.send(answer)
    })
  }
}

test.each(Object.keys(failures))('D15 a handler that %s costs its own request only', async (how) => {
  const log = recordingLog()
  const client = createClient(await openApp({ routes: addFailing, log }))
  onTestFinished(client.close)
  for (const path of paths.flatMap((each) => [`${each}/`, `${each}/at-once/`])) {
    const before = log.lines.length
    const reply = await client.send(path + encodeURIComponent(how))
    expect(reply.status).toBe(500)
    expect(reply.headers['x-request-id']).toBe('request-1')
    expect(reply.json()).toEqual(envelopeOf(path))
    expect(reply.text).toContain('request id request-1')
    expect(JSON.stringify([reply.headers, reply.text])).not.toContain(canary)
    const lines = log.lines.slice(before)
    expect(lines).toMatchObject([
      { level: 'error', message: 'request failed', fields: { requestId: 'request-1', status: 500 } },
    ])
    // What was thrown, unless that was nothing.
    if (how !== 'rejects with nothing') expect(lines[0]?.fields).toHaveProperty('cause')
    await expectUnharmed(client, reply.text)
  }
})
