import type { FastifyInstance } from 'fastify'
import type { KeyList } from '../../api/keys.ts'
import { keyLimitsOf, namedApiKeys } from '../../config/api-keys.ts'
import type { Config } from '../../config/schema.ts'
import { rateRuleOf } from '../serve.ts'
import { dayOf } from '../../usage/tally.ts'
import { firstDay, toTotals } from '../../usage/periods.ts'
import type { UsageRecorder } from '../../usage/recorder.ts'

export interface KeyRouteDeps {
  readonly config: () => Config
  readonly totals: Pick<UsageRecorder, 'since'>
  /** Ms since epoch. */
  readonly now: () => number
}

/** `GET /keys`: names, limits and use of the keys; for a key its own row. */
export function registerKeyRoutes(app: FastifyInstance, { config, totals, now }: KeyRouteDeps): void {
  app.get('/keys', ({ caller: { key: own } }): KeyList => {
    const { server } = config()
    const nowMs = now()
    const since = dayOf(nowMs, 29)
    const tallies = totals.since(firstDay(nowMs)).filter(({ day }) => day >= since)
    const used = new Map(toTotals(tallies, nowMs).by_key.last_30_days.map((row) => [row.key?.toLowerCase(), row]))
    const named = namedApiKeys(server.apiKeys).filter(({ name }) => own === undefined || own.name === name)
    return {
      keys: named.map(({ name, entry }) => {
        const limits = keyLimitsOf(server, name)
        const use = used.get(name.toLowerCase())
        return {
          name,
          stored: entry.form,
          requests_per_minute: rateRuleOf(server, name)?.perMinute ?? null,
          credits_per_day: limits?.['credits-per-day'] ?? null,
          models: limits?.models === undefined ? null : [...limits.models],
          account: limits?.account ?? null,
          requests: use?.requests ?? 0,
          last_day: use?.last_day ?? null,
          credits: use?.credits ?? null,
        }
      }),
    }
  })
}
