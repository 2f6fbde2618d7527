import { expect, test } from 'vitest'
import { acceptedMessage } from '../../src/api/inputs.ts'
import { runReport } from '../../src/api/run.ts'
import { messageList } from '../../src/api/sessions.ts'
import { scriptOf } from '../agent/support.ts'
import { makeFolder } from '../tools/session.ts'
import { serve, stop, type DaemonProcess } from './daemon-process.ts'

async function send({ client }: DaemonProcess, text: string, mode = 'agent') {
  const body = JSON.stringify({ text, mode, model: 'gpt-5-mini' })
  const reply = await client.send('/message', { body, headers: { 'content-type': 'application/json' } })
  return acceptedMessage.parse(reply.json())
}

const runOf = async ({ client }: DaemonProcess, id: string) =>
  runReport.parse((await client.send(`/runs/${id}`)).json())

const messagesOf = async ({ client }: DaemonProcess, session: string) =>
  messageList.parse((await client.send(`/sessions/${session}/messages`)).json()).messages

test.each([
  ['change', 'agent', { calls: [{ tool: 'createFile', args: { path: 'a.txt', content: 'a' } }] }],
  ['plan', 'plan', { calls: [{ tool: 'plan_submit', args: { plan: 'Create a.txt.' } }] }],
])(
  'after kill -9 at the question about a %s, what joined the run is kept and can be started',
  async (_, mode, step) => {
    const place = { home: await makeFolder(), root: await makeFolder() }
    const first = await serve(place)
    const work = await send(first, scriptOf(step, { text: 'Done.' }), mode)
    await expect.poll(async () => (await runOf(first, work.id)).state).toBe('waiting')
    const joined = await send(first, 'Do not lose me.')
    expect(joined.runId).toBe(work.id)
    first.cli.child.kill('SIGKILL')
    await first.cli.ended

    const second = await serve(place)
    expect(await runOf(second, work.id)).toMatchObject({
      outcome: 'interrupted',
      approvals: [{ state: 'expired' }],
      files: [],
    })
    const lost = await runOf(second, joined.id)
    expect(lost).toMatchObject({ text: 'Do not lose me.', outcome: 'interrupted', conversationId: work.conversationId })
    expect(lost.reason).toContain('before a model read the message')
    const before = await messagesOf(second, work.sessionId)
    expect(before.map(({ id, state }) => [id, state])).toEqual([
      [work.id, 'ended'],
      [joined.id, 'ended'],
    ])
    const again = await send(second, lost.text, 'chat')
    expect(again.conversationId).toBe(work.conversationId)
    await expect.poll(async () => (await runOf(second, again.id)).outcome).toBe('completed')
    await stop(second)

    const third = await serve(place)
    expect((await messagesOf(third, work.sessionId)).map(({ id }) => id)).toEqual([work.id, joined.id, again.id])
    await stop(third)
  },
)
