import type { CallerHeaders } from '../dialect.ts'
import { isFilled } from './wire-json.ts'

/**
 * Headers by which clients name a conversation, whatever dialect they speak. Sources: Codex CLI, the present name first
 * (openai/codex, codex-rs/core/src/client.rs); Claude Code 2.1.329; opencode 1.18.33, as recorded on the wire.
 */
const sessionHeaders = [
  'session-id',
  'session_id',
  'thread-id',
  'conversation_id',
  'x-claude-code-session-id',
  'x-session-id',
  'x-session-affinity',
]

/** A name for a conversation is a line; what is longer is somebody's mistake. Characters. */
const longestName = 512

/** The first of these headers that names the caller's conversation, else the first of the names from its body. */
export function nameSession(headers: CallerHeaders, ...fromBody: readonly unknown[]): string | undefined {
  return [...sessionHeaders.map((name) => headers[name]), ...fromBody]
    .filter(isFilled)
    .find((value) => value.length <= longestName)
}
