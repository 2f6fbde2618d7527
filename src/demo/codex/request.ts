import { z } from 'zod'
import type { Conversation } from '../conversation.ts'
import { firstIssue } from '../first-issue.ts'
import type { Markers } from '../markers.ts'
import type { Outcome } from '../outcome.ts'
import { itemsOf, paramOf, responsesRequest, responsesTool, typeOf } from '../responses/request.ts'
import type { ResponsesRequest, ResponsesTool } from '../responses/request.ts'
import { detail, openaiError } from './failures.ts'
import type { CodexProfile } from './failures.ts'
import type { CodexPerson } from './logins.ts'
import type { CodexModel } from './models.ts'
import type { CodexSettings } from './settings.ts'
import { missing } from './words.ts'

/** One prompt, before anything is known of its body. */
export interface CodexCall {
  readonly profile: CodexProfile
  readonly person: CodexPerson
  /** Whose ciphertexts can be read. */
  readonly account: string
  /** The header of docs/codex-wire.md, "Lite form", is there. */
  readonly isLite: boolean
  readonly bodyText: string
  /** Counts the prompts of the route from 1. */
  readonly number: number
  readonly nowMs: number
  readonly settings: CodexSettings
}

/** Everything known of a prompt before it is answered. */
export interface CodexSubject {
  readonly call: CodexCall
  /** The body's members, those included that are not read. */
  readonly members: Members
  /** With the tools of the lite form where the standard form has them. */
  readonly request: ResponsesRequest
  readonly model: CodexModel
  readonly conversation: Conversation
  readonly markers: Markers
}

export type Members = Readonly<Record<string, unknown>>

type Parsed<Value> = { readonly ok: true; readonly value: Value } | { readonly ok: false; readonly refusal: Outcome }

/** The body as an object, with the model it names. */
export function parseMembers(text: string): Parsed<Members & { readonly model: string }> {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return { ok: false, refusal: detail(400, 'Bad Request') }
  }
  const parsed = z.looseObject({ model: z.string() }).safeParse(value)
  if (parsed.success) return { ok: true, value: parsed.data }
  return { ok: false, refusal: missing('model') }
}

/** The same with the types of what is read. */
export function parseRequest(members: Members): Parsed<ResponsesRequest> {
  const parsed = responsesRequest.safeParse(members)
  if (parsed.success) return { ok: true, value: withLiteTools(parsed.data) }
  const { path, got, want = 'something else' } = firstIssue(parsed.error.issues, members)
  const param = paramOf(path)
  const refusal =
    got === 'nothing'
      ? missing(param)
      : openaiError(400, {
          message: `Invalid type for '${param}': expected ${want}, but got ${got} instead.`,
          code: 'invalid_type',
          param,
        })
  return { ok: false, refusal }
}

const liteTools = z.array(responsesTool)

/** Tools that stand in the input. */
export function liteToolsOf(request: ResponsesRequest): readonly ResponsesTool[] {
  return itemsOf(request).flatMap((item) =>
    typeOf(item) === 'additional_tools' ? (liteTools.safeParse(item['tools']).data ?? []) : [],
  )
}

function withLiteTools(request: ResponsesRequest): ResponsesRequest {
  const tools = liteToolsOf(request)
  return tools.length === 0 ? request : { ...request, tools: [...(request.tools ?? []), ...tools] }
}
