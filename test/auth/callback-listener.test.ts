import { request } from 'node:http'
import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { authorizeInBrowser } from '../../src/auth/callback-listener.ts'

// Apart from web-flow.test.ts, because msw stands in for node:net there.
test('a spare connection of the browser, opened and never used, does not hold the end up', async () => {
  const listening = Promise.withResolvers<string>()
  const never = new AbortController().signal
  const result = authorizeInBrowser(
    { randomBytes: (size) => new Uint8Array(size), onUrl: listening.resolve },
    {
      authorizeUrl: 'https://github.com/login/oauth/authorize',
      clientId: 'example-client',
      scope: 'openid',
      verifierBytes: 32,
      ports: [0],
      host: '127.0.0.1',
      path: '/callback',
      site: 'GitHub',
      waitMs: 60_000,
    },
    never,
  )
  const { searchParams } = new URL(await listening.promise)
  const redirectUri = searchParams.get('redirect_uri') ?? ''
  const spare = connect(Number(new URL(redirectUri).port), '127.0.0.1')
  await new Promise((resolve) => spare.once('connect', resolve))
  const closed = new Promise((resolve) => spare.once('close', resolve))
  request(`${redirectUri}?state=${searchParams.get('state')}&code=example-code`, (response) => response.resume()).end()
  expect(await result).toMatchObject({ kind: 'code', code: 'example-code' })
  await closed
})
