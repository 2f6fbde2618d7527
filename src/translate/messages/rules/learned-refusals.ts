import type { Recovery } from '../../dialect.ts'
import {
  createRecover,
  learnedField,
  namedFields,
  refusedField,
  withoutFields,
  type IsEssential,
  type RefusalRow,
} from '../../engine/learned-refusals.ts'
import { nameSet } from '../../engine/fields.ts'
import { outputOverflowRow } from '../../engine/output-overflow.ts'
import { isPromptTooLong, outputOverflowOf } from '../../../upstream-errors/full-context.ts'
import { objectsOf } from '../../../json/json.ts'
import { sentBetas } from '../sent-request.ts'

const essentialAtTop = nameSet('model messages max_tokens stream system tools')
const essentialInMessage = nameSet('role content')
const essentialBelow = nameSet(
  'type role content text id name input input_schema tool_use_id source data media_type signature',
)

/** Callers copy messages from replies, with the reply's id and type. */
const isEssential: IsEssential = (steps) => {
  const isOfMessage = steps.length === 3 && steps[0] === 'messages'
  const essential = steps.length === 1 ? essentialAtTop : isOfMessage ? essentialInMessage : essentialBelow
  return essential.has(steps.at(-1) ?? '')
}

/** Block types that every model accepts. Source: Anthropic API reference, Messages, 2026-11. */
const takenBlocks = nameSet('text image document search_result thinking redacted_thinking tool_use tool_result')

/** The key under which a refused type is stored, by the member of the body that contains it. */
const learnedTypes: ReadonlyMap<string, (type: string) => string | undefined> = new Map([
  // A block that every model accepts is in the wrong place. Its type is not learned, because nothing would be left of
  // the next request without it.
  ['messages', (type: string) => (takenBlocks.has(type) ? undefined : `tag:messages:${type}`)],
  ['tools', (type: string) => `tag:tools:${type}`],
  // The refusal of an unknown type says nothing about the model.
  ['thinking', (type: string) => otherThinking.get(type)],
  ['context_management', () => learnedField('context_management')],
])

/** The thinking mode of a model that refuses a `thinking.type`. */
const otherThinking: ReadonlyMap<string, string> = new Map([
  ['adaptive', 'thinking:budget'],
  ['enabled', 'thinking:adaptive'],
  ['between_tools', 'thinking:adaptive'],
])

