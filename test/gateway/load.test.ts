import { times } from '../thorough.ts'
import { expect, it, vi } from 'vitest'
import { ToolError } from '../../src/workspace/tool-error.ts'
import { authenticate, greet, openTestGateway, readMessage, toolOf, type RawProvider } from './support.ts'

/** Answers each call with its arguments, or closes the connection if `lose` returns true. */
function answerCalls(provider: RawProvider, lose: () => boolean = () => false): void {
  provider.socket.on('message', (data) => {
    const { type, id, args } = readMessage(data)
    if (type !== 'tool.call') return
    if (lose()) provider.socket.terminate()
    else provider.send({ type: 'tool.result', id, data: args })
  })
}

it(
  '50 providers with 100 tools each are offered, announced once, called and taken away',
  { timeout: 60_000 },
  async () => {
    const of = await openTestGateway()
    const announced: string[] = []
    const waiting = await Promise.all(Array.from({ length: 50 }, () => authenticate(of)))
    of.workspaces.tools.onListChanged((id) => announced.push(id))
    for (const [index, provider] of waiting.entries()) {
      const tools = Array.from({ length: 100 }, (_, number) => toolOf(`p${index}.t${number}`))
      provider.send({ type: 'hello', name: `p${index}`, protocolVersion: 2, session: of.session.id, tools })
      answerCalls(provider)
    }
    await vi.waitFor(() => expect(of.toolNames()).toHaveLength(5000), { timeout: 20_000 })
    await vi.waitFor(() => expect(announced.length).toBeGreaterThan(0))
    // A slow machine may need several batches of 200 ms, but not one for each provider.
    expect(announced.length).toBeLessThan(25)
    const results = await Promise.all(
      Array.from({ length: 50 }, (_, index) => of.call(`p${index}.t${index}`, { index })),
    )
    expect(results).toEqual(Array.from({ length: 50 }, (_, index) => ({ data: { index } })))
    for (const provider of waiting) provider.socket.terminate()
    await vi.waitFor(() => expect(of.toolNames()).toEqual([]), { timeout: 20_000 })
  },
)

it('of thousands of calls with 1 % lost connections, every call ends exactly once', { timeout: 120_000 }, async () => {
  const of = await openTestGateway()
  let received = 0
  const over = new AbortController()
  const ready = Promise.withResolvers<void>()
  /** Reconnects after each lost connection. */
  async function keepConnected(): Promise<void> {
    while (!over.signal.aborted) {
      const provider = await authenticate(of)
      // Listen before sending `hello`, because its answer and a call may arrive in one packet.
      answerCalls(provider, () => {
        received += 1
        return received % 100 === 0
      })
      provider.send({ type: 'hello', name: 'x', protocolVersion: 2, session: of.session.id, tools: [greet] })
      await provider.next()
      ready.resolve()
      await provider.closed
    }
  }
  const connecting = keepConnected()
  await ready.promise
  const calls = times(10_000)
  const ends = Array.from({ length: calls }, () => 0)
  let [ok, failed, lost] = [0, 0, 0]

  async function callAll(from: number, to: number): Promise<void> {
    for (let index = from; index < to; index += 1) {
      try {
        expect(await of.call('greet', { name: String(index) })).toEqual({ data: { name: String(index) } })
        ok += 1
      } catch (error) {
        const failure = error instanceof ToolError ? error.failure : undefined
        if (failure?.kind !== 'failed') throw error
        if (failure.errorCode === 'DISCONNECTED') lost += 1
        // While the provider is disconnected, its tool does not exist.
        else failed += 1
        await vi.waitFor(() => expect(of.toolNames()).toEqual(['greet']), { interval: 1, timeout: 10_000 })
      }
      ends[index] = (ends[index] ?? 0) + 1
    }
  }
  await Promise.all(Array.from({ length: 20 }, (_, lane) => callAll((lane * calls) / 20, ((lane + 1) * calls) / 20)))
  over.abort()
  for (const bound of of.providers.bound()) bound.replace()
  await connecting
  expect(ends.every((count) => count === 1)).toBe(true)
  expect(ok + failed + lost).toBe(calls)
  expect(lost).toBeGreaterThanOrEqual(calls / 200)
  expect(ok).toBeGreaterThan(calls / 2)
})
