import { z } from 'zod'
import { Fault } from '../errors.ts'
import { checkValue } from '../json/check-value.ts'
import { isObject } from '../json/json.ts'
import { encodeData } from '../sse/encode.ts'
import type { SseEvent } from '../sse/decode.ts'
import { readErrorBody } from '../upstream-errors/error-body.ts'
import { grow, startFoldSize } from './engine/reply/fold-size.ts'
import { refuseProblem } from './engine/request/invalid.ts'
import { parseBody } from './engine/request/json-body.ts'
import type { Usage } from './turn.ts'
import { decodeUsage } from './chat/usage.ts'
import type { Warning } from './warning.ts'

/** Far above any real request. */
const limits = { maxDepth: 100, maxMembers: 100, maxValues: 10_000 }

const textValue = z.string({ error: 'must be a text' })
const promptPhrase = 'must be one text: Copilot takes neither token ids nor several prompts'
const number = z.number({ error: 'must be a number' }).nullish()

/** Body of POST /v1/completions. Source: OpenAI API reference, completions (legacy), 2026-11. */
const completionBody = z.looseObject(
  {
    model: z.string({ error: 'must be the name of a model' }).min(1, 'must be the name of a model'),
    prompt: z.union([textValue, z.array(textValue).length(1)], { error: promptPhrase }),
    suffix: textValue.nullish(),
    max_tokens: z.int({ error: 'must be a whole number' }).positive('must be at least 1').nullish(),
    temperature: number,
    top_p: number,
    n: z.int({ error: 'must be a whole number' }).min(1, 'must be at least 1').max(10, 'must be at most 10').nullish(),
    stop: z.union([textValue, z.array(textValue)], { error: 'must be a text or a list of texts' }).nullish(),
    stream: z.boolean({ error: 'must be true or false' }).nullish(),
    stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish().catch(undefined),
  },
  { error: 'must be a JSON object' },
)

export interface CompletionRequest {
  readonly model: string
  readonly stream: boolean
  /** `stream_options.include_usage` */
  readonly wantsUsage: boolean
  /** Upstream's body, JSON. Upstream refuses requests that are not streamed. */
  readonly body: string
  readonly warnings: readonly Warning[]
}

/** As GitHub's language server asks for. */
const defaultMaxTokens = 500

/** Copilot's own member, about the place in the file, passes through. */
const passedOn = new Set(['extra', 'nwo'])

/**
 * Source of upstream's form: docs/copilot-wire.md, "Images and completions".
 * @throws Fault `malformed_body`, `invalid_request`
 */
export function decodeCompletionRequest(received: string): CompletionRequest {
  const body = checkValue(completionBody, parseBody(received, limits).value)
  if (!body.ok) refuseProblem(body.problem)
  const { model, prompt, suffix, max_tokens, temperature, top_p, n, stop, stream, stream_options, ...others } =
    body.value
  const dropped = Object.keys(others).filter((name) => !passedOn.has(name) && isMeant(others[name]))
  return {
    model,
    stream: stream ?? false,
    wantsUsage: stream_options?.include_usage ?? false,
    body: JSON.stringify({
      ...Object.fromEntries(Object.entries(others).filter(([name]) => passedOn.has(name))),
      prompt: [prompt].flat().join(''),
      suffix: suffix ?? '',
      max_tokens: max_tokens ?? defaultMaxTokens,
      ...(typeof temperature === 'number' && { temperature }),
      ...(typeof top_p === 'number' && { top_p }),
      n: n ?? 1,
      ...(stop !== undefined && stop !== null && { stop: [stop].flat() }),
      stream: true,
    }),
    warnings: dropped.map((field) => ({
      code: 'dropped',
      field,
      detail: 'Copilot does not take it for code completion',
    })),
  }
}

/** Values that ask for nothing, such as `echo: false`. */
function isMeant(value: unknown): boolean {
  return value !== null && value !== undefined && value !== false && value !== 0
}

interface Choice {
  readonly text: string
  readonly index: number
  readonly logprobs: unknown
  readonly finish_reason: string | null
}

