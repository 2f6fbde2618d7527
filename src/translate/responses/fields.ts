import type { JsonObject } from '../../json/json.ts'
import { createFieldTable, nameSet } from '../engine/fields.ts'
import { refuseValue } from '../engine/request/invalid.ts'
import { isStrictSchema } from '../engine/schema/json-schema.ts'
import type { OutputFormat, Turn } from '../turn.ts'
import type { Warning } from '../warning.ts'
import type { ResponsesRequest } from './wire.ts'

// Values of `include`.
export const ENCRYPTED = 'reasoning.encrypted_content'
export const LOGPROBS = 'message.output_text.logprobs'

/** OpenAI's smallest limit of output tokens. */
const LEAST_OUTPUT_TOKENS = 16

/** Source: OpenAI API reference, responses, 2026-11. */
export const responsesFields = createFieldTable({
  fields: [
    { member: 'max_output_tokens', setting: 'maxOutputTokens', to: (cap) => Math.max(LEAST_OUTPUT_TOKENS, cap) },
    { member: 'temperature', setting: 'temperature' },
    { member: 'top_p', setting: 'topP' },
  ],
  read: [
    // Open Responses has these, OpenAI's API does not.
    { member: 'frequency_penalty', setting: 'frequencyPenalty' },
    { member: 'presence_penalty', setting: 'presencePenalty' },
  ],
  composed: [
    { member: 'text.format', setting: 'format' },
    { member: 'text.verbosity', setting: 'verbosity' },
    { member: 'reasoning', setting: 'reasoning' },
    { member: 'reasoning.effort', setting: 'effort' },
    { member: 'top_logprobs', setting: 'logprobs' },
    { member: 'tool_choice', setting: 'toolChoice' },
    { member: 'parallel_tool_calls', setting: 'parallelToolCalls' },
  ],
  known: nameSet(
    'model input instructions stream tools previous_response_id background conversation prompt include ' +
      // They change no answer: labels, storage, and the delivery of the reply.
      'user client_metadata store prompt_cache_key prompt_cache_options prompt_cache_retention safety_identifier ' +
      'stream_options',
  ),
  usual: new Map<string, readonly unknown[]>([
    ['service_tier', ['auto', 'default']],
    ['truncation', ['disabled']],
    ['reasoning.context', ['auto']],
    ['reasoning.mode', ['standard']],
  ]),
})

export function decodeFormat({ text }: ResponsesRequest): OutputFormat | undefined {
  const format = text?.format
  switch (format?.type) {
    case undefined:
    case 'text':
      return undefined
    case 'json_object':
      return { type: 'json_object' }
    case 'json_schema':
      return {
        type: 'json_schema',
        name: format.name ?? undefined,
        description: format.description ?? undefined,
        // `check-request.ts` has checked that there is one.
        schema: format.schema ?? {},
        strict: format.strict ?? undefined,
      }
    default:
      return refuseValue('text.format.type', 'expected text, json_object or json_schema', 'unsupported_value')
  }
}

export function encodeText(turn: Turn, warnings: Warning[]): JsonObject | undefined {
  const { format, verbosity } = turn
  if (format === undefined && verbosity === undefined) return undefined
  return {
    ...(format !== undefined && { format: encodeFormat(format, turn, warnings) }),
    ...(verbosity !== undefined && { verbosity }),
  }
}

function encodeFormat(format: OutputFormat, { fieldNames }: Turn, warnings: Warning[]): JsonObject {
  if (format.type === 'json_object') return { type: 'json_object' }
  const { name, description, schema, strict } = format
  // Absent counts as true, as in the Messages API.
  const isStrict = strict !== false && isStrictSchema(schema)
  if (strict === true && !isStrict) {
    const detail = 'strict dropped: the schema does not fit strict mode'
    warnings.push({ code: 'dropped', field: `${fieldNames.format}.strict`, detail })
  }
  return {
    type: 'json_schema',
    name: name ?? 'response',
    ...(description !== undefined && { description }),
    strict: isStrict,
    schema,
  }
}
