/**
 * If upstream cannot compact a conversation, the proxy asks the model for a summary. The caller gets the summary as the
 * `encrypted_content` of a compaction item, and sends it back in place of the history. Codex CLI ends such a request
 * with a `compaction_trigger` item and expects exactly one `compaction` item in the reply (openai/codex,
 * `codex-rs/core/src/compact_remote_v2.rs`, 2026-09).
 */
const prefix = 'cps1.'

/** The prompt that replaces the trigger. */
export const COMPACTION_REQUEST = `Summarise this conversation so that the work can continue from your summary alone. The messages above will not be visible. Say
- what the user asked for, with every limit and preference they stated;
- what has been done and decided, and why;
- the files, commands, names and values that matter, exactly as they are;
- what went wrong and how it was resolved;
- what remains to be done, in order.
Write only the summary. Do not call tools.`

export function encodeSummary(text: string): string {
  return prefix + Buffer.from(text, 'utf8').toString('base64url')
}

/** Undefined for a value that `encodeSummary` did not make. */
export function decodeSummary(sealed: string): string | undefined {
  return sealed.startsWith(prefix) ? Buffer.from(sealed.slice(prefix.length), 'base64url').toString('utf8') : undefined
}

/** The user message that replaces the history. */
export function summaryPrompt(summary: string): string {
  return `The earlier part of this conversation was replaced by this summary of it:\n\n${summary}`
}
