/**
 * Where upstream cannot compact a conversation itself, the model is asked for a summary in words, and the caller gets
 * that as the `encrypted_content` of a compaction item: it hands the item back in place of what it summarises. Codex CLI
 * ends such a request with a `compaction_trigger` item and wants exactly one `compaction` item in the reply (openai/codex,
 * `codex-rs/core/src/compact_remote_v2.rs`, 2026-09).
 */
const prefix = 'cps1.'

/** What the model is asked in place of the trigger. */
export const COMPACTION_REQUEST = `Summarise this conversation so that the work can go on from your summary alone; the messages above will no longer be seen. Say
- what the user asked for, with every limit and preference they stated;
- what has been done and decided, and why;
- the files, commands, names and values that matter, exactly as they are;
- what went wrong and how it was resolved;
- what remains to be done, in order.
Write only the summary. Do not call tools.`

/** The text of a summary as a compaction item carries it. */
export function sealSummary(text: string): string {
  return prefix + Buffer.from(text, 'utf8').toString('base64url')
}

/** Undefined where the value is no summary of ours. */
export function openSummary(sealed: string): string | undefined {
  return sealed.startsWith(prefix) ? Buffer.from(sealed.slice(prefix.length), 'base64url').toString('utf8') : undefined
}

/** The summary as the model reads it later: what the user would have to say to start again. */
export function tellSummary(summary: string): string {
  return `The earlier part of this conversation was replaced by this summary of it:\n\n${summary}`
}
