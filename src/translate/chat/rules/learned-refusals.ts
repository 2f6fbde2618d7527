import type { Recovery } from '../../dialect.ts'
import {
  createRecover,
  FIELD_CODES,
  learnedField,
  namedFields,
  UNSUPPORTED_VALUE,
  withoutField,
  withoutFields,
  type IsEssential,
  type RefusalRow,
  type Refused,
} from '../../engine/learned-refusals.ts'
import { nameSet } from '../../engine/fields.ts'
import { outputOverflowRow } from '../../engine/output-overflow.ts'

/** The model requires `max_completion_tokens` in place of `max_tokens`. */
export const RENAMES_CAP = 'rename:max_tokens'

/** `copilot_cache_control` on messages and tools. */
export const NO_CACHE_MARKS = 'marks:copilot_cache_control'

/** A Gemini whose backend does not know `tool_choice: "validated"`. */
export const NO_VALIDATED_CHOICE = 'choice:validated'

/** The model cannot read the reasoning of earlier turns. */
export const UNREADABLE_REASONING = 'reasoning:unreadable'

/** The model takes only calls with its own reasoning. */
export const OWN_CALLS_ONLY = 'calls:own'

const essential = nameSet('model messages stream tools response_format')

/** Members of messages, parts and tools that hold the conversation. */
const essentialInside = nameSet(
  'role content type text tool_calls tool_call_id id name function arguments custom input parameters image_url url file file_data input_audio data',
)

const isEssential: IsEssential = (steps) => {
  const [member = ''] = steps
  return hasFields(member) && steps.length > 1 ? essentialInside.has(steps.at(-1) ?? '') : essential.has(member)
}

/** Members whose elements have fields of their own. Of others, upstream takes all or nothing. */
function hasFields(member: string): boolean {
  return member === 'messages' || member === 'tools'
}

/** Wordings: docs/copilot-wire.md, "Parameters by model". `adapt/refusal-rules.ts` and other rules read the keys. */
const rows: readonly RefusalRow[] = [
  {
    // Unsealed reasoning does not state its model, so a session that changed models sends it to the wrong one.
    name: 'reasoning of another model',
    source: 'Gemini: badrisnarayanan/antigravity-claude-proxy#18; Claude',
    pattern:
      /(?:corrupted|invalid) thought[ _]signature|thought[ _]signature is (?:not valid|invalid)|invalid `?signature`? in `?thinking`?|`?(?:redacted_)?thinking`? blocks in the latest assistant message cannot be modified/i,
    finding: {
      passing: [UNREADABLE_REASONING],
      warnings: [
        {
          code: 'thinking_dropped',
          field: 'reasoning_opaque',
          detail: 'the provider could not read the reasoning of earlier turns',
        },
      ],
    },
  },
  {
    name: 'calls of another model',
    source: 'Gemini; Vertex puts the name in backticks',
    pattern: /missing an? `?thought_signature/i,
    finding: {
      passing: [OWN_CALLS_ONLY],
      warnings: [
        {
          code: 'adapted',
          field: 'tool_calls',
          detail: 'the provider only accepts calls that the model made itself; other calls are sent as text',
        },
      ],
    },
  },
  {
    name: 'cache marks',
    source: 'parameters, refusals by name',
    pattern: /copilot_cache_control/,
    finding: (_match, { refusal }) =>
      namedFields(refusal).some((path) => path.includes('copilot_cache_control'))
        ? { learned: [NO_CACHE_MARKS] }
        : undefined,
  },
  {
    name: 'thinking where the last turn has none',
    source: 'Anthropic API reference, extended thinking with tool use, 2026-11',
    pattern: /Expected `?thinking`? or `?redacted_thinking`?, but found/i,
    finding: withoutFields('reasoning_effort', 'thinking_budget', 'thinking'),
  },
  {
    name: 'validated calls',
    source: 'parameters, tool_choice: nobody has reported a refusal; the words are those for other models',
    pattern: /tool_choice/i,
    finding: (_match, { body }) =>
      body['tool_choice'] === 'validated' ? { learned: [NO_VALIDATED_CHOICE] } : undefined,
  },
  outputOverflowRow,
  {
    name: 'the name of the token limit',
    source: 'parameters, refusals by name',
    pattern: /max_completion_tokens/,
    finding: (_match, refused) =>
      memberOf(namedPath(refused)) === 'max_tokens' ? { learned: [RENAMES_CAP] } : undefined,
  },
  {
    name: 'a field',
    source: 'parameters, refusals by name',
    pattern: /./,
    finding: (_match, refused) => withoutNamed(refused),
  },
]

export const recoverChat = createRecover(rows, 'messages', ({ status }) => status !== 400)

function memberOf(path: string): string {
  return /^[^.[]+/.exec(path)?.[0] ?? ''
}

/** The path of a field of a message or a tool, or a top-level member, as upstream names it. '' for none. */
function namedPath({ body, refusal }: Refused): string {
  const { code, param, message } = refusal
  const names = [...namedFields(refusal), UNSUPPORTED_VALUE.exec(message)?.[1]]
  if (code === 'invalid_reasoning_effort') names.push('reasoning_effort')
  if (FIELD_CODES.test(`${code}:`)) names.push(param)
  const named = names.find((name) => Object.hasOwn(body, memberOf(name ?? ''))) ?? ''
  return hasFields(memberOf(named)) ? named : memberOf(named)
}

function withoutNamed(refused: Refused): Recovery | undefined {
  const path = namedPath(refused)
  // Models that refuse a level of effort take none, so one refusal is enough.
  if (path === 'reasoning_effort') return { learned: [learnedField(path)] }
  const finding = withoutField(path, isEssential)
  // The proxy itself ends the answer at the sequences.
  return finding && path === 'stop' ? { ...finding, warnings: [] } : finding
}
