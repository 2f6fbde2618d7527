import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { z } from 'zod'
import { defineTool } from '../../src/tools/define-tool.ts'
import type { Intent, Tool, ToolCall, ToolContext, ToolEffect } from '../../src/tools/tool.ts'
import { ToolError } from '../../src/workspace/tool-error.ts'
import { openTools, policyOf } from './session.ts'
import { failureOf } from '../workspace/tree.ts'

type Run = (context: ToolContext) => Promise<Record<string, unknown>>

function toolOf(effect: ToolEffect, run: Run, more: Partial<Pick<Tool, 'name' | 'timeoutMs'>> = {}): Tool {
  return defineTool(z.strictObject({ path: z.string().optional() }), {
    name: `test.${effect}`,
    description: '',
    effect,
    run: (_args, context) => run(context),
    ...more,
  })
}

/** A tool that ends only when it is stopped. */
const endless: Run = ({ signal }) =>
  new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(new Error('stopped')))
  })

const writes = (intent: Intent) =>
  toolOf('write', async ({ authorize }) => {
    await authorize(intent)
    return { done: true }
  })

const neverAsked = () => Promise.reject(new Error('nobody is to be asked'))

const runs = (argv: readonly string[]) =>
  toolOf('run', async ({ authorize }) => {
    await authorize({ argv })
    return { done: true }
  })

describe('a call', () => {
  it('is refused if there is no such tool', async () => {
    const { call } = await openTools([])
    expect(await failureOf(call('test.read'))).toMatchObject({ kind: 'failed' })
  })

  it('ends with a general failure if the tool throws another error', async () => {
    const { call, log } = await openTools([toolOf('read', () => Promise.reject(new Error('at /secret/place')))])
    const failure = await failureOf(call('test.read'))
    expect(JSON.stringify(failure)).not.toContain('secret')
    expect(log.lines.some(({ level }) => level === 'error')).toBe(true)
  })

  it('ends at its time limit', async () => {
    const { call } = await openTools([toolOf('read', endless, { timeoutMs: 10 })])
    expect(await failureOf(call('test.read'))).toEqual({ kind: 'timed_out', afterMs: 10 })
  })

  it('ends when its caller cancels it', async () => {
    const { call } = await openTools([toolOf('read', endless)])
    const controller = new AbortController()
    const running = failureOf(call('test.read', {}, { signal: controller.signal }))
    controller.abort()
    expect(await running).toEqual({ kind: 'cancelled' })
  })

  it('ends when its workspace is closed', async () => {
    const { call, close } = await openTools([toolOf('read', endless)])
    const running = failureOf(call('test.read'))
    close()
    expect(await running).toEqual({ kind: 'cancelled' })
  })

  it('does not start for a caller that has disconnected', async () => {
    const run = vi.fn<Run>(async () => ({}))
    const { call } = await openTools([toolOf('read', run)])
    expect(await failureOf(call('test.read', {}, { signal: AbortSignal.abort() }))).toEqual({ kind: 'cancelled' })
    expect(run).not.toHaveBeenCalled()
  })

  it('returns the result if the tool finished its work although it was stopped', async () => {
    const controller = new AbortController()
    const { call } = await openTools([
      toolOf('write', async ({ authorize }) => {
        await authorize({ writes: ['a'] })
        controller.abort()
        return { done: true }
      }),
    ])
    expect(await call('test.write', {}, { signal: controller.signal })).toEqual({ done: true })
  })

  it('passes progress on until it ends', async () => {
    let late: ToolContext['progress'] | undefined
    const { call } = await openTools([
      toolOf('read', async ({ progress }) => {
        late = progress
        progress({ text: 'one' })
        return {}
      }),
    ])
    const progress = vi.fn<ToolContext['progress']>()
    await call('test.read', {}, { progress })
    late?.({ text: 'two' })
    expect(progress.mock.calls).toEqual([[{ text: 'one' }]])
  })
})

