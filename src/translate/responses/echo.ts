import { isObject, type JsonObject } from '../parts/is-object.ts'
import type { ResponsesRequest } from './wire-request.ts'

/** Not a name of its own, so that no response object can show it: JSON leaves symbols out. */
const compaction = Symbol('compaction')

/** What a response object says of its request; further, for this dialect alone, what kind of reply is expected. */
export type ResponsesEcho = JsonObject & { readonly [compaction]?: true }

/** The echo of a request whose reply must be one compaction item. */
export function markCompaction(echo: JsonObject): ResponsesEcho {
  return { ...echo, [compaction]: true }
}

/** The reply is to be one compaction item with the answer's text as a summary, and no message. */
export function isCompaction(echo: JsonObject | undefined): boolean {
  return echo !== undefined && compaction in echo
}

/**
 * The members of a response object that repeat its request, with the defaults that OpenAI's servers fill in. Members of
 * Open Responses (2026-04-24) are there too. Source: OpenAI API reference, the response object, 2026-11.
 *
 * @param continues the response the request went on from, where its own member for that is gone
 */
export function echoOf(value: ResponsesRequest, continues?: string): JsonObject {
  return {
    ...settingsOf(value, continues),
    instructions: value.instructions ?? null,
    parallel_tool_calls: value.parallel_tool_calls ?? true,
    tool_choice: value.tool_choice ?? 'auto',
    tools: (value.tools ?? []).map(echoTool),
  }
}

/** The same without the tools and the instructions, which are large, and which every upstream repeats by itself. */
export function settingsOf(value: ResponsesRequest, continues?: string): JsonObject {
  const { verbosity, format } = value.text ?? {}
  return {
    access_programs: null,
    background: false,
    frequency_penalty: value.frequency_penalty ?? 0,
    max_output_tokens: value.max_output_tokens ?? null,
    max_tool_calls: value.max_tool_calls ?? null,
    metadata: value.metadata ?? {},
    presence_penalty: value.presence_penalty ?? 0,
    previous_response_id: continues ?? (value.previous_response_id || null),
    prompt_cache_key: value.prompt_cache_key ?? null,
    reasoning: {
      effort: value.reasoning?.effort ?? null,
      summary: value.reasoning?.summary ?? value.reasoning?.generate_summary ?? null,
    },
    safety_identifier: value.safety_identifier ?? null,
    // Tiers are not passed on, so this is the one that was used.
    service_tier: 'default',
    store: value.store ?? true,
    temperature: value.temperature ?? 1,
    text: {
      ...value.text,
      // The schema has no null for it.
      verbosity: verbosity ?? undefined,
      format: format?.type === 'json_schema' ? echoFormat(format) : (format ?? { type: 'text' }),
    },
    top_logprobs: value.top_logprobs ?? 0,
    top_p: value.top_p ?? 1,
    truncation: value.truncation ?? 'disabled',
    // A string where it is there at all: the schema has no null for it.
    ...(typeof value.user === 'string' && { user: value.user }),
  }
}

/** Open Responses wants a description and a strictness on every format. OpenAI's default is not to be strict. */
export function echoFormat(format: JsonObject): JsonObject {
  return { ...format, description: format['description'] ?? null, strict: format['strict'] ?? false }
}

/** The schema wants a few members on every function. */
export function echoTool(tool: JsonObject): JsonObject {
  if (tool['type'] === 'namespace' && Array.isArray(tool['tools'])) {
    return { ...tool, tools: tool['tools'].map((inner: unknown) => (isObject(inner) ? echoTool(inner) : inner)) }
  }
  if (tool['type'] !== 'function') return tool
  const { description, parameters, strict } = tool
  return { ...tool, description: description ?? null, parameters: parameters ?? null, strict: strict ?? null }
}
