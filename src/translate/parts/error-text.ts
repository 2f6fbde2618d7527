/** `Error: …`, `error …`, `[error]`, `<tool_use_error>…` as Claude Code writes it. Looked for at the start only. */
const SAYS_ERROR = /^\s{0,16}(?:<[\w-]{0,32}error>|\W{0,8}error\b)/i

/** The text of a failed tool result, for dialects that have no `is_error`: the words have to say it. */
export function toErrorText(text: string): string {
  if (SAYS_ERROR.test(text.slice(0, 64))) return text
  return text === '' ? 'Error' : `Error: ${text}`
}
