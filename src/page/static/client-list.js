/** Clients that `launch` starts, and those of them whose own settings `setup` writes. */
export const launched = /** @type {const} */ ([
  { id: 'claude', name: 'Claude Code', hasSetup: true },
  { id: 'codex', name: 'Codex CLI', hasSetup: true },
  { id: 'opencode', name: 'opencode', hasSetup: true },
  { id: 'copilot', name: 'Copilot CLI', hasSetup: false },
])

/** Clients whose settings `setup` prints. */
export const printed = /** @type {const} */ ([
  { id: 'vscode', name: 'VS Code' },
  { id: 'zed', name: 'Zed' },
  { id: 'cursor', name: 'Cursor' },
  { id: 'continue', name: 'Continue' },
  { id: 'cline', name: 'Cline' },
  { id: 'aider', name: 'aider' },
  { id: 'pi', name: 'pi' },
  { id: 'claude-desktop', name: 'Claude Desktop' },
  { id: 'open-webui', name: 'Open WebUI' },
])
