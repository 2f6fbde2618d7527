export const knownSchemaFailures: readonly string[] = []
export const knownHistoryFailures: readonly string[] = []
export const knownFileFailures: readonly string[] = []
export const knownToolFailures: readonly string[] = [
  'P8 a tool with an encrypted parameter, and its call: responses to gpt-5.3-codex',
  'P8 the task of a subagent: responses to claude-sonnet-4.5',
  'P8 the answer of a subagent: responses to claude-sonnet-4.5',
  'P8 the task of a subagent: responses to gpt-5.3-codex',
  'P8 the answer of a subagent: responses to gpt-5.3-codex',
  'P8 the task of a subagent: responses to gpt-4.1',
  'P8 the answer of a subagent: responses to gpt-4.1',
  'P8 the task of a subagent: responses to gemini-3-pro-preview',
  'P8 the answer of a subagent: responses to gemini-3-pro-preview',
  'P8 a real ciphertext to a model that cannot read it: responses to claude-sonnet-4.5',
]
