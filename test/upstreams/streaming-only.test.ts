import { expect, test } from 'vitest'
import { askWithKey, openCodex, replyOf } from './codex/test-client.ts'
import { chat, messages, messageOf, refusalOf, responses } from './copilot/test-calls.ts'

test.for([
  ['chat', chat],
  ['responses', responses],
  ['messages', messages],
] as const)('%s refuses a request that is not to be streamed', ([, ask]) => {
  for (const stream of [false, undefined]) {
    const outcome = ask({ stream })
    expect(refusalOf(outcome).status).toBe(400)
    expect(messageOf(outcome)).toBe('non streaming requests are not supported by this model')
  }
})

test('so does the key API', async () => {
  const { status, body } = await replyOf(
    await askWithKey(await openCodex(), { model: 'gpt-5.5', input: 'Hi', stream: false }),
  )
  expect(status).toBe(400)
  expect(body).toMatchObject({ error: { param: 'stream' } })
})
