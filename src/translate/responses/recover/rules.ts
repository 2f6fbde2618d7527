import type { UpstreamRefusal } from '../../dialect.ts'
import type { JsonObject } from '../../parts/is-object.ts'
import { isFilled } from '../../parts/wire-json.ts'
import { withoutBreakpoints } from '../breakpoints.ts'
import { NO_BREAKPOINTS } from '../lessons.ts'
import { isAboutEffort, withOtherEffort } from './effort.ts'
import { inputPath, withoutItemKind } from './items.ts'
import { MEMBER, MEMBER_CODES, UNSUPPORTED_VALUE, withoutMember, withoutValue } from './members.ts'
import { withoutInclude, withoutItemIds, withoutOpaque } from './opaque.ts'
import type { Outcome } from './outcome.ts'
import { withoutToolKind } from './tools.ts'

interface Rule {
  readonly name: string
  /** Where the words come from. */
  readonly source: string
  /** Undefined where the refusal is about something else, or the body no longer holds what it is about. */
  readonly mend: (body: JsonObject, refusal: UpstreamRefusal) => Outcome | undefined
}

/**
 * In order: the first that finds something to take out of the body counts, so that a refusal which comes again meets the
 * next one. Copilot words its refusals as OpenAI does, mostly without `param` and with one code for all of them.
 */
export const recoveryRules: readonly Rule[] = [
  {
    name: 'ids that upstream does not know',
    source: 'openclaw/openclaw#66424, can1357/oh-my-pi#290, anomalyco/opencode#17933',
    mend: (body, refusal) => (isAboutIds(refusal) ? (withoutItemIds(body) ?? withoutOpaque(body)) : undefined),
  },
  {
    name: 'reasoning upstream cannot read',
    source: 'caozhiyuan/copilot-api#309, #346, #376; OpenAI API, reasoning items, 2026-11',
    mend: (body, refusal) => (isAboutOpaque(refusal) ? withoutOpaque(body) : undefined),
  },
  {
    name: 'a model without reasoning',
    source: 'OpenAI API, include, 2026-11',
    mend: (body, { message }) =>
      /encrypted content is not supported/i.test(message) ? withoutInclude(body) : undefined,
  },
  {
    name: 'cache breakpoints',
    source: 'docs/copilot-wire.md, "Prompt caching"',
    mend: (body, { message, param }) => {
      // One refusal names one place; all of them go, so that it costs one request.
      if (!/prompt_cache_(?:breakpoint|options)/.test(`${message} ${param}`)) return undefined
      const bare = withoutBreakpoints(body)
      return bare && { body: bare, lesson: NO_BREAKPOINTS }
    },
  },
  {
    name: 'a member upstream does not know',
    source: 'caozhiyuan/copilot-api#308, microsoft/vscode#282170, router-for-me/CLIProxyAPI#897',
    mend: (body, { message }) => {
      const path = MEMBER.exec(message)?.[1]
      return path === undefined ? undefined : withoutMember(body, path)
    },
  },
  {
    name: 'a level of effort the model does not have',
    source: 'docs/copilot-wire.md, "Errors"; OpenAI API, reasoning.effort, 2026-11',
    mend: (body, refusal) => (isAboutEffort(refusal, body) ? withOtherEffort(body, refusal.message) : undefined),
  },
  {
    name: 'a kind of tool upstream does not have',
    source: 'caozhiyuan/copilot-api#206, xuangong/copilot-api-gateway (custom tools)',
    mend: withoutToolKind,
  },
  {
    name: 'a value the model does not take',
    source: 'OpenAI API, unsupported_value, 2026-11',
    mend: (body, { message }) => {
      const value = UNSUPPORTED_VALUE.exec(message)?.[1]
      return value === undefined ? undefined : withoutValue(body, value)
    },
  },
  {
    name: 'a member that the error names',
    source: 'OpenAI API, unsupported_parameter, 2026-11',
    mend: (body, { code, param }) =>
      MEMBER_CODES.has(code ?? '') && isFilled(param) ? withoutMember(body, param) : undefined,
  },
  {
    name: 'an item that says little',
    source: 'openai/codex#7073',
    mend: withoutItemKind,
  },
]

const ABOUT_IDS =
  /does not belong to this connection|item_id (?:did not match|mismatch)|items are not persisted|without its required 'reasoning' item|expected an id/i

function isAboutIds({ message, code, param }: UpstreamRefusal): boolean {
  if (ABOUT_IDS.test(message)) return true
  return code === 'string_above_max_length' && /^input\[\d+\]\.id$/.test(param ?? inputPath(message) ?? '')
}

const ABOUT_OPAQUE =
  /encrypted .{0,400}could not be (?:decrypted|verified|parsed)|invalid_encrypted_content|without its required following item/is

function isAboutOpaque({ message, code }: UpstreamRefusal): boolean {
  return code === 'invalid_encrypted_content' || ABOUT_OPAQUE.test(message)
}
