import type { FastifyReply, FastifyRequest } from 'fastify'
import { faultFields, statusOf } from '../errors.ts'
import type { Fault } from '../errors.ts'
import type { Dialect, ReplySeed } from '../translate/dialect.ts'
import { stringify } from '../translate/parts/wire-json.ts'
import type { Usage } from '../translate/turn.ts'
import { describeWarning } from '../translate/warning.ts'
import { admit } from './admit.ts'
import type { Admitted } from './admit.ts'
import { createEventStream } from './event-stream.ts'
import type { EventStream } from './event-stream.ts'
import { flatHeaders } from './flat-headers.ts'
import { createContinue, openUpstream } from './open-upstream.ts'
import { endsInEvent, foldReply, streamReply, toFault } from './reply.ts'
import type { ReplyReport } from './reply.ts'
import type { ServeDeps } from './serve-deps.ts'
import { createWebSearch } from './web-search.ts'

/** The one pipeline of a model request, whatever its dialect. */
export function createServe(deps: ServeDeps) {
  return (dialect: Dialect) =>
    (request: FastifyRequest, reply: FastifyReply): Promise<unknown> =>
      admit(deps, dialect.id, request, reply, (admitted) => serve(deps, dialect, admitted, request, reply))
}

async function serve(
  deps: ServeDeps,
  dialect: Dialect,
  admitted: Admitted,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  const { signal, meter } = admitted
  const onText = deps.config().log.bodies
    ? (text: string) => deps.log.info({ requestId: request.id, text }, 'answer')
    : undefined
  let stream: EventStream | undefined
  const startStream = (): void => {
    const { heartbeat } = dialect
    stream = createEventStream(reply.raw, {
      heartbeat,
      headers: () => flatHeaders(reply),
      onHead: meter.firstByte,
      onText,
    })
  }

  function settle(fields: Readonly<Record<string, unknown>>, failure: Fault | undefined): void {
    meter.end(failure === undefined ? 200 : statusOf(failure.error))
    const line = {
      requestId: request.id,
      ...meter.facts(),
      ...fields,
      stream: stream !== undefined,
      status: 200,
      key: request.keyName,
    }
    if (failure === undefined) deps.log.info(line, 'request served')
    else {
      const ending = { ...line, ...faultFields(failure), endedAs: statusOf(failure.error) }
      deps.log.warn(ending, 'stream ended in an error event')
    }
  }

  try {
    const opened = await openUpstream(deps, dialect, admitted, request, reply, startStream)
    const { upstream, model, reader } = opened
    meter.answered(upstream.headers)
    const nowSeconds = () => Math.floor(deps.now() / 1000)
    const seed: ReplySeed = {
      id: request.id,
      createdSeconds: nowSeconds(),
      nowSeconds,
      model: model.id,
      requestedModel: opened.requestedModel,
      traits: model,
      wantsUsage: opened.wantsUsage,
      notes: reader.notes,
      sent: opened.sent,
      redact: deps.redact,
    }
    const search = createWebSearch(deps, {
      requestId: request.id,
      keyName: request.keyName,
      turn: opened.interaction,
      signal,
      onCredits: meter.searched,
    })
    const continueAnswer = createContinue(deps, opened, search, request.id)
    const onUsage = (usage: Usage | undefined): void => {
      meter.used(usage)
      opened.watchUsage?.(usage)
    }
    const context = { dialect, reader, upstream, continueAnswer, seed, requestId: request.id, signal, onUsage }
    if (stream !== undefined) {
      const report = await streamReply(stream, context)
      reply.hijack()
      keep(deps, opened, report)
      settle(servedFields(opened, report), report.failure)
      return undefined
    }
    const { body, report } = await foldReply(context)
    const text = stringify(body)
    onText?.(text)
    keep(deps, opened, report)
    settle(servedFields(opened, report), undefined)
    reply.headers({ ...upstream.headers, ...meter.creditsHeader() })
    return reply.type('application/json; charset=utf-8').send(text)
  } catch (error) {
    if (stream === undefined || !endsInEvent(stream, signal)) throw error
    // Upstream took so long to refuse that the caller's stream had begun.
    const failure = toFault(error)
    reply.hijack()
    stream.end(deps.redact(dialect.errorEvent(failure.error, request.id)))
    settle({}, failure)
    return undefined
  } finally {
    stream?.stop()
  }
}

type Opened = Awaited<ReturnType<typeof openUpstream>>

/** What later requests may refer to. */
function keep(deps: ServeDeps, opened: Opened, { record, reasoning }: ReplyReport): void {
  if (record !== undefined && opened.keptInput !== undefined) deps.responses.put(record, opened.keptInput)
  if (reasoning !== undefined) deps.reasoning.keep(reasoning)
}

/** A reply in the log. */
function servedFields({ warnings, chosenFor }: Opened, { skipped }: ReplyReport): Record<string, unknown> {
  return {
    ...(chosenFor !== undefined && { chosenFor }),
    ...(warnings.length > 0 && { warnings: warnings.map(describeWarning) }),
    ...(skipped > 0 && { skippedEvents: skipped }),
  }
}
