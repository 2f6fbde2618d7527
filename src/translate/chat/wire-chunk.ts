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
