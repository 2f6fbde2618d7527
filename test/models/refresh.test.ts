import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { Fault, type ProxyError } from '../../src/errors.ts'
import type { Logger } from '../../src/logging/logger.ts'
import { parseCodexModels } from '../../src/models/codex-model.ts'
import { parseCopilotModels } from '../../src/models/copilot-model.ts'
import { createModelRefresh, type ModelRefreshDeps } from '../../src/models/refresh.ts'
import { createModelRegistry } from '../../src/models/registry.ts'
import { copilotSeeds } from '../../src/models/seeds.ts'
import { codexReply, copilotReply } from './samples.ts'

const minuteMs = 60_000

beforeEach(() => {
  vi.useFakeTimers({ now: new Date('2026-11-20T12:00:00Z') })
})

afterEach(() => {
  vi.useRealTimers()
})

/** One call of `listModels`, answered by the test. */
interface Call {
  readonly signal: AbortSignal
  readonly answer: (reply: unknown) => void
  readonly fail: (error: unknown) => void
}

const copilot = { name: 'Copilot', parse: parseCopilotModels }
const codex = { name: 'Codex', parse: parseCodexModels }

/**
 * A refresh whose upstream is the test. Like an executor, the fake's promise rejects when its signal aborts.
 * @param broken what every call fails with, if not answered one by one
 * @param provider whose list it is
 */
function setup(broken?: unknown, provider: Pick<ModelRefreshDeps, 'name' | 'parse'> = copilot) {
  const calls: Call[] = []
  const calledAtMs: number[] = []
  const logged: { level: string; fields: unknown; message: unknown }[] = []
  const logAt = (level: string) => (fields: unknown, message?: string) => {
    logged.push({ level, fields, message })
  }
  const log: Logger = { debug: logAt('debug'), info: logAt('info'), warn: logAt('warn'), error: logAt('error') }
  const registry = createModelRegistry({ aliases: {}, hide: [] })
  registry.register('record-1', copilotSeeds)
  let clientId = 'record-1'
  const refresh = createModelRefresh({
    ...provider,
    listModels: ({ signal }) => {
      const { promise, resolve, reject } = Promise.withResolvers<unknown>()
      signal.addEventListener('abort', () => reject(new DOMException('aborted', 'AbortError')))
      calls.push({ signal, answer: resolve, fail: reject })
      calledAtMs.push(Date.now())
      if (broken !== undefined) reject(broken)
      return promise
    },
    registry,
    clientId: () => clientId,
    now: Date.now,
    setTimer: (run, delayMs) => {
      const timer = setTimeout(run, delayMs)
      return () => clearTimeout(timer)
    },
    log,
  })
  const last = () => {
    const call = calls.at(-1)
    if (call === undefined) throw new Error('upstream was not asked')
    return call
  }
  return {
    refresh,
    calls,
    calledAtMs,
    logged,
    ids: () => registry.list().map((entry) => entry.id),
    useAccount: (id: string) => {
      registry.reregister(clientId, id)
      clientId = id
    },
    answer: async (reply: unknown) => {
      last().answer(reply)
      await vi.advanceTimersByTimeAsync(0)
    },
    fail: async (error: unknown) => {
      last().fail(error)
      await vi.advanceTimersByTimeAsync(0)
    },
  }
}

const fault = (error: ProxyError) => new Fault(error)
const status = (code: number, retryAfter?: string) =>
  fault({ kind: 'upstream_status', status: code, message: 'no', ...(retryAfter !== undefined && { retryAfter }) })
const never = () => new AbortController().signal
const list = (...ids: string[]) => ({ object: 'list', data: ids.map((id) => ({ id })) })

