import { bracketId } from './target.ts'
import type { ChosenModels, Target } from './target.ts'

/**
 * Everything Claude Code needs. Older versions read `ANTHROPIC_SMALL_FAST_MODEL` for the Haiku model.
 * Source: code.claude.com/docs/en/model-config, code.claude.com/docs/en/settings, code.claude.com/docs/en/env-vars (2026-11).
 */
export function claudeVariables({ url, key, chosen }: Target): Readonly<Record<string, string>> {
  const { main, small, opus, sonnet } = chosen
  const { contextTokens, contextTier } = main
  const outputTokens = longestAnswer(chosen)
  const isKnownSize = main.id.startsWith('claude-')
  return {
    ANTHROPIC_BASE_URL: url,
    ANTHROPIC_AUTH_TOKEN: key,
    ANTHROPIC_MODEL: bracketId(main),
    ANTHROPIC_DEFAULT_OPUS_MODEL: bracketId(opus),
    ANTHROPIC_DEFAULT_SONNET_MODEL: bracketId(sonnet),
    ANTHROPIC_DEFAULT_HAIKU_MODEL: small.id,
    ANTHROPIC_SMALL_FAST_MODEL: small.id,
    // States the purpose of requests in headers: the user does not initiate a compaction (docs/copilot-wire.md, "Purpose").
    CLAUDE_CODE_GATEWAY_HINT_HEADERS: '1',
    // Adds the models of the proxy to those that its user can choose.
    CLAUDE_CODE_ENABLE_GATEWAY_MODEL_DISCOVERY: '1',
    // It asks for 32,000 tokens and more, which is above the limits of many models.
    ...(outputTokens !== undefined && { CLAUDE_CODE_MAX_OUTPUT_TOKENS: String(outputTokens) }),
    // It has the sizes of Claude models built in, but not those of Copilot's tiers, and assumes a long window for newer models.
    ...(contextTokens !== undefined &&
      (!isKnownSize || contextTier !== undefined) && {
        [isKnownSize ? 'CLAUDE_CODE_AUTO_COMPACT_WINDOW' : 'CLAUDE_CODE_MAX_CONTEXT_TOKENS']: String(contextTokens),
      }),
  }
}

/** Claude Code asks for an answer of this length at most, unless it is told a limit. */
const defaultAnswer = 32_000

/**
 * The limit of one setting, which holds for every model of the session: the lowest one of these models, but no lower for the main
 * model than what Claude Code asks for by itself. Undefined: not known.
 */
function longestAnswer({ main, small, opus, sonnet }: ChosenModels): number | undefined {
  if (main.outputTokens === undefined) return undefined
  const lowest = Math.min(...[small, opus, sonnet].flatMap(({ outputTokens }) => outputTokens ?? []))
  return Math.min(main.outputTokens, Math.max(lowest, defaultAnswer))
}

/**
 * These make Claude Code call another service or use another transport.
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

/** These make Claude Code bypass the proxy or use another credential. */
export const claudeConflicts = ['ANTHROPIC_API_KEY', 'CLAUDE_CODE_OAUTH_TOKEN', ...claudeDetours] as const

/** Settings that override all others for one session: the `env` of users' and projects' settings overrides the environment. */
export function claudeOverlay(target: Target, noProxy: Readonly<Record<string, string>>): string {
  // Empty counts as unset.
  const unset = Object.fromEntries(claudeConflicts.map((name) => [name, '']))
  return JSON.stringify({ env: { ...unset, ...noProxy, ...claudeVariables(target) } })
}
