import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { makeFolder } from '../tools/session.ts'
import { openProxy } from './harness.ts'
import { eventsUntil, listen, postMessage } from './session-client.ts'

const count = z.number()
const usageEvent = z.object({
  requests: count,
  usage: z.object({ inputTokens: count, outputTokens: count, cachedInputTokens: count, credits: count.optional() }),
  context: z.object({ tokens: count, limit: count }),
})

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

const three = [1, 2, 3].map((number) => ({ calls: [{ tool: 'fs_list', args: { limit: number } }] }))
const text = `Look. [demo:script ${JSON.stringify([...three, { text: 'Done.' }])}]`

test('each answer of a model says what the run has used so far, and how full the context is', async () => {
  const { run } = await openProject({ 'a.txt': 'a' })
  const { events, record } = await run({ text, mode: 'agent' })
  const used = events.filter(({ event }) => event === 'usage').map(({ data }) => usageEvent.parse(data))
  expect(used.map(({ requests }) => requests)).toEqual([1, 2, 3, 4])
  const credits = used.map(({ usage }) => usage.credits ?? 0)
  expect(credits).toEqual(credits.toSorted((one, other) => one - other))
  expect(credits[0]).toBeGreaterThan(0)
  const contexts = used.map(({ context }) => context)
  // Upstream has counted the last request: the sum of all requests without those before it.
  const [before, last] = used.slice(-2).map(({ usage }) => usage.inputTokens + usage.outputTokens)
  expect(contexts.at(-1)).toEqual({ tokens: (last ?? 0) - (before ?? 0), limit: expect.any(Number) })
  const end = { usage: used.at(-1)?.usage, context: contexts.at(-1) }
  expect(events.at(-1)?.data).toMatchObject(end)
  expect(record).toMatchObject(end)
})

test.each([
  ['the message', '', { maxCredits: 0.000_01 }],
  ['agent.max-credits', 'agent: { max-credits: 0.00001 }', {}],
])('a run ends at the credits of %s, with a summary', async (_, settings, more) => {
  const { run } = await openProject({ 'a.txt': 'a' }, settings)
  const { record } = await run({ text, mode: 'agent', ...more })
  expect(record).toMatchObject({ outcome: 'max_credits', requests: 1 })
  expect(record['summary']).toMatch(/^The run reached its limit of 0\.00001 AI credits: it has used .*\nNo file was/)
})

test('a message cannot raise agent.max-credits', async () => {
  const { proxy } = await openProject({}, 'agent: { max-credits: 2 }')
  const reply = await postMessage(proxy, { text: 'Hello', maxCredits: 3 })
  expect([reply.status, reply.json()]).toMatchObject([400, { error: { param: 'maxCredits' } }])
})
