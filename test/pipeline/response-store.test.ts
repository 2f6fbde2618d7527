import { describe, expect, test } from 'vitest'
import { createResponseStore } from '../../src/pipeline/reply-memory.ts'

function store(limits: { maxAgeMs?: number; maxEntries?: number; maxChars?: number } = {}) {
  const clock = { now: 0 }
  const responses = createResponseStore(() => clock.now, {
    maxAgeMs: 1000,
    maxEntries: 3,
    maxChars: 10_000,
    ...limits,
  })
  const put = (id: string, text = '', itemId = `msg_${id}`) =>
    responses.put(id, {
      response: { id, output: [{ id: itemId, text }] },
      input: [{ id: `in_${id}`, role: 'user' }],
    })
  const has = (...ids: readonly string[]) => ids.map((id) => responses.get(id) !== undefined)
  return { ...responses, put, has, clock }
}

test('gives back what was kept, with what the model was given', () => {
  const { put, get } = store()
  put('r1', 'yo')
  expect(get('r1')).toMatchObject({
    response: { id: 'r1', output: [{ id: 'msg_r1', text: 'yo' }] },
    input: [{ id: 'in_r1', role: 'user' }],
  })
  expect(get('r2')).toBeUndefined()
})

describe('bounds', () => {
  test('an entry lives as long as its age allows, to the millisecond', () => {
    const { put, has, clock } = store()
    put('r1')
    clock.now = 1000
    expect(has('r1')).toEqual([true])
    clock.now = 1001
    expect(has('r1')).toEqual([false])
  })

  test('the one that was used least recently goes first', () => {
    const { put, get, has } = store()
    for (const id of ['r1', 'r2', 'r3']) put(id)
    get('r1')
    put('r4')
    expect(has('r1', 'r2', 'r3', 'r4')).toEqual([true, false, true, true])
  })

  test('a large one pushes out as many as it needs', () => {
    const { put, has } = store({ maxChars: 1000 })
    put('r1', 'x'.repeat(300))
    put('r2', 'x'.repeat(300))
    put('r3', 'x'.repeat(700))
    expect(has('r1', 'r2', 'r3')).toEqual([false, false, true])
  })

  test('a response over the size limit is not kept and evicts nothing', () => {
    const { put, has } = store({ maxChars: 1000 })
    put('r1')
    put('r2', 'x'.repeat(2000))
    expect(has('r1', 'r2')).toEqual([true, false])
  })

  test('keeping the same id again replaces it and its weight', () => {
    const { put, get, has } = store({ maxChars: 1000 })
    for (let round = 0; round < 10; round += 1) put('r1', 'x'.repeat(500))
    put('r2', 'x'.repeat(200))
    expect(has('r1', 'r2')).toEqual([true, true])
    expect(get('r1')?.response['output']).toHaveLength(1)
  })
})

test('what is removed is gone, once', () => {
  const { put, remove, has } = store()
  put('r1')
  expect([remove('r1'), remove('r1')]).toEqual([true, false])
  expect(has('r1')).toEqual([false])
})

test('items are found by id in output and input, those that have expired are not', () => {
  const { put, items, clock } = store()
  put('r1', 'old')
  clock.now = 600
  put('r2')
  expect(items(['msg_r1', 'in_r2', 'none', 'msg_r1'])).toEqual(
    new Map([
      ['in_r2', expect.objectContaining({ role: 'user' })],
      ['msg_r1', expect.objectContaining({ text: 'old' })],
    ]),
  )
  clock.now = 1500
  expect([...items(['msg_r1', 'in_r2']).keys()]).toEqual(['in_r2'])
  expect(items([]).size).toBe(0)
})

test('of several items with one id the newest is found', () => {
  const { put, items } = store()
  put('r1', 'old')
  put('r2', 'new', 'msg_r1')
  expect(items(['msg_r1']).get('msg_r1')).toMatchObject({ text: 'new' })
})
