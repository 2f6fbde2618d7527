import type { Target } from './target.ts'

/**
 * Everything Claude Code needs. `ANTHROPIC_SMALL_FAST_MODEL` is what older versions call the Haiku one.
 * Source: code.claude.com/docs/en/model-config, code.claude.com/docs/en/settings (2026-11).
 */
export function claudeVariables({ url, key, chosen }: Target): Readonly<Record<string, string>> {
  const { main, small, opus, sonnet } = chosen
  return {
    ANTHROPIC_BASE_URL: url,
    ANTHROPIC_AUTH_TOKEN: key,
    ANTHROPIC_MODEL: main.id,
    ANTHROPIC_DEFAULT_OPUS_MODEL: opus.id,
    ANTHROPIC_DEFAULT_SONNET_MODEL: sonnet.id,
    ANTHROPIC_DEFAULT_HAIKU_MODEL: small.id,
    ANTHROPIC_SMALL_FAST_MODEL: small.id,
    // The sizes of Claude models it knows itself.
    ...(!main.id.startsWith('claude-') &&
      main.contextTokens !== undefined && { CLAUDE_CODE_MAX_CONTEXT_TOKENS: String(main.contextTokens) }),
  }
}

/**
 * What would take Claude Code past the proxy, or give it another credential.
 * Source: code.claude.com/docs/en/third-party-integrations, code.claude.com/docs/en/iam (2026-11).
 */
export const claudeConflicts = [
  'ANTHROPIC_API_KEY',
  'CLAUDE_CODE_OAUTH_TOKEN',
  'CLAUDE_CODE_USE_BEDROCK',
  'CLAUDE_CODE_USE_VERTEX',
  'CLAUDE_CODE_USE_FOUNDRY',
] as const

/**
 * A settings file to lay over the user's own, for this session alone; undefined where theirs set nothing that matters.
 * Needed because `env` of settings files goes before the environment.
 * @param own `env` of the user's own settings
 */
export function claudeOverlay(target: Target, own: Readonly<Record<string, string>>): string | undefined {
  const wanted: Readonly<Record<string, string>> = {
    ...claudeVariables(target),
    // An empty one counts as not set.
    ...Object.fromEntries(claudeConflicts.map((name) => [name, ''])),
  }
  const env = Object.fromEntries(
    Object.entries(wanted).filter(([name, value]) => own[name] !== undefined && own[name] !== value),
  )
  return Object.keys(env).length === 0 ? undefined : JSON.stringify({ env })
}
