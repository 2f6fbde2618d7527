import { isFilled, isObject, type JsonObject, objectOf } from '../../json/json.ts'
import { createFieldTable, decodeStop, nameSet } from '../engine/fields.ts'
import { refuseType, refuseValue } from '../engine/request/invalid.ts'
import { isStrictSchema } from '../engine/schema/json-schema.ts'
import type { OutputFormat } from '../turn.ts'

/** Source: OpenAI API reference, chat completions, 2026-11. */
export const chatFields = createFieldTable({
  fields: [
    { member: 'temperature', setting: 'temperature' },
    { member: 'top_p', setting: 'topP' },
    // A rule drops it for the models of OpenAI, whose API has no such parameter.
    { member: 'top_k', setting: 'topK', from: aNumber },
    { member: 'frequency_penalty', setting: 'frequencyPenalty' },
    { member: 'presence_penalty', setting: 'presencePenalty' },
    { member: 'seed', setting: 'seed' },
    { member: 'logit_bias', setting: 'logitBias' },
    { member: 'response_format', setting: 'format', from: decodeFormat, to: encodeFormat },
    { member: 'verbosity', setting: 'verbosity', from: aString },
    { member: 'parallel_tool_calls', setting: 'parallelToolCalls' },
    // A cap of 0 is for filling the cache of the Messages API. Here every answer has at least one token.
    { member: 'max_tokens', setting: 'maxOutputTokens', to: (cap) => Math.max(1, cap) },
  ],
  read: [
    // A rule gives the cap this name for models that take no other.
    { member: 'max_completion_tokens', setting: 'maxOutputTokens' },
    // No model on this route states which sequence ended an answer, so the proxy looks for them.
    { member: 'stop', setting: 'stop', from: decodeStop },
  ],
  composed: [
    { member: 'reasoning_effort', setting: 'reasoning' },
    { member: 'reasoning_effort', setting: 'effort' },
    { member: 'top_logprobs', setting: 'logprobs' },
    { member: 'logprobs', setting: 'logprobs' },
    { member: 'tool_choice', setting: 'toolChoice' },
  ],
  known: nameSet(
    'model messages stream stream_options n thinking thinking_budget tools functions function_call ' +
      'web_search_options modalities ' +
      // They tell users apart and name what OpenAI caches.
      'user safety_identifier prompt_cache_key prompt_cache_retention prompt_cache_options',
  ),
  usual: new Map<string, readonly unknown[]>([
    ['service_tier', ['auto', 'default']],
    ['store', [false]],
  ]),
})

function aString(value: unknown): string {
  return typeof value === 'string' ? value : refuseType('verbosity', 'a string', value)
}

function aNumber(value: unknown): number {
  return typeof value === 'number' ? value : refuseType('top_k', 'a number', value)
}

function decodeFormat(format: unknown): OutputFormat | undefined {
  const { type, json_schema: described }: JsonObject = objectOf(format)
  switch (type) {
    case 'text':
      return undefined
    case 'json_object':
      return { type }
    case 'json_schema':
      return decodeSchema(described)
    default:
      return refuseValue('response_format.type', 'expected one of text, json_object, json_schema', 'unsupported_value')
  }
}

function decodeSchema(described: unknown): OutputFormat {
  const path = 'response_format.json_schema'
  if (!isObject(described)) refuseType(path, 'an object with name and schema', described)
  const { name, description, strict, schema } = described
  if (!isFilled(name)) refuseType(`${path}.name`, 'a string', name)
  // Without a schema, OpenAI takes any object.
  if (schema === undefined || schema === null) return { type: 'json_object' }
  if (!isObject(schema)) refuseType(`${path}.schema`, 'an object', schema)
  return {
    type: 'json_schema',
    name,
    schema,
    ...(isFilled(description) && { description }),
    ...(typeof strict === 'boolean' && { strict }),
  }
}

/** A Messages caller sends neither name nor strictness: it gets a default name, and strict if OpenAI would take it. */
function encodeFormat(format: OutputFormat): JsonObject {
  if (format.type === 'json_object') return format
  const { type, name, description, schema, strict } = format
  return {
    type,
    json_schema: {
      name: name ?? 'response',
      ...(description !== undefined && { description }),
      strict: strict ?? (name === undefined ? isStrictSchema(schema) : undefined),
      schema,
    },
  }
}
