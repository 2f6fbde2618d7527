import { Fault } from '../../../src/errors.ts'
import type { ProxyError } from '../../../src/errors.ts'
import type { Executor, UpstreamCall } from '../../../src/executors/executor.ts'
import { isObject } from '../../../src/json/json.ts'
import type { Model } from '../../../src/models/model.ts'
import type { UpstreamDialectId } from '../../../src/translate/dialect.ts'
import type { Turn, TurnEvent } from '../../../src/translate/turn.ts'
import { describeWarning } from '../../../src/translate/warning.ts'
import { bodyOf } from '../../executors/bodies.ts'
import { openInMemory } from '../../http/in-memory.ts'
import { recordingLog } from '../../recording-log.ts'
import type { LogLine } from '../../recording-log.ts'
import { pathOf } from './models.ts'
import type { UpstreamId } from './models.ts'

// The daemon between a caller's HTTP request and the call of an executor. Tests see what goes in and out at these two ends, so
// that nothing between them can change the goldens but behaviour.

const callerPaths: Readonly<Record<UpstreamDialectId, string>> = {
  chat: '/v1/chat/completions',
  messages: '/v1/messages',
  responses: '/v1/responses',
}

/** What upstream does with a request: the text of its event stream, or a refusal. */
type Respond = (call: UpstreamCall, attempt: number) => string | Extract<ProxyError, { kind: 'upstream_status' }>

export interface Asked {
  /** The requests that upstream got, in order. */
  readonly calls: readonly UpstreamCall[]
  readonly status: number
  readonly reply: string
  /** `code;field (detail)`, in the order of the header. */
  readonly warnings: readonly string[]
  /** What the daemon keeps of refusals for later requests to the model. */
  readonly learned: readonly string[]
}

interface Target {
  readonly upstream: UpstreamId
  readonly model: Model
  readonly respond: Respond
}

interface Ask extends Target {
  readonly caller: UpstreamDialectId
  readonly body: string
  readonly headers?: Readonly<Record<string, string>> | undefined
}

/** A daemon without sockets, a clock or chance. It remembers refusals like any other. */
export function openBoundary() {
  const log = recordingLog()
  let nowMs = 1_790_000_000_000
  let current: Target | undefined
  let calls: UpstreamCall[] = []

  const executor: Executor = {
    provider: 'copilot',
    async stream(call) {
      // The check of an answer's calls is a request of its own (test/http/safeguards.test.ts).
      if (Buffer.from(call.body).includes('"report_verdicts"')) throw new Fault({ kind: 'internal' })
      calls.push(call)
      const answer = current?.respond(call, calls.length) ?? ''
      if (typeof answer !== 'string') throw new Fault(answer)
      return { body: bodyOf(answer), idleMs: 60_000, headers: {} }
    },
    json: () => Promise.reject(new Error('no such request is part of these tests')),
    listModels: () => Promise.resolve({ data: [] }),
    close: () => Promise.resolve(),
  }

  // Every name leads to the model that was asked.
  const { send, runTurn } = openInMemory('messages: { safeguards-model: some-model }', [], {
    log,
    now: () => nowMs,
    randomId: () => '00000000-0000-4000-8000-000000000001',
    executorOf: () =>
      current?.upstream === 'chatgpt' ? { ...executor, provider: 'codex', profile: 'chatgpt' } : executor,
    route() {
      if (current === undefined) throw new Error('nobody has asked')
      return { model: current.model, path: pathOf[current.upstream] }
    },
  })

  const ask = async (asked: Ask): Promise<Asked> => {
    current = asked
    calls = []
    const logged = log.lines.length
    const { status, headers, text } = await send(callerPaths[asked.caller], {
      body: asked.body,
      headers: asked.headers ?? {},
    })
    const lines = log.lines.slice(logged)
    return {
      calls,
      status,
      reply: text,
      warnings: warningsOf(String(headers['x-copilot-proxy-warnings'] ?? ''), lines),
      learned: lines.flatMap(({ fields: { learnedRefusal } }) =>
        typeof learnedRefusal === 'string' ? [learnedRefusal] : [],
      ),
    }
  }
  /** Asks as a program inside the daemon does. */
  const askAsProgram = async (turn: Turn, target: Target) => {
    current = target
    calls = []
    const { signal } = new AbortController()
    const answer = await runTurn({ id: 'program', turn, model: 'asked-model', signal })
    const events: TurnEvent[] = []
    for await (const { event } of answer.events) events.push(event)
    return { calls, warnings: answer.warnings.map(describeWarning), events }
  }
  return {
    ask,
    askAsProgram,
    /** Refusals are learned for an hour. */
    waitTillForgotten: () => {
      nowMs += 3_600_000
    },
  }
}

/** The warnings of the header, with the sentences that only the log has. */
function warningsOf(header: string, lines: readonly LogLine[]): readonly string[] {
  const described = lines
    .flatMap(({ fields: { warnings, adapted } }) => [warnings, adapted])
    .flatMap((list): readonly unknown[] => (Array.isArray(list) ? list : []))
    .filter((line) => typeof line === 'string')
  const listed = header === '' ? [] : header.split(', ')
  return listed.map((warning) => described.find((line) => line.startsWith(`${warning} (`)) ?? warning)
}

/** The error of a reply, with the fields that every dialect has. */
export function errorIn({ status, reply }: Asked): unknown {
  const envelope: unknown = JSON.parse(reply)
  return { status, ...(isObject(envelope) ? { error: envelope['error'] } : { envelope }) }
}
