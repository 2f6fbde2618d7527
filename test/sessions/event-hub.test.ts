import fc from 'fast-check'
import { inflateRawSync, constants } from 'node:zlib'
import { expect, test } from 'vitest'
import { createEventHub, type EventHubDeps, type Payload } from '../../src/sessions/event-hub.ts'
import { openSessionStore, type EventRow } from '../../src/sessions/session-store.ts'
import { createSessionWriter } from '../../src/sessions/session-writer.ts'
import { DatabaseError } from '../../src/sqlite/database.ts'
import { recordingLog } from '../recording-log.ts'
import { parseEvents } from './support.ts'

/** Creates a hub with a file in memory that can be full, and simulated timers. */
function openHub(change: Partial<EventHubDeps> = {}) {
  const store = openSessionStore(':memory:')
  const state = { isFull: false }
  const timers = new Map<number, { readonly run: () => void; readonly delayMs: number }>()
  let timerCount = 0
  const setTimer = (run: () => void, delayMs: number) => {
    const id = (timerCount += 1)
    timers.set(id, { run, delayMs })
    return () => timers.delete(id)
  }
  const writer = createSessionWriter({
    file: {
      use(act) {
        if (state.isFull) throw new DatabaseError('full', 'The disk is full.')
        return act(store)
      },
    },
    setTimer,
    log: recordingLog(),
  })
  const hub = createEventHub({
    write: writer.write,
    waiting: writer.waitingEvents,
    lost: writer.lost,
    read: store.eventsAfter,
    prunedTo: store.prunedTo,
    firstId: () => 1,
    now: () => 0,
    redact: (text) => text,
    setTimer,
    ...change,
  })
  return {
    hub,
    store,
    state,
    stored: () => {
      const rows: EventRow[] = []
      for (
        let more = store.eventsAfter(0, {}, 1e6);
        more.length > 0;
        more = store.eventsAfter(rows.at(-1)?.id ?? 0, {}, 1e6)
      )
        rows.push(...more)
      return rows
    },
    /** Runs the timers of this length. */
    tick: (delayMs: number) => {
      for (const [id, timer] of Array.from(timers)) {
        if (timer.delayMs !== delayMs) continue
        timers.delete(id)
        timer.run()
      }
    },
    say: (text: string, session = 'app') => hub.publish(session, null, { type: 'error', code: 'test', message: text }),
  }
}

/** Connects a listener that accepts `room` payloads and is then full until `drain`. */
function connect(
  hub: ReturnType<typeof openHub>['hub'],
  options: Parameters<typeof hub.listen>[1] = {},
  room = Infinity,
) {
  let text = ''
  let left = room
  let longest = 0
  const payloads: Payload[] = []
  const listening = hub.listen((payload) => {
    if (left <= 0) throw new Error('written to a connection that is full')
    text += payload.bytes.toString()
    longest = Math.max(longest, payload.bytes.length)
    payloads.push(payload)
    left -= 1
    return left > 0
  }, options)
  return {
    ...listening,
    payloads,
    longest: () => longest,
    text: () => text,
    events: () => parseEvents(text),
    said: () =>
      parseEvents(text).map(({ type, data }) =>
        type === 'gap' ? `gap ${String(data['from'])}-${String(data['to'])}` : data['message'],
      ),
    drain(more = 1) {
      left = more
      listening.drained()
    },
  }
}

test('a listener gets the events of its session, in order, with ids', () => {
  const { hub, say } = openHub()
  const all = connect(hub)
  const one = connect(hub, { session: 'app' })
  say('a')
  say('b', 'other')
  say('c')
  expect(all.events().map(({ id }) => id)).toEqual([1, 2, 3])
  expect(one.said()).toEqual(['a', 'c'])
  expect(one.events()[1]).toEqual({
    id: 3,
    type: 'error',
    data: { code: 'test', message: 'c', sessionId: 'app', time: '1970-01-01T00:00:00.000Z' },
  })
})

