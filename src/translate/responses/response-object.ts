import type { ReplySeed } from '../dialect.ts'
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
export function toResponseObject({ createdSeconds, notes }: ReplySeed, stated: Stated): ResponseObject {
  const state: ResponseState = {
    id: stated.id,
    object: 'response',
    created_at: createdSeconds,
    status: stated.status,
    completed_at: null,
    error: stated.error ?? null,
    incomplete_details: stated.incomplete_details ?? null,
    model: stated.model,
    output: stated.output ?? [],
    usage: stated.usage ?? null,
  }
  return { ...state, ...emptyEcho, ...notes.echo, ...state }
}

/** Members that `openai` and `@ai-sdk/openai` 4 read without looking; `output` is minded where the items are. */
const required = [
  'id',
  'object',
  'created_at',
  'status',
  'error',
  'incomplete_details',
  'instructions',
  'metadata',
  'model',
  'parallel_tool_calls',
  'temperature',
  'tool_choice',
  'tools',
  'top_p',
] as const

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
  const whole = toResponseObject(seed, stated)
  for (const key of required) {
    if (response[key] !== undefined) continue
    response[key] = whole[key]
    changed = true
  }
  for (const key of changedByUs) {
    const asked = seed.notes.echo?.[key]
    if (asked === undefined || asked === response[key]) continue
    response[key] = asked
    changed = true
  }
  return changed
}