/** `adapt/target.ts` reads the keys. */
export const refusals: readonly RefusalRow[] = [
  {
    name: 'named betas',
    source: 'messages, betas',
    pattern: /unsupported beta header\(s\):\s*([\w.,\s-]{1,1000})/i,
    finding: ([, names = ''], { sent }) => {
      const named = new Set(names.split(',').map((name) => name.trim()))
      return without('anthropic-beta', ...betaKeys(sentBetas(sent.headers).filter((beta) => named.has(beta))))
    },
  },
  {
    // The backend that happened to answer names none.
    name: 'some beta',
    source: 'messages, betas: a backend that names none',
    pattern: /invalid beta flag/i,
    finding: (_match, { sent }) => once(without('anthropic-beta', ...betaKeys(sentBetas(sent.headers)))),
  },
  {
    name: 'keys',
    source: 'messages, unknown fields',
    pattern: /: Extra inputs are not permitted/,
    finding: (_match, { refusal }) => {
      const fields = namedFields(refusal).flatMap((path) => refusedField(path, isEssential) ?? [])
      return { ...without(fields[0] ?? '', ...fields.map(learnedField)), fromSecondRefusal: true }
    },
  },
  {
    name: 'system messages',
    source: 'messages, system messages',
    pattern: /Unexpected role "system"|role '?"?system'?"? is not supported/i,
    // The rule tells which messages change in this request.
    finding: { ...without('messages', 'system-messages:no'), passing: ['refused-now:system-messages'] },
  },
  {
    name: 'a level of effort',
    source: 'messages, effort',
    pattern: /effort.{0,500}supported values:?\s*\[([^\]]{0,200})\]/is,
    finding: ([, list = '']) => without('output_config.effort', `efforts:${(list.match(/[a-z]+/g) ?? []).join(',')}`),
  },
  {
    name: 'effort as such',
    source: 'messages, effort',
    pattern: /does not support (?:the )?(?:reasoning )?effort/i,
    finding: without('output_config.effort', 'efforts:'),
  },
  {
    name: 'thinking by budget',
    source: 'messages, thinking',
    pattern: /thinking\.type\.enabled\W{0,3} is not supported/,
    finding: without('thinking', 'thinking:adaptive'),
  },
  {
    name: 'no thinking',
    source: 'messages, thinking: a guess at what models say that always think',
    pattern: /thinking\.type\.disabled\W{0,3} is not supported|thinking: Input tag 'disabled'/,
    finding: without('thinking', 'thinking:always'),
  },
  {
    name: 'adaptive thinking',
    source: 'messages, thinking',
    pattern: /adaptive thinking is not supported|thinking\.type\.adaptive\W{0,3} is not supported/i,
    finding: without('thinking', 'thinking:budget'),
  },
  {
    // Drop all of them, because each refusal names only one.
    name: 'a thinking block',
    source: 'messages, thinking blocks',
    pattern:
      /Invalid `?(?:signature|data)`? in `?(?:redacted_)?thinking`?|each thinking block must contain|`?redacted_thinking`? blocks in the latest assistant message cannot be modified/i,
    finding: once(without('messages', 'tag:messages:thinking', 'tag:messages:redacted_thinking')),
  },
  {
    name: 'thinking beside a forced tool',
    source: 'Anthropic API reference, extended thinking with tool use, 2026-11',
    pattern: /Thinking may not be enabled when tool_choice forces tool use/i,
    finding: without('thinking', 'thinking:unforced'),
  },
  {
    name: 'thinking where the request rules it out',
    source: 'Anthropic API reference, extended thinking with tool use, 2026-11',
    pattern: /Expected `?thinking`? or `?redacted_thinking`?, but found|Thinking may not be enabled/i,
    finding: once(without('thinking', 'thinking:off')),
  },
  {
    name: 'a forced tool',
    source: 'messages, forced tools',
    pattern: /tool_choice: type "(?:tool|any)"[^.]{0,40} (?:is|are) not supported for this model/i,
    finding: without('tool_choice', 'choice:unforced'),
  },
  {
    name: 'structured outputs',
    source: 'messages, structured outputs',
    pattern: /structured_outputs/,
    finding: once(without('output_config.format', 'format:no')),
  },
  {
    name: 'a tool reference',
    source: 'messages, tool search',
    pattern: /Tool reference '([^']{1,200})' not found in available tools/,
    finding: ([, name = ''], { body }) => {
      const isDeferred = objectsOf(body['tools']).some(
        (tool) => tool['name'] === name && tool['defer_loading'] === true,
      )
      return once(without('tools', isDeferred ? `tool-at-once:${name}` : `tool-reference:${name}`))
    },
  },
  {
    name: 'a server tool of the history',
    source: 'messages, tool search',
    pattern: /Tool '([^']{1,200})' not found in provided tools/,
    finding: ([, name = '']) => once(without('messages', `server-calls:${name}`)),
  },
  {
    name: 'a server tool',
    source: 'messages, server tools',
    pattern: /The use of the ([\w ]{1,40}) tool is not supported/i,
    finding: ([, name = ''], { body }) => {
      const prefix = name.trim().toLowerCase().replaceAll(' ', '_')
      const types = objectsOf(body['tools']).flatMap(({ type }) => (String(type).startsWith(prefix) ? [type] : []))
      return without('tools', ...types.map((type) => `tag:tools:${String(type)}`))
    },
  },
  {
    name: 'a type',
    source: 'messages, tool types',
    pattern: /([\w.-]{1,300}): Input tag '([\w.-]{1,100})'/,
    finding: ([, path = '', tag = '']) => {
      const [member = ''] = path.split('.')
      const learned = learnedTypes.get(member)?.(tag)
      return learned === undefined ? undefined : without(member, learned)
    },
  },
  {
    name: 'clearing thoughts without thinking',
    source: 'messages, context management',
    pattern: /clear_thinking\w*`? strategy requires/i,
    finding: withoutFields('context_management'),
  },
  outputOverflowRow,
  {
    name: 'max_tokens',
    source: 'messages, max_tokens',
    pattern: /max_tokens: \d+ > (\d{1,9}), which is the maximum/,
    finding: ([, limit = '']) => without('max_tokens', `max-tokens:${Number(limit)}`),
  },
  {
    name: 'sampling',
    source: 'messages, sampling',
    pattern:
      /`?(?:temperature|top_p|top_k)`?[^.]{0,80}(?:cannot both|may only be set|not supported|deprecated|unsupported|must be unset)/i,
    finding: withoutFields('temperature', 'top_p', 'top_k'),
  },
]

/** Nothing leaves a prompt that is too long, a prefill, a request to an unknown model. */
export const recoverMessages = createRecover(
  refusals,
  'messages',
  (refusal) => refusal.status !== 400 || (isPromptTooLong(refusal) && outputOverflowOf(refusal.message) === undefined),
)

function without(field: string, ...keys: readonly string[]): Recovery {
  return {
    learned: keys,
    warnings: [{ code: 'refused_upstream', field, detail: 'the provider refused it; retried without it' }],
  }
}

function once({ learned = [], warnings = [] }: Recovery): Recovery {
  return { passing: learned, warnings }
}

function betaKeys(betas: readonly string[]): readonly string[] {
  return betas.map((beta) => `beta:${beta}`)
}
