import type { ModelTraits } from '../model-traits.ts'

/** The family of a model, read from its names. Parameters differ by family, not by provider. */
export type ModelFamily =
  /** `major` is absent for OpenAI models without a generation in their id. */
  | { readonly kind: 'gpt'; readonly major?: number; readonly minor?: number }
  | { readonly kind: 'o-series'; readonly generation: number }
  /** `version` is absent if the id has none; rules for a version do not apply then. */
  | {
      readonly kind: 'claude'
      readonly tier?: string
      readonly version?: { readonly major: number; readonly minor: number }
    }
  | { readonly kind: 'gemini' }
  | { readonly kind: 'grok' }
  /** By Moonshot. `generation` is 2 for K2.x, and absent if the id has none. */
  | { readonly kind: 'kimi'; readonly generation?: number }
  | { readonly kind: 'other' }

// `claude-opus-4.8`, `claude-opus-4-8-20260101`, `claude-sonnet-4`, `claude-opus-4.6-1m`: dates and `1m` are no minor version.
const CLAUDE_TIER_FIRST = /claude-([a-z]+)-(\d{1,2})(?:[.-](\d{1,2}))?(?![\da-z])/
// `claude-3.7-sonnet`, `claude-3-5-sonnet-20241022`
const CLAUDE_VERSION_FIRST = /claude-(\d)(?:[.-](\d))?-([a-z]+)/

/**
 * Reads the family from the id, else from upstream's `capabilities.family`, else from the vendor. Ids occur with dots,
 * dashes, dates and variants (`-1m`, `-fast`) (reference: Copilot model list, March to September 2026).
 */
export function modelFamily(model: ModelTraits): ModelFamily {
  return familyOfName(model.id) ?? familyOfName(model.family) ?? familyOfVendor(model.vendor ?? '')
}

/** Chat models with hidden reasoning, which require `max_completion_tokens` and default sampling. */
export function isReasoningGpt(family: ModelFamily): boolean {
  return family.kind === 'o-series' || (family.kind === 'gpt' && (family.major ?? 0) >= 5)
}

/** False for another family or an unknown version. */
export function isClaudeFrom(family: ModelFamily, major: number, minor: number): boolean {
  if (family.kind !== 'claude' || family.version === undefined) return false
  const { version } = family
  return version.major > major || (version.major === major && version.minor >= minor)
}

/** False for another family or an unknown generation. */
export function isGptFrom(family: ModelFamily, major: number, minor: number): boolean {
  if (family.kind !== 'gpt' || family.major === undefined) return false
  return family.major > major || (family.major === major && (family.minor ?? 0) >= minor)
}

function familyOfName(name: string): ModelFamily | undefined {
  const id = name.toLowerCase()
  if (id.includes('claude')) return claude(id)
  if (id.includes('gemini')) return { kind: 'gemini' }
  if (id.includes('grok')) return { kind: 'grok' }
  const kimi = /kimi(?:-?k(\d))?/.exec(id)
  if (kimi) return kimi[1] === undefined ? { kind: 'kimi' } : { kind: 'kimi', generation: Number(kimi[1]) }
  // One digit only: `gpt-41-copilot` and `gpt-35-turbo` are 4.1 and 3.5.
  const gpt = /gpt-?(\d)(?:\.(\d+))?/.exec(id)
  if (gpt) return { kind: 'gpt', major: Number(gpt[1]), ...(gpt[2] !== undefined && { minor: Number(gpt[2]) }) }
  const o = /(?:^|\/)o(\d)(?:-|$)/.exec(id)
  if (o) return { kind: 'o-series', generation: Number(o[1]) }
  return undefined
}

function familyOfVendor(vendor: string): ModelFamily {
  const name = vendor.toLowerCase()
  if (name.includes('anthropic')) return { kind: 'claude' }
  if (name.includes('openai')) return { kind: 'gpt' }
  if (name.includes('google')) return { kind: 'gemini' }
  if (name.includes('xai')) return { kind: 'grok' }
  if (name.includes('moonshot')) return { kind: 'kimi' }
  return { kind: 'other' }
}

function claude(id: string): ModelFamily {
  const tierFirst = CLAUDE_TIER_FIRST.exec(id)
  if (tierFirst) return claudeVersion(tierFirst[1], tierFirst[2], tierFirst[3])
  const versionFirst = CLAUDE_VERSION_FIRST.exec(id)
  if (versionFirst) return claudeVersion(versionFirst[3], versionFirst[1], versionFirst[2])
  return { kind: 'claude' }
}

function claudeVersion(tier = '', major = '', minor = '0'): ModelFamily {
  // `claude-opus-41` is 4.1.
  const dotless = major.length === 2
  return {
    kind: 'claude',
    tier,
    version: { major: Number(dotless ? major[0] : major), minor: Number(dotless ? major[1] : minor) },
  }
}
