/** A program that `launch` starts and `setup` sets up. */
export type ClientId = 'claude' | 'codex' | 'opencode'

export interface ClientFacts {
  /** For people. */
  readonly name: string
  /** What its command is called. */
  readonly program: string
  readonly install: string
  /** The API it speaks; undefined: that of the model. */
  readonly dialect: 'messages' | 'responses' | undefined
}

export const clients: Readonly<Record<ClientId, ClientFacts>> = {
  claude: {
    name: 'Claude Code',
    program: 'claude',
    install: 'npm install -g @anthropic-ai/claude-code',
    dialect: 'messages',
  },
  codex: { name: 'Codex CLI', program: 'codex', install: 'npm install -g @openai/codex', dialect: 'responses' },
  opencode: { name: 'opencode', program: 'opencode', install: 'npm install -g opencode-ai', dialect: undefined },
}
