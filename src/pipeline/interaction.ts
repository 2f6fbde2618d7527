import { hash as digest } from 'node:crypto'
import type { Config } from '../config/schema.ts'
import type { Initiator, Interaction, Purpose } from '../executors/executor.ts'
import type { CallerRequest } from '../translate/dialect.ts'

/** A caller's statements about its request outside the body; over HTTP, in headers. */
export interface CallerStatement {
  readonly purpose?: Purpose | undefined
  /** The prompts of opencode reveal the purpose (`opencodePurpose`). */
  readonly isOpencode?: boolean | undefined
  /** Valid headers of the provider (`Interaction.stated`). */
  readonly stated?: Interaction['stated'] | undefined
}

type PurposeFacts = Pick<CallerRequest, 'isCompaction' | 'toolCount' | 'prompts'>

/** Derives the purpose of a request from the caller's statement and the body. */
export function purposeOf(statement: CallerStatement | undefined, facts: PurposeFacts): Purpose {
  const { isCompaction, toolCount } = facts
  if (isCompaction) return 'compaction'
  if (statement?.purpose !== undefined) return statement.purpose
  const known = statement?.isOpencode === true ? opencodePurpose(facts) : undefined
  return known ?? (toolCount > 0 ? 'agent' : 'panel')
}

/** How opencode's internal prompts begin, in versions 1.0 to 1.18. */
const opencodePrompts = {
  background: /^Generate a title for this conversation/,
  compaction:
    /^(?:Here is the conversation so far:|(?:Create a new|Update the) anchored summary |Provide a detailed prompt for continuing our conversation )/,
} as const

/**
 * opencode sends no header that names its agent. Its agents for titles and summaries have no tools and use fixed prompts
 * (recorded with 1.18.33; anomalyco/opencode, packages/opencode/src/session/compaction.ts).
 */
function opencodePurpose({ toolCount, prompts }: PurposeFacts): Purpose | undefined {
  if (toolCount > 0) return undefined
  if (opencodePrompts.background.test(prompts.first)) return 'background'
  return opencodePrompts.compaction.test(prompts.last) ? 'compaction' : undefined
}

/** Purposes whose requests always count as an agent's, whatever the history looks like. */
const agentPurposes: ReadonlySet<Purpose> = new Set(['subagent', 'compaction', 'background'])

/** Who caused a request whose caller does not state it (docs/copilot-wire.md, "Initiator"). */
export function initiatorOf(
  purpose: Purpose,
  call: Pick<CallerRequest, 'endsWithUser' | 'hasAgentHistory'>,
  rule: Config['copilot']['initiator'],
): Initiator {
  if (agentPurposes.has(purpose)) return 'agent'
  if (rule === 'last-message') return call.endsWithUser ? 'user' : 'agent'
  return call.hasAgentHistory ? 'agent' : 'user'
}

/**
 * Derives one UUID for all requests of a user turn from what stays the same in a tool loop: the conversation, and the
 * position and beginning of its last prompt. This needs no stored state. Equal prompts at equal positions of two
 * conversations without a session id get the same UUID; upstream treats it as a label only.
 * @param salt random per run, so that a prompt cannot be guessed from its id
 */
export function interactionOf(
  statement: CallerStatement | undefined,
  purpose: Purpose,
  { sessionId, prompts }: Pick<CallerRequest, 'sessionId' | 'prompts'>,
  salt: string,
): Interaction {
  const { first, last, lastAt } = prompts
  const stated = statement?.stated ?? {}
  const id = stated['x-interaction-id'] ?? toUuid(hash([salt, sessionId ?? first, String(lastAt), last]))
  return { purpose, id, stated }
}

/** SHA-256 of the parts in hex. Length prefixes separate the parts. */
export function hash(parts: readonly string[]): string {
  return digest('sha256', parts.map((part) => `${part.length}:${part}`).join(''), 'hex')
}

/** Formats a hash like a random UUID (RFC 9562 §5.4), as upstream expects. */
function toUuid(hex: string): string {
  const variant = '89ab'[Number.parseInt(hex.charAt(16), 16) % 4]
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}
