/** Anthropic's one version. Source: Anthropic API reference, versions, 2026-11. */
const ANTHROPIC_VERSION = '2023-06-01'

const BETA_HEADER = 'anthropic-beta'

/** An empty list of betas is no header: upstream refuses it. */
export function encodeHeaders(betas: readonly string[]): Readonly<Record<string, string>> {
  return { 'anthropic-version': ANTHROPIC_VERSION, ...(betas.length > 0 && { [BETA_HEADER]: betas.join(',') }) }
}

/** The betas of a request that was encoded here. */
export function sentBetas(headers: Readonly<Record<string, string>> | undefined): readonly string[] {
  return headers?.[BETA_HEADER]?.split(',') ?? []
}
