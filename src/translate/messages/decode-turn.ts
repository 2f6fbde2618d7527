import type { CallerRequest, DecodedTurn, EncodeContext } from '../dialect.ts'
import type { JsonObject } from '../parts/is-object.ts'
import type { OutputFormat, Turn } from '../turn.ts'
import type { Warning } from '../warning.ts'
import { thinkingKeptFrom } from './clear-thinking.ts'
import { decodeItems, decodeSystem } from './decode-items.ts'
import { decodeReasoning } from './decode-reasoning.ts'
import { decodeParallelCalls, decodeToolChoice, decodeTools } from './decode-tools.ts'
import { messagesFieldNames } from './field-names.ts'
import { warnLimits } from './limit-betas.ts'
import { refuseAt } from './place.ts'
import { refusePrefill } from './prefill.ts'
import { messagesBodyOf, type MessagesRequest } from './wire-request.ts'

/**
 * A caller's request as a Turn, for an upstream of another dialect.
 * @throws Fault `invalid_request` for what only Anthropic can do and what cannot be left out
 */
export function decodeMessagesTurn(request: CallerRequest, { model }: Pick<EncodeContext, 'model'>): DecodedTurn {
  const { value, betas } = messagesBodyOf(request)
  const warnings: Warning[] = [...warnLimits(betas, model)]
  refuseUntranslatable(value)
  refusePrefill(value.messages)
  const turn: Turn = {
    fieldNames: fieldNamesOf(value),
    items: [
      ...decodeSystem(value, warnings),
      ...decodeItems(value.messages, thinkingKeptFrom(value, warnings), warnings),
    ],
    tools: decodeTools(value, warnings),
    toolChoice: decodeToolChoice(value),
    parallelToolCalls: decodeParallelCalls(value),
    maxOutputTokens: value.max_tokens ?? undefined,
    sampling: {
      temperature: value.temperature ?? undefined,
      topP: value.top_p ?? undefined,
      topK: value.top_k ?? undefined,
    },
    stop: decodeStop(value),
    format: decodeFormat(value, warnings),
    reasoning: decodeReasoning(value, warnings),
    sessionId: request.sessionId,
  }
  warnRest(value, warnings)
  return { turn, warnings }
}

function fieldNamesOf({ output_config: config, output_format: format }: MessagesRequest): Turn['fieldNames'] {
  if (config?.format || !format) return messagesFieldNames
  return { ...messagesFieldNames, format: 'output_format' }
}

/** What happens at Anthropic alone. Left out, the answer would be to another question. */
const refused = {
  container: 'containers are not available for this model',
  mcp_servers: 'remote MCP servers are not available for this model',
  compaction: 'the conversation cannot be compacted by this model',
} as const

function refuseUntranslatable(value: MessagesRequest): void {
  for (const [field, detail] of Object.entries(refused)) {
    if (isStated(value[field])) refuseAt(() => field, detail)
  }
  if (value.max_tokens === 0) {
    refuseAt(() => 'max_tokens', 'expected at least 1: the cache cannot be warmed without an answer')
  }
}

/** `null` and `[]` are how clients write "none". */
function isStated(value: unknown): boolean {
  return value !== undefined && value !== null && !(Array.isArray(value) && value.length === 0)
}

function decodeStop({ stop_sequences: texts }: MessagesRequest): readonly string[] {
  const blank = texts?.findIndex((text) => text.trim() === '') ?? -1
  if (blank !== -1) refuseAt(() => `stop_sequences.${blank}`, 'expected text that is not only white space')
  return texts ?? []
}

function decodeFormat(value: MessagesRequest, warnings: Warning[]): OutputFormat | undefined {
  const isOlder = !value.output_config?.format
  const format = value.output_config?.format ?? value.output_format
  if (!format) return undefined
  if (format.type === 'json_schema' && format.schema) return { type: 'json_schema', schema: format.schema }
  const field = isOlder ? 'output_format' : 'output_config.format'
  warnings.push({ code: 'dropped', field, detail: 'formats of this type are not known here' })
  return undefined
}

/** Read above, or without meaning elsewhere: what is cached, which of Anthropic's capacities serves, who asks. */
const spokenFor: ReadonlySet<string> = new Set([
  'model',
  'messages',
  'system',
  'max_tokens',
  'stream',
  'stop_sequences',
  'temperature',
  'top_p',
  'top_k',
  'thinking',
  'output_config',
  'output_format',
  'tools',
  'tool_choice',
  'context_management',
  'metadata',
  'cache_control',
  'service_tier',
  ...Object.keys(refused),
])

function warnRest(value: MessagesRequest, warnings: Warning[]): void {
  const { output_config: config } = value
  for (const [key, member] of Object.entries(value)) {
    const isDefault = key === 'speed' && member === 'standard'
    if (!spokenFor.has(key) && isStated(member) && !isDefault) warnings.push(droppedField(key))
  }
  const settings: JsonObject = config ?? {}
  for (const [key, member] of Object.entries(settings)) {
    if (key !== 'effort' && key !== 'format' && isStated(member)) warnings.push(droppedField(`output_config.${key}`))
  }
}

function droppedField(name: string): Warning {
  // Names are the caller's own and end in a header.
  const field = /^[\w.-]{1,80}$/.test(name) ? name : 'unknown_field'
  return { code: 'dropped', field, detail: 'this field means nothing to this model' }
}