test('an event is stored before it is sent, and encoded once', () => {
  const order: string[] = []
  const { hub, say } = openHub({
    write: () => {
      order.push('store')
      return undefined
    },
  })
  const listeners = Array.from({ length: 100 }, () => connect(hub))
  const first = hub.listen(({ bytes }) => {
    if (bytes.includes('event:')) order.push('send')
    return true
  }, {})
  say('a')
  expect(order).toEqual(['store', 'send'])
  expect(new Set(listeners.map(({ payloads }) => payloads.at(-1)?.bytes)).size).toBe(1)
  expect(new Set(listeners.map(({ payloads }) => payloads.at(-1)?.deflated())).size).toBe(1)
  first.end()
})

test('a client that reconnects gets the missed events', () => {
  const { hub, say } = openHub()
  for (let number = 1; number <= 12_000; number += 1) say(String(number), number % 2 === 0 ? 'app' : 'other')
  const near = connect(hub, { after: 11_997 })
  expect(near.said()).toEqual(['11998', '11999', '12000'])
  const far = connect(hub, { after: 100, session: 'app' })
  expect(far.said()).toEqual(Array.from({ length: 5950 }, (_, at) => String(102 + at * 2)))
  say('next')
  expect([near.said().at(-1), far.said().at(-1)]).toEqual(['next', 'next'])
  expect(connect(hub, { after: 99_999 }).said()).toEqual([])
})

test('a client without an id gets the id to resume after, and no old events', () => {
  const { hub, say } = openHub()
  say('old')
  const ear = connect(hub)
  expect(ear.text()).toBe('retry: 2000\nid: 1\n\n')
  say('new')
  expect(ear.said()).toEqual(['new'])
})

test('deleted events are sent as a gap', () => {
  const { hub, say, store } = openHub()
  for (let number = 1; number <= 6000; number += 1) say(String(number))
  store.setPrunedTo(500)
  const ear = connect(hub, { after: 20 })
  expect(ear.said().slice(0, 2)).toEqual(['gap 21-500', '501'])
  expect(ear.events()[0]?.id).toBe(500)
  expect(ear.said()).toHaveLength(5501)
})

test('a full listener gets nothing until it has drained, then the missed events in pages', () => {
  const { hub, say } = openHub()
  const slow = connect(hub, {}, 2)
  const quick = connect(hub)
  for (let number = 1; number <= 2000; number += 1) {
    say(`${number} ${'x'.repeat(1000)}`)
  }
  expect(slow.said()).toHaveLength(1)
  expect(quick.said()).toHaveLength(2000)
  for (let reads = 0; slow.said().length < 2000 && reads < 1000; reads += 1) slow.drain()
  expect(slow.said()).toEqual(quick.said())
  expect(slow.longest()).toBeLessThan(80 * 1024)
  slow.drain(5)
  say('live again')
  expect(slow.said().at(-1)).toBe('live again')
})

test('while nothing can be stored, events are sent now and stored later', () => {
  const { hub, say, state, stored, tick } = openHub()
  const ear = connect(hub)
  state.isFull = true
  say('a')
  say('b')
  expect(ear.said()).toEqual(['a', 'b'])
  expect(connect(hub, { after: 0 }).said()).toEqual(['a', 'b'])
  expect(stored()).toEqual([])
  tick(1000)
  expect(stored()).toEqual([])
  state.isFull = false
  tick(1000)
  say('c')
  expect(stored().map(({ id }) => id)).toEqual([1, 2, 3])
})

