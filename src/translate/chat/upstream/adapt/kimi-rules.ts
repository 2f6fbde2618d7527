import type { Outcome } from '../../request-changes.ts'
import { isKimi } from './call-rules.ts'
import type { ChatDraft, Rule, Target } from './rule.ts'

/** Other values make Kimi repeat itself without end. */
const sampling = { temperature: 1, top_p: 0.95 } as const

export const kimiRule: Rule = {
  name: 'sampling that Kimi needs',
  source: 'parameters, Kimi',
  applies: isKimi,
  adapt: fixSampling,
}

function fixSampling({ body: request }: ChatDraft, { traits }: Target): Outcome {
  const changed = Object.entries(sampling).filter(([field, value]) => (request[field] ?? value) !== value)
  return {
    patch: sampling,
    warnings: changed.map(([field, value]) => ({
      code: 'clamped',
      field,
      detail: `${traits.id} accepts one value only; sent as ${value}`,
    })),
  }
}
