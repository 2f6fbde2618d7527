import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { RewindReport } from '../../../src/api/changes.ts'
import type { ConversationList, MessageList } from '../../../src/api/sessions.ts'
import { eventsUntil, listen, postMessage } from '../session-client.ts'
import { fileOf, keys, openChanges, patchOf } from './changed-workspace.ts'

/** A workspace with a conversation of three messages, each of which has changed files, and one of another conversation. */
async function openTalk(token: (ownerToken: string | undefined) => string | undefined = (owner) => owner) {
  const app = await openChanges()
  const by = token(app.ownerToken)
  const first = await app.run(by, patchOf('a.txt', 'one', 'two'))
  const second = await app.run(by, patchOf('a.txt', 'two', 'three'), fileOf('new/c.txt', 'new'))
  const third = await app.run(by, patchOf('a.txt', 'three', 'four'))
  const [, { conversations }] = await app.send<ConversationList>(by, '/sessions/app/conversations')
  const conversation = conversations[0]?.id ?? ''
  return {
    ...app,
    by,
    messages: [first, second, third] as const,
    conversation,
    texts: () => Promise.all(['a.txt', 'b.txt', 'new/c.txt'].map(app.textOf)),
    rewind: (messageId: string, more: object = {}, as = by, of = conversation) =>
      app.send<RewindReport>(as, `/sessions/app/conversations/${of}/rewind`, { messageId, ...more }),
    async left(of = conversation) {
      const [, { messages }] = await app.send<MessageList>(by, `/sessions/app/messages?conversation=${of}`)
      return messages.map(({ id }) => id)
    },
  }
}

