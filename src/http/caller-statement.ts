import type { IncomingHttpHeaders } from 'node:http'
import { purposeHeaders } from '../config/header-table.ts'
import type { Initiator, Interaction, Purpose } from '../executors/executor.ts'
import type { CallerStatement } from '../pipeline/interaction.ts'

/** A header in which a client states the purpose of a request. */
interface PurposeRule {
  readonly header: string
  /** The purpose of each listed value; `other` is that of any other value. If both miss, the next rule decides. */
  readonly values?: Readonly<Record<string, Purpose>>
  readonly other?: Purpose
}

/**
 * Rules in order of precedence: GitHub's own header, then the most specific ones.
 * - Claude Code: code.claude.com/docs/en/llm-gateway; the class and the compaction only with
 *   `CLAUDE_CODE_GATEWAY_HINT_HEADERS=1`, which `launch` and `setup` set.
 * - Codex CLI: openai/codex, codex-rs/core/src/client.rs.
 * - opencode: anomalyco/opencode, packages/opencode/src/session/llm.ts.
 */
const purposeRules: readonly PurposeRule[] = [
  {
    header: 'x-interaction-type',
    values: {
      'conversation-user': 'agent',
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

/** Labels of GitHub's own clients; any other value is dropped. */
const label = /^conversation-(?:agent|background|compaction|edits|inline|notebook|other|panel|subagent|terminal)$/
const uuid = /^[\da-f]{8}-[\da-f]{4}-[1-8][\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/i

/** Headers that a caller may set itself. `x-agent-task-id` is absent: this program makes the request id it carries. */
const allowedValues: Readonly<Partial<Record<(typeof purposeHeaders)[number], RegExp>>> = {
  'openai-intent': label,
  'x-interaction-type': label,
  'x-interaction-id': uuid,
}

function statedIn(headers: IncomingHttpHeaders): Interaction['stated'] {
  const stated: Record<string, string> = {}
  for (const name of purposeHeaders) {
    const value = headers[name]
    if (typeof value === 'string' && allowedValues[name]?.test(value) === true) stated[name] = value
  }
  return stated
}

export function statementIn(headers: IncomingHttpHeaders): CallerStatement {
  return {
    purpose: purposeIn(headers),
    isOpencode: headers['user-agent']?.startsWith('opencode/') === true,
    stated: statedIn(headers),
  }
}

export function initiatorIn({ 'x-initiator': stated }: IncomingHttpHeaders): Initiator | undefined {
  return stated === 'user' || stated === 'agent' ? stated : undefined
}

function purposeIn(headers: IncomingHttpHeaders): Purpose | undefined {
  for (const { header, values = {}, other } of purposeRules) {
    const value = headers[header]
    if (typeof value !== 'string' || value.trim() === '') continue
    const key = value.trim().toLowerCase()
    const purpose = Object.hasOwn(values, key) ? values[key] : other
    if (purpose !== undefined) return purpose
  }
  return undefined
}
