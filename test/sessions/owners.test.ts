import { describe, expect, test } from 'vitest'
import type { AgentTask } from '../../src/agent/agent-task.ts'
import type { Caller } from '../../src/config/caller.ts'
import { unkeyedCaller } from '../../src/config/caller.ts'
import { userMessage } from '../../src/translate/turn-request.ts'
import { keyOf, listenTo, newFile, openTestSessions, owner, problemOf, waitingAgent } from './support.ts'
import type { TestAgent } from './support.ts'

const one = keyOf('one')
const two = keyOf('two')
const page = { limit: 50 }

/** Asks for an approval, and ends with the decision as its answer. */
const askingAgent: TestAgent = async ({ id, emit, approve, signal }) => {
  const request = { approvalId: `approval-of-${id}`, callId: 'call-1', tool: 'mcp.edit.applyPatch', step: 1 }
  emit({ type: 'approval', ...request, state: 'pending' })
  return { answer: await approve(request, signal) }
}

/** Returns the problem of a Fault, also of a rejection. */
async function problem(act: () => unknown): Promise<unknown> {
  try {
    await act()
  } catch (error) {
    return problemOf(() => {
      throw error
    })
  }
  return undefined
}

/** Opens sessions in which each of the two keys and the owner have completed one run with a stream entry and events. */
async function openShared(file = ':memory:') {
  const sessions = await openTestSessions({ file })
  const ear = listenTo(sessions)
  const ids = {
    one: sessions.send('text of one', { key: one.key }),
    two: sessions.send('text of two', { key: two.key }),
    owner: sessions.send('text of the owner'),
  }
  for (const id of Object.values(ids)) await ear.heard('done', ({ data }) => data['id'] === id)
  sessions.recordCall('id-of-app', { tool: 'a', caller: 'rpc:one' }, one.key.id)
  sessions.recordCall('id-of-app', { tool: 'b', caller: 'rpc:two' }, two.key.id)
  sessions.push({ sessionId: 'id-of-app', provider: 'p', stream: 'reports', level: 'surface', text: 'a report' })
  ear.end()
  return { ...sessions, ids }
}

const textsOf = (messages: readonly { readonly text: string }[]): readonly string[] => messages.map(({ text }) => text)

describe('a key sees what it made', () => {
  test.each(['in this process', 'after a restart'])('and nothing else, %s', async (when) => {
    const file = await newFile()
    const before = await openShared(file)
    const { ids } = before
    if (when === 'after a restart') before.close()
    const sessions = when === 'after a restart' ? await openTestSessions({ file }) : before
    expect(textsOf(await sessions.messages('id-of-app', page, one))).toEqual(['text of one'])
    expect(await sessions.run(ids.one, one)).toMatchObject({ text: 'text of one' })
    expect(sessions.streams('id-of-app', one)).toMatchObject([{ name: 'tool-calls', entries: 1 }])
    expect(sessions.entries('id-of-app', 'tool-calls', page, one)).toMatchObject([{ tool: 'a' }])
    expect(sessions.entries('id-of-app', 'reports', page, one)).toEqual([])
    for (const foreign of [ids.two, ids.owner]) {
      expect(await problem(() => sessions.run(foreign, one))).toBe('run_not_found')
      expect(problemOf(() => sessions.cancel(foreign, one))).toBe('run_not_found')
      expect(await sessions.messages('id-of-app', { ...page, before: foreign }, one)).toEqual(
        await sessions.messages('id-of-app', { ...page, before: 'unknown' }, one),
      )
    }
    const ear = listenTo(sessions, { after: 0, caller: one })
    await ear.heard('done')
    const text = JSON.stringify(ear.events)
    expect(text).toContain('text of one')
    expect(text).not.toMatch(/text of two|text of the owner|a report/)
    expect(new Set(ear.events.map(({ data }) => data['id'] ?? ids.one))).toEqual(new Set([ids.one]))
  })

  test('the owner, and without keys every caller, sees everything', async () => {
    const sessions = await openShared()
    for (const caller of [owner, unkeyedCaller]) {
      expect(await sessions.messages('id-of-app', page, caller)).toHaveLength(3)
      expect(sessions.streams('id-of-app', caller)).toMatchObject([{ name: 'reports' }, { entries: 2 }])
      const ear = listenTo(sessions, { after: 0, caller })
      await ear.heard('push')
      expect(JSON.stringify(ear.events)).toMatch(/text of one.*text of two.*text of the owner.*a report/)
    }
  })

  test('live events of others reach no key, events of a workspace reach all', async () => {
    const sessions = await openTestSessions({ agent: waitingAgent, names: ['app', 'other'] })
    const ears = { one: listenTo(sessions, { caller: one }), two: listenTo(sessions, { caller: two }) }
    const run = sessions.send('text of one', { key: one.key })
    expect(sessions.openRuns('id-of-app', one)).toMatchObject([{ id: run }])
    expect(sessions.openRuns('id-of-app', two)).toEqual([])
    sessions.remove('other')
    await ears.one.heard('inbound')
    await ears.two.heard('lifecycle', ({ data }) => data['state'] === 'removed')
    sessions.cancel(run, one)
    await ears.one.heard('lifecycle', ({ data }) => data['state'] === 'idle')
    expect(ears.two.events.map(({ data }) => data['state'])).toEqual(['removed'])
  })

  test('a listener that is far behind many events of others gets its own', async () => {
    const file = await newFile()
    const first = await openTestSessions({ file })
    const heard = listenTo(first)
    for (let number = 0; number < 300; number += 1) {
      const id = first.send(`text ${number}`, { key: number % 100 === 99 ? one.key : two.key })
      await heard.heard('done', ({ data }) => data['id'] === id)
    }
    first.close()
    const sessions = await openTestSessions({ file })
    const ear = listenTo(sessions, { after: 1, caller: one, session: 'id-of-app' })
    await ear.heard('inbound', ({ data }) => data['text'] === 'text 299')
    const texts = ear.events.filter(({ type }) => type === 'inbound').map(({ data }) => data['text'])
    expect(texts).toEqual(['text 99', 'text 199', 'text 299'])
    expect(JSON.stringify(ear.events)).not.toContain('text 1"')
  })
})

