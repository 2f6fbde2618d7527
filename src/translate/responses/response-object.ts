import type { ReplySeed } from '../dialect.ts'
import { isObject, type JsonObject } from '../parts/is-object.ts'
import { echoFormat, echoTool } from './echo.ts'
import type { RequestEcho, ResponseObject, ResponseState, WireObject } from './wire-event.ts'

/** What a response says where nothing is known of its request: as `echoOf` of an empty one. */
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

/** The whole response object, with what the caller's request said and what is stated here, which wins. */
export function toResponseObject(seed: ReplySeed, stated: Stated): ResponseObject {
  const { createdSeconds, nowSeconds, notes } = seed
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
  return { ...state, ...emptyEcho, ...notes.echo, ...state }
}

/**
 * Members that Open Responses (2026-04-24) wants on every response object, and OpenAI's own schema; `output` and `usage`
 * are seen to where they are read. `openai` and `@ai-sdk/openai` 4 read some of them without looking.
 */
const required = [
  'id',
  'object',
  'created_at',
  'completed_at',
  'status',
  'error',
  'incomplete_details',
  'model',
  'usage',
  ...Object.keys(emptyEcho).filter((key) => key !== 'access_programs'),
]

/**
 * Where the request was changed on its way: upstream keeps nothing, history is joined here, and the ChatGPT backend is
 * told some things under other names. The echo has those that were.
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
 * Makes upstream's response object whole: members clients demand, and the caller's own words where upstream was told
 * something else. Returns whether anything changed.
 */
export function completeResponse(seed: ReplySeed, response: WireObject, stated: Stated): boolean {
  let changed = false
  const whole: JsonObject = toResponseObject(seed, stated)
  for (const key of required) {
    const said = response[key]
    // Null stays where it is a value: the schema has it for some members only.
    if (said !== undefined && (said !== null || whole[key] === null)) continue
    response[key] = whole[key]
    changed = true
  }
  for (const key of changedByUs) {
    const asked = seed.notes.echo?.[key]
    if (asked === undefined || asked === response[key]) continue
    response[key] = asked
    changed = true
  }
  return [completeTools(response), completeFormat(response)].includes(true) || changed
}

function completeTools(response: WireObject): boolean {
  const { tools } = response
  if (!Array.isArray(tools) || tools.every(isWholeTool)) return false
  response['tools'] = tools.map((tool: unknown) => (isObject(tool) ? echoTool(tool) : tool))
  return true
}

function isWholeTool(tool: unknown): boolean {
  if (!isObject(tool)) return true
  if (tool['type'] === 'namespace' && Array.isArray(tool['tools'])) return tool['tools'].every(isWholeTool)
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
