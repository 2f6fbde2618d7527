import type { ReplySeed } from '../dialect.ts'
import { type JsonObject, isObject } from '../../json/json.ts'
import type { RequestEcho, ResponseObject, ResponseState, ResponsesRequest, WireObject } from './wire.ts'

/** The echo of an empty request, for replies whose request is not known. */
export const emptyEcho: RequestEcho = {
  access_programs: null,
  background: false,
  frequency_penalty: 0,
  instructions: null,
  max_output_tokens: null,
  max_tool_calls: null,
  metadata: {},
  parallel_tool_calls: true,
  presence_penalty: 0,
  previous_response_id: null,
  prompt_cache_key: null,
  reasoning: { effort: null, summary: null },
  safety_identifier: null,
  service_tier: 'default',
  store: true,
  temperature: 1,
  text: { format: { type: 'text' } },
  tool_choice: 'auto',
  tools: [],
  top_logprobs: 0,
  top_p: 1,
  truncation: 'disabled',
}

type Stated = Pick<ResponseState, 'id' | 'model' | 'status'> & Partial<ResponseState>

/** Returns the response object. Members of `stated` override the echo of the request. */
export function toResponseObject(seed: ReplySeed, echo: JsonObject | undefined, stated: Stated): ResponseObject {
  const { createdSeconds, nowSeconds } = seed
  const state: ResponseState = {
    id: stated.id,
    object: 'response',
    created_at: createdSeconds,
    status: stated.status,
    completed_at: stated.status === 'completed' ? nowSeconds() : null,
    error: stated.error ?? null,
    incomplete_details: stated.incomplete_details ?? null,
    model: stated.model,
    output: stated.output ?? [],
    usage: stated.usage ?? null,
  }
  return { ...state, ...emptyEcho, ...echo, ...state }
}

/**
 * Members that Open Responses (2026-04-24) and OpenAI's schema require on every response object, except `output`, which
 * the normaliser writes. `openai` and `@ai-sdk/openai` 4 read some of them without a check.
 */
const required = [
  ...'id object created_at completed_at status error incomplete_details model usage'.split(' '),
  ...Object.keys(emptyEcho).filter((key) => key !== 'access_programs'),
]

/**
 * Members that may have another value in upstream's request than in the caller's. Upstream stores nothing, the proxy
 * joins history, and the ChatGPT backend names some values differently. The echo contains the caller's values.
 */
const changedByUs = [
  'store',
  'previous_response_id',
  'prompt_cache_key',
  'instructions',
  'tools',
  'tool_choice',
  'parallel_tool_calls',
] as const

/**
 * Adds the members that clients demand to upstream's response object, and restores the caller's values of members that
 * were changed for upstream. Returns whether anything changed.
 */
export function completeResponse(
  seed: ReplySeed,
  echo: JsonObject | undefined,
  response: WireObject,
  stated: Stated,
): boolean {
  let changed = false
  const complete: JsonObject = toResponseObject(seed, echo, stated)
  for (const key of required) {
    const value = response[key]
    // The schema allows null for some members only.
    if (value !== undefined && (value !== null || complete[key] === null)) continue
    response[key] = complete[key]
    changed = true
  }
  for (const key of changedByUs) {
    const asked = echo?.[key]
    if (asked === undefined || asked === response[key]) continue
    response[key] = asked
    changed = true
  }
  return [completeTools(response), completeFormat(response)].includes(true) || changed
}

function completeTools(response: WireObject): boolean {
  const { tools } = response
  if (!Array.isArray(tools) || tools.every(isCompleteTool)) return false
  response['tools'] = tools.map((tool: unknown) => (isObject(tool) ? echoTool(tool) : tool))
  return true
}

function isCompleteTool(tool: unknown): boolean {
  if (!isObject(tool)) return true
  if (tool['type'] === 'namespace' && Array.isArray(tool['tools'])) return tool['tools'].every(isCompleteTool)
  if (tool['type'] !== 'function') return true
  return tool['description'] !== undefined && tool['parameters'] !== undefined && tool['strict'] !== undefined
}

function completeFormat(response: WireObject): boolean {
  const { text } = response
  if (!isObject(text) || !isObject(text['format']) || text['format']['type'] !== 'json_schema') return false
  const { format } = text
  if (format['description'] !== undefined && typeof format['strict'] === 'boolean') return false
  response['text'] = { ...text, format: echoFormat(format) }
  return true
}

/**
 * The members of a response object that repeat its request, with the defaults that OpenAI's servers fill in. Members of
 * Open Responses (2026-04-24) are included. Source: OpenAI API reference, the response object, 2026-11.
 *
 * @param continues the `previous_response_id` of a request whose history has been joined
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

/** The echo without tools and instructions, which are large and which every Responses upstream repeats itself. */
export function settingsOf(value: ResponsesRequest, continues?: string): JsonObject {
  const { verbosity, format } = value.text ?? {}
  const { instructions: _text, tools: _list, tool_choice: _choice, parallel_tool_calls: _calls, ...members } = emptyEcho
  return {
    ...Object.fromEntries(Object.entries(members).map(([key, usual]) => [key, value[key] ?? usual])),
    access_programs: null,
    background: false,
    previous_response_id: continues ?? (value.previous_response_id || null),
    reasoning: {
      effort: value.reasoning?.effort ?? null,
      summary: value.reasoning?.summary ?? value.reasoning?.generate_summary ?? null,
    },
    // The request to upstream names no tier.
    service_tier: 'default',
    text: {
      ...value.text,
      verbosity: verbosity ?? undefined,
      format: format?.type === 'json_schema' ? echoFormat(format) : (format ?? { type: 'text' }),
    },
    // The schema does not allow null for it.
    ...(typeof value.user === 'string' && { user: value.user }),
  }
}

/** Open Responses requires both members on every format. OpenAI's default for `strict` is false. */
function echoFormat(format: JsonObject): JsonObject {
  return { ...format, description: format['description'] ?? null, strict: format['strict'] ?? false }
}

/** The schema requires three members on every function. */
function echoTool(tool: JsonObject): JsonObject {
  if (tool['type'] === 'namespace' && Array.isArray(tool['tools'])) {
    return { ...tool, tools: tool['tools'].map((inner: unknown) => (isObject(inner) ? echoTool(inner) : inner)) }
  }
  if (tool['type'] !== 'function') return tool
  const { description, parameters, strict } = tool
  return { ...tool, description: description ?? null, parameters: parameters ?? null, strict: strict ?? null }
}
