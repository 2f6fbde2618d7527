import { z } from 'zod'
import type { FailureWish } from '../failures.ts'
import type { InferenceRoute } from '../inference.ts'
import { toModel } from '../models.ts'
import type { DemoModel, DemoModels } from '../models.ts'
import type { WholeReply } from '../outcome.ts'
import { itemsOf, responsesConversation, responsesRequest, responsesTool, typeOf } from '../responses/request.ts'
import type { ResponsesRequest, ResponsesTool } from '../responses/request.ts'
import { missingReplay } from '../responses/route.ts'
import { encodeResponses } from '../responses/stream.ts'
import { codexFailure, errorOfCode, openaiError } from './failures.ts'
import type { FailureContext } from './failures.ts'
import { rateLimitHeaders } from './limits.ts'
import type { PlanUse } from './limits.ts'
import { CODEX_MODELS } from './models.ts'

/** The plan of the demo account and the share of it that is used. */
export const DEMO_PLAN = 'plus'
export const DEMO_USE: PlanUse = { primaryUsedPercent: 12.5, secondaryUsedPercent: 40 }

/** The models of the demo account. */
export const PLAN_MODELS = CODEX_MODELS.filter(({ plans }) => plans.includes(DEMO_PLAN))

const MODELS: readonly DemoModel[] = PLAN_MODELS.map(({ slug: id, context, efforts }) =>
  toModel({ id, vendor: '', profile: 'gpt-5', endpoints: ['/responses'], limits: [context, context, 128], efforts }),
)

export const CODEX_DEMO_MODELS: DemoModels = {
  list: () => MODELS,
  find: (wanted) => MODELS.find(({ id }) => id === wanted),
}

/** `POST /responses` of the ChatGPT backend (docs/codex-wire.md). */
export const CODEX_ROUTE: InferenceRoute<ResponsesRequest> = {
  path: '/responses',
  done: '',
  schema: responsesRequest.transform(withLiteTools),
  conversation: responsesConversation,
  refuse: ({ request, conversation }) => {
    const message = missingReplay(request, conversation)
    return message === undefined
      ? undefined
      : openaiError(400, { message, code: 'invalid_request_body', param: 'input' })
  },
  fail: (wish, { call, model }) => failWithLimits(wish, contextOf(call.nowMs, model), DEMO_USE),
  headers: ({ call, model }) => ({
    ...rateLimitHeaders(DEMO_PLAN, DEMO_USE, call.nowMs),
    'openai-model': model.id,
    'x-reasoning-included': 'true',
  }),
  encode: (answer, subject) =>
    encodeResponses(answer, subject, {
      model: subject.model.id,
      errorOf: (code) => errorOfCode(code, contextOf(subject.call.nowMs, subject.model)),
    }),
}

function contextOf(nowMs: number, { id }: DemoModel): FailureContext {
  return { nowMs, model: id, plan: DEMO_PLAN }
}

/** The error code for a used-up window. */
const SPENT = 'usage_limit_reached'

/** The failure, with the plan's rate limits in its headers. */
export function failWithLimits(wish: FailureWish, context: FailureContext, use: PlanUse): WholeReply {
  const reply = codexFailure(wish, context)
  const isSpent = wish.status === 429 && (wish.code ?? SPENT) === SPENT
  const limits = rateLimitHeaders(context.plan, isSpent ? { ...use, primaryUsedPercent: 100 } : use, context.nowMs)
  return { ...reply, headers: { ...limits, ...reply.headers } }
}

const liteTools = z.array(responsesTool)

/** Tools that a request in the lite form has in its input. */
export function liteToolsOf(request: ResponsesRequest): readonly ResponsesTool[] {
  return itemsOf(request).flatMap((item) =>
    typeOf(item) === 'additional_tools' ? (liteTools.safeParse(item['tools']).data ?? []) : [],
  )
}

/** The request with the tools of the lite form moved to `tools`, as in the standard form. */
export function withLiteTools(request: ResponsesRequest): ResponsesRequest {
  const tools = liteToolsOf(request)
  return tools.length === 0 ? request : { ...request, tools: [...(request.tools ?? []), ...tools] }
}
