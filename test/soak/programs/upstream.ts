import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { MODEL_LIST } from '../../upstreams/copilot/models.ts'
import { startCopilot } from '../../upstreams/copilot.ts'
import { dialectOfPath } from '../../../src/translate/dialects.ts'
import { callArguments, planOf, quietPlan, textPieces } from '../lib/plan.ts'
import type { Plan, PlannedFault } from '../lib/plan.ts'
import type { UpstreamStats } from '../lib/reports.ts'
import { wireAnswers } from '../lib/wire-answers.ts'
import type { WireAnswer } from '../lib/wire-answers.ts'

// The Copilot that load is put on, in a process of its own: every answer is what the prompt's plan says, with its faults.
// The simulated GitHub gives out the tokens, and they are checked here.

let number = 0
let openStreams = 0
let abandoned = 0
let heldBack = 0
let refusedTokens = 0
const refusedSeeds = new Set<number>()
const injected: Partial<Record<PlannedFault, number>> = {}
const sockets = new Set<Socket>()

const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
  void answer(request, response)
})
// One probe of every socket is enough: a client in a hurry makes thousands at once.
server.listen({ port: 0, host: '127.0.0.1', backlog: 4096 })
await new Promise((resolve) => server.once('listening', resolve))
// A TCP server that listens has an address with a port.
const { port } = server.address() as AddressInfo
const url = `http://127.0.0.1:${port}`
server.on('connection', (socket) => {
  sockets.add(socket)
  socket.once('close', () => sockets.delete(socket))
})

const github = await startCopilot({
  settings: { apiUrl: url, refreshInSeconds: Number(process.env['SOAK_REFRESH_SECONDS'] ?? 1500) },
})
// For the raw pipe, which asks nobody for tokens: one that is not among those that expire.
const pipeToken = 'soak-pipe-token'

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = await readText(request).catch(() => undefined)
  if (body === undefined) return
  const plan = planOf(body)
  const bearer = /^bearer (\S+)$/i.exec(request.headers.authorization ?? '')?.[1] ?? ''
  // No token dies twice within one request: on a machine that is short of time the second one would die on its way.
  const isRefused = bearer !== pipeToken && !github.tokens.isCopilotLive(bearer) && !refusedSeeds.has(plan?.seed ?? 0)
  if (isRefused) {
    refusedTokens += 1
    if (plan !== undefined) refusedSeeds.add(plan.seed)
    response.writeHead(401, { 'content-type': 'text/plain' }).end('unauthorized: token expired')
    return
  }
  const path = request.url ?? ''
  if (path === '/models') return json(response, MODEL_LIST)
  if (path === '/v1/messages/count_tokens') return json(response, JSON.stringify({ input_tokens: body.length }))
  if (path === '/embeddings') {
    return json(
      response,
      JSON.stringify({
        object: 'list',
        model: 'soak',
        data: [{ object: 'embedding', index: 0, embedding: [0.5, -1, body.length] }],
        usage: { prompt_tokens: 1, total_tokens: 1 },
      }),
    )
  }
  const dialect = dialectOfPath(path)
  if (dialect === undefined) {
    response.writeHead(404).end()
    return
  }
  number += 1
  openStreams += 1
  try {
    await stream(response, wireAnswers[dialect.id](String(number)), plan ?? quietPlan)
  } finally {
    openStreams -= 1
  }
}

function json(response: ServerResponse, text: string): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(text)
}

async function readText(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString()
}

async function stream(response: ServerResponse, wire: WireAnswer, plan: Plan): Promise<void> {
  const { fault } = plan
  const left = new AbortController()
  response.once('close', () => {
    if (response.writableFinished) return
    left.abort()
  })
  if (response.closed) left.abort()
  if (fault !== 'none') injected[fault] = (injected[fault] ?? 0) + 1
  if (fault === 'silent') {
    if (!response.closed) await new Promise((resolve) => response.once('close', resolve))
    abandoned += 1
    return
  }
  if (fault === 'reset-first') {
    response.socket?.resetAndDestroy()
    return
  }
  if (fault === 'status-500') {
    response.writeHead(500, { 'content-type': 'application/json' }).end('{"error":{"message":"soak","code":"x"}}')
    return
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  const write = async (text: string): Promise<void> => {
    if (response.write(text) || response.closed) return
    heldBack += 1
    await new Promise<void>((resolve) => {
      const go = (): void => {
        response.off('drain', go)
        response.off('close', go)
        resolve()
      }
      response.once('drain', go)
      response.once('close', go)
    })
  }
  const middle = Math.ceil(plan.events / 2)
  try {
    let pending = wire.open()
    for (const [at, piece] of textPieces(plan).entries()) {
      if (plan.gapMs > 0) await sleep(plan.gapMs, undefined, { signal: left.signal })
      if (left.signal.aborted) break
      if (at === middle && fault !== 'none') {
        if (fault === 'reset-mid') response.socket?.resetAndDestroy()
        else response.end(fault === 'error-mid' ? wire.error() : '')
        return
      }
      await write(pending + wire.text(plan.stamped ? `@${process.hrtime.bigint()};` : piece))
      pending = ''
    }
    if (plan.call) for (const frame of wire.call(callArguments(plan))) await write(frame)
    response.end(pending + wire.close())
  } catch {
    // The client left while the stream paused.
  }
  if (left.signal.aborted) abandoned += 1
}

process.on('message', (message: { readonly id: number; readonly ask: 'stats' | 'expire' | 'drop' }) => {
  if (message.ask === 'expire') github.tokens.expireAll()
  if (message.ask === 'drop') for (const socket of sockets) socket.destroy()
  const stats: UpstreamStats = {
    requests: number,
    openStreams,
    openSockets: sockets.size,
    abandoned,
    heldBack,
    refusedTokens,
    exchanges: github.exchanges(),
    injected,
  }
  process.send?.({ id: message.id, value: stats })
})
process.send?.({ ready: { url, githubUrl: github.url, githubToken: github.tokens.issueGithub(), pipeToken } })
