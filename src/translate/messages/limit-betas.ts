import type { Warning } from '../warning.ts'

/** They ask for more room than a model has by itself, and nothing in the body says so. */
const LIMITS = /^(?:context-1m|output-128k)-/

/** A warning where one of these betas goes no further; what other betas allow is warned of where the body has it. */
export function warnLimits(betas: readonly string[]): readonly Warning[] {
  if (!betas.some((beta) => LIMITS.test(beta))) return []
  return [{ code: 'dropped', field: 'anthropic-beta', detail: 'the limits are those upstream lists for the model' }]
}
