import { z } from 'zod'
import type { Conversation } from '../answer/conversation.ts'
import type { Pace, Parsed } from '../inference.ts'
import type { Markers } from '../answer/markers.ts'
import type { Outcome } from '../http/outcome.ts'
import { responsesRequest } from '../copilot/responses/request.ts'
import type { ResponsesRequest } from '../copilot/responses/request.ts'
import { detail } from './failures.ts'
import type { FailureContext } from './failures.ts'
import type { PlanUse } from './limits.ts'
import { withLiteTools } from './lite-tools.ts'
import type { CodexModel } from './catalogue.ts'
import type { CodexPerson } from './tokens.ts'

/** How the simulated ChatGPT backend behaves. */
export interface CodexSettings extends Pace, PlanUse {
  /** Sends comments, and events of the ChatGPT backend that the dialect does not have. OpenAI's SDK fails on them. */
  readonly sendsAsides: boolean
}

/** One prompt before its body is parsed. */
export interface CodexCall {
  /** The one of OpenAI's two APIs that received the prompt. */
  readonly api: 'chatgpt' | 'api-key'
  readonly person: CodexPerson
  /** The account or the API key whose ciphertexts the upstream can read. */
  readonly account: string
  readonly header: (name: string) => string | undefined
  readonly bodyText: string
  /** Counts the prompts of the route from 1. */
  readonly number: number
  readonly nowMs: number
  readonly settings: CodexSettings
}

/** Everything that is known of a prompt before it is answered. */
export interface CodexSubject {
  readonly call: CodexCall
  /** The body's members, unchanged. */
  readonly members: Members
  /** The parsed body, with the tools of the lite form moved to `tools`. */
  readonly request: ResponsesRequest
  readonly model: CodexModel
  readonly conversation: Conversation
  readonly markers: Markers
}

export type Members = Readonly<Record<string, unknown>>

/** The refusals of the strict upstream. */
export interface CodexChecks {
  /** Judges the members of a body before their types and the model are known. */
  readonly refuseMembers: (members: Members & { readonly model: string }, call: CodexCall) => Outcome | undefined
  /** The error reply for a body that does not match the schema. */
  readonly wrongShape: (issues: readonly z.core.$ZodIssue[], body: unknown) => Outcome
  /** Judges a prompt with a valid shape. */
  readonly refuse: (subject: CodexSubject) => Outcome | undefined
  /** Adds markers to those in the prompt. */
  readonly amendMarkers: (markers: Markers) => Markers
}

/** Parses the body as an object that names a model. */
export function parseMembers(text: string, checks: CodexChecks): Parsed<Members & { readonly model: string }> {
  let body: unknown
  try {
    body = JSON.parse(text)
  } catch {
    return { ok: false, refusal: detail(400, 'Bad Request') }
  }
  return parse(z.looseObject({ model: z.string() }), body, checks)
}

/** Checks the types of the members that are read. */
export function parseCodexRequest(members: Members, checks: CodexChecks): Parsed<ResponsesRequest> {
  const parsed = parse(responsesRequest, members, checks)
  return parsed.ok ? { ok: true, value: withLiteTools(parsed.value) } : parsed
}

function parse<Value>(schema: z.ZodType<Value>, body: unknown, checks: CodexChecks): Parsed<Value> {
  const parsed = schema.safeParse(body)
  if (parsed.success) return { ok: true, value: parsed.data }
  const { issues } = parsed.error
  return { ok: false, refusal: checks.wrongShape(issues, body) }
}

/** Facts about the request for a failure. */
export function contextOf({ call: { nowMs, person }, model }: CodexSubject): FailureContext {
  return { nowMs, model: model.slug, plan: person.plan }
}
