import { hash as digest } from 'node:crypto'
import type { Config } from '../config/schema.ts'
import { purposeHeaders } from '../config/header-table.ts'
import type { Initiator, Interaction, Purpose } from '../executors/executor.ts'
import type { CallerHeaders, CallerRequest } from '../translate/dialect.ts'

/** A header by which a client says what a request is for. */
interface PurposeRule {
  readonly header: string
  /** By value; `other` stands for any value that is not listed. Undefined: the header does not tell. */
  readonly values?: Readonly<Record<string, Purpose>>
  readonly other?: Purpose
}

/**
 * The clients that say it, the most telling header first: GitHub's own before those of others.
 * - Claude Code: code.claude.com/docs/en/llm-gateway; the class and the compaction only with
 *   `CLAUDE_CODE_GATEWAY_HINT_HEADERS=1`, which `launch` and `setup` set.
 * - Codex CLI: openai/codex, codex-rs/core/src/client.rs.
 * - opencode: anomalyco/opencode, packages/opencode/src/session/llm.ts.
 */
const purposeRules: readonly PurposeRule[] = [
  {
    header: 'x-interaction-type',
    values: {
      'conversation-agent': 'agent',
      'conversation-panel': 'panel',
      'conversation-subagent': 'subagent',
      'conversation-compaction': 'compaction',
      'conversation-background': 'background',
    },
  },
  {
    header: 'x-claude-code-request-class',
    values: {
      main: 'agent',
      subagent: 'subagent',
      workflow: 'subagent',
      compaction: 'compaction',
      auxiliary: 'background',
    },
  },
  { header: 'x-claude-code-compaction', other: 'compaction' },
  {
    header: 'x-openai-subagent',
    values: { compact: 'compaction', memory_consolidation: 'background' },
    other: 'subagent',
  },
  { header: 'x-claude-code-agent-id', other: 'subagent' },
  { header: 'x-claude-code-parent-agent-id', other: 'subagent' },
  { header: 'x-codex-parent-thread-id', other: 'subagent' },
  { header: 'x-parent-session-id', other: 'subagent' },
]

type PurposeFacts = Pick<CallerRequest, 'isCompaction' | 'hasTools' | 'prompts'>

/** What a request is for, by what its client says and what it holds. */
export function purposeOf(headers: CallerHeaders, facts: PurposeFacts): Purpose {
  const { isCompaction, hasTools } = facts
  if (isCompaction) return 'compaction'
  for (const { header, values = {}, other } of purposeRules) {
    const value = headers[header]
    if (typeof value !== 'string' || value.trim() === '') continue
    const word = value.trim().toLowerCase()
    const purpose = Object.hasOwn(values, word) ? values[word] : other
    if (purpose !== undefined) return purpose
  }
  return opencodePurpose(headers, facts) ?? (hasTools ? 'agent' : 'panel')
}

/** What opencode's own prompts begin with, in the versions that are known (1.0 to 1.18). */
const opencodePrompts = {
  background: /^Generate a title for this conversation/,
  compaction:
    /^(?:Here is the conversation so far:|(?:Create a new|Update the) anchored summary |Provide a detailed prompt for continuing our conversation )/,
} as const

/**
 * opencode says in no header which of its agents asks. Those that write titles and summaries have no tools, and prompts of
 * their own (recorded with 1.18.33; anomalyco/opencode, packages/opencode/src/session/compaction.ts).
 */
function opencodePurpose(headers: CallerHeaders, { hasTools, prompts }: PurposeFacts): Purpose | undefined {
  if (hasTools || !String(headers['user-agent']).startsWith('opencode/')) return undefined
  if (opencodePrompts.background.test(prompts.first)) return 'background'
  return opencodePrompts.compaction.test(prompts.last) ? 'compaction' : undefined
}

/** Purposes that no prompt of the user's causes by itself, whatever the history looks like. */
const ofAgents: ReadonlySet<Purpose> = new Set(['subagent', 'compaction', 'background'])

/** Who a request counts for (docs/copilot-wire.md, "Initiator"). A caller that knows says so itself. */
export function initiatorOf(
  headers: CallerHeaders,
  purpose: Purpose,
  call: Pick<CallerRequest, 'endsWithUser' | 'hasAgentHistory'>,
  rule: Config['copilot']['initiator'],
): Initiator {
  const stated = headers['x-initiator']
  if (stated === 'user' || stated === 'agent') return stated
  if (ofAgents.has(purpose)) return 'agent'
  if (rule === 'last-message') return call.endsWithUser ? 'user' : 'agent'
  return call.hasAgentHistory ? 'agent' : 'user'
}

/** Labels of GitHub's own clients, and nothing that could break a header or say more than that. */
const label = /^conversation-(?:agent|background|compaction|edits|inline|notebook|other|panel|subagent|terminal)$/
const uuid = /^[\da-f]{8}-[\da-f]{4}-[1-8][\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/i

/** What a caller may say itself. The id of a task is that of the request, which is made here. */
const valid: Readonly<Partial<Record<(typeof purposeHeaders)[number], RegExp>>> = {
  'openai-intent': label,
  'x-interaction-type': label,
  'x-interaction-id': uuid,
}

function statedIn(headers: CallerHeaders): Interaction['stated'] {
  const stated: Record<string, string> = {}
  for (const name of purposeHeaders) {
    const value = headers[name]
    if (typeof value === 'string' && valid[name]?.test(value) === true) stated[name] = value
  }
  return stated
}

/**
 * One UUID for all requests of a user turn, from what stays the same in a tool loop: the conversation, and the place and
 * the beginning of its last prompt. Nothing is kept for it. Equal prompts at equal places of conversations that no client
 * has named are one turn by this rule; upstream takes the id for a label.
 * @param salt keeps a prompt from being guessed by its id; another one for every run
 */
export function interactionOf(
  headers: CallerHeaders,
  purpose: Purpose,
  { sessionId, prompts }: Pick<CallerRequest, 'sessionId' | 'prompts'>,
  salt: string,
): Interaction {
  const { first, last, lastAt } = prompts
  const stated = statedIn(headers)
  const id = stated['x-interaction-id'] ?? toUuid(hash([salt, sessionId ?? first, String(lastAt), last]))
  return { purpose, id, stated }
}

/** Hex digits of the parts' SHA-256, each part told from the next. */
export function hash(parts: readonly string[]): string {
  return digest('sha256', parts.map((part) => `${part.length}:${part}`).join(''), 'hex')
}

/** In the form of a random UUID, which is what upstream knows. RFC 9562 §5.4. */
function toUuid(hex: string): string {
  const variant = '89ab'[Number.parseInt(hex.charAt(16), 16) % 4]
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}
