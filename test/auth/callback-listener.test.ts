import { request } from 'node:http'
import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { awaitCallback } from '../../src/auth/callback-listener.ts'

// Apart from web-flow.test.ts, because msw stands in for node:net there.
test('a spare connection of the browser, opened and never used, does not hold the end up', async () => {
  const listening = Promise.withResolvers<string>()
  const never = new AbortController().signal
  const result = awaitCallback(
    {
      ports: [0],
      host: '127.0.0.1',
      path: '/callback',
      site: 'GitHub',
      state: 'example-state',
      waitMs: 60_000,
      onListening: listening.resolve,
    },
    never,
  )
  const redirectUri = await listening.promise
  const spare = connect(Number(new URL(redirectUri).port), '127.0.0.1')
  await new Promise((resolve) => spare.once('connect', resolve))
  const closed = new Promise((resolve) => spare.once('close', resolve))
  request(`${redirectUri}?state=example-state&code=example-code`, (response) => response.resume()).end()
  expect(await result).toEqual({ kind: 'code', code: 'example-code' })
  await closed
})
