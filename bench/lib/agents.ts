import { setTimeout as sleep } from 'node:timers/promises'
import { ask, askMany, load } from './load.ts'
import type { Load } from './load.ts'
import { askProbe } from './process.ts'
import type { Running } from './process.ts'

// One process that serves many agents at once.

const agents = 16
const burst = 5000

interface Target extends Running {
  readonly url: string
}

/** Events per second through one process, with upstream sending to all agents as fast as it can. */
export async function eventsPerSecond({ url }: Target): Promise<number> {
  const startedAt = performance.now()
  await askMany(url, load('chat', `[demo:frames ${burst} 1]`), agents, agents)
  return (agents * burst * 1000) / (performance.now() - startedAt)
}

/** The longest event loop delay while the agents read tokens and `request` arrives. Ms. */
export async function stallMs(target: Target, request: Load): Promise<number> {
  const streaming = askMany(target.url, load('chat', '[demo:frames 200 1][demo:slow 4]'), agents, agents)
  // The streams have begun by then.
  await sleep(200)
  await askProbe(target, 'stall')
  await ask(target.url, request)
  await streaming
  return askProbe(target, 'stall')
}
