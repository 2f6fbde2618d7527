import { once } from 'node:events'
import { request } from 'node:http'
import { expect, test } from 'vitest'
import { makeFolder } from '../tools/session.ts'
import { openProxy } from './harness.ts'

const withKey = 'server: { api-keys: [key-of-this-test] }\n'

test('the sessions are the configured workspaces with their tools', async () => {
  const dir = await makeFolder()
  const { send } = await openProxy({ file: `workspaces: [{ path: ${dir}, name: app }]` })
  const reply = await send('/sessions')
  expect(reply.status).toBe(200)
  expect(reply.json()).toEqual({
    sessions: [
      {
        id: expect.stringMatching(/^[a-z2-7]{10}$/),
        name: 'app',
        path: dir,
        tools: expect.arrayContaining(['mcp.fs.read']),
        runs: [],
        readOnly: true,
        sandbox: {
          setting: 'auto',
          holds: expect.stringMatching(/^(?:bubblewrap|none)$/),
          description: expect.stringMatching(/^Commands /),
        },
      },
    ],
  })
})

test('without a workspace the answer is 404 and says how to configure one', async () => {
  const { send } = await openProxy()
  const reply = await send('/sessions')
  expect(reply.status).toBe(404)
  expect(reply.json()).toMatchObject({
    error: { code: 'no_workspace', message: expect.stringContaining('--workspace DIR') },
  })
})

test('the sessions need a key like every route', async () => {
  const { send } = await openProxy({ file: `${withKey}workspaces: [${await makeFolder()}]` })
  expect((await send('/sessions')).status).toBe(401)
  expect((await send('/sessions', { headers: { authorization: 'Bearer key-of-this-test' } })).status).toBe(200)
})

test('a workspace appears and disappears without a restart', async () => {
  const dir = await makeFolder()
  const { send, daemon, configure } = await openProxy()
  daemon.reconfigure(configure(`workspaces: [${dir}]`))
  const reply = await send('/sessions')
  expect(reply.json()).toMatchObject({ sessions: [{ path: dir }] })
  daemon.reconfigure(configure(''))
  expect((await send('/sessions')).status).toBe(404)
})

test('a request for another protocol is answered as any other while there are workspaces', async () => {
  const { daemon } = await openProxy({ file: `workspaces: [${await makeFolder()}]` })
  const sent = request(`${daemon.url}/healthz`, { headers: { connection: 'Upgrade, HTTP2-Settings', upgrade: 'h2c' } })
  const answered = once(sent, 'response')
  sent.end()
  const [response] = await answered
  expect(response).toMatchObject({ statusCode: 200 })
  response.resume()
})
