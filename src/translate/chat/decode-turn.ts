import type { CallerRequest, DecodedTurn } from '../dialect.ts'
import { decodeFields, lostMembers } from '../engine/fields.ts'
import { refuseValue } from '../engine/request/invalid.ts'
import { isFilled, isObject } from '../../json/json.ts'
import type { Turn, TurnReasoning } from '../turn.ts'
import type { Warning } from '../warning.ts'
import { chatFields } from './fields.ts'
import { cutHistory, withTools } from './request-changes.ts'
import { decodeToolChoice, decodeTools } from './tools.ts'
import { chatBodyOf, type ChatMessage, type ChatRequest } from './wire.ts'
import { decodeItems } from './items.ts'

/**
 * Decodes a chat request.
 * @throws Fault `invalid_request` for what can neither be carried over nor left out
 */
export function decodeChatTurn(request: CallerRequest): DecodedTurn {
  const source = chatBodyOf(request)
  const body = source.value
  refuseAudioOutput(body)
  const { messages: kept, warnings: cutWarnings } = cutHistory(body.messages, source.options.historyWindow)
  const modern: ChatRequest = { ...body, messages: kept, ...withTools({ ...body, messages: kept })?.patch }
  const { items, warnings } = decodeItems(modern.messages, positionsOf(body.messages, kept))
  const reasoning = decodeReasoning(body)
  const toolChoice = decodeToolChoice(modern.tool_choice)
  const { prompt_cache_key: cacheKey } = body
  const turn: Turn = {
    items,
    tools: decodeTools(modern, body.tools?.length ?? 0),
    ...(toolChoice && { toolChoice }),
    ...decodeFields(body, chatFields),
    ...(reasoning && { reasoning }),
    ...(body.logprobs === true && { logprobs: { top: body.top_logprobs ?? undefined } }),
    ...(isFilled(cacheKey) && { cacheKey }),
    sessionId: request.sessionId,
  }
  return {
    turn,
    warnings: [...cutWarnings, ...warnings, ...memberWarnings(body)],
  }
}

/** The caller's position of each message that the window kept. */
function positionsOf(all: readonly ChatMessage[], kept: readonly ChatMessage[]): number[] {
  let at = -1
  return kept.map((message) => {
    at = all.indexOf(message, at + 1)
    return at
  })
}

function refuseAudioOutput(body: ChatRequest): void {
  const modalities = body['modalities']
  if (Array.isArray(modalities) && modalities.includes('audio')) {
    refuseValue('modalities', 'audio output is not supported', 'unsupported_value')
  }
}

/** OpenAI's effort, and the members that Copilot takes for Claude on this route. */
function decodeReasoning(body: ChatRequest): TurnReasoning | undefined {
  const { reasoning_effort: effort, thinking, thinking_budget: budget } = body
  const asked = {
    ...(typeof budget === 'number' && decodeBudget(budget)),
    ...(isObject(thinking) && decodeThinking(thinking)),
    ...(isFilled(effort) && { effort }),
  }
  return Object.keys(asked).length === 0 ? undefined : asked
}

function decodeBudget(tokens: number): TurnReasoning {
  return tokens > 0 ? { mode: 'enabled', budgetTokens: tokens } : { mode: 'disabled' }
}

function decodeThinking({ type, budget_tokens: budget }: Readonly<Record<string, unknown>>): TurnReasoning {
  switch (type) {
    case 'adaptive':
    case 'disabled':
    case 'between_tools':
      return { mode: type }
    case 'enabled':
      return { mode: type, ...(typeof budget === 'number' && { budgetTokens: budget }) }
    default:
      return {}
  }
}

function memberWarnings(body: ChatRequest): Warning[] {
  const { max_tokens: older, max_completion_tokens: newer } = body
  const hasOtherCap = typeof older === 'number' && typeof newer === 'number' && older !== newer
  return [
    ...(hasOtherCap ? [dropped('max_tokens', 'max_completion_tokens is set too')] : []),
    ...lostMembers(body, chatFields).map((member) =>
      dropped(member, 'the API of the provider does not have this field'),
    ),
  ]
}

function dropped(field: string, detail: string): Warning {
  return { code: 'dropped', field, detail }
}
