import { warnLimits } from './limit-betas.ts'
import type { CallerRequest, DecodedTurn, EncodeContext, ReplySeed } from '../dialect.ts'
import { decodeFields, isStated, lostMembers } from '../engine/fields.ts'
import { isObject, type JsonObject } from '../../json/json.ts'
import type { OutputFormat, Turn, TurnReasoning } from '../turn.ts'
import type { Warning } from '../warning.ts'
import { contentBlocks, effortOfTurn, isUserPrompt, refusePrefill } from './content.ts'
import { messagesFields } from './fields.ts'
import type { MessagesNotes } from './notes.ts'
import { refuseAt } from './parts.ts'
import { decodeParallelCalls, decodeToolChoice, decodeTools } from './tools.ts'
import { messagesBodyOf } from './wire.ts'
import type { MessagesMessage, MessagesRequest } from './wire.ts'
import { decodeItems, decodeSystem } from './items.ts'

/**
 * Decodes a caller's request for an upstream of another dialect.
 * @throws Fault `invalid_request` for features of Anthropic's whose omission would change the answer
 */
export function decodeMessagesTurn(request: CallerRequest, { model }: Pick<EncodeContext, 'model'>): DecodedTurn {
  const { value, betas } = messagesBodyOf(request)
  const warnings: Warning[] = [...warnLimits(betas, model)]
  refuseUntranslatable(value)
  refusePrefill(value.messages)
  const settings = decodeFields(value, messagesFields)
  const turn: Turn = {
    items: [
      ...decodeSystem(value, warnings),
      ...decodeItems(value.messages, thinkingKeptFrom(value, warnings), warnings),
    ],
    tools: decodeTools(value, warnings),
    toolChoice: decodeToolChoice(value),
    ...settings,
    fieldNames: isOlderFormat(value) ? { ...settings.fieldNames, format: 'output_format' } : settings.fieldNames,
    parallelToolCalls: decodeParallelCalls(value),
    format: decodeFormat(value, warnings),
    reasoning: decodeReasoning(value, warnings),
    sessionId: request.sessionId,
  }
  warnLost(value, warnings)
  return { turn, warnings }
}

/** The facts about a caller's request that its reply needs. */
export function messagesNotes(request: CallerRequest): MessagesNotes {
  const { value } = messagesBodyOf(request)
  const { mode, summary } = decodeReasoning(value, []) ?? {}
  return {
    dialect: 'messages',
    hasFormat: decodeFormat(value, []) !== undefined,
    hidesThinking: summary === 'none',
    asksForThinking: mode !== undefined && mode !== 'disabled',
  }
}

const noNotes: MessagesNotes = { dialect: 'messages', hasFormat: false, hidesThinking: false, asksForThinking: true }

export function messagesNotesIn({ notes: { caller } }: ReplySeed): MessagesNotes {
  return caller?.dialect === 'messages' ? caller : noNotes
}

function isOlderFormat({ output_config: config, output_format: format }: MessagesRequest): boolean {
  return !config?.format && Boolean(format)
}

/** Features of Anthropic's servers whose omission would change the answer. */
const refused = {
  container: 'containers are not available for this model',
  mcp_servers: 'remote MCP servers are not available for this model',
  compaction: 'this model cannot compact the conversation',
} as const

function refuseUntranslatable(value: MessagesRequest): void {
  for (const [field, detail] of Object.entries(refused)) {
    if (isStated(value[field])) refuseAt(() => field, detail)
  }
  if (value.max_tokens === 0) {
    refuseAt(() => 'max_tokens', 'must be at least 1: copilot-proxy cannot warm the cache without an answer')
  }
}

function decodeFormat(value: MessagesRequest, warnings: Warning[]): OutputFormat | undefined {
  const format = value.output_config?.format ?? value.output_format
  if (!format) return undefined
  if (format.type === 'json_schema' && format.schema) return { type: 'json_schema', schema: format.schema }
  const field = isOlderFormat(value) ? 'output_format' : 'output_config.format'
  warnings.push({ code: 'dropped', field, detail: 'this format type is unknown' })
  return undefined
}

