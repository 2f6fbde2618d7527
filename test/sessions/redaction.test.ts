import { expect, test } from 'vitest'
import { createKnownSecrets } from '../../src/redaction/known-secrets.ts'
import { listenTo, newFile, openTestSessions } from './support.ts'

const secret = 'ghu_"quoted"-0123456789'
const page = { limit: 10 }

async function openWithSecret(pieces: readonly string[], file = ':memory:') {
  const secrets = createKnownSecrets()
  secrets.hold('test', secret)
  const answer = pieces.join('')
  const opened: { sessions?: Awaited<ReturnType<typeof openTestSessions>> } = {}
  const sessions = await openTestSessions({
    secrets,
    file,
    agent: async ({ emit }) => {
      const call = { type: 'tool', callId: 'call-1', tool: 'mcp.fs.read', step: 1 } as const
      emit({ ...call, state: 'started', args: { path: secret, list: [secret] } })
      emit({ ...call, state: 'ended', outcome: 'ok', message: secret, result: `the token is ${secret}`, durationMs: 1 })
      for (const text of pieces) {
        emit({ type: 'fragment', kind: 'answer', text, step: 2 })
        // Reading publishes the events so far, so each piece would be an event of its own.
        opened.sessions?.streams('id-of-app')
      }
      return { answer, summary: answer }
    },
  })
  opened.sessions = sessions
  return sessions
}

test.each([
  ['in one piece', [`it is ${secret}.`]],
  ['in two pieces', ['it is ghu_"quo', 'ted"-0123456789.']],
  ['a character at a time', `it is ${secret}.`.split('')],
])('no answer has a known credential that a model or a tool repeats %s', async (_how, pieces) => {
  const sessions = await openWithSecret(pieces)
  const ear = listenTo(sessions)
  const id = sessions.send('tell me')
  const done = await ear.heard('done')
  sessions.recordCall('id-of-app', { tool: 'x', program: secret })
  expect(done.data).toMatchObject({ answer: 'it is [redacted].' })
  const texts = ear.events.flatMap(({ type, data }) => (type === 'fragment' ? [data['text']] : []))
  expect(texts.join('')).toBe('it is [redacted].')
  const replayed = listenTo(sessions, { after: 0 })
  await replayed.heard('done')
  const answers = JSON.stringify([
    ear.events,
    replayed.events,
    await sessions.run(id),
    await sessions.messages('id-of-app', page),
    sessions.entries('id-of-app', 'tool-calls', page),
  ])
  expect(answers).not.toMatch(/quoted|0123456789/)
  expect(answers).toContain('the token is [redacted]')
})

test('text that only begins like a credential arrives unchanged and in order', async () => {
  const pieces = ['ghu', '_"quo', 'ta ', 'and ghu_"quoted"-01', '2345', ' ghu_', '']
  const sessions = await openWithSecret(pieces)
  const ear = listenTo(sessions)
  sessions.send('tell me')
  expect((await ear.heard('done')).data).toMatchObject({ answer: pieces.join('') })
  const texts = ear.events.flatMap(({ type, data }) => (type === 'fragment' ? [data['text']] : []))
  expect(texts.join('')).toBe(pieces.join(''))
  expect(ear.events.at(-1)?.type === 'fragment').toBe(false)
})

test('what a caller sends is never changed, so that no answer tells whether it is a credential', async () => {
  const file = await newFile()
  const sessions = await openWithSecret(['hello'], file)
  const ear = listenTo(sessions)
  const id = sessions.send(secret, { attachments: [{ name: secret, mediaType: 'text/plain', text: secret }] })
  await ear.heard('done')
  const sent = { text: secret, attachments: [{ name: secret }] }
  expect((await ear.heard('inbound')).data).toMatchObject(sent)
  expect(await sessions.run(id)).toMatchObject(sent)
  expect(await sessions.messages('id-of-app', page)).toMatchObject([sent])
})
