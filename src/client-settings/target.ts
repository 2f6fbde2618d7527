import { longContextMarks } from '../models/names.ts'

export interface Target {
  /** The daemon's, e.g. `http://127.0.0.1:4141`. */
  readonly url: string
  readonly key: string
  /** Whether the daemon checks the key. */
  readonly isKeyAsked: boolean
  readonly chosen: ChosenModels
  /** All models that the client offers to its user. */
  readonly models: readonly ClientModel[]
  /** A file with the models for Codex CLI; undefined: it uses its own list. */
  readonly codexCatalogue?: string | undefined
}

/** The key if the daemon checks none: most clients require one. */
export const anyKey = 'copilot-proxy'

/** Name of our entries in clients' files. */
export const providerName = 'copilot-proxy'

export interface ClientModel {
  /** Needs no quotes in a shell: a long context tier ends in `-long-context`. */
  readonly id: string
  readonly provider: string
  /** By caller API, the upstream API that serves it; null: none. */
  readonly routes: Readonly<Record<string, string | null>>
  /** Tokens of the longest prompt; undefined: not known. */
  readonly contextTokens: number | undefined
  /** The tier of `contextTokens`; undefined: the model has one tier. */
  readonly contextTier?: 'default' | 'long' | undefined
  /** Credits per million tokens in that tier; undefined: not stated. */
  readonly prices?: ClientPrices | undefined
  readonly outputTokens: number | undefined
  readonly vision: boolean
  /** False: upstream states that it calls none. */
  readonly tools: boolean
  readonly thinks: boolean
}

interface ClientPrices {
  readonly input: number | null
  readonly output: number | null
  readonly cache_read: number | null
  readonly cache_write: number | null
}

const [bracketMark, wordMark] = longContextMarks

export function shellSafeId(id: string): string {
  return id.endsWith(bracketMark) ? id.slice(0, -bracketMark.length) + wordMark : id
}

/** Claude Code infers the size of the window from the mark `[1m]`. */
export function bracketId({ id, contextTier }: ClientModel): string {
  return contextTier === 'long' && id.endsWith(wordMark) ? id.slice(0, -wordMark.length) + bracketMark : id
}

export interface ChosenModels {
  readonly main: ClientModel
  /** For titles, summaries and the like. */
  readonly small: ClientModel
  /** For Claude Code’s names `opus` and `sonnet`. */
  readonly opus: ClientModel
  readonly sonnet: ClientModel
}

/** The API that the model's upstream speaks itself: requests in it need no translation. */
export function nativeDialect({ routes }: ClientModel): 'messages' | 'responses' | 'chat' {
  return (['messages', 'responses', 'chat'] as const).find((dialect) => routes[dialect] === dialect) ?? 'chat'
}

/** A program whose settings file `setup` changes. `launch` starts it too. */
export type FileClientId = 'claude' | 'codex' | 'opencode'

/** A program that `launch` starts. */
export type ClientId = FileClientId | 'copilot'

interface ClientFacts {
  /** For people. */
  readonly name: string
  /** What its command is called. */
  readonly program: string
  readonly install: string
}

export const clients: Readonly<Record<ClientId, ClientFacts>> = {
  claude: {
    name: 'Claude Code',
    program: 'claude',
    install: 'npm install -g @anthropic-ai/claude-code',
  },
  codex: { name: 'Codex CLI', program: 'codex', install: 'npm install -g @openai/codex' },
  opencode: { name: 'opencode', program: 'opencode', install: 'npm install -g opencode-ai' },
  copilot: { name: 'Copilot CLI', program: 'copilot', install: 'npm install -g @github/copilot' },
}
