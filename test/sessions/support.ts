import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import type { ApprovalDecision } from '../../src/api/run.ts'
import type { AgentOutcome, AgentTask } from '../../src/agent/agent-task.ts'
import type { Caller, CallerKey } from '../../src/config/caller.ts'
import type { Config } from '../../src/config/schema.ts'
import { createKnownSecrets } from '../../src/redaction/known-secrets.ts'
import { openSessions, type SessionsDeps } from '../../src/sessions/open-sessions.ts'
import type { Page } from '../../src/sessions/session-store.ts'
import type { NewMessage, Sessions } from '../../src/sessions/sessions.ts'
import type { Session } from '../../src/tools/session.ts'
import { openFolder } from '../../src/workspace/open-folder.ts'
import { loaded } from '../config/loading.ts'
import { recordingLog } from '../recording-log.ts'
import { makeFolder, policyOf } from '../tools/session.ts'

export interface HeardEvent {
  readonly id: number
  readonly type: string
  readonly data: Readonly<Record<string, unknown>>
}

/** An agent of a test. It returns the fields that differ from the outcome of a run without effects. */
export type TestAgent = (task: AgentTask) => Promise<Partial<AgentOutcome>>

const nothingDone: AgentOutcome = {
  outcome: 'completed',
  reason: 'Done.',
  summary: 'No file was changed.',
  answer: 'Hello',
  files: [],
  steps: 1,
  requests: 1,
  usage: { inputTokens: 3, outputTokens: 2, cachedInputTokens: 0 },
  context: undefined,
  model: 'test-model',
  items: [],
}

/** An agent that ends only when its run is cancelled. */
export const waitingAgent: TestAgent = async ({ signal }) => {
  if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
  return { outcome: 'cancelled', reason: 'The run was cancelled.' }
}

export function parseEvents(text: string): readonly HeardEvent[] {
  return text.split('\n\n').flatMap((block) => {
    const found = /^id: (\d+)\nevent: (\w+)\ndata: ([^\n]*)$/.exec(block)
    return found === null ? [] : [{ id: Number(found[1]), type: found[2] ?? '', data: JSON.parse(found[3] ?? '') }]
  })
}

type Sink = Parameters<Sessions['listen']>[0]
type ListenOptions = Parameters<Sessions['listen']>[1]

export interface Ear {
  readonly events: HeardEvent[]
  /** Resolves with the first matching event of this type, also with one from before the call. */
  readonly heard: (type: string, matches?: (event: HeardEvent) => boolean) => Promise<HeardEvent>
  readonly end: () => void
}

/** The owner of the daemon. */
export const owner: Caller = { key: undefined, isOwner: true }

/** A key of the configuration. */
export function keyOf(name: string): Caller & { readonly key: CallerKey } {
  return { key: { name, id: `id-of-key-${name}` }, isOwner: false }
}

/** Collects the events of sessions. @param options without a caller, the owner listens */
export function listenTo(
  sessions: { readonly listen: (sink: Sink, options: Partial<ListenOptions>) => ReturnType<Sessions['listen']> },
  options: Partial<ListenOptions> = {},
): Ear {
  const events: HeardEvent[] = []
  let waiting: (() => void)[] = []
  const listening = sessions.listen(({ bytes }) => {
    events.push(...parseEvents(bytes.toString()))
    const woken = waiting
    waiting = []
    for (const wake of woken) wake()
    return true
  }, options)
  return {
    events,
    end: listening.end,
    async heard(type, matches = () => true) {
      for (;;) {
        const found = events.find((event) => event.type === type && matches(event))
        if (found !== undefined) return found
        await new Promise<void>((resolve) => waiting.push(resolve))
      }
    },
  }
}

export interface TestSessionsOptions extends Partial<SessionsDeps> {
  readonly agent?: TestAgent
  /** Text of the configuration file. */
  readonly settings?: string
  readonly names?: readonly string[]
}