describe('the live list', () => {
  test('replaces the seeds once it arrives, without anybody waiting for it', async () => {
    const { refresh, ids, answer, logged } = setup()
    refresh.tokenChanged()
    expect(ids()).toContain('grok-code-fast-1')
    expect(refresh.state()).toEqual({ loadedAtMs: undefined, problem: undefined })
    await answer(copilotReply)
    expect(ids()).toContain('claude-opus-4.6')
    expect(ids()).not.toContain('grok-code-fast-1')
    expect(refresh.state()).toEqual({ loadedAtMs: Date.now(), problem: undefined })
    expect(logged).toEqual([
      { level: 'info', fields: { received: 13, leftOut: 5 }, message: 'Copilot model list loaded' },
    ])
  })

  test('is fetched again every ten minutes', async () => {
    const { refresh, calls, ids, answer } = setup()
    refresh.tokenChanged()
    await answer(list('first'))
    await vi.advanceTimersByTimeAsync(10 * minuteMs - 1)
    expect(calls).toHaveLength(1)
    await vi.advanceTimersByTimeAsync(1)
    expect(calls).toHaveLength(2)
    await answer(list('second'))
    expect(ids()).toEqual(['second'])
    await vi.advanceTimersByTimeAsync(10 * minuteMs)
    expect(calls).toHaveLength(3)
  })

  test('is fetched on a new token, and the ten minutes count from there', async () => {
    const { refresh, calls, answer } = setup()
    refresh.tokenChanged()
    await answer(list('first'))
    await vi.advanceTimersByTimeAsync(9 * minuteMs)
    refresh.tokenChanged()
    expect(calls).toHaveLength(2)
    await answer(list('second'))
    await vi.advanceTimersByTimeAsync(9 * minuteMs)
    expect(calls).toHaveLength(2)
    await vi.advanceTimersByTimeAsync(minuteMs)
    expect(calls).toHaveLength(3)
  })

  test('is never fetched twice at once: everybody gets the outcome of the one exchange', async () => {
    const { refresh, calls, answer } = setup()
    refresh.tokenChanged()
    refresh.tokenChanged()
    const waiting = [refresh.refresh({ signal: never() }), refresh.refresh({ signal: never() })]
    expect(calls).toHaveLength(1)
    await answer(list('a', 'b'))
    expect(await Promise.all(waiting)).toEqual([
      { kind: 'updated', models: 2 },
      { kind: 'updated', models: 2 },
    ])
  })

  test('of an account that was left meanwhile is thrown away and the new account’s is fetched', async () => {
    const { refresh, calls, ids, useAccount, answer } = setup()
    const waiting = refresh.refresh({ signal: never() })
    useAccount('record-2')
    refresh.tokenChanged()
    await answer(list('of-record-1'))
    expect(calls).toHaveLength(2)
    expect(ids()).toContain('grok-code-fast-1')
    await answer(list('of-record-2'))
    expect(await waiting).toEqual({ kind: 'updated', models: 1 })
    expect(ids()).toEqual(['of-record-2'])
  })

  test('counts as never loaded for an account that was just switched to', async () => {
    const { refresh, useAccount, answer } = setup()
    refresh.tokenChanged()
    await answer(list('a'))
    useAccount('record-2')
    expect(refresh.state().loadedAtMs).toBeUndefined()
  })
})

describe('another provider', () => {
  test('has its own list, read in its own way and named in the log', async () => {
    const { refresh, ids, answer, logged } = setup(undefined, codex)
    refresh.tokenChanged()
    await answer(codexReply)
    expect(ids()).toEqual(expect.arrayContaining(['gpt-6-sol', 'gpt-5.5', 'bare-model']))
    expect(logged).toEqual([{ level: 'info', fields: { received: 7, leftOut: 5 }, message: 'Codex model list loaded' }])
  })
})

