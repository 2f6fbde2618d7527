import { expect, test } from 'vitest'
import { Fault } from '../../src/errors.ts'
import type { Executor } from '../../src/executors/executor.ts'
import { createModelRegistry } from '../../src/models/registry.ts'
import { copilotSeeds, seedClientId } from '../../src/models/seeds.ts'
import type { AnswerSink } from '../../src/pipeline/model-answer.ts'
import { createRequestMeter } from '../../src/pipeline/request-meter.ts'
import { dialects } from '../../src/translate/dialects.ts'
import { loaded } from '../config/loading.ts'
import { handBody } from '../executors/bodies.ts'
import { pipelineParts } from '../pipeline/support.ts'
import { recordingLog } from '../recording-log.ts'

/** An answer that upstream has ended, for a caller that reads nothing. */
async function endedForSlowCaller() {
  const source = handBody()
  const { signal, ...controller } = withSignal()
  const written: string[] = []
  const stream: AnswerSink = {
    write(text) {
      written.push(text)
      return false
    },
    drained: () => new Promise(() => {}),
    end: (text) => void written.push(text),
    upstreamAnswered() {},
    isOpen: () => written.length > 0,
  }
  const executor: Executor = {
    provider: 'copilot',
    stream: () => Promise.resolve({ body: source.body, idleMs: 60_000, headers: {} }),
    json: () => Promise.reject(new Error('not part of this test')),
    listModels: () => Promise.reject(new Error('not part of this test')),
    close: () => Promise.resolve(),
  }
  const { config } = loaded()
  const registry = createModelRegistry(config.models)
  registry.register(seedClientId, copilotSeeds)
  const { pipeline, ...deps } = pipelineParts({ config, registry, log: recordingLog(), executorOf: () => executor })
  const { chat: dialect } = dialects
  const body = { model: 'gpt-5-mini', stream: true, messages: [{ role: 'user', content: 'Hi' }] }
  const request = () => Promise.resolve({ dialect, request: dialect.decodeRequest(JSON.stringify(body)) })
  const meter = createRequestMeter(deps, { id: 'request-1', kind: 'chat', key: undefined })
  const answer = await pipeline.runTurn({ id: 'request-1', signal, meter, request })
  const over = answer.stream(stream)
  source.say('data: {"id":"1","choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":null}]}\n\n')
  source.end()
  return { ...controller, written, over }
}

function withSignal() {
  const controller = new AbortController()
  return { signal: controller.signal, abort: (reason?: unknown) => controller.abort(reason) }
}

// Upstream's connection reports nothing more by then.

test('detects a caller that disconnects without reading an answer that upstream has ended', async () => {
  const { abort, over } = await endedForSlowCaller()
  abort()
  await expect(over).rejects.toMatchObject({ name: 'AbortError' })
})

test('sends the shutdown error to a caller that reads nothing of an answer that upstream has ended', async () => {
  const { abort, written, over } = await endedForSlowCaller()
  abort(new Fault({ kind: 'shutting_down' }))
  expect((await over)?.error.kind).toBe('shutting_down')
  expect(written).toHaveLength(2)
  expect(written[1]).toContain('"error"')
})