test('the history of a message has only what the same caller said before', async () => {
  const tasks: AgentTask[] = []
  const sessions = await openTestSessions({
    agent: async (task) => {
      tasks.push(task)
      return { items: [userMessage(task.text)] }
    },
  })
  const ear = listenTo(sessions)
  const say = async (text: string, caller: Caller): Promise<string> => {
    const id = sessions.send(text, { key: caller.key })
    await ear.heard('done', ({ data }) => data['id'] === id)
    return JSON.stringify(tasks.find((task) => task.id === id)?.history)
  }
  expect(await say('first of one', one)).toBe('[]')
  expect(await say('first of two', two)).toBe('[]')
  expect(await say('first of the owner', owner)).toBe('[]')
  const second = await say('second of one', one)
  expect(second).toContain('first of one')
  expect(second).not.toMatch(/of two|of the owner/)
  expect(await say('second of the owner', owner)).not.toMatch(/of one|of two/)
})

describe('a decision', () => {
  test.each([
    ['of the key that made the run', one, one, undefined],
    ['of the owner', one, owner, undefined],
    ['of the owner about a run without a key', owner, owner, undefined],
    ['of another key', one, two, 'approval_not_found'],
    ['of a key about a run without a key', owner, one, 'approval_not_found'],
    ['of a caller while no key is configured', owner, unkeyedCaller, 'owner_required'],
  ] as const)('%s', async (_who, maker, caller, expected) => {
    const sessions = await openTestSessions({ agent: askingAgent })
    const ear = listenTo(sessions)
    const id = sessions.send('change it', { mode: 'agent', key: maker.key })
    await ear.heard('approval')
    const approval = `approval-of-${id}`
    expect(await problem(() => sessions.decide(approval, 'once', caller))).toBe(expected)
    expect(await sessions.run(id)).toMatchObject({
      approvals: [{ state: expected === undefined ? 'once' : 'pending' }],
    })
    if (expected !== undefined) sessions.decide(approval, 'refuse', maker)
    await ear.heard('done')
    // A decided approval tells another key no more than a pending one did.
    expect(await problem(() => sessions.decide(approval, 'once', caller))).toBe(expected ?? 'approval_decided')
  })

  test('a caller without a key may cancel a run while no key is configured', async () => {
    const sessions = await openTestSessions({ agent: waitingAgent })
    const id = sessions.send('hello')
    expect(problemOf(() => sessions.cancel(id, two))).toBe('run_not_found')
    expect(sessions.cancel(id, unkeyedCaller)).toBe('running')
  })
})

describe('deleting the history', () => {
  test('of a key leaves that of others, and its runs do not wait for theirs', async () => {
    const sessions = await openShared()
    await sessions.forget('id-of-app', one)
    expect(await sessions.messages('id-of-app', page, one)).toEqual([])
    expect(sessions.streams('id-of-app', one)).toEqual([])
    expect(textsOf(await sessions.messages('id-of-app', page))).toEqual(['text of two', 'text of the owner'])
    expect(sessions.streams('id-of-app')).toMatchObject([{ name: 'reports' }, { name: 'tool-calls', entries: 1 }])
    const ear = listenTo(sessions, { after: 0 })
    await ear.heard('push')
    expect(JSON.stringify(ear.events)).not.toContain('text of one')
    expect(JSON.stringify(ear.events)).toContain('text of two')
  })

  test('by the owner removes everything, by a caller without a key nothing', async () => {
    const sessions = await openShared()
    expect(await problem(() => sessions.forget('id-of-app', unkeyedCaller))).toBe('owner_required')
    expect(await sessions.messages('id-of-app', page)).toHaveLength(3)
    await sessions.forget('id-of-app', owner)
    expect(await sessions.messages('id-of-app', page)).toEqual([])
    expect(sessions.streams('id-of-app')).toEqual([])
  })

  test('of a key is possible during a run of another key', async () => {
    const sessions = await openTestSessions({ agent: waitingAgent })
    sessions.send('text of two', { key: two.key })
    expect(await problem(() => sessions.forget('id-of-app', one))).toBeUndefined()
    expect(await problem(() => sessions.forget('id-of-app', two))).toBe('run_in_progress')
  })
})