describe('a failure', () => {
  test.each([
    [status(403), 'the provider answered 403: no'],
    [fault({ kind: 'upstream_unauthorized', upstreamMessage: 'expired' }), 'the provider answered 401: expired'],
    [fault({ kind: 'upstream_unreachable', detail: 'no route to host' }), 'no route to host'],
    [fault({ kind: 'upstream_truncated' }), 'unexpected failure (upstream_truncated)'],
    [new TypeError('a bug'), 'unexpected failure (internal)'],
  ])('keeps the last good list and says why: %s', async (error, problem) => {
    const { refresh, ids, answer, fail, logged } = setup()
    refresh.tokenChanged()
    await answer(list('good'))
    const waiting = refresh.refresh({ signal: never() })
    await fail(error)
    expect(await waiting).toMatchObject({ kind: 'kept', problem })
    expect(ids()).toEqual(['good'])
    expect(refresh.state()).toMatchObject({ loadedAtMs: Date.now(), problem })
    expect(logged.at(-1)).toMatchObject({ level: 'warn', fields: { problem } })
  })

  test.each([
    ['an empty list', { data: [] }, 'the model list is empty'],
    ['a list of which nothing can be read', { data: [{}, 1] }, 'the model list is empty'],
    ['something else', { message: 'hello' }, 'the reply is not a model list'],
  ])('%s is one', async (_what, reply, problem) => {
    const { refresh, ids, answer } = setup()
    const waiting = refresh.refresh({ signal: never() })
    await answer(reply)
    expect(await waiting).toMatchObject({ kind: 'kept', problem })
    expect(ids()).toContain('grok-code-fast-1')
  })

  test('is retried after 30 s, then less and less often, at most every ten minutes', async () => {
    const { refresh, calledAtMs } = setup(status(500))
    refresh.tokenChanged()
    await vi.advanceTimersByTimeAsync(40 * minuteMs)
    const waits = calledAtMs.slice(1).map((atMs, index) => atMs - (calledAtMs[index] ?? 0))
    expect(waits).toEqual([30_000, 60_000, 120_000, 240_000, 480_000, 600_000, 600_000])
  })

  test('that lasts is logged once, and so is its end', async () => {
    const { refresh, fail, answer, logged } = setup()
    refresh.tokenChanged()
    await fail(status(500))
    await vi.advanceTimersByTimeAsync(30_000)
    await fail(status(500))
    await vi.advanceTimersByTimeAsync(60_000)
    await answer(list('a'))
    await vi.advanceTimersByTimeAsync(10 * minuteMs)
    await answer(list('a'))
    expect(logged.map((line) => line.level)).toEqual(['warn', 'debug', 'info', 'debug'])
  })

  test('for want of a login is not worth a warning', async () => {
    const { refresh, fail, logged } = setup()
    refresh.tokenChanged()
    await fail(fault({ kind: 'copilot_unavailable', detail: 'nobody is logged in', fix: 'copilot-proxy login' }))
    expect(logged.map((line) => line.level)).toEqual(['debug'])
    expect(refresh.state().problem).toBe('nobody is logged in')
  })

  test('for want of a Codex login is not worth a warning either, and the last good list stays', async () => {
    const { refresh, ids, answer, fail, logged } = setup(undefined, codex)
    refresh.tokenChanged()
    await answer(codexReply)
    const known = ids()
    refresh.tokenChanged()
    await fail(fault({ kind: 'codex_unavailable', detail: 'nobody is logged in', fix: 'copilot-proxy login codex' }))
    expect(ids()).toEqual(known)
    expect(refresh.state().problem).toBe('nobody is logged in')
    expect(logged.at(-1)).toMatchObject({
      level: 'debug',
      message: 'Codex model list could not be fetched; using the last one',
    })
  })

  test('an exchange that takes longer than 30 s is given up', async () => {
    const { refresh, calls } = setup()
    const waiting = refresh.refresh({ signal: never() })
    await vi.advanceTimersByTimeAsync(30_000)
    expect(calls[0]?.signal.aborted).toBe(true)
    expect(await waiting).toMatchObject({ kind: 'kept', problem: 'the provider did not answer within 30 s' })
  })
})