describe('the gates', () => {
  it('are open for a write that the policy allows', async () => {
    const { call } = await openTools([writes({ writes: ['src/a.ts'] })])
    expect(await call('test.write')).toEqual({ done: true })
  })

  it('are closed for everybody if workspaces are read-only', async () => {
    const { call } = await openTools([writes({ writes: ['src/a.ts'] })], { limits: { isReadOnly: true } })
    const failure = await failureOf(call('test.write'))
    expect(failure).toMatchObject({ kind: 'denied' })
    expect(JSON.stringify(failure)).toContain('workspace.read-only')
  })

  describe('that are closed but deny nothing', () => {
    const options = { policy: policyOf(() => 'open' as const), limits: { isReadOnly: true } }
    const intent = { writes: ['src/a.ts'] }

    it('refuse a caller without a person, and name all that is closed', async () => {
      const { call } = await openTools([writes(intent)], options)
      const ofNobody = [{}, { isUnattended: true, approve: async () => true }]
      for (const more of ofNobody) {
        const failure = await failureOf(call('test.write', {}, more))
        expect(failure).toMatchObject({ kind: 'denied' })
        expect(JSON.stringify(failure)).toMatch(/workspace\.read-only.* open by the test/)
      }
    })

    it('ask a person, who is told what is closed', async () => {
      const { call } = await openTools([writes(intent)], options)
      const asked: unknown[] = []
      const approve: ToolCall['approve'] = async (intended, _tool, { closed }) => {
        asked.push([intended, closed])
        return true
      }
      expect(await call('test.write', {}, { approve })).toMatchObject({})
      expect(asked).toEqual([[intent, [expect.stringContaining('read-only'), 'open by the test']]])
      expect(await failureOf(call('test.write', {}, { approve: async () => false }))).toMatchObject({
        kind: 'approval_refused',
      })
    })

    it('refuse what was approved before one of them closed', async () => {
      let mode: true | 'open' = true
      const { call } = await openTools([writes(intent)], { policy: policyOf(() => mode) })
      const approve = async () => {
        mode = 'open'
        return true
      }
      expect(await failureOf(call('test.write', {}, { approve }))).toMatchObject({ kind: 'denied' })
    })

    it.each([
      ['the policy denies it', { policy: policyOf(() => false) }],
      ['the workspace is locked', { limits: { isReadOnly: true, isLocked: true } }],
    ])('ask nobody if %s', async (_, denying) => {
      const { call } = await openTools([writes(intent)], { ...options, ...denying })
      expect(await failureOf(call('test.write', {}, { approve: neverAsked }))).toMatchObject({ kind: 'denied' })
    })
  })

  it('are closed if the policy denies one of the files', async () => {
    const policy = policyOf((path) => path !== 'b')
    const { call } = await openTools([writes({ writes: ['a', 'b'] })], { policy })
    expect(await failureOf(call('test.write'))).toEqual({ kind: 'denied', detail: 'denied by the test' })
  })

  it('check the normal form of a path', async () => {
    const policy = policyOf((path) => path === 'a')
    const { call } = await openTools([writes({ writes: ['x/../a'] })], { policy })
    expect(await call('test.write')).toEqual({ done: true })
  })

  it('are closed if the policy denies the command', async () => {
    const policy = policyOf(
      () => true,
      (argv) => argv.join(' ') === 'npm test',
    )
    expect(await (await openTools([runs(['npm', 'test'])], { policy })).call('test.run')).toEqual({ done: true })
    const other = await openTools([runs(['npm', 'test', '&&'])], { policy })
    expect(await failureOf(other.call('test.run'))).toMatchObject({ kind: 'denied' })
  })

  it('are closed for a tool whose effect is read', async () => {
    const { call } = await openTools([
      toolOf('read', async ({ authorize }) => {
        await authorize({ writes: ['a'] })
        return {}
      }),
    ])
    expect(await failureOf(call('test.read'))).toMatchObject({ kind: 'denied' })
  })

  it('are closed for a program that a tool with the effect write starts, unless the policy allows it', async () => {
    const policy = policyOf(
      () => true,
      ([program]) => program === 'formatter',
    )
    const { call } = await openTools([writes({ argv: ['sh'] })], { policy })
    expect(await failureOf(call('test.write'))).toMatchObject({ kind: 'denied' })
    const other = await openTools([writes({ argv: ['formatter'] })], { policy })
    expect(await other.call('test.write')).toBeDefined()
  })

  it('ask for an approval with the intent, and close if it is refused', async () => {
    const { call } = await openTools([writes({ writes: ['a'], diff: 'the diff' })])
    const approve = vi.fn<(intent: Intent) => Promise<boolean>>(async () => false)
    expect(await failureOf(call('test.write', {}, { approve }))).toMatchObject({ kind: 'approval_refused' })
    expect(approve.mock.calls[0]?.[0]).toEqual({ writes: ['a'], diff: 'the diff' })
  })

  it('ask nobody if the policy denies the effect', async () => {
    const { call } = await openTools([writes({ writes: ['a'] })], { policy: policyOf(() => false) })
    const approve = vi.fn<() => Promise<boolean>>(async () => true)
    expect(await failureOf(call('test.write', {}, { approve }))).toMatchObject({ kind: 'denied' })
    expect(approve).not.toHaveBeenCalled()
  })

  it('are closed if the policy changed while an approval was pending', async () => {
    let isAllowed = true
    const { call } = await openTools([writes({ writes: ['a'] })], { policy: policyOf(() => isAllowed) })
    const approve = async () => {
      isAllowed = false
      return true
    }
    expect(await failureOf(call('test.write', {}, { approve }))).toMatchObject({ kind: 'denied' })
  })

  it('do not count the time of an approval', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
    onTestFinished(() => void vi.useRealTimers())
    const { call } = await openTools([writes({ writes: ['a'] })], { limits: { timeoutMs: 200 } })
    const approve = vi.fn<NonNullable<ToolCall['approve']>>(async () => {
      await vi.advanceTimersByTimeAsync(400)
      return true
    })
    expect(await call('test.write', {}, { approve })).toEqual({ done: true })
  })

  it('close when the call is cancelled while an approval is pending', async () => {
    const { call } = await openTools([writes({ writes: ['a'] })])
    const controller = new AbortController()
    const approve = () => {
      controller.abort()
      return new Promise<boolean>(() => {})
    }
    expect(await failureOf(call('test.write', {}, { approve, signal: controller.signal }))).toEqual({
      kind: 'cancelled',
    })
  })

  it('are closed after the end of the call', async () => {
    let late: ToolContext['authorize'] | undefined
    const { call } = await openTools([
      toolOf('write', async ({ authorize }) => {
        late = authorize
        return {}
      }),
    ])
    await call('test.write')
    await expect(late?.({ writes: ['a'] })).rejects.toThrow(ToolError)
  })
})

