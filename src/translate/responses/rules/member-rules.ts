import type { EncodeContext } from '../../dialect.ts'
import { nameSet } from '../../engine/fields.ts'
import type { DropRow } from '../../engine/drop-rule.ts'
import type { Outcome } from '../../engine/apply-rules.ts'
import { refuseValue } from '../../engine/request/invalid.ts'
import { isFilled, isObject, type JsonObject } from '../../../json/json.ts'
import type { Warning } from '../../warning.ts'
import { ENCRYPTED, LOGPROBS } from '../fields.ts'
import { nameable } from '../wire.ts'
import {
  fitEffort,
  isChatgpt,
  isCopilot,
  knownEffort,
  takesContextManagement,
  takesReasoning,
  takesSampling,
  takesSummary,
} from './model-profile.ts'
import { NO_ENCRYPTED_CONTENT } from './learned-refusals.ts'

// Members of a passed request, except its items and its tools.

type ApiRow = Omit<DropRow<JsonObject, EncodeContext>, 'source'>

const always = (): boolean => true
const isOne = (value: unknown): boolean => value === null || value === 1
const isNullOrZero = (value: unknown): boolean => value === null || value === 0
const isEmptyList = (value: unknown): boolean => value === null || (Array.isArray(value) && value.length === 0)
const isEmptyObject = (value: unknown): boolean => isObject(value) && Object.keys(value).length === 0
const refusesSampling = (context: EncodeContext): boolean => !takesSampling(context)

/**
 * Members that Copilot or OpenAI's own API refuses (docs/copilot-wire.md, "Responses requests"). `decode-request.ts`
 * and `join-history.ts` handle the first four.
 */
export const droppedByApi: readonly ApiRow[] = [
  { member: 'previous_response_id', idle: always },
  { member: 'background', idle: always },
  { member: 'conversation', idle: always },
  { member: 'prompt', idle: always },
  // Labels: Codex CLI's own telemetry, and the end user.
  { member: 'client_metadata', idle: always },
  { member: 'safety_identifier', idle: always, applies: isCopilot },
  {
    member: 'service_tier',
    idle: (value) => value === null || value === 'auto' || value === 'default',
    applies: isCopilot,
  },
  { member: 'temperature', idle: isOne, applies: refusesSampling },
  { member: 'top_p', idle: isOne, applies: refusesSampling },
  // The member requests items that summarise the history. A caller that does not request them gets none.
  {
    member: 'context_management',
    idle: isEmptyList,
    applies: (context) => isCopilot(context) && !takesContextManagement(context),
  },
  // Open Responses has these, OpenAI's API does not.
  { member: 'frequency_penalty', idle: isNullOrZero },
  { member: 'presence_penalty', idle: isNullOrZero },
]

/** The ChatGPT backend refuses all others: `Unsupported parameter: x` (docs/codex-wire.md, "Request body"). */
const takenByChatgpt = nameSet(
  'model instructions input tools tool_choice parallel_tool_calls reasoning text include store stream stream_options ' +
    'service_tier prompt_cache_key',
)

/** A member in neither list is dropped with a warning. */
const chatgptRows: readonly ApiRow[] = [
  { member: 'temperature', idle: isOne },
  { member: 'top_p', idle: isOne },
  { member: 'frequency_penalty', idle: isNullOrZero },
  { member: 'presence_penalty', idle: isNullOrZero },
  { member: 'top_logprobs', idle: isNullOrZero, refusal: 'log probabilities are not available from this provider' },
  { member: 'metadata', idle: isEmptyObject },
  { member: 'truncation', idle: (value) => value === 'disabled' },
  { member: 'context_management', idle: isEmptyList },
  { member: 'conversation', refusal: 'stored conversations are not supported' },
  { member: 'prompt', refusal: 'stored prompts are not supported' },
  {
    member: 'background',
    idle: (value) => value === false,
    refusal: 'background responses are not supported',
  },
  { member: 'moderation', refusal: 'this provider does not support moderation' },
  // `join-history.ts` has resolved it.
  { member: 'previous_response_id', idle: always },
  // Codex CLI's own telemetry.
  { member: 'client_metadata', idle: always },
]

/** A header has no room for more. */
const mostWarnings = 32

const NOT_TAKEN = 'the ChatGPT backend of Codex does not accept it'

/** @throws Fault `invalid_request` for a member that cannot be dropped */
export function droppedByChatgpt(body: JsonObject): Outcome<JsonObject> | undefined {
  const members = Object.keys(body).filter((member) => !takenByChatgpt.has(member) && body[member] !== undefined)
  if (members.length === 0) return undefined
  const lost = members.filter((member) => {
    const asked = body[member]
    const row = chatgptRows.find((each) => each.member === member)
    if (asked === null || row?.idle?.(asked, body) === true) return false
    if (row?.refusal !== undefined) refuseValue(member, row.refusal, 'unsupported_parameter')
    return true
  })
  return {
    patch: Object.fromEntries(members.map((member) => [member, undefined])),
    warnings: lost
      .slice(0, mostWarnings)
      .map((member) => ({ code: 'dropped', field: nameable(member), detail: NOT_TAKEN })),
  }
}

