import { callerKeyVariable } from '../config/environment.ts'
import { providerName } from './target.ts'
import type { Target } from './target.ts'

type TomlValue = string | number

/** What Codex CLI is told of the proxy. Source: developers.openai.com/codex/config (2026-11), docs/codex-wire.md. */
export interface CodexSettings {
  /** Of the file itself, before any table. */
  readonly root: Readonly<Record<string, TomlValue>>
  /** Of the table `model_providers.copilot-proxy`. */
  readonly provider: Readonly<Record<string, TomlValue>>
}

/** The key itself is in no setting: Codex reads it from the variable that `env_key` names. */
export function codexSettings({ url, isKeyAsked, chosen }: Target): CodexSettings {
  const { id, contextTokens, contextTier } = chosen.main
  return {
    root: {
      model: id,
      model_provider: providerName,
      // It knows no size of models that are not OpenAI's, and none of Copilot's tiers.
      ...((!id.startsWith('gpt-') || contextTier !== undefined) &&
        contextTokens !== undefined && { model_context_window: contextTokens }),
    },
    provider: {
      name: providerName,
      base_url: `${url}/v1`,
      wire_api: 'responses',
      ...(isKeyAsked && { env_key: callerKeyVariable }),
    },
  }
}

/** As options of its command line, which go before its files. */
export function codexOptions(target: Target): readonly string[] {
  const { root, provider } = codexSettings(target)
  const entries = [
    ...Object.entries(provider).map(([key, value]) => [`model_providers.${providerName}.${key}`, value] as const),
    ...Object.entries(root),
  ]
  return entries.flatMap(([key, value]) => ['-c', `${key}=${tomlValue(value)}`])
}

/** A TOML string is a JSON string, but for what neither a URL nor a model id holds. */
export function tomlValue(value: TomlValue): string {
  return JSON.stringify(value)
}
