import { describe, expect, test } from 'vitest'
import { createResponseStores } from '../../src/pipeline/reply-memory.ts'
import type { ResponseStore } from '../../src/pipeline/reply-memory.ts'

interface Said {
  readonly text?: string
  readonly itemId?: string
  readonly previousId?: string
}

function put(store: ResponseStore, id: string, { text = '', itemId = `msg_${id}`, previousId }: Said = {}): void {
  store.put(id, {
    response: { id, output: [{ id: itemId, text }] },
    input: [{ id: `in_${id}`, role: 'user' }],
    inputChars: 100,
    previousId,
  })
}

function open(limits: { maxAgeMs?: number; maxEntries?: number; maxChars?: number } = {}) {
  const clock = { now: 0 }
  const of = createResponseStores(() => clock.now, { maxAgeMs: 1000, maxEntries: 3, maxChars: 20_000, ...limits })
  const store = of({ key: undefined })
  const has = (...ids: readonly string[]) => ids.map((id) => store.get(id) !== undefined)
  return { of, store, has, clock, put: (id: string, said?: Said) => put(store, id, said) }
}

const idsOf = (items: readonly Readonly<Record<string, unknown>>[] | undefined) => items?.map(({ id }) => id)

test('gives back what was kept, with what the model was given', () => {
  const { store, put: keep } = open()
  keep('r1', { text: 'yo' })
  expect(store.get('r1')).toMatchObject({ id: 'r1', output: [{ id: 'msg_r1', text: 'yo' }] })
  expect(store.inputOf('r1')).toEqual([{ id: 'in_r1', role: 'user' }])
  expect([store.get('r2'), store.inputOf('r2'), store.historyOf('r2')]).toEqual([undefined, undefined, undefined])
})

describe('a conversation', () => {
  test('is joined from the links, the oldest first', () => {
    const { store, put: keep } = open()
    keep('r1')
    keep('r2', { previousId: 'r1' })
    keep('r3', { previousId: 'r2' })
    expect(idsOf(store.historyOf('r3'))).toEqual(['in_r1', 'msg_r1', 'in_r2', 'msg_r2', 'in_r3', 'msg_r3'])
    expect(idsOf(store.inputOf('r3'))).toEqual(['in_r1', 'msg_r1', 'in_r2', 'msg_r2', 'in_r3'])
    expect(idsOf(store.historyOf('r2'))).toEqual(['in_r1', 'msg_r1', 'in_r2', 'msg_r2'])
  })

  test('can branch from any of its responses', () => {
    const { store, put: keep } = open()
    keep('r1')
    keep('r2', { previousId: 'r1' })
    keep('r2b', { previousId: 'r1' })
    expect(idsOf(store.historyOf('r2b'))).toEqual(['in_r1', 'msg_r1', 'in_r2b', 'msg_r2b'])
  })

  test('with a removed link is not kept; the response itself can still be read', () => {
    const { store, has, put: keep } = open()
    keep('r1')
    keep('r2', { previousId: 'r1' })
    store.remove('r1')
    expect([store.historyOf('r2'), store.inputOf('r2'), has('r2')]).toEqual([undefined, undefined, [true]])
  })

  test('that goes on does not lose its first response after an hour, an idle one does', () => {
    const { store, put: keep, clock } = open()
    keep('r1')
    clock.now = 900
    expect(store.historyOf('r1')).toHaveLength(2)
    keep('r2', { previousId: 'r1' })
    clock.now = 1800
    expect(store.historyOf('r2')).toHaveLength(4)
    clock.now = 2801
    expect(store.historyOf('r2')).toBeUndefined()
  })

  test('whose ids make a circle, because upstream repeats them, is not kept', () => {
    const { store, put: keep } = open()
    keep('r1', { previousId: 'r2' })
    keep('r2', { previousId: 'r1' })
    expect(store.historyOf('r2')).toBeUndefined()
  })

  test('of 200 turns takes as much room as its turns, not their sum over and over', () => {
    const { of } = open({ maxEntries: 1000, maxChars: 200 * 2500 })
    const store = of({ key: undefined })
    for (let turn = 0; turn < 200; turn += 1) {
      put(store, `r${turn}`, { text: 'x'.repeat(1000), ...(turn > 0 && { previousId: `r${turn - 1}` }) })
      expect(store.historyOf(`r${turn}`)).toHaveLength(2 * (turn + 1))
    }
  })
})

