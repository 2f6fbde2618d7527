import { Fault } from '../../../src/errors.ts'
import type {
  Dialect,
  CallerRequest,
  DialectSettings,
  EncodeContext,
  EncodedRequest,
  UpstreamRefusal,
  UpstreamDialect,
} from '../../../src/translate/dialect.ts'
import { dialects } from '../../../src/translate/dialects.ts'
import { recoverRequest } from '../../../src/translate/engine/learned-refusals.ts'
import { translateCall } from '../../../src/translate/translated-call.ts'
import { countRequestBody, textsOfMessages } from '../../../src/translate/messages/count-tokens.ts'
import { decodeCountRequest } from '../../../src/translate/messages/decode-request.ts'
import { isObject } from '../../../src/json/json.ts'
import { contextOf, historyWindowOf } from './contexts.ts'
import { dialectIds, requests, vocabulary } from './corpus.ts'
import { mutateJson, mutateText } from './mutate.ts'
import type { Edit } from './mutate.ts'
import type { ReplyMemory } from '../../../src/translate/reply-memory.ts'
import { ResponsesBody } from '../../../src/translate/responses/wire.ts'

/** One request: a body of the corpus with its changes, and what it is encoded for. */
export interface RequestCase {
  readonly caller: number
  readonly base: number
  readonly edits: readonly Edit[]
  /** Of the text; most cases have none, for JSON that is broken is refused at once. */
  readonly textEdits: readonly Edit[]
  readonly context: number
  readonly refusal: number
}

const headers = [
  {},
  { 'anthropic-beta': 'context-1m-2025-08-07,fine-grained-tool-streaming-2025-05-14', 'x-session-id': 's' },
  { 'anthropic-beta': ['a', ''], session_id: ['x', 'y'], 'content-type': 'application/json' },
]

export function bodyOf({ caller, base, edits, textEdits }: RequestCase): string {
  const bodies = requests[dialectIds[caller % 3] ?? 'chat']
  return mutateText(mutateJson(bodies[base % bodies.length] ?? '', edits, vocabulary), textEdits)
}

/**
 * Sends the body through its decoder and all three encoders. Throws what is not an answer to the caller.
 * @returns whether any of the upstreams would be asked
 */
export function checkRequest(requestCase: RequestCase): boolean {
  const text = bodyOf(requestCase)
  const { context, refusal } = requestCase
  const settings: DialectSettings = { chat: { historyWindow: historyWindowOf(context), reasoningContent: 'auto' } }
  const caller = dialects[dialectIds[requestCase.caller % 3] ?? 'chat']
  const sentHeaders = headers[context % headers.length]
  const request = refusable(() =>
    caller.decodeRequest(text, { bytes: Buffer.from(text), headers: sentHeaders, settings }),
  )
  if (caller.id === 'messages') {
    const counted = refusable(() => decodeCountRequest(text))
    if (counted !== undefined) {
      textsOfMessages(counted)
      refusable(() => countRequestBody(counted, contextOf(context)))
    }
  }
  if (request === undefined) return false
  const joined = withHistory(caller, request, context)
  return dialectIds.map((id) => encodeAll(caller, dialects[id].upstream, joined, context, refusal)).some(Boolean)
}

/** With all that earlier replies can add to the request. */
function withHistory(caller: Dialect, request: CallerRequest, context: number): CallerRequest {
  const item = { type: 'message', role: 'assistant', id: 'msg_1', content: [{ type: 'output_text', text: 'x' }] }
  const input = request.body instanceof ResponsesBody ? request.body.chain.input.filter(isObject) : []
  const memory: ReplyMemory = {
    responses: {
      put() {},
      historyOf: () => input,
      items: (ids) => new Map(ids.map((id) => [id, item])),
    },
    reasoning: { keep() {}, recall: () => (context % 2 === 0 ? 'opaque' : undefined) },
  }
  return refusable(() => caller.recall?.(request, memory, false)) ?? request
}

const refusals: readonly Pick<UpstreamRefusal, 'message' | 'code' | 'param' | 'status'>[] = [
  { status: 400, message: "Unsupported parameter: 'temperature' is not supported with this model." },
  { status: 400, message: "Unknown parameter: 'input[0].phase'.", param: 'input[0].phase', code: 'unknown_parameter' },
  { status: 400, message: 'messages.0.content.0.cache_control: Extra inputs are not permitted' },
  { status: 400, message: "Use 'max_completion_tokens' instead of unsupported parameter: 'max_tokens'" },
  { status: 400, message: 'Invalid `signature` in `thinking` block' },
  { status: 400, message: 'Function call is missing a thought_signature in functionCall parts.' },
  { status: 400, message: 'The encrypted content could not be verified', code: 'invalid_encrypted_content' },
  { status: 400, message: 'tools.0.type: bash_20250124 is not supported' },
  { status: 400, message: 'adaptive thinking is not supported on this model' },
  { status: 400, message: 'Unexpected value(s) `context-1m-2025-08-07` for the `anthropic-beta` header' },
  { status: 404, message: 'Model not found gpt-5.3-codex' },
  { status: 422, message: "unknown field: '__proto__.a[99999].b'", param: '__proto__' },
  {
    status: 400,
    message: '"output_config.effort: Input should be low, medium or high"',
    param: 'output_config.effort',
  },
]

function encodeAll(
  caller: Dialect,
  upstream: UpstreamDialect,
  request: CallerRequest,
  pick: number,
  refusalPick: number,
): boolean {
  const context = contextOf(pick)
  const encode = (each: EncodeContext): EncodedRequest => translateCall(caller, upstream, request, each).request
  let sent = refusable(() => encode(context))
  if (sent === undefined) return false
  expectBody(sent)
  let learnedRefusals = context.learnedRefusals
  for (let attempt = 0; attempt < 3; attempt += 1) {
    const words = refusals[(refusalPick + attempt * (refusalPick % 3)) % refusals.length]
    if (words === undefined) return true
    const refusal: UpstreamRefusal = { kind: 'upstream_status', ...words }
    const recovered = recoverRequest(upstream, sent, refusal, { ...context, learnedRefusals }, encode)
    if (recovered === undefined) return true
    const { learned = [], passing = [] } = recovered.recovery
    learnedRefusals = new Set([...learnedRefusals, ...learned, ...passing])
    sent = recovered.request
    expectBody(sent)
  }
  return true
}

/** What goes out is JSON in UTF-8 that upstream can read, and headers that can be sent. */
function expectBody({ body, headers: sentHeaders = {} }: EncodedRequest): void {
  const value: unknown = JSON.parse(body.toString())
  if (!isObject(value)) throw new Error('the upstream body is not an object')
  for (const header of Object.values(sentHeaders)) {
    if (/[^\t\u0020-\u007e]/.test(header)) throw new Error(`a header that cannot be sent: ${JSON.stringify(header)}`)
  }
}

/** Returns the result, or undefined if the request is refused. Any other failure is a defect. */
function refusable<Result>(run: () => Result): Result | undefined {
  try {
    return run()
  } catch (error) {
    const isAnswer = error instanceof Fault && /^(invalid_request|malformed_body)$/.test(error.error.kind)
    if (!isAnswer) throw error
    return undefined
  }
}
