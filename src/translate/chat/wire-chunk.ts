import { Fault } from '../../errors.ts'

/**
 * One JSON object of the upstream stream. Nothing is promised: every field is `unknown` and looked at where it is read,
 * so the type states no more than "an object". A schema per event would cost more than all the rest of a forwarded event.
 * Source: docs/copilot-wire.md, "Chat stream"; test/fixtures/chat.
 */
export interface WireChunk {
  id?: unknown
  object?: unknown
  /** Seconds since epoch; 0 or absent on some chunks. */
  created?: unknown
  model?: unknown
  choices?: unknown
  usage?: unknown
  copilot_usage?: unknown
  copilot_errors?: unknown
  error?: unknown
  /** Of events in the Responses dialect, which some streams end with. */
  type?: unknown
  response?: unknown
  [extra: string]: unknown
}

export interface WireChoice {
  index?: unknown
  delta?: unknown
  /** Of an answer that is not streamed. */
  message?: unknown
  finish_reason?: unknown
  logprobs?: unknown
  [extra: string]: unknown
}

export interface WireDelta {
  role?: unknown
  content?: unknown
  refusal?: unknown
  tool_calls?: unknown
  function_call?: unknown
  [extra: string]: unknown
}

export interface WireToolCall {
  index?: unknown
  id?: unknown
  type?: unknown
  function?: unknown
  custom?: unknown
  [extra: string]: unknown
}

/** `function` of a call, or its `custom`, which has `input` where a function has `arguments`. */
export interface WireFunction {
  name?: unknown
  arguments?: unknown
  input?: unknown
  [extra: string]: unknown
}

/** Any JSON object. Lets the field types above be read safely: all of them are `unknown`. */
export function isObject(value: unknown): value is { [key: string]: unknown } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The text as a JSON object; undefined where it is not JSON or not an object. */
export function parseObject(text: string): WireChunk | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

export function isFilled(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}

/** The objects of an array; none where there is no array. */
export function objectsOf(value: unknown): { [key: string]: unknown }[] {
  return Array.isArray(value) ? value.filter(isObject) : []
}

/** A token count; 0 where upstream gives none. */
export function countOf(value: unknown): number {
  return typeof value === 'number' ? value : 0
}

/** @throws Fault `upstream_unusable` for a value nested more deeply than the runtime can write */
export function stringify(value: unknown): string {
  try {
    return JSON.stringify(value)
  } catch (cause) {
    throw new Fault({ kind: 'upstream_unusable', detail: 'it sent an event that is nested too deeply' }, { cause })
  }
}