describe('the audit line', () => {
  it('names caller, tool and outcome once, without contents', async () => {
    const { call, log } = await openTools([writes({ writes: ['src/a.ts'], diff: 'secret contents' })])
    await call('test.write', { path: 'b.ts' })
    expect(log.lines).toHaveLength(1)
    const [line] = log.lines
    expect(line).toMatchObject({
      level: 'info',
      message: 'tool call',
      fields: { tool: 'test.write', session: 'test-id', caller: 'test', paths: ['b.ts', 'src/a.ts'], outcome: 'ok' },
    })
    expect(line?.fields['ms']).toBeTypeOf('number')
    expect(JSON.stringify(log.lines)).not.toContain('secret')
  })

  it('has the paths of a write that was denied before the work was done', async () => {
    const early = toolOf('write', async ({ permit }) => {
      await permit({ writes: ['secret.key'] })
      return {}
    })
    const { call, log } = await openTools([early], { policy: policyOf(() => false) })
    await failureOf(call('test.write'))
    expect(log.lines[0]?.fields).toMatchObject({ paths: ['secret.key'], outcome: 'denied' })
  })

  it('is written for a refused call too', async () => {
    const { call, log } = await openTools([toolOf('read', async () => ({}))])
    await failureOf(call('test.read', { other: 1 }))
    expect(log.lines.map(({ fields }) => fields['outcome'])).toEqual(['invalid_arguments'])
  })
})

it('lists the tool of the first source that has a name', async () => {
  const first = toolOf('read', async () => ({ from: 'first' }))
  const second = toolOf('read', async () => ({ from: 'second' }))
  const { call, tools, session } = await openTools([first, second])
  expect(tools.list(session)).toEqual([first])
  expect(await call('test.read')).toEqual({ from: 'first' })
})

const greeting = (provider: string, identity?: string): Tool => ({
  name: 'greet',
  description: '',
  parameters: { type: 'object' },
  effect: 'read',
  provider,
  asks: 'never',
  ...(identity !== undefined && { identity }),
  run: async () => ({ from: provider }),
})

it('a name stays with the program that had it, and a tool of another program with that name is there too', async () => {
  const given: Tool[] = []
  const { tools, session, call } = await openTools(given)
  const names = (): readonly string[] => tools.list(session).map(({ name }) => name)
  given.push(greeting('one'))
  expect(names()).toEqual(['greet'])
  given.push(greeting('two'))
  const [, second = ''] = names()
  expect(second).toMatch(/^greet_[0-9a-f]{8}$/)
  expect(await call(second)).toEqual({ from: 'two' })
  given.shift()
  expect(names()).toEqual([second])
  expect(await failureOf(call('greet'))).toMatchObject({ kind: 'failed' })
  given.push(greeting('one'))
  expect(await call('greet')).toEqual({ from: 'one' })
})

it('a call with the identity of an earlier tool runs no other one', async () => {
  const { call } = await openTools([greeting('one', 'new')])
  expect(await failureOf(call('greet', {}, { identity: 'old' }))).toMatchObject({ kind: 'failed' })
  expect(await call('greet', {}, { identity: 'new' })).toEqual({ from: 'one' })
})