describe('POST /sessions/{id}/conversations/{conversationId}/rewind', () => {
  test('shows what would come back, then restores files and ends the conversation before the message', async () => {
    const talk = await openTalk()
    const [first, second, third] = talk.messages
    const [status, planned] = await talk.rewind(second, { dryRun: true })
    expect([status, planned]).toMatchObject([
      200,
      {
        conversationId: talk.conversation,
        messages: [second, third],
        text: expect.stringContaining('Change it.'),
        mode: 'agent',
        undo: {
          files: [
            { path: 'a.txt', change: 'modified' },
            { path: 'new/c.txt', change: 'deleted' },
          ],
          diff: expect.stringContaining('-four\n+two\n'),
        },
      },
    ])
    expect(await talk.left()).toEqual([first, second, third])
    expect(await talk.texts()).toEqual(['four\n', 'one\n', 'new\n'])

    const [, done] = await talk.rewind(second)
    expect(done.undo?.undoes).toHaveLength(3)
    expect(await talk.texts()).toEqual(['two\n', 'one\n', undefined])
    expect(await talk.left()).toEqual([first])
    expect((await talk.send(talk.by, `/runs/${third}`))[0]).toBe(404)
    // The files of a rewind can be brought back like those of each undo.
    expect((await talk.undo(talk.by, `/changes/${done.undo?.id}/undo`))[0]).toBe(200)
    expect(await talk.texts()).toEqual(['four\n', 'one\n', 'new\n'])
  })

  test('the model no longer knows what was taken back, and the events are gone', async () => {
    const talk = await openTalk()
    const [, second] = talk.messages
    await talk.rewind(second)
    await talk.say(talk.by, { mode: 'chat', text: 'What now?' })
    const bodies = talk.proxy.demo.log.map(({ body }) => body)
    expect(bodies.at(-1)).toContain('What now?')
    expect(bodies.at(-1)).not.toContain('new/c.txt')
    expect(bodies.some((body) => body.includes('new/c.txt'))).toBe(true)
    const listener = await listen(talk.proxy, '/events?lastEventId=1', { authorization: `Bearer ${talk.by}` })
    const heard = await eventsUntil(listener, 'done', ({ data }) => String(data['answer']).includes('What now?'))
    expect(JSON.stringify(heard)).not.toContain(second)
    listener.leave()
  })

  test('a file that has changed since refuses it and nothing is half done; the conversation alone can go back', async () => {
    const talk = await openTalk()
    const [first, second, third] = talk.messages
    await writeFile(join(talk.root, 'a.txt'), 'mine\n')
    await writeFile(join(talk.root, 'new/c.txt'), 'mine too\n')
    for (const more of [{ dryRun: true }, {}])
      expect(await talk.rewind(second, more)).toMatchObject([
        409,
        {
          error: {
            code: 'undo_conflict',
            message: 'a.txt, new/c.txt have changed since the changes. Nothing was undone.',
            conflicts: [
              { path: 'a.txt', expected: ['four', ''], found: ['mine', ''] },
              { path: 'new/c.txt', found: ['mine too', ''] },
            ],
          },
        },
      ])
    expect(await talk.texts()).toEqual(['mine\n', 'one\n', 'mine too\n'])
    expect(await talk.left()).toEqual([first, second, third])
    const [status, done] = await talk.rewind(second, { files: false })
    expect([status, done.undo]).toEqual([200, undefined])
    expect(await talk.left()).toEqual([first])
    expect(await talk.texts()).toEqual(['mine\n', 'one\n', 'mine too\n'])
  })

  test('what a person has undone already stays undone, and a chat changes nothing', async () => {
    const talk = await openTalk()
    const [first, second, third] = talk.messages
    const chat = await talk.say(talk.by, { mode: 'chat', text: 'What now?' })
    await talk.undo(talk.by, `/runs/${third}/undo`)
    expect((await talk.rewind(chat, { dryRun: true }))[1]).toMatchObject({
      messages: [chat],
      text: 'What now?',
      mode: 'chat',
    })
    expect((await talk.rewind(chat, { dryRun: true }))[1]).not.toHaveProperty('undo')
    expect((await talk.rewind(second))[0]).toBe(200)
    expect(await talk.texts()).toEqual(['two\n', 'one\n', undefined])
    expect(await talk.left()).toEqual([first])
    expect((await talk.rewind(first))[0]).toBe(200)
    expect([await talk.left(), (await talk.texts())[0]]).toEqual([[], 'one\n'])
    // The conversation is empty and goes on.
    const next = await talk.say(talk.by, { conversationId: talk.conversation })
    expect(await talk.left()).toEqual([next])
  })

  test('in a fork it takes back what the copied messages have changed, and the original keeps its messages', async () => {
    const talk = await openTalk()
    const [, fork] = await talk.send<{ id: string }>(talk.by, '/sessions/app/conversations', {
      forkOf: talk.conversation,
    })
    const [, copy] = await talk.left(fork.id)
    const [status, done] = await talk.rewind(copy ?? '', {}, talk.by, fork.id)
    expect([status, done.undo?.undoes.length]).toEqual([200, 3])
    expect(await talk.texts()).toEqual(['two\n', 'one\n', undefined])
    expect([await talk.left(fork.id), await talk.left()]).toMatchObject([{ length: 1 }, talk.messages])
  })

  test('a run in progress, and an unknown message or conversation are refused', async () => {
    const talk = await openTalk()
    const [first] = talk.messages
    expect(await talk.rewind('x')).toMatchObject([404, { error: { code: 'message_not_found' } }])
    expect(await talk.rewind(first, {}, talk.by, 'x')).toMatchObject([
      404,
      { error: { code: 'conversation_not_found' } },
    ])
    expect((await talk.rewind(first, { other: true }))[0]).toBe(400)
    const headers = { authorization: `Bearer ${talk.by}` }
    const listener = await listen(talk.proxy, '/events', headers)
    const stalled = (await postMessage(talk.proxy, { text: '[demo:stall]', mode: 'agent' }, headers)).json() as {
      id: string
    }
    await eventsUntil(listener, 'lifecycle')
    const joined = (await postMessage(talk.proxy, { text: 'Then', mode: 'agent' }, headers)).json() as {
      id: string
      runId: string
    }
    expect(joined.runId).toBe(stalled.id)
    expect(await talk.rewind(first)).toMatchObject([409, { error: { code: 'run_in_progress' } }])
    listener.leave()
  })
})

describe('who may go back', () => {
  test('a key with what it made, and the owner with all; for another key there is no such conversation', async () => {
    const talk = await openTalk(() => keys.alice)
    const [, second, third] = talk.messages
    expect(await talk.rewind(third, {}, keys.bob)).toMatchObject([404, { error: { code: 'conversation_not_found' } }])
    expect((await talk.rewind(third))[0]).toBe(200)
    expect((await talk.rewind(second, {}, talk.ownerToken))[0]).toBe(200)
    expect(await talk.texts()).toEqual(['two\n', 'one\n', undefined])
  })

  test('in a locked workspace nobody with its files, but with the conversation', async () => {
    const talk = await openTalk()
    const [first, second] = talk.messages
    talk.reconfigure('locked')
    expect(await talk.rewind(second)).toMatchObject([403, { error: { code: 'undo_denied' } }])
    expect(await talk.left()).toHaveLength(3)
    expect((await talk.rewind(second, { files: false }))[0]).toBe(200)
    expect(await talk.left()).toEqual([first])
  })
})