/** Returns the path of a database in a new folder. */
export async function newFile(): Promise<string> {
  return join(await makeFolder(), 'data', 'sessions.db')
}

/** Opens the sessions of some workspaces, with an agent of the test instead of the real one. */
export async function openTestSessions({
  agent = async () => ({}),
  settings = '',
  names = ['app'],
  ...deps
}: TestSessionsOptions = {}) {
  let config: Config = loaded({ file: settings }).config
  const log = recordingLog()
  let open: (Session & { readonly controller: AbortController })[] = []
  const listeners = new Set<() => void>()
  for (const name of names) {
    const controller = new AbortController()
    const folder = await openFolder(await makeFolder())
    open.push({
      id: `id-of-${name}`,
      name,
      folder,
      policy: policyOf(() => true),
      signal: controller.signal,
      controller,
    })
  }
  let runs = 0
  let conversations = 0
  const sessions = openSessions({
    config: () => config,
    workspaces: {
      sessions: () => open,
      find: (name) => open.find((session) => session.id === name || session.name === name) ?? open[0],
      onChange(listener) {
        listeners.add(listener)
        return () => listeners.delete(listener)
      },
    },
    file: ':memory:',
    runAgent: async (task) => ({ ...nothingDone, ...(await agent(task)) }),
    defaultModel: async () => 'default-model',
    changes: async () => [],
    randomId: () => `run-${(runs += 1)}`,
    newConversationId: () => `conversation-${(conversations += 1)}`,
    now: Date.now,
    monotonicMs: () => performance.now(),
    setTimer(run, delayMs) {
      const timer = setTimeout(run, delayMs).unref()
      return () => clearTimeout(timer)
    },
    secrets: createKnownSecrets(),
    log,
    ...deps,
  })
  let isClosed = false
  const close = (): void => {
    if (!isClosed) sessions.close()
    isClosed = true
  }
  onTestFinished(async () => {
    if (!isClosed) await sessions.stop(1000)
    close()
  })
  return {
    ...sessions,
    // Without a caller, these are calls of the owner.
    cancel: (id: string, caller = owner) => sessions.cancel(id, caller),
    decide: (id: string, decision: ApprovalDecision, caller = owner) => sessions.decide(id, decision, caller),
    run: (id: string, caller = owner) => sessions.run(id, caller),
    messages: (id: string, page: Page, caller = owner) => sessions.messages(id, page, caller),
    openRuns: (id: string, caller = owner) => sessions.openRuns(id, caller),
    forget: (id: string, caller = owner) => sessions.forget(id, caller),
    streams: (id: string, caller = owner) => sessions.streams(id, caller),
    entries: (id: string, stream: string, page: Page, caller = owner) => sessions.entries(id, stream, page, caller),
    listen: (sink: Sink, options: Partial<ListenOptions> = {}) => sessions.listen(sink, { caller: owner, ...options }),
    recordCall: (id: string, line: Parameters<Sessions['recordCall']>[1], ownerId?: string) =>
      sessions.recordCall(id, line, ownerId),
    log,
    close,
    send: (text: string, change: Partial<NewMessage> = {}): string =>
      sessions.start({
        sessionId: 'id-of-app',
        text,
        mode: 'chat',
        queue: true,
        attachments: [],
        origin: 'user',
        key: undefined,
        ...change,
      }).id,
    configure(text: string): void {
      config = loaded({ file: text }).config
    },
    /** Removes a workspace from the configuration. */
    remove(name: string): void {
      const removed = open.filter((session) => session.name === name)
      open = open.filter((session) => session.name !== name)
      for (const { controller } of removed) controller.abort()
      for (const listener of listeners) listener()
    },
  }
}

/** Returns the problem of the Fault that a call throws. */
export function problemOf(act: () => unknown): unknown {
  try {
    act()
  } catch (error) {
    return error instanceof Error && 'error' in error ? (error.error as { problem?: unknown }).problem : error
  }
  throw new Error('not refused')
}
