import { callerKeyVariable } from '../config/environment.ts'
import { providerName } from './target.ts'
import type { Target } from './target.ts'

type TomlValue = string | number

/** Source: developers.openai.com/codex/config (2026-11), docs/codex-wire.md. */
export interface CodexSettings {
  /** Before any table. */
  readonly root: Readonly<Record<string, TomlValue>>
  /** In the table `model_providers.copilot-proxy`. */
  readonly provider: Readonly<Record<string, TomlValue>>
}

/** No setting holds the key: Codex reads it from the variable that `env_key` names. */
export function codexSettings({ url, isKeyAsked, chosen, codexCatalogue }: Target): CodexSettings {
  const { id, contextTokens, contextTier } = chosen.main
  // It has the sizes of OpenAI's models built in, but not those of Copilot's tiers.
  const isUnknownSize = !id.startsWith('gpt-') || contextTier !== undefined
  return {
    root: {
      model: id,
      model_provider: providerName,
      // The catalogue has the size of each model, and the setting would override it for all of them.
      ...(codexCatalogue !== undefined
        ? { model_catalog_json: codexCatalogue }
        : isUnknownSize && contextTokens !== undefined && { model_context_window: contextTokens }),
    },
    provider: {
      name: providerName,
      base_url: `${url}/v1`,
      wire_api: 'responses',
      ...(isKeyAsked && { env_key: callerKeyVariable }),
    },
  }
}

/** Command-line options, which override its files. */
export function codexOptions(target: Target): readonly string[] {
  const { root, provider } = codexSettings(target)
  const entries = [
    ...Object.entries(provider).map(([key, value]) => [`model_providers.${providerName}.${key}`, value] as const),
    ...Object.entries(root),
  ]
  return entries.flatMap(([key, value]) => ['-c', `${key}=${tomlValue(value)}`])
}

/** JSON strings are TOML strings, except for characters that no URL, model id or path contains. */
export function tomlValue(value: TomlValue): string {
  return JSON.stringify(value)
}
