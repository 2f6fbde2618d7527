import { expect, test } from 'vitest'
import { openProxy, recordOf } from '../harness.ts'
import { STRICT } from '../../upstreams/copilot/refusals/rows.ts'

async function askAs(prefix: 'ghu_' | 'gho_' | 'github_pat_') {
  const { chat, demo, store } = await openProxy({ login: 'none', demo: { settings: { refusals: STRICT } } })
  await store.write(recordOf(demo.tokens.issueGithub(prefix), { attributes: { base_url: demo.url } }))
  await expect.poll(async () => (await chat()).status).not.toBe(401)
  const { status, text } = await chat()
  return { status, text: status === 200 ? '' : text }
}

test('a login with a token exchange sends the headers of one client', async () => {
  expect(await askAs('ghu_')).toEqual({ status: 200, text: '' })
})

test('a login whose token is sent directly sends the headers of one client', async () => {
  expect(await askAs('gho_')).toEqual({ status: 200, text: '' })
})