describe('bounds', () => {
  test('an entry lives as long as its age allows, to the millisecond', () => {
    const { put: keep, has, clock } = open()
    keep('r1')
    clock.now = 1000
    expect(has('r1')).toEqual([true])
    clock.now = 1001
    expect(has('r1')).toEqual([false])
  })

  test('the one that was used least recently goes first', () => {
    const { put: keep, store, has } = open()
    for (const id of ['r1', 'r2', 'r3']) keep(id)
    store.get('r1')
    keep('r4')
    expect(has('r1', 'r2', 'r3', 'r4')).toEqual([true, false, true, true])
  })

  test('a large one pushes out as many as it needs', () => {
    const { put: keep, has } = open({ maxChars: 10_000 })
    keep('r1', { text: 'x'.repeat(2000) })
    keep('r2', { text: 'x'.repeat(2000) })
    keep('r3', { text: 'x'.repeat(7000) })
    expect(has('r1', 'r2', 'r3')).toEqual([false, false, true])
  })

  test('a response over the size limit is not kept and evicts nothing', () => {
    const { put: keep, has } = open({ maxChars: 5000 })
    keep('r1')
    keep('r2', { text: 'x'.repeat(5000) })
    expect(has('r1', 'r2')).toEqual([true, false])
  })

  test('a request over the size limit is not kept either', () => {
    const { store, has } = open({ maxChars: 5000 })
    store.put('r1', { response: { output: [] }, input: [], inputChars: 5000, previousId: undefined })
    expect(has('r1')).toEqual([false])
  })

  test('keeping the same id again replaces it and its weight', () => {
    const { put: keep, store, has } = open({ maxChars: 5000 })
    for (let round = 0; round < 10; round += 1) keep('r1', { text: 'x'.repeat(2000) })
    keep('r2')
    expect(has('r1', 'r2')).toEqual([true, true])
    expect(store.get('r1')?.['output']).toHaveLength(1)
  })
})

test('what is removed is gone, once', () => {
  const { put: keep, store, has } = open()
  keep('r1')
  expect([store.remove('r1'), store.remove('r1')]).toEqual([true, false])
  expect(has('r1')).toEqual([false])
})

test('items are found by id in output and input, those that have expired are not', () => {
  const { put: keep, store, clock } = open()
  keep('r1', { text: 'old' })
  clock.now = 600
  keep('r2')
  expect(store.items(['msg_r1', 'in_r2', 'none', 'msg_r1'])).toEqual(
    new Map([
      ['in_r2', expect.objectContaining({ role: 'user' })],
      ['msg_r1', expect.objectContaining({ text: 'old' })],
    ]),
  )
  clock.now = 1500
  expect([...store.items(['msg_r1', 'in_r2']).keys()]).toEqual(['in_r2'])
  expect(store.items([]).size).toBe(0)
})

test('of several items with one id the newest is found', () => {
  const { put: keep, store } = open()
  keep('r1', { text: 'old' })
  keep('r2', { text: 'new', itemId: 'msg_r1' })
  expect(store.items(['msg_r1']).get('msg_r1')).toMatchObject({ text: 'new' })
})

describe('between keys', () => {
  const old = { key: { name: 'laptop', id: 'old' } }
  const anew = { key: { name: 'laptop', id: 'new' } }
  const owner = { key: undefined }

  test('a key sees its own, also not those of a removed key with its name; a caller without a key sees all', () => {
    const { of } = open({ maxEntries: 10 })
    put(of(old), 'r1')
    put(of(owner), 'r2')
    expect(of(anew).get('r1')).toBeUndefined()
    expect(of(anew).inputOf('r1')).toBeUndefined()
    expect(of(anew).historyOf('r1')).toBeUndefined()
    expect(of(anew).items(['msg_r1', 'in_r1', 'msg_r2']).size).toBe(0)
    expect(of(anew).remove('r1')).toBe(false)
    for (const caller of [old, owner]) {
      expect(of(caller).get('r1')).toBeDefined()
      expect(of(caller).historyOf('r1')).toHaveLength(2)
      expect(of(caller).items(['msg_r1', 'in_r1']).size).toBe(2)
    }
    expect(of(old).get('r2')).toBeUndefined()
    expect(of(owner).remove('r1')).toBe(true)
  })

  test('equal ids of two keys do not meet: neither replaces, continues or removes the other’s', () => {
    const { of } = open({ maxEntries: 10 })
    put(of(old), 'r1', { text: 'old one' })
    put(of(old), 'r2', { previousId: 'r1' })
    put(of(anew), 'r1', { text: 'new one' })
    expect(of(old).historyOf('r2')).toMatchObject([{}, { text: 'old one' }, {}, {}])
    expect(of(owner).historyOf('r2')).toMatchObject([{}, { text: 'old one' }, {}, {}])
    of(anew).remove('r1')
    expect(of(old).get('r1')).toMatchObject({ output: [{ text: 'old one' }] })
  })

  test('a conversation whose link belongs to another key is not kept', () => {
    const { of } = open({ maxEntries: 10 })
    put(of(old), 'r1')
    put(of(anew), 'r2', { previousId: 'r1' })
    expect(of(anew).historyOf('r2')).toBeUndefined()
  })
})
