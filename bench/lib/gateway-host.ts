import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { WebSocketServer } from 'ws'
import type { WebSocket } from 'ws'
import { loadConfig } from '../../src/config/load.ts'
import { openGateway } from '../../src/gateway/open-gateway.ts'
import { createProviderTools } from '../../src/gateway/provider-tools.ts'
import { createTools } from '../../src/tools/create-tools.ts'
import type { Session } from '../../src/tools/session.ts'
import { median, residentBytes, startNode, stop } from './process.ts'

// One process that holds a gateway, and a bare WebSocket server beside it. Prints the figures of both as one line of JSON.
// The providers are in processes of their own. Needs --expose-gc.

const [rounds, callsPerRound, idleProviders] = [9, 2000, 300]
const provider = new URL('provider.ts', import.meta.url).pathname

const loaded = loadConfig({
  file: undefined,
  env: { COPILOT_PROXY_GATEWAY_PORT: '0', COPILOT_PROXY_GATEWAY_TRUSTED_PROGRAMS: 'p0' },
  flags: [],
})
if (!loaded.ok) throw new Error('the configuration is invalid')
const config = loaded.value
const ignore = (): void => {}
const log = { debug: ignore, info: ignore, warn: ignore, error: ignore }

// No tool of this bench touches the folder or the policy.
const session = {
  id: 'bench',
  name: 'bench',
  folder: { root: '/' },
  signal: new AbortController().signal,
} as unknown as Session

function setTimer(run: () => void, delayMs: number): () => void {
  const timer = setTimeout(run, delayMs).unref()
  return () => clearTimeout(timer)
}

const providers = createProviderTools(setTimer)
const tools = createTools({
  sources: [providers],
  limits: () => ({ isReadOnly: true, maxFileBytes: 4e6, timeoutMs: 60_000 }),
  log,
  now: () => performance.now(),
})
const gateway = await openGateway({
  config: () => config,
  workspaces: { sessions: () => [session], onChange: () => ignore, tools },
  providers,
  push: ignore,
  lifecycle: () => ignore,
  dataDir: undefined,
  discoveryDir: undefined,
  pid: process.pid,
  processStart: async () => undefined,
  portHolder: async () => '',
  holdSecrets: ignore,
  log,
  now: () => performance.now(),
  setTimer,
  randomHex: (bytes) => randomBytes(bytes).toString('hex'),
  pingMs: 30_000,
})

async function untilBound(count: number): Promise<void> {
  while (providers.bound().length < count) await sleep(10)
}

/** Mean time of one after the other. Microseconds. */
async function timeEach(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now()
  for (let call = 0; call < callsPerRound; call += 1) await work()
  return ((performance.now() - startedAt) / callsPerRound) * 1000
}

const bare = new WebSocketServer({ port: 0, host: '127.0.0.1', perMessageDeflate: false })
await once(bare, 'listening')
const address = bare.address() as { port: number }
const connected = once(bare, 'connection')
const echo = await startNode([provider, `ws://127.0.0.1:${address.port}`])
const [socket] = (await connected) as [WebSocket]
const answering = await startNode([provider, gateway.url() ?? '', gateway.token(), session.id])
await untilBound(1)

const request = JSON.stringify({ type: 'tool.call', id: 'call-1', sessionId: 'bench', tool: 'echo0', args: {} })
const askBare = (): Promise<unknown> => {
  const answer = once(socket, 'message')
  socket.send(request)
  return answer
}
const { signal } = new AbortController()
const askTool = () => tools.call({ session, name: 'echo0', args: {}, caller: 'bench', signal })

const figures: { bare: number; gateway: number }[] = []
for (let round = -2; round < rounds; round += 1) {
  const seen = { bare: await timeEach(askBare), gateway: await timeEach(askTool) }
  if (round >= 0) figures.push(seen)
}
await Promise.all([stop(echo), stop(answering)])
bare.close()
while (providers.bound().length > 0) await sleep(10)

/** Memory without garbage: what is resident, and what JavaScript holds. Bytes. */
async function collected() {
  for (let count = 0; count < 5; count += 1) {
    global.gc?.()
    await sleep(200)
  }
  const { heapUsed, external } = process.memoryUsage()
  return { resident: residentBytes(process.pid), held: heapUsed + external }
}

const before = await collected()
const idle = await startNode([provider, gateway.url() ?? '', gateway.token(), session.id, String(idleProviders)])
await untilBound(idleProviders)
const after = await collected()
// Resident memory may have been free before, and sockets are not JavaScript's: the larger figure counts.
const perProvider = Math.max(after.resident - before.resident, after.held - before.held) / idleProviders
await stop(idle)
await gateway.close(0)

const result = {
  bareMicros: median(figures.map((round) => round.bare)),
  gatewayMicros: median(figures.map((round) => round.gateway)),
  ratio: median(figures.map((round) => round.gateway / round.bare)),
  bytesPerProvider: perProvider,
}
process.stdout.write(`${JSON.stringify(result)}\n`)
process.exit()
