import { expect, test, vi } from 'vitest'
import { listenTo, newFile, openTestSessions } from './support.ts'

const call = { type: 'tool', callId: 'call', tool: 'mcp.shell.run' } as const

test('with fifty sessions at once, each listener gets its own runs, complete and in order', async () => {
  const names = Array.from({ length: 50 }, (_, at) => `app-${at}`)
  const sessions = await openTestSessions({
    file: await newFile(),
    names,
    agent: async ({ emit, session }) => {
      for (let step = 1; step <= 5; step += 1) {
        emit({ type: 'fragment', kind: 'step', text: `Step ${step} of ${session.name}`, step })
        await new Promise(setImmediate)
      }
      return { answer: session.name }
    },
  })
  const everybody = listenTo(sessions)
  const ears = names.map((name) => listenTo(sessions, { session: `id-of-${name}` }))
  for (const mode of ['agent', 'chat'] as const) {
    for (const name of names) sessions.send('go', { sessionId: `id-of-${name}`, mode })
  }
  await Promise.all(
    ears.map(async ({ heard, events }, at) => {
      await heard('lifecycle', ({ data }) => data['state'] === 'idle')
      expect(events.filter(({ type }) => type === 'fragment')).toHaveLength(10)
      const ends = events.filter(({ type }) => type === 'done')
      expect(ends.map(({ data }) => data['answer'])).toEqual([names[at], names[at]])
    }),
  )
  const ids = everybody.events.map(({ id }) => id)
  expect(ids).toEqual(ids.map((_, at) => (ids[0] ?? 0) + at))
  expect(new Set(everybody.events.map(({ data }) => data['sessionId'])).size).toBe(50)
})

test('a run of two hours loses no event, and a client that reconnects at its end gets all of them', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] })
  try {
    const stepMs = 10_000
    const steps = (2 * 60 * 60 * 1000) / stepMs
    const sessions = await openTestSessions({
      file: await newFile(),
      agent: async ({ emit }) => {
        for (let step = 1; step <= steps; step += 1) {
          emit({ type: 'fragment', kind: 'step', text: `Step ${step}`, step })
          emit({ ...call, step, state: 'started', args: {} })
          emit({ ...call, step, state: 'progress', text: 'output '.repeat(100) })
          emit({ ...call, step, state: 'ended', outcome: 'ok', message: 'exit code 0', durationMs: stepMs })
          await vi.advanceTimersByTimeAsync(stepMs)
        }
        return {}
      },
    })
    const ear = listenTo(sessions)
    const id = sessions.send('go', { mode: 'agent' })
    await ear.heard('done')
    const expectedCount = 4 * steps + 4
    await ear.heard('lifecycle', ({ data }) => data['state'] === 'idle')
    expect(ear.events).toHaveLength(expectedCount)
    const late = listenTo(sessions, { after: (ear.events[0]?.id ?? 0) - 1 })
    await late.heard('lifecycle', ({ data }) => data['state'] === 'idle')
    expect(late.events).toEqual(ear.events)
    expect(await sessions.run(id)).toMatchObject({ state: 'ended', outcome: 'completed' })
    expect((await sessions.run(id)).steps).toHaveLength(steps)
  } finally {
    vi.useRealTimers()
  }
})

test('a clock that jumps a year ahead or back in the middle of a run deletes nothing and ends nothing', async () => {
  let jumpMs = 0
  const sessions = await openTestSessions({
    file: await newFile(),
    settings: 'sessions: { keep-days: 1 }',
    now: () => Date.now() + jumpMs,
    agent: async ({ emit, text }) => {
      emit({ type: 'fragment', kind: 'commentary', text: 'before' })
      jumpMs = text === 'ahead' ? 365 * 86_400_000 : -365 * 86_400_000
      emit({ type: 'fragment', kind: 'commentary', text: 'after' })
      return {}
    },
  })
  const ear = listenTo(sessions)
  sessions.send('first')
  sessions.send('ahead')
  for (const text of ['first', 'ahead', 'back']) {
    const id = sessions.send(text)
    await ear.heard('done', ({ data }) => data['id'] === id)
  }
  const ids = ear.events.map(({ id }) => id)
  expect(ids).toEqual(ids.map((_, at) => (ids[0] ?? 0) + at))
  expect(await sessions.messages('id-of-app', { limit: 10 })).toHaveLength(5)
  const late = listenTo(sessions, { after: (ids[0] ?? 0) - 1 })
  await vi.waitFor(() => expect(late.events).toHaveLength(ids.length))
})
