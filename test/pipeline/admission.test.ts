import { fc } from '../fast-check.ts'
import { expect, test } from 'vitest'
import { Fault } from '../../src/errors.ts'
import { createAdmission } from '../../src/pipeline/admission.ts'

const never = new AbortController().signal

/** Enters and records the order in which places are given. */
function recorder(limits: { maxConcurrent: number; maxQueued: number }) {
  const admission = createAdmission(() => limits)
  const order: string[] = []
  const leaves = new Map<string, () => void>()
  const enter = async (name: string, flow = 'one', signal: AbortSignal = never) => {
    const leave = await admission.enter(flow, signal)
    order.push(name)
    leaves.set(name, leave)
  }
  return { admission, order, leaves, enter }
}

test('lets requests in at once up to the limit', async () => {
  const { admission, enter, order } = recorder({ maxConcurrent: 2, maxQueued: 0 })
  await Promise.all([enter('a'), enter('b')])
  expect(order).toEqual(['a', 'b'])
  expect(admission.active()).toBe(2)
})

test('queues the next request and admits it when one ends', async () => {
  const { admission, enter, leaves, order } = recorder({ maxConcurrent: 1, maxQueued: 1 })
  await enter('a')
  const waiting = enter('b')
  expect(admission.queued()).toBe(1)
  leaves.get('a')?.()
  await waiting
  expect(order).toEqual(['a', 'b'])
  expect(admission.queued()).toBe(0)
})

test('refuses with queue_full and a retry hint when the queue is full', async () => {
  const { enter } = recorder({ maxConcurrent: 1, maxQueued: 1 })
  await enter('a')
  void enter('b')
  const refused = await enter('c').catch((error: unknown) => error)
  expect(refused).toBeInstanceOf(Fault)
  expect(refused).toMatchObject({ error: { kind: 'queue_full', retryAfterSeconds: 2 } })
})

test('serves the flows in turn, so a busy one cannot starve another', async () => {
  const { enter, leaves, order } = recorder({ maxConcurrent: 1, maxQueued: 10 })
  await enter('busy-0', 'busy')
  const all = [enter('busy-1', 'busy'), enter('busy-2', 'busy'), enter('busy-3', 'busy'), enter('calm-1', 'calm')]
  for (const name of ['busy-0', 'busy-1', 'calm-1', 'busy-2']) {
    leaves.get(name)?.()
    await expect.poll(() => leaves.size).toBeGreaterThan(order.indexOf(name) + 1)
  }
  await Promise.all(all)
  expect(order).toEqual(['busy-0', 'busy-1', 'calm-1', 'busy-2', 'busy-3'])
})

test('a caller that leaves while waiting is removed from the queue', async () => {
  const { admission, enter, leaves, order } = recorder({ maxConcurrent: 1, maxQueued: 2 })
  await enter('a')
  const controller = new AbortController()
  const gone = enter('b', 'one', controller.signal)
  const waiting = enter('c')
  controller.abort()
  await expect(gone).rejects.toMatchObject({ name: 'AbortError' })
  expect(admission.queued()).toBe(1)
  leaves.get('a')?.()
  await waiting
  expect(order).toEqual(['a', 'c'])
})

test('ending an admission twice counts once', async () => {
  const { admission, enter, leaves } = recorder({ maxConcurrent: 2, maxQueued: 0 })
  await Promise.all([enter('a'), enter('b')])
  leaves.get('a')?.()
  leaves.get('a')?.()
  expect(admission.active()).toBe(1)
})

test('never runs more than allowed, and everyone who waits is served', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 5 }),
      fc.array(fc.constantFrom('x', 'y', 'z'), { maxLength: 40 }),
      async (maxConcurrent, flows) => {
        const admission = createAdmission(() => ({ maxConcurrent, maxQueued: flows.length }))
        let most = 0
        await Promise.all(
          flows.map(async (flow) => {
            const leave = await admission.enter(flow, never)
            most = Math.max(most, admission.active())
            await Promise.resolve()
            leave()
          }),
        )
        expect(most).toBeLessThanOrEqual(maxConcurrent)
        expect(admission.active()).toBe(0)
        expect(admission.queued()).toBe(0)
      },
    ),
  )
})