test('while nothing can be stored, memory stays bounded, and lost events are sent as a gap', () => {
  const { hub, say, state, stored, tick } = openHub()
  const slow = connect(hub, {}, 2)
  say('stored')
  state.isFull = true
  for (let number = 2; number <= 9000; number += 1) say(`${number} ${'x'.repeat(2000)}`)
  const during = connect(hub, { after: 0 }).said()
  state.isFull = false
  // A large amount is stored in several turns.
  tick(1000)
  expect(stored().length).toBeLessThan(1000)
  for (let turn = 0; turn < 20; turn += 1) tick(0)
  expect(stored().reduce((sum, { data }) => sum + data.length, 0)).toBeLessThan(8.1 * 1024 * 1024)
  expect(stored().at(-1)?.id).toBe(9000)
  const firstKept = stored()[1]?.id ?? 0
  expect(firstKept).toBeGreaterThan(2)
  for (let reads = 0; reads < 1000 && slow.events().at(-1)?.id !== 9000; reads += 1) slow.drain()
  expect(slow.events().map(({ id }) => id)).toEqual([
    1,
    firstKept - 1,
    ...stored()
      .slice(1)
      .map(({ id }) => id),
  ])
  expect(slow.said()[1]).toBe(`gap 2-${firstKept - 1}`)
  const start = ['stored', `gap 2-${firstKept - 1}`, expect.stringMatching(`^${firstKept} `)]
  expect(during.slice(0, 3)).toEqual(start)
  expect(connect(hub, { after: 0 }).said().slice(0, 3)).toEqual(start)
})

test('an unreadable file causes a gap up to the events in memory', () => {
  const { hub, say, state } = openHub({ read: () => undefined })
  for (let number = 1; number <= 6; number += 1) say(String(number))
  state.isFull = true
  say('7')
  expect(connect(hub, { after: 2 }).said()).toEqual(['gap 3-6', '7'])
})

test('idle connections get a comment, and no timer runs without listeners', () => {
  const { hub, tick } = openHub()
  const ear = connect(hub)
  tick(15_000)
  expect(ear.text()).toMatch(/\n\n:\n\n$/)
  ear.end()
  tick(15_000)
  const later = connect(hub)
  tick(15_000)
  expect(later.text()).toMatch(/\n\n:\n\n$/)
  expect(ear.text().match(/:\n\n/g)).toHaveLength(1)
})

test('a clock that goes back changes neither ids nor order', () => {
  let time = 5000
  const { hub, say } = openHub({ now: () => (time -= 1000), firstId: () => 5000 })
  const ear = connect(hub)
  say('a')
  say('b')
  expect(ear.events().map(({ id }) => id)).toEqual([5000, 5001])
  expect(ear.said()).toEqual(['a', 'b'])
})

test('the concatenated deflated payloads of any events are one deflate stream', () => {
  fc.assert(
    fc.property(
      fc.array(fc.array(fc.string({ unit: 'binary' }), { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 6 }),
      (batches) => {
        const { hub, say } = openHub()
        const ear = connect(hub)
        for (const texts of batches) {
          for (const text of texts) say(text)
        }
        const stream = Buffer.concat(ear.payloads.map(({ deflated }) => deflated()))
        expect(inflateRawSync(stream, { finishFlush: constants.Z_SYNC_FLUSH }).toString()).toBe(ear.text())
        expect(ear.said()).toEqual(batches.flat().map((text) => JSON.parse(JSON.stringify(text))))
      },
    ),
    { numRuns: 50 },
  )
})

test('a listener gets each event once and in order, whenever it reads', () => {
  const action = fc.oneof(
    fc.record({ say: fc.integer({ min: 1, max: 400 }) }),
    fc.record({ read: fc.integer({ min: 1, max: 3 }) }),
  )
  fc.assert(
    fc.property(fc.array(action, { maxLength: 40 }), fc.boolean(), (actions, hasFilter) => {
      const { hub, say } = openHub()
      const ear = connect(hub, hasFilter ? { session: 'app' } : {}, 2)
      let isFull = false
      const expected: string[] = []
      let said = 0
      for (const each of actions) {
        if ('say' in each) {
          for (let count = 0; count < each.say; count += 1) {
            said += 1
            const session = said % 3 === 0 ? 'other' : 'app'
            if (session === 'app' || !hasFilter) expected.push(String(said))
            say(String(said), session)
          }
          isFull = true
        } else if (isFull) ear.drain(each.read)
      }
      for (let reads = 0; reads < 100; reads += 1) ear.drain(3)
      expect(ear.said()).toEqual(expected)
    }),
    { numRuns: 60 },
  )
})