describe('a list that upstream says has changed', () => {
  test('is fetched a second later, once, however many replies say so', async () => {
    const { refresh, calls, ids, answer } = setup()
    refresh.tokenChanged()
    await answer(list('old'))
    await vi.advanceTimersByTimeAsync(5 * minuteMs)
    for (let reply = 0; reply < 10; reply += 1) {
      refresh.listChanged()
      await vi.advanceTimersByTimeAsync(90)
    }
    expect(calls).toHaveLength(1)
    await vi.advanceTimersByTimeAsync(100)
    expect(calls).toHaveLength(2)
    await answer(list('new'))
    expect(ids()).toEqual(['new'])
    await vi.advanceTimersByTimeAsync(10 * minuteMs - 1)
    expect(calls).toHaveLength(2)
    await vi.advanceTimersByTimeAsync(1)
    expect(calls).toHaveLength(3)
  })

  test('is fetched at most once a minute, so that servers that disagree cost little', async () => {
    const { refresh, calls, answer } = setup()
    refresh.tokenChanged()
    await answer(list('a'))
    for (let second = 0; second < 180; second += 1) {
      refresh.listChanged()
      await vi.advanceTimersByTimeAsync(1000)
      await answer(list('a'))
    }
    expect(calls).toHaveLength(4)
  })

  test('while it is being fetched is fetched again, because the reply may be the old one', async () => {
    const { refresh, calls, ids, answer } = setup()
    refresh.tokenChanged()
    refresh.listChanged()
    await answer(list('old'))
    expect(calls).toHaveLength(1)
    await vi.advanceTimersByTimeAsync(minuteMs)
    expect(calls).toHaveLength(2)
    await answer(list('new'))
    expect(ids()).toEqual(['new'])
  })

  test('changes nothing about the waits after failures', async () => {
    const { refresh, calls, calledAtMs, fail } = setup()
    refresh.tokenChanged()
    await fail(status(500))
    await vi.advanceTimersByTimeAsync(10_000)
    refresh.listChanged()
    await vi.advanceTimersByTimeAsync(19_999)
    expect(calls).toHaveLength(1)
    await vi.advanceTimersByTimeAsync(1)
    expect(calledAtMs.map((atMs) => atMs - (calledAtMs[0] ?? 0))).toEqual([0, 30_000])
  })

  test('does not cut a 429 short', async () => {
    const { refresh, calls, fail } = setup()
    refresh.tokenChanged()
    await fail(status(429, '3600'))
    refresh.listChanged()
    await vi.advanceTimersByTimeAsync(60 * minuteMs - 1)
    expect(calls).toHaveLength(1)
    await vi.advanceTimersByTimeAsync(1)
    expect(calls).toHaveLength(2)
  })

  test('is fetched within a minute through a clock that was set back', async () => {
    const { refresh, calls, answer } = setup()
    refresh.tokenChanged()
    await answer(list('a'))
    vi.setSystemTime(Date.now() - 60 * minuteMs)
    refresh.listChanged()
    await vi.advanceTimersByTimeAsync(minuteMs)
    expect(calls).toHaveLength(2)
  })

  test('is not fetched after stopping', async () => {
    const { refresh, answer } = setup()
    refresh.tokenChanged()
    await answer(list('a'))
    refresh.stop()
    refresh.listChanged()
    expect(vi.getTimerCount()).toBe(0)
  })
})

