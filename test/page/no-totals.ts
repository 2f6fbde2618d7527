import type { TotalsRow } from '../../src/api/usage.ts'

/** The sums of a period without requests. */
export const noTotals: TotalsRow = {
  requests: 0,
  errors: 0,
  premium_requests: null,
  input_tokens: 0,
  output_tokens: 0,
  cached_input_tokens: 0,
  cache_write_tokens: 0,
  cache_hit_rate: null,
  credits: null,
  estimated_credits: null,
  estimated: false,
}
