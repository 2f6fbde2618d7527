import { fc } from '../fast-check.ts'
import { afterEach, describe, expect, test, vi } from 'vitest'
import type { UpstreamBody } from '../../src/executors/executor.ts'
import { untilFirstOutput } from '../../src/executors/first-output.ts'
import type { FirstOutputOptions } from '../../src/executors/first-output.ts'
import { handBody, textOf } from './bodies.ts'
import { errorOf } from './error-of.ts'

afterEach(() => {
  vi.useRealTimers()
})

const options: FirstOutputOptions<string> = {
  judge: ({ data }) => (data === 'out' ? 'output' : data.startsWith('bad') ? { refusal: data } : 'prelude'),
  idleMs: 10_000,
  mostHeldMs: 60_000,
  mostHeldBytes: 1024,
  signal: new AbortController().signal,
}

/** Bytes as text, so that a chunk may end in the middle of a character. */
const bytesOf = (text: string) => Buffer.from(text).toString('latin1')

/** Reads a body into a list that tells what happened, in order. */
function record(body: UpstreamBody, onData: () => void = () => {}) {
  const heard: string[] = []
  body.read({
    data(chunk) {
      heard.push(Buffer.from(chunk).toString('latin1'))
      onData()
    },
    end: () => heard.push('[end]'),
    fail: (error) => heard.push(`[${error instanceof Error ? error.message : 'unknown'}]`),
  })
  return heard
}

async function opened(source: ReturnType<typeof handBody>, changed: Partial<FirstOutputOptions<string>> = {}) {
  const first = await untilFirstOutput(source.body, { ...options, ...changed })
  if (first.kind !== 'output') throw new Error('expected output')
  return source.body
}

/** Whether a promise has settled once everything that is due has run. */
async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  let settled = false
  const note = () => {
    settled = true
  }
  promise.then(note, note)
  await new Promise(setImmediate)
  return settled
}

/** The text in chunks, cut at the given places. */
function cut(text: string, places: readonly number[]): Buffer[] {
  const bytes = Buffer.from(text)
  const at = [...new Set([0, ...places.map((place) => place % (bytes.length + 1)), bytes.length])].toSorted(
    (a, b) => a - b,
  )
  return at.slice(1).map((to, index) => bytes.subarray(at[index], to))
}

const prelude = ': hello\n\nevent: a\ndata: ä\n\ndata: b\r\n\r\n'
const whole = `${prelude}data: out\n\ndata: ünd more\n\n`

describe('chunks', () => {
  test('wherever the stream is split once, it is held until the first output and then passed on byte by byte', async () => {
    const bytes = Buffer.from(whole)
    const outputAt = Buffer.byteLength(`${prelude}data: out\n\n`)
    for (let at = 1; at < bytes.length; at += 1) {
      const source = handBody()
      const first = untilFirstOutput(source.body, options)
      source.bytes(bytes.subarray(0, at))
      expect(await isSettled(first), `cut at ${at}`).toBe(at >= outputAt)
      source.bytes(bytes.subarray(at))
      source.end()
      const found = await first
      expect(found.kind).toBe('output')
      expect(await textOf(source.body)).toBe(whole)
    }
  })

  test('however it is split and paused, the reader gets the same bytes and the end', async () => {
    const places = fc.array(fc.nat({ max: 200 }), { maxLength: 20 })
    await fc.assert(
      fc.asyncProperty(places, fc.infiniteStream(fc.boolean()), async (cuts, pauses) => {
        const source = handBody()
        const first = untilFirstOutput(source.body, options)
        for (const chunk of cut(whole, cuts)) source.bytes(chunk)
        source.end()
        const found = await first
        if (found.kind !== 'output') throw new Error('expected output')
        const { body } = source
        const heard = record(body, () => {
          if (pauses.next().value !== true) return
          body.pause()
          setImmediate(body.resume)
        })
        await vi.waitFor(() => expect(heard.at(-1)).toBe('[end]'), { interval: 1 })
        expect(heard.slice(0, -1).join('')).toBe(bytesOf(whole))
      }),
      { numRuns: 60 },
    )
  })

  test('a failure is found wherever it is split', async () => {
    const text = `${prelude}data: bad luck\n\n`
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat({ max: 200 }), { maxLength: 20 }), async (cuts) => {
        const source = handBody()
        const first = untilFirstOutput(source.body, options)
        for (const chunk of cut(text, cuts)) source.bytes(chunk)
        expect(await first).toEqual({ kind: 'refused', refusal: 'bad luck' })
        expect(source.calls).toEqual(['finish'])
      }),
      { numRuns: 60 },
    )
  })
})

