import type { FastifyInstance } from 'fastify'
import type { KeyList } from '../../api/keys.ts'
import type { Config } from '../../config/schema.ts'
import { toKeyRows } from '../access/key-rows.ts'
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
    const rows = toKeyRows(server, toTotals(tallies, nowMs).by_key.last_30_days)
    return { keys: rows.filter(({ name }) => own === undefined || own.name === name) }
  })
}
