import { failed, ok, skipped, warning } from './check.ts'
import type { Findings } from './check.ts'
import { helpfulCommands } from './helpful-command.ts'
import type { Probe } from './probe.ts'

/** Tokens are counted in minutes. Ms. */
const warnsFromMs = 60_000
/** From here on certificates and logins are refused. Ms. */
const failsFromMs = 5 * 60_000

/** Compares this machine's clock with those of the hosts. Where they differ, the one nearest to it counts. */
export function judgeClock(probes: readonly Probe[], platform: NodeJS.Platform): Findings {
  const told = probes.flatMap((one) =>
    one.kind === 'reached' && one.aheadMs !== undefined ? [{ host: one.host, aheadMs: one.aheadMs }] : [],
  )
  const [nearest] = told.toSorted((a, b) => Math.abs(a.aheadMs) - Math.abs(b.aheadMs))
  if (nearest === undefined) return skipped('No reply told the time')
  const { host, aheadMs } = nearest
  const off = Math.abs(aheadMs)
  if (off <= warnsFromMs) return ok(`As ${host} has it`)
  const detail = `${lengthOf(off)} ${aheadMs > 0 ? 'ahead of' : 'behind'} ${host}`
  const fix = `Set the clock of this machine by the network: ${helpfulCommands(platform).setClock}`
  return off > failsFromMs ? failed(detail, fix) : warning(detail, fix)
}

function lengthOf(ms: number): string {
  const seconds = Math.round(ms / 1000)
  if (seconds < 120) return `${seconds} seconds`
  const minutes = Math.round(seconds / 60)
  return minutes < 120 ? `${minutes} minutes` : `${Math.round(minutes / 60)} hours`
}
