/** What the programs that call the proxy are told, by the environment and by files of their own. */
export interface ClientSettings {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly claude: ClaudeSettings | undefined
  readonly codex: CodexCliSettings | undefined
  readonly opencode: OpencodeSettings | undefined
}

/** `env` of Claude Code's settings.json, which goes before the environment. */
export interface ClaudeSettings {
  readonly path: string
  readonly env: Readonly<Record<string, string>>
  /** It is no plain JSON: Claude Code passes over all of it (seen with 2.1.329). */
  readonly isPassedOver: boolean
}

/** The provider that Codex CLI's config.toml chooses. */
export interface CodexCliSettings {
  readonly path: string
  /** `model_provider`; undefined: OpenAI's own. */
  readonly provider: string | undefined
  /** `base_url` of that provider. */
  readonly baseUrl: string | undefined
  /** `env_key` of that provider: the variable that has to hold a key. */
  readonly envKey: string | undefined
}

/** Of all its files together. */
export interface OpencodeSettings {
  readonly providers: readonly OpencodeProvider[]
  /** `enabled_providers`: all others are ignored. */
  readonly enabled: ProviderList | undefined
  /** `disabled_providers` */
  readonly disabled: ProviderList | undefined
}

export interface ProviderList {
  readonly path: string
  readonly names: readonly string[]
}

export interface OpencodeProvider {
  readonly path: string
  readonly name: string
  /** `@ai-sdk/anthropic`, say; undefined for a provider that opencode knows by name. */
  readonly npm: string | undefined
  readonly baseUrl: string
}
