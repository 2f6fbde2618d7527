import { expect, test } from 'vitest'
import { schemas } from '../../src/api/routes.ts'
import { makeFolder } from '../tools/session.ts'
import { openProxy } from './harness.ts'
import { eventsUntil, listen, postMessage } from './session-client.ts'
import type { EventListener } from './session-client.ts'

const steps = [{ calls: [{ tool: 'fs_read', args: { path: 'notes.txt' } }] }, { text: 'Done' }]
const message = { text: `Look. [demo:script ${JSON.stringify(steps)}]`, model: 'gpt-5-mini' }
const onDisk = 'the text on disk'
const unsaved = 'what alice has typed'

type Headers = Readonly<Record<string, string>>

/** A workspace with two keys and its owner. */
async function openNotes(keys: readonly string[]) {
  const root = await makeFolder({ 'notes.txt': `${onDisk}\n` })
  const proxy = await openProxy({ file: JSON.stringify({ server: { 'api-keys': keys }, workspaces: [root] }) })
  return {
    log: proxy.log,
    owner: { authorization: `Bearer ${proxy.daemon.ownerToken}` },
    listen: (by: Headers) => listen(proxy, '/events', by),
    async begin(by: Headers, more: object = {}): Promise<string> {
      return schemas.AcceptedMessage.parse((await postMessage(proxy, { ...message, ...more }, by)).json()).id
    },
    async answer(run: string, requestId: unknown, by: Headers): Promise<number> {
      const body = JSON.stringify({ requestId, ok: true, text: `${unsaved}\n` })
      return (await proxy.send(`/runs/${run}/editor`, { body, headers: by })).status
    },
  }
}

async function untilDone(listener: EventListener, id: string): Promise<string> {
  return JSON.stringify(await eventsUntil(listener, 'done', ({ data }) => data['id'] === id))
}

const asKey = (key: string): Headers => ({ authorization: `Bearer ${key}` })

test('only the key of a run is asked for unsaved text, answers, and reads it', async () => {
  const [alice, bob] = ['key-of-alice-0123456789', 'key-of-bob-0123456789']
  const app = await openNotes([alice, bob])
  const ofAlice = await app.listen(asKey(alice))
  const ofBob = await app.listen(asKey(bob))
  const run = await app.begin(asKey(alice), { editor: 'read' })
  const { data } = (await eventsUntil(ofAlice, 'editor')).at(-1) ?? {}
  expect(data).toMatchObject({ id: run, action: 'read', path: 'notes.txt' })
  expect(await app.answer(run, data?.['requestId'], asKey(bob))).toBe(404)
  expect(await app.answer(run, 'another', asKey(alice))).toBe(404)
  expect(await app.answer(run, data?.['requestId'], asKey(alice))).toBe(200)
  expect(await app.answer(run, data?.['requestId'], asKey(alice))).toBe(404)
  expect(await untilDone(ofAlice, run)).toContain(unsaved)

  // Another run of the same key without an editor, and a run of another key.
  const later = await app.begin(asKey(alice))
  const ofOthers = [await untilDone(ofAlice, later), await untilDone(ofBob, await app.begin(asKey(bob)))]
  for (const told of ofOthers) {
    expect(told).toContain(onDisk)
    expect(told).not.toContain('"editor"')
  }
  expect(ofOthers[1]).not.toContain(unsaved)
  expect(JSON.stringify(app.log)).not.toContain(unsaved)
})

test('without keys, a program that may not decide may not answer either, and the owner may', async () => {
  const app = await openNotes([])
  const listener = await app.listen(app.owner)
  const run = await app.begin(app.owner, { editor: 'read' })
  const { data } = (await eventsUntil(listener, 'editor')).at(-1) ?? {}
  expect(await app.answer(run, data?.['requestId'], {})).toBe(403)
  expect(await app.answer(run, data?.['requestId'], app.owner)).toBe(200)
  expect(await untilDone(listener, run)).toContain(unsaved)
})
