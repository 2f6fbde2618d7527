import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeFolder } from '../tools/session.ts'
import { openProxy } from './harness.ts'
import { eventsUntil, listen, postMessage } from './session-client.ts'

async function openProject(files: Readonly<Record<string, string>>, settings = '') {
  const root = await makeFolder(files)
  const proxy = await openProxy({ file: `workspaces: [{ path: ${root}, name: app }]\n${settings}` })
  const listener = await listen(proxy, '/events')
  /** Returns the events of the run, and its record. */
  async function run(message: Readonly<Record<string, unknown>>) {
    const reply = await postMessage(proxy, { model: 'gpt-5-mini', ...message })
    const { id } = reply.json() as { id: string }
    const events = await eventsUntil(listener, 'done', ({ data }) => data['id'] === id)
    const record = (await proxy.send(`/runs/${id}`)).json() as Readonly<Record<string, unknown>>
    return { id, events, record }
  }
  return { root, proxy, run }
}

test('a run names its AGENTS.md in an event and in its record, and the next one says whether it has changed', async () => {
  const { root, run } = await openProject({ 'AGENTS.md': 'Use tabs.' })
  const found: unknown[] = []
  for (const text of ['Use tabs.', 'Use tabs.', 'Use spaces.', 'Use spaces.']) {
    await writeFile(join(root, 'AGENTS.md'), text)
    const { events, record } = await run({ text: 'Hello' })
    const event = events.find((each) => each.event === 'instructions')?.data
    expect(record['instructions']).toEqual([{ path: 'AGENTS.md', sha256: event?.['sha256'], state: event?.['state'] }])
    found.push(event?.['state'])
  }
  expect(found).toEqual(['new', 'unchanged', 'changed', 'unchanged'])
})

test('a run without such a file has no list of them', async () => {
  const { run } = await openProject({ 'a.txt': 'a' })
  expect((await run({ text: 'Hello' })).record).not.toHaveProperty('instructions')
})

test('no model gets a credential of this program that AGENTS.md contains', async () => {
  const root = await makeFolder()
  const proxy = await openProxy({ file: `workspaces: [{ path: ${root}, name: app }]`, codexLogin: 'api-key' })
  const { apiKey } = proxy.codex
  await writeFile(join(root, 'AGENTS.md'), `before ${apiKey} after`)
  const listener = await listen(proxy, '/events')
  await postMessage(proxy, { text: 'Hello', model: 'gpt-5-mini' })
  await eventsUntil(listener, 'done')
  const sent = JSON.stringify(proxy.demo.log)
  expect(sent).toContain('before [redacted] after')
  expect(sent).not.toContain(apiKey)
})