export interface CompletionSeed {
  readonly id: string
  readonly createdSeconds: number
  /** As the caller named it. */
  readonly model: string
  readonly wantsUsage: boolean
}

/** Upstream's stream of one completion. */
export interface CompletionReply {
  /** Returns the caller's SSE text of an event. @throws Fault `upstream_failed`, `upstream_unusable` */
  readonly push: (event: SseEvent) => string
  readonly isDone: () => boolean
  /** Returns the caller's last SSE text. @throws Fault `upstream_truncated` */
  readonly end: () => string
  /** The whole answer, after `end`. */
  readonly body: () => object
  readonly usage: () => Usage | undefined
}

const upstreamChoice = z.looseObject({
  text: z.string().nullish().catch(undefined),
  index: z.int().nonnegative().nullish().catch(undefined),
  finish_reason: z.string().nullish().catch(undefined),
})
/** An event; upstream may leave out everything but the choices. */
const upstreamChunk = z.looseObject({
  choices: z.array(upstreamChoice).nullish().catch(undefined),
  usage: z.looseObject({}).nullish().catch(undefined),
})

export function createCompletionReply({ id, createdSeconds, model, wantsUsage }: CompletionSeed): CompletionReply {
  const size = startFoldSize()
  const choices = new Map<number, Choice>()
  let usage: Readonly<Record<string, unknown>> | undefined
  let copilotUsage: unknown
  let isDone = false

  const chunk = (members: object): string =>
    encodeData(JSON.stringify({ id, object: 'text_completion', created: createdSeconds, model, ...members }))

  function add(added: z.infer<typeof upstreamChoice>): Choice {
    const choice: Choice = {
      text: added.text ?? '',
      index: added.index ?? 0,
      logprobs: added['logprobs'] ?? null,
      finish_reason: added.finish_reason ?? null,
    }
    const before = choices.get(choice.index)
    grow(size, choice.text.length)
    choices.set(choice.index, {
      ...choice,
      text: (before?.text ?? '') + choice.text,
      logprobs: choice.logprobs ?? before?.logprobs ?? null,
      finish_reason: choice.finish_reason ?? before?.finish_reason ?? null,
    })
    return choice
  }

  return {
    push({ data }) {
      if (data === '') return ''
      if (data === '[DONE]') {
        isDone = true
        return ''
      }
      const value = parse(data)
      const read = upstreamChunk.safeParse(value).data
      if (read === undefined)
        throw new Fault({ kind: 'upstream_unusable', detail: 'an event of its stream is not JSON' })
      if (isObject(value) && isObject(value['error'])) {
        const { message = 'The completion failed.', code } = readErrorBody(data)
        throw new Fault({ kind: 'upstream_failed', message, ...(code !== undefined && { code }) })
      }
      usage = read.usage ?? usage
      copilotUsage = read['copilot_usage'] ?? copilotUsage
      const added = (read.choices ?? []).map(add)
      return added.length === 0 ? '' : chunk({ choices: added })
    },
    isDone: () => isDone,
    end() {
      const isFinished =
        isDone || (choices.size > 0 && [...choices.values()].every((choice) => choice.finish_reason !== null))
      if (!isFinished) throw new Fault({ kind: 'upstream_truncated' })
      const last = wantsUsage && usage !== undefined ? chunk({ choices: [], usage }) : ''
      return last + encodeData('[DONE]')
    },
    body: () => ({
      id,
      object: 'text_completion',
      created: createdSeconds,
      model,
      choices: [...choices.values()]
        .toSorted((one, other) => one.index - other.index)
        .map(({ text, index, logprobs, finish_reason: reason }) => ({
          text,
          index,
          logprobs,
          finish_reason: reason ?? 'stop',
        })),
      ...(usage !== undefined && { usage }),
    }),
    usage: () =>
      usage === undefined && copilotUsage === undefined ? undefined : decodeUsage(usage ?? {}, copilotUsage),
  }
}

function parse(data: string): unknown {
  try {
    return JSON.parse(data)
  } catch {
    return undefined
  }
}