export function fitReasoning(reasoning: unknown, context: EncodeContext, warnings: Warning[]): unknown {
  if (!isObject(reasoning)) return reasoning
  const { model } = context
  const { effort } = reasoning
  const drop = (field: string) => warnings.push({ code: 'dropped', field, detail: `not supported by ${model.id}` })
  if (!takesReasoning(model)) {
    if (isFilled(effort) && effort !== 'none') drop('reasoning')
    return undefined
  }
  const changes = new Map<string, unknown>()
  if (isFilled(effort)) {
    const fitted = fitEffort(effort, context)
    if (fitted !== effort) changes.set('effort', fitted)
    if (fitted === undefined) drop('reasoning.effort')
    else if (fitted !== effort) {
      const code = fitted === knownEffort(effort, context) ? 'adapted' : 'clamped'
      warnings.push({ code, field: 'reasoning.effort', detail: `sent as '${fitted}' to ${model.id}` })
    }
  }
  for (const member of ['summary', 'generate_summary']) {
    if (takesSummary(context) || !isFilled(reasoning[member])) continue
    drop(`reasoning.${member}`)
    changes.set(member, undefined)
  }
  const fitted = changes.size === 0 ? reasoning : definedMembers({ ...reasoning, ...Object.fromEntries(changes) })
  return isChatgpt(context) ? pick(fitted, 'reasoning', ['effort', 'summary', 'context'], warnings) : fitted
}

export function fitText(text: unknown, context: EncodeContext, warnings: Warning[]): unknown {
  if (!isObject(text)) return text
  const { model } = context
  const isRefused = model.supports.verbosity === false && isFilled(text['verbosity'])
  if (isRefused) {
    warnings.push({ code: 'dropped', field: 'text.verbosity', detail: `not supported by ${model.id}` })
  }
  const fitted = isRefused ? definedMembers({ ...text, verbosity: undefined }) : text
  return isChatgpt(context) ? pick(fitted, 'text', ['format', 'verbosity'], warnings) : fitted
}

/** Undefined if no member is left. */
function definedMembers(value: JsonObject): JsonObject | undefined {
  const kept = Object.entries(value).filter(([, member]) => member !== undefined)
  return kept.length === 0 ? undefined : Object.fromEntries(kept)
}

/** The object with only these members, without nulls; undefined if none is left. */
function pick(value: unknown, path: string, members: readonly string[], warnings: Warning[]): unknown {
  if (!isObject(value)) return value
  const kept = Object.entries(value).filter(([member, asked]) => {
    if (asked === null || asked === undefined) return false
    if (members.includes(member)) return true
    const isDefault = path === 'reasoning' && member === 'mode' && asked === 'standard'
    if (!isDefault) warnings.push({ code: 'dropped', field: nameable(`${path}.${member}`), detail: NOT_TAKEN })
    return false
  })
  if (kept.length === Object.keys(value).length) return value
  return kept.length === 0 ? undefined : Object.fromEntries(kept)
}

export function fitCap(cap: unknown, { model }: EncodeContext, warnings: Warning[]): unknown {
  const limit = model.maxOutputTokens ?? Infinity
  if (typeof cap !== 'number' || cap <= limit) return cap
  warnings.push({ code: 'clamped', field: 'max_output_tokens', detail: `above the limit of ${model.id}` })
  return limit
}

/**
 * Upstream stores nothing, so requests must contain the encrypted reasoning. The ChatGPT backend accepts no other
 * value.
 * @throws Fault `invalid_request` if the ChatGPT backend is asked for log probabilities
 */
export function fitInclude(include: unknown, context: EncodeContext, warnings: Warning[]): unknown {
  const asked: readonly unknown[] = Array.isArray(include) ? include : []
  if (isChatgpt(context) && asked.includes(LOGPROBS)) {
    refuseValue('include', 'log probabilities are not available from this provider', 'unsupported_value')
  }
  const taken = isChatgpt(context) ? asked.filter((value) => value === ENCRYPTED) : asked
  if (taken.length < asked.length) warnings.push({ code: 'dropped', field: 'include', detail: NOT_TAKEN })
  const asksForEncrypted = !context.learnedRefusals.has(NO_ENCRYPTED_CONTENT)
  const kept = asksForEncrypted ? taken : taken.filter((value) => value !== ENCRYPTED)
  if (asksForEncrypted && !kept.includes(ENCRYPTED)) return [...kept, ENCRYPTED]
  if (kept.length === asked.length && !(isChatgpt(context) && kept.length === 0)) return include
  return kept.length === 0 ? undefined : kept
}

/** The padding of upstream's obfuscation no longer fits after an event was normalised. */
export function withoutObfuscation(options: unknown): unknown {
  if (!isObject(options) || !Object.hasOwn(options, 'include_obfuscation')) return options
  const { include_obfuscation: _padding, ...kept } = options
  return Object.keys(kept).length === 0 ? undefined : kept
}

/** The ChatGPT backend accepts one option of delivery and refuses all others. */
export function fitChatgptStreamOptions(options: unknown): unknown {
  const delivery = isObject(options) ? options['reasoning_summary_delivery'] : undefined
  return delivery === undefined || delivery === null ? undefined : { reasoning_summary_delivery: delivery }
}