function warnLost(value: MessagesRequest, warnings: Warning[]): void {
  for (const member of lostMembers(value, messagesFields)) warnings.push(droppedField(member))
  const settings: JsonObject = value.output_config ?? {}
  for (const [key, member] of Object.entries(settings)) {
    if (key !== 'effort' && key !== 'format' && isStated(member)) warnings.push(droppedField(`output_config.${key}`))
  }
}

function droppedField(name: string): Warning {
  // Names of members come from the caller and go into a header.
  const field = /^[\w.-]{1,80}$/.test(name) ? name : 'unknown_field'
  return { code: 'dropped', field, detail: 'this model does not support this field' }
}

type Mode = NonNullable<TurnReasoning['mode']>

const MODES: ReadonlyMap<string, Mode> = new Map<string, Mode>([
  ['adaptive', 'adaptive'],
  ['enabled', 'enabled'],
  ['disabled', 'disabled'],
  ['between_tools', 'between_tools'],
])

function decodeReasoning(request: MessagesRequest, warnings: Warning[]): TurnReasoning | undefined {
  const { thinking, output_config: config, messages } = request
  const effort = effortOfTurn(messages) ?? config?.effort ?? undefined
  const mode = MODES.get(thinking?.type ?? '')
  if (thinking && mode === undefined) {
    warnings.push({ code: 'dropped', field: 'thinking', detail: 'this thinking type is unknown' })
  }
  if (mode === undefined) return effort === undefined ? undefined : { effort }
  return {
    mode,
    budgetTokens: thinking?.budget_tokens ?? undefined,
    effort,
    summary: summaryOf(mode, thinking?.display),
  }
}

/** `display` is `summarized` (the default), `updates` or `omitted`. */
function summaryOf(mode: Mode, display: string | null | undefined): string | undefined {
  if (mode === 'disabled') return undefined
  return display === 'omitted' ? 'none' : 'auto'
}

/** Source: Anthropic documentation, context editing, 2026-11. Sent by Claude Code with every request. */
const CLEAR_THINKING = 'clear_thinking_20251015'

/**
 * Index of the first message whose thinking stays: `context_management` may limit thinking to the last turns. Each
 * other edit is dropped with a warning, because only Anthropic's servers edit the context.
 */
function thinkingKeptFrom(request: MessagesRequest, warnings: Warning[]): number {
  const edits = request.context_management?.['edits']
  if (!Array.isArray(edits)) return 0
  let keptFrom = 0
  edits.forEach((edit: unknown, at) => {
    if (isObject(edit) && edit['type'] === CLEAR_THINKING) {
      keptFrom = startOfTurns(request.messages, turnsToKeep(edit['keep']))
      return
    }
    const detail = 'this model does not support context editing'
    warnings.push({ code: 'dropped', field: `context_management.edits.${at}`, detail })
  })
  return keptFrom
}

function turnsToKeep(keep: unknown): number {
  if (keep === 'all') return Infinity
  if (!isObject(keep)) return 1
  if (keep['type'] === 'all') return Infinity
  return typeof keep['value'] === 'number' ? keep['value'] : 1
}

/** A turn runs from one user prompt to the next, tool loop included. Turns without thinking do not count. */
function startOfTurns(messages: readonly MessagesMessage[], turns: number): number {
  let kept = 0
  let thinks = false
  for (let at = messages.length - 1; at >= 0; at -= 1) {
    const message = messages[at]
    if (message === undefined) break
    if (holdsThinking(message)) {
      if (!thinks && kept >= turns) return at + 1
      if (!thinks) kept += 1
      thinks = true
    }
    if (isUserPrompt(message)) thinks = false
  }
  return 0
}

function holdsThinking({ content }: MessagesMessage): boolean {
  return contentBlocks(content).some(({ type }) => type === 'thinking' || type === 'redacted_thinking')
}