describe('a 429', () => {
  test.each([
    ['seconds', '3600', 60 * minuteMs],
    ['a date', 'Fri, 20 Nov 2026 14:00:00 GMT', 120 * minuteMs],
    ['less than the interval', '5', 10 * minuteMs],
    ['a date that is past', 'Fri, 20 Nov 2026 11:00:00 GMT', 10 * minuteMs],
    ['nothing readable', 'later', 10 * minuteMs],
    ['nothing', undefined, 10 * minuteMs],
    ['days', '400000', 24 * 60 * minuteMs],
  ])('is respected for as long as it says, here %s', async (_what, retryAfter, waitMs) => {
    const { refresh, calls, answer, fail, ids } = setup()
    refresh.tokenChanged()
    await answer(list('good'))
    refresh.tokenChanged()
    await fail(status(429, retryAfter))
    await vi.advanceTimersByTimeAsync(waitMs - 1)
    refresh.tokenChanged()
    expect(await refresh.refresh({ signal: never() })).toMatchObject({
      kind: 'kept',
      problem: 'the provider answered 429: no',
      error: { kind: 'upstream_status', status: 429 },
    })
    expect(calls).toHaveLength(2)
    expect(ids()).toEqual(['good'])
    await vi.advanceTimersByTimeAsync(1)
    expect(calls).toHaveLength(3)
  })

  test('is respected through a clock that was set back', async () => {
    const { refresh, calls, fail } = setup()
    refresh.tokenChanged()
    await fail(status(429))
    vi.setSystemTime(Date.now() - 5 * minuteMs)
    await vi.advanceTimersByTimeAsync(15 * minuteMs - 1)
    expect(calls).toHaveLength(1)
    await vi.advanceTimersByTimeAsync(1)
    expect(calls).toHaveLength(2)
  })

  test('of one account does not hold back another', async () => {
    const { refresh, calls, fail, useAccount } = setup()
    refresh.tokenChanged()
    await fail(status(429, '3600'))
    useAccount('record-2')
    refresh.tokenChanged()
    expect(calls).toHaveLength(2)
  })
})

describe('leaving', () => {
  test('a caller that stops waiting does not stop the exchange', async () => {
    const { refresh, calls, ids, answer } = setup()
    const impatient = new AbortController()
    const waiting = refresh.refresh({ signal: impatient.signal })
    const patient = refresh.refresh({ signal: never() })
    impatient.abort(new Error('left'))
    await expect(waiting).rejects.toThrow('left')
    expect(calls[0]?.signal.aborted).toBe(false)
    await answer(list('a'))
    expect(await patient).toEqual({ kind: 'updated', models: 1 })
    expect(ids()).toEqual(['a'])
  })

  test('a caller that has already left asks nothing', async () => {
    const { refresh, calls } = setup()
    await expect(refresh.refresh({ signal: AbortSignal.abort(new Error('left')) })).rejects.toThrow('left')
    expect(calls).toHaveLength(0)
  })

  test('stopping ends the exchange under way and the timer, and nothing starts again', async () => {
    const { refresh, calls, logged } = setup()
    const waiting = refresh.refresh({ signal: never() })
    refresh.stop()
    expect(calls[0]?.signal.aborted).toBe(true)
    expect(await waiting).toEqual({
      kind: 'kept',
      problem: 'the program is stopping',
      error: { kind: 'shutting_down' },
    })
    refresh.tokenChanged()
    expect(await refresh.refresh({ signal: never() })).toMatchObject({ kind: 'kept' })
    await vi.advanceTimersByTimeAsync(60 * minuteMs)
    expect(calls).toHaveLength(1)
    expect(vi.getTimerCount()).toBe(0)
    expect(logged).toEqual([])
  })

  test('stopping between two exchanges leaves no timer', async () => {
    const { refresh, answer } = setup()
    refresh.tokenChanged()
    await answer(list('a'))
    expect(vi.getTimerCount()).toBe(1)
    refresh.stop()
    expect(vi.getTimerCount()).toBe(0)
  })
})

test('a list of more models than any provider has keeps the last list, and the log says why', async () => {
  const { refresh, calls, logged } = setup()
  const listing = refresh.refresh({ signal: new AbortController().signal })
  const data = Array.from({ length: 100_000 }, (_, at) => ({ id: `m${at}` }))
  calls[0]?.answer({ data })
  expect(await listing).toMatchObject({ kind: 'kept', problem: expect.stringContaining('has 100000 models') })
  expect(logged).toContainEqual(
    expect.objectContaining({
      level: 'warn',
      fields: { problem: 'its model list has 100000 models; at most 2000 are read' },
    }),
  )
})

test('300 models are listed', async () => {
  const { refresh, calls } = setup()
  const listing = refresh.refresh({ signal: new AbortController().signal })
  calls[0]?.answer({ data: Array.from({ length: 300 }, (_, at) => ({ id: `m${at}` })) })
  expect(await listing).toEqual({ kind: 'updated', models: 300 })
})
