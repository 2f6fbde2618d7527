import { vi } from 'vitest'
import { openProxy } from '../http/harness.ts'
import { parseEvents } from '../sessions/support.ts'
import { makeFolder } from '../tools/session.ts'

export interface Approval {
  readonly approvalId: string
  readonly tool: string
  readonly state: string
  readonly [field: string]: unknown
}

interface Report {
  readonly state: string
  readonly outcome?: string
  readonly approvals: readonly Approval[]
  readonly steps: readonly { readonly calls: readonly Readonly<Record<string, unknown>>[] }[]
}

/** More than a busy machine needs. */
const waiting = { timeout: 60_000, interval: 20 }

const key = 'key-of-this-test-0123456789'

/** Starts a daemon with a workspace that may be changed, and talks to its agent over HTTP as the key that made the runs. */
export async function openAgentDaemon(files: Readonly<Record<string, string>>, settings: object = {}) {
  const root = await makeFolder(files)
  const fileOf = (more: object): string =>
    JSON.stringify({ workspaces: [root], workspace: { 'read-only': false }, server: { 'api-keys': [key] }, ...more })
  const proxy = await openProxy({ file: fileOf(settings), proxies: { PATH: process.env['PATH'] ?? '' } })
  const ask = async (path: string, body?: object) =>
    proxy.send(path, {
      headers: { authorization: `Bearer ${key}` },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
  const sessionId = ((await ask('/sessions')).json() as { sessions: { id: string }[] }).sessions[0]?.id ?? ''

  /** Starts a run. `steps` is the script of the simulated model. */
  async function start(steps: readonly object[], mode: 'agent' | 'chat' = 'agent') {
    const text = `Do it. [demo:script ${JSON.stringify(steps)}]`
    const { id } = (await ask('/message', { text, mode, sessionId, queue: true })).json() as { id: string }
    const report = async () => (await ask(`/runs/${id}`)).json() as Report
    const seen = new Set<string>()
    return {
      report,
      /** Returns the next approval that waits, or undefined if the run ends without one. */
      async approval(): Promise<Approval | undefined> {
        return vi.waitFor(async () => {
          const { approvals, state } = await report()
          const next = approvals.find((each) => each.state === 'pending' && !seen.has(each.approvalId))
          if (next === undefined && state !== 'ended') throw new Error('no approval yet')
          if (next !== undefined) seen.add(next.approvalId)
          return next
        }, waiting)
      },
      decide: (approval: Approval | undefined, decision: 'once' | 'run' | 'refuse') =>
        ask(`/approvals/${approval?.approvalId ?? 'none'}`, { decision }),
      /** Returns the outcome of each call, in order, when the run has ended. */
      async outcomes(): Promise<readonly unknown[]> {
        const ended = await vi.waitFor(async () => {
          const found = await report()
          if (found.state !== 'ended') throw new Error('the run goes on')
          return found
        }, waiting)
        return ended.steps.flatMap(({ calls }) => calls.map(({ outcome }) => outcome))
      },
    }
  }

  /** Returns the events of the session so far. */
  async function events() {
    const stop = new AbortController()
    const response = await fetch(`${proxy.daemon.url}/events?session=${sessionId}`, {
      headers: { authorization: `Bearer ${key}`, 'last-event-id': '0' },
      signal: stop.signal,
    })
    let text = ''
    const decoder = new TextDecoder()
    for await (const chunk of response.body ?? []) {
      text += decoder.decode(chunk, { stream: true })
      if (text.includes('event: done')) break
    }
    stop.abort()
    return parseEvents(text)
  }

  /** Resolves when the workspace has a tool. */
  const listed = (name: string): Promise<void> =>
    vi.waitFor(async () => {
      const { sessions } = (await ask('/sessions')).json() as { sessions: { tools: string[] }[] }
      if (sessions[0]?.tools.includes(name) !== true) throw new Error(`no tool ${name} yet`)
    }, waiting)

  return {
    root,
    url: proxy.daemon.url,
    key,
    listed,
    start,
    events,
    configure: (more: object) => proxy.daemon.reconfigure(proxy.configure(fileOf(more))),
    demo: proxy.demo,
    sessionId,
  }
}

export const call = (tool: string, args: object) => ({ calls: [{ tool, args }] })
export const patch = (unifiedDiff: string) => call('edit_applyPatch', { unifiedDiff })
