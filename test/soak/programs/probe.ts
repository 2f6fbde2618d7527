import { readdirSync } from 'node:fs'
import type { Footprint } from '../lib/reports.ts'

// Loaded into the daemon with `--import`: tells its memory over the IPC channel when asked. Nothing of it ships.

const collect = globalThis.gc

async function footprint(): Promise<Footprint> {
  // Finalizers and closing handles take a turn each.
  for (let round = 0; round < 4; round += 1) {
    collect?.()
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  const { rss, heapUsed, external } = process.memoryUsage()
  const resources: Record<string, number> = {}
  for (const kind of process.getActiveResourcesInfo()) resources[kind] = (resources[kind] ?? 0) + 1
  return {
    rssBytes: rss,
    heapBytes: heapUsed,
    externalBytes: external,
    fds: readdirSync('/proc/self/fd').length,
    resources,
  }
}

process.on('message', (message: { readonly id: number; readonly ask: 'footprint' | 'rss' }) => {
  const answer = message.ask === 'rss' ? Promise.resolve(process.memoryUsage.rss()) : footprint()
  void answer.then((value) => process.send?.({ id: message.id, value }))
})
// The channel must not keep the daemon alive.
process.channel?.unref()
