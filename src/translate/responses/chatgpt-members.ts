import { refuseValue } from '../parts/invalid.ts'
import { isObject, type JsonObject } from '../parts/is-object.ts'
import type { Warning } from '../warning.ts'
import { nameable } from './left-out.ts'

// The ChatGPT backend names the members it takes and refuses all others: `Unsupported parameter: x`
// (docs/codex-wire.md, "Request body").

const TAKEN: ReadonlySet<string> = new Set([
  'model',
  'instructions',
  'input',
  'tools',
  'tool_choice',
  'parallel_tool_calls',
  'reasoning',
  'text',
  'include',
  'store',
  'stream',
  'stream_options',
  'service_tier',
  'prompt_cache_key',
])

interface OtherMember {
  readonly member: string
  /** Values that ask for what happens anyway, or for nothing that could change the answer. */
  readonly isIdle?: (value: unknown) => boolean
  /** Why the request is refused: without the member its answer would be to another question. Absent: it is left out. */
  readonly refusal?: string
}

const isOne = (value: unknown): boolean => value === 1
const isZero = (value: unknown): boolean => value === 0
const isFalse = (value: unknown): boolean => value === false
const isEmpty = (value: unknown): boolean => isObject(value) && Object.keys(value).length === 0
const always = (): boolean => true

/** Members of the public API. One that is in neither list is left out with a warning. */
const others: readonly OtherMember[] = [
  { member: 'max_output_tokens' },
  { member: 'max_tokens' },
  { member: 'max_tool_calls' },
  { member: 'temperature', isIdle: isOne },
  { member: 'top_p', isIdle: isOne },
  { member: 'frequency_penalty', isIdle: isZero },
  { member: 'presence_penalty', isIdle: isZero },
  { member: 'top_logprobs', isIdle: isZero, refusal: 'log probabilities are not available from this upstream' },
  { member: 'metadata', isIdle: isEmpty },
  { member: 'user' },
  { member: 'safety_identifier' },
  { member: 'truncation', isIdle: (value) => value === 'disabled' },
  { member: 'prompt_cache_retention' },
  { member: 'prompt_cache_options' },
  { member: 'context_management', isIdle: (value) => Array.isArray(value) && value.length === 0 },
  { member: 'conversation', refusal: 'there are no stored conversations here' },
  { member: 'prompt', refusal: 'there are no stored prompts here' },
  { member: 'background', isIdle: isFalse, refusal: 'responses are not made in the background here' },
  { member: 'moderation', refusal: 'this upstream does not moderate on request' },
  // Carried out before, so that what is left of it says nothing.
  { member: 'previous_response_id', isIdle: always },
  // Codex CLI's own telemetry: nothing of the conversation, and of another program than this one.
  { member: 'client_metadata', isIdle: always },
]

const byName = new Map(others.map((row) => [row.member, row]))

/** More would not fit a header. */
const mostWarnings = 32

/**
 * The members that have to go, each with a warning unless nothing is lost.
 * @throws Fault `invalid_request` for what can neither be carried over nor left out
 */
export function membersToLeaveOut(value: JsonObject, warnings: Warning[]): readonly string[] {
  const gone = Object.keys(value).filter((member) => !TAKEN.has(member))
  const lost = gone.filter((member) => {
    const asked = value[member]
    const row = byName.get(member)
    if (asked === null || asked === undefined || row?.isIdle?.(asked) === true) return false
    if (row?.refusal !== undefined) refuseValue(member, row.refusal, 'unsupported_parameter')
    return true
  })
  for (const member of lost.slice(0, mostWarnings)) warnings.push(dropped(nameable(member)))
  return gone
}

/** The one detail of delivery that the backend knows; the others it refuses. */
const DELIVERY = 'reasoning_summary_delivery'

export function fitStreamOptions(options: unknown): unknown {
  const delivery = isObject(options) ? options[DELIVERY] : undefined
  return delivery === undefined || delivery === null ? undefined : { [DELIVERY]: delivery }
}

/** A value of `service_tier` that asks for the usual one, which goes without saying. */
const usualTiers: ReadonlySet<unknown> = new Set(['auto', 'default', null])

export function fitServiceTier(tier: unknown): unknown {
  return usualTiers.has(tier) ? undefined : tier
}

const LOGPROBS = 'message.output_text.logprobs'

/**
 * What the reply is to hold besides, as far as there is any.
 * @throws Fault `invalid_request` where log probabilities are asked for
 */
export function onlyEncrypted(include: unknown, warnings: Warning[]): unknown {
  if (!Array.isArray(include)) return undefined
  if (include.includes(LOGPROBS)) {
    refuseValue('include', 'log probabilities are not available from this upstream', 'unsupported_value')
  }
  const kept = include.filter((what) => what === 'reasoning.encrypted_content')
  if (kept.length < include.length) warnings.push(dropped('include'))
  return kept.length === include.length && kept.length > 0 ? include : undefined
}

const reasoningMembers: ReadonlySet<string> = new Set(['effort', 'summary', 'context'])
const textMembers: ReadonlySet<string> = new Set(['format', 'verbosity'])

/** Settings of the kind "as usual". */
const usual: ReadonlyMap<string, unknown> = new Map([['reasoning.mode', 'standard']])

export function onlyReasoning(reasoning: unknown, warnings: Warning[]): unknown {
  return only(reasoning, 'reasoning', reasoningMembers, warnings)
}

export function onlyText(text: unknown, takesVerbosity: boolean, warnings: Warning[]): unknown {
  const taken = takesVerbosity ? textMembers : new Set([...textMembers].filter((member) => member !== 'verbosity'))
  return only(text, 'text', taken, warnings)
}

/** The object without members that are not among the taken ones; undefined where nothing is left of it. */
function only(value: unknown, path: string, taken: ReadonlySet<string>, warnings: Warning[]): unknown {
  if (!isObject(value)) return value
  const kept = Object.entries(value).filter(([member, asked]) => {
    if (asked === null || asked === undefined) return false
    const field = `${path}.${member}`
    if (!taken.has(member) && usual.get(field) !== asked) warnings.push(dropped(nameable(field)))
    return taken.has(member)
  })
  if (kept.length === Object.keys(value).length) return value
  return kept.length === 0 ? undefined : Object.fromEntries(kept)
}

function dropped(field: string): Warning {
  return { code: 'dropped', field, detail: 'the ChatGPT backend of Codex does not take it' }
}
