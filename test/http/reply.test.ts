import { expect, test } from 'vitest'
import { Fault } from '../../src/errors.ts'
import type { EventStream } from '../../src/http/event-stream.ts'
import { streamReply } from '../../src/http/reply.ts'
import { chatDialect } from '../../src/translate/chat/dialect.ts'
import { asIs } from '../as-is.ts'
import { handBody } from '../executors/bodies.ts'
import { replySeed, traits } from '../translate/turns.ts'

/** An answer that upstream has ended, to a caller that takes nothing of it. */
function endedForSlowCaller() {
  const source = handBody()
  const controller = new AbortController()
  const written: string[] = []
  const stream: EventStream = {
    write(text) {
      written.push(text)
      return false
    },
    taken: () => new Promise(() => {}),
    end: (text) => void written.push(text),
    answered() {},
    isOpen: () => written.length > 0,
    stop() {},
  }
  const { createStream, createFold } = chatDialect
  const seed = replySeed(traits('gpt-5-mini'), { redact: asIs })
  const over = streamReply(stream, {
    dialect: chatDialect,
    reader: { notes: seed.notes, continuesPauses: false, createStream, createFold },
    upstream: { body: source.body, idleMs: 60_000, headers: {} },
    continueAnswer: () => Promise.resolve(undefined),
    seed,
    requestId: 'request-1',
    signal: controller.signal,
    onUsage() {},
  })
  source.say('data: {"id":"1","choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":null}]}\n\n')
  source.end()
  return { controller, written, over }
}

// Of the connection to upstream nothing more is heard by then.

test('who leaves without taking an answer that upstream has ended is heard of', async () => {
  const { controller, over } = endedForSlowCaller()
  controller.abort()
  await expect(over).rejects.toMatchObject({ name: 'AbortError' })
})

test('who takes nothing of an answer that upstream has ended is told that the daemon stops', async () => {
  const { controller, written, over } = endedForSlowCaller()
  controller.abort(new Fault({ kind: 'shutting_down' }))
  expect((await over).failure?.error.kind).toBe('shutting_down')
  expect(written).toHaveLength(2)
  expect(written[1]).toContain('"error"')
})
