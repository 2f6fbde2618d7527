import { bracketId } from './client-model.ts'
import type { Target } from './target.ts'

/**
 * Everything Claude Code needs. `ANTHROPIC_SMALL_FAST_MODEL` is what older versions call the Haiku one.
 * Source: code.claude.com/docs/en/model-config, code.claude.com/docs/en/settings, code.claude.com/docs/en/env-vars (2026-11).
 */
export function claudeVariables({ url, key, chosen }: Target): Readonly<Record<string, string>> {
  const { main, small, opus, sonnet } = chosen
  const { contextTokens, contextTier } = main
  const isKnownSize = main.id.startsWith('claude-')
  return {
    ANTHROPIC_BASE_URL: url,
    ANTHROPIC_AUTH_TOKEN: key,
    ANTHROPIC_MODEL: bracketId(main),
    ANTHROPIC_DEFAULT_OPUS_MODEL: bracketId(opus),
    ANTHROPIC_DEFAULT_SONNET_MODEL: bracketId(sonnet),
    ANTHROPIC_DEFAULT_HAIKU_MODEL: small.id,
    ANTHROPIC_SMALL_FAST_MODEL: small.id,
    // What a request is for, in headers: a compaction is not the user's doing (docs/copilot-wire.md, "Purpose").
    CLAUDE_CODE_GATEWAY_HINT_HEADERS: '1',
    // The sizes of Claude models it knows itself, and not those of Copilot's tiers: a newer model it takes for a long one.
    ...(contextTokens !== undefined &&
      (!isKnownSize || contextTier !== undefined) && {
        [isKnownSize ? 'CLAUDE_CODE_AUTO_COMPACT_WINDOW' : 'CLAUDE_CODE_MAX_CONTEXT_TOKENS']: String(contextTokens),
      }),
  }
}

/**
 * With these Claude Code asks another service, or by another way.
 * Source: code.claude.com/docs/en/third-party-integrations, code.claude.com/docs/en/iam (2026-11); the last four as
 * Claude Code 2.1.329 behaves.
 */
export const claudeDetours = [
  'CLAUDE_CODE_USE_BEDROCK',
  'CLAUDE_CODE_USE_VERTEX',
  'CLAUDE_CODE_USE_FOUNDRY',
  'CLAUDE_CODE_USE_ANTHROPIC_AWS',
  'CLAUDE_CODE_USE_ANTHROPIC_GOOGLE_CLOUD',
  'CLAUDE_CODE_USE_MANTLE',
  'ANTHROPIC_UNIX_SOCKET',
] as const

/** What would take Claude Code past the proxy, or give it another credential. */
export const claudeConflicts = ['ANTHROPIC_API_KEY', 'CLAUDE_CODE_OAUTH_TOKEN', ...claudeDetours] as const

/**
 * A settings file to lay over all others, for this session alone: `env` of settings files, of the user's own as well as
 * of the project's, goes before the environment.
 * @param wayThere variables of the way to the proxy
 */
export function claudeOverlay(target: Target, wayThere: Readonly<Record<string, string>>): string {
  // An empty one counts as not set.
  const none = Object.fromEntries(claudeConflicts.map((name) => [name, '']))
  return JSON.stringify({ env: { ...none, ...wayThere, ...claudeVariables(target) } })
}
