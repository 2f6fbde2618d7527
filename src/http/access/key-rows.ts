import type { KeyRow } from '../../api/keys.ts'
import type { KeyTotals } from '../../api/usage.ts'
import { keyLimitsOf, namedApiKeys } from '../../config/api-keys.ts'
import type { Config } from '../../config/schema.ts'

/** The keys of a configuration with their limits and use. @param totals of the last 30 days */
export function toKeyRows(server: Config['server'], totals: readonly KeyTotals[]): readonly KeyRow[] {
  const used = new Map(totals.map((row) => [row.key?.toLowerCase(), row]))
  return namedApiKeys(server.apiKeys).map(({ name, entry }) => {
    const limits = keyLimitsOf(server, name)
    const use = used.get(name.toLowerCase())
    return {
      name,
      stored: entry.form,
      requests_per_minute: limits?.['requests-per-minute'] ?? (server.maxRequestsPerMinute || null),
      credits_per_day: limits?.['credits-per-day'] ?? null,
      models: limits?.models === undefined ? null : [...limits.models],
      account: limits?.account ?? null,
      requests: use?.requests ?? 0,
      last_day: use?.last_day ?? null,
      credits: use?.credits ?? null,
    }
  })
}