describe('while the stream is held', () => {
  test('the first event after the prelude decides, also if one chunk has several events', async () => {
    const refused = handBody()
    refused.say('data: a\n\ndata: bad one\n\ndata: out\n\n')
    expect(await untilFirstOutput(refused.body, options)).toEqual({ kind: 'refused', refusal: 'bad one' })
    const accepted = handBody()
    accepted.say('data: a\n\ndata: out\n\ndata: bad one\n\n')
    expect(await textOfEnded(accepted)).toBe('data: a\n\ndata: out\n\ndata: bad one\n\n')
  })

  test('a stream that ends is truncated, unless its last words are output or a failure', async () => {
    const nothing = handBody()
    nothing.say(prelude)
    nothing.end()
    expect(await errorOf(untilFirstOutput(nothing.body, options))).toEqual({ kind: 'upstream_truncated' })

    const failure = handBody()
    failure.say('data: bad end')
    failure.end()
    expect(await untilFirstOutput(failure.body, options)).toEqual({ kind: 'refused', refusal: 'bad end' })

    const output = handBody()
    output.say('data: out')
    expect(await textOfEnded(output)).toBe('data: out')
  })

  test('a connection that breaks is a truncated stream', async () => {
    const source = handBody()
    source.say(prelude)
    source.fail(new Error('socket'))
    expect(await errorOf(untilFirstOutput(source.body, options))).toEqual({ kind: 'upstream_truncated' })
  })

  test('an abort ends the wait with its reason', async () => {
    const aborting = new AbortController()
    const source = handBody()
    const first = untilFirstOutput(source.body, { ...options, signal: aborting.signal })
    source.say(prelude)
    const reason = new Error('enough')
    aborting.abort(reason)
    source.abort(reason)
    await expect(first).rejects.toBe(reason)
  })

  test('times out after silence since the last chunk', async () => {
    vi.useFakeTimers()
    const source = handBody()
    const error = errorOf(untilFirstOutput(source.body, { ...options, idleMs: 100 }))
    await vi.advanceTimersByTimeAsync(90)
    source.say(': still here\n\n')
    await vi.advanceTimersByTimeAsync(90)
    expect(source.calls).toEqual([])
    await vi.advanceTimersByTimeAsync(10)
    expect(await error).toEqual({ kind: 'upstream_silent', phase: 'idle', afterMs: 100 })
    expect(source.calls).toEqual(['destroy'])
    expect(vi.getTimerCount()).toBe(0)
  })

  test('a stream without output for long is passed on unchanged', async () => {
    vi.useFakeTimers()
    const source = handBody()
    const first = opened(source, { mostHeldMs: 100 })
    source.say(prelude)
    await vi.advanceTimersByTimeAsync(100)
    const heard = record(await first)
    source.say('data: bad luck\n\n')
    source.end()
    expect(heard).toEqual([bytesOf(prelude), 'data: bad luck\n\n', '[end]'])
    expect(vi.getTimerCount()).toBe(0)
  })

  test('a prelude that is too large to hold is handed on', async () => {
    const source = handBody()
    const first = opened(source, { mostHeldBytes: 10 })
    source.say('data: 3456')
    expect(await isSettled(first)).toBe(false)
    source.say('7')
    expect(record(await first)).toEqual(['data: 3456', '7'])
  })

  test('a failing check closes the connection', async () => {
    const source = handBody()
    source.say('data: a\n\n')
    await expect(untilFirstOutput(source.body, { ...options, judge: failingJudge })).rejects.toThrow('judge')
    expect(source.calls).toEqual(['destroy'])
  })
})

function failingJudge(): never {
  throw new Error('judge')
}

async function textOfEnded(source: ReturnType<typeof handBody>): Promise<string> {
  source.end()
  return textOf(await opened(source))
}

describe('a body that was held', () => {
  test('keeps upstream waiting until it is read, and then follows it', async () => {
    const source = handBody()
    source.say('data: a\n\n', 'data: out\n\n')
    const body = await opened(source)
    expect(source.calls).toEqual(['putBack'])
    source.say('later')
    const heard = record(body)
    expect(heard).toEqual(['data: a\n\n', 'data: out\n\n', 'later'])
    source.say('last')
    source.end()
    expect(heard.slice(3)).toEqual(['last', '[end]'])
  })

  test('stops in the middle of what was held when its reader pauses, and upstream with it', async () => {
    const source = handBody()
    source.say('data: a\n\n', 'data: b\n\n', 'data: out\n\n')
    const body = await opened(source)
    const heard = record(body, body.pause)
    source.say('later')
    source.end()
    expect(heard).toEqual(['data: a\n\n'])
    body.resume()
    body.resume()
    body.resume()
    expect(heard.slice(1)).toEqual(['data: b\n\n', 'data: out\n\n', 'later'])
    body.resume()
    expect(heard.at(-1)).toBe('[end]')
  })

  test('stops upstream when its reader pauses after what was held', async () => {
    const source = handBody()
    source.say('data: out\n\n')
    const body = await opened(source)
    const heard = record(body)
    body.pause()
    source.say('later')
    source.end()
    expect(heard).toEqual(['data: out\n\n'])
    expect(source.calls).toEqual(['putBack', 'pause'])
    body.resume()
    expect(heard).toEqual(['data: out\n\n', 'later', '[end]'])
  })

  test('passes on the held bytes before a later failure', async () => {
    const source = handBody()
    source.say('data: out\n\n')
    const body = await opened(source)
    source.fail(new Error('socket'))
    expect(record(body)).toEqual(['data: out\n\n', '[socket]'])
  })

  test.each(['before it is read', 'while its reader pauses'])('fails at once on an abort %s', async (when) => {
    const aborting = new AbortController()
    const source = handBody()
    source.say('data: a\n\n', 'data: out\n\n')
    const body = await opened(source, { signal: aborting.signal })
    const reason = new Error('enough')
    const abort = () => {
      aborting.abort(reason)
      source.abort(reason)
    }
    if (when === 'before it is read') {
      abort()
      expect(record(body)).toEqual(['[enough]'])
    } else {
      const heard = record(body, body.pause)
      abort()
      expect(heard).toEqual(['data: a\n\n', '[enough]'])
    }
  })

  test.each(['finish', 'destroy'] as const)('passes on %s and nothing after it', async (leave) => {
    const source = handBody()
    source.say('data: a\n\n', 'data: out\n\n')
    const body = await opened(source)
    const heard = record(body, body[leave])
    source.say('later')
    source.end()
    body.resume()
    expect(heard).toEqual(['data: a\n\n'])
    expect(source.calls).toEqual(['putBack', leave, 'resume'])
  })
})
