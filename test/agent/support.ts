import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import type { AgentEvent } from '../../src/agent/agent-event.ts'
import type { AgentSettings, AgentTask } from '../../src/agent/agent-task.ts'
import type { AgentDeps } from '../../src/agent/run-agent.ts'
import { createCodeTools } from '../../src/tools/code-tools.ts'
import { createCommandTools } from '../../src/tools/command-tools.ts'
import { createPlanTools } from '../../src/tools/plan-tools.ts'
import { createGitTools } from '../../src/tools/git-tools.ts'
import { createTools } from '../../src/tools/create-tools.ts'
import { createRegistryTools } from '../../src/tools/registry-tools.ts'
import type { Session } from '../../src/tools/session.ts'
import type { Tool } from '../../src/tools/tool.ts'
import { createWorkspaceTools } from '../../src/tools/workspace-tools.ts'
import { openFolder } from '../../src/workspace/open-folder.ts'
import { openJournal } from '../../src/workspace/patch/journal.ts'
import { openPolicy } from '../../src/workspace/policy/open-policy.ts'
import { openProxy } from '../http/harness.ts'
import { recordingLog } from '../recording-log.ts'
import { confirming } from '../workspace/policy/confirm.ts'
import { makeFolder } from '../tools/session.ts'

interface AgentOptions {
  readonly files?: Readonly<Record<string, string>>
  readonly mode?: AgentTask['mode']
  readonly text: string
  readonly settings?: Partial<AgentSettings>
  readonly approve?: AgentTask['approve']
  readonly deps?: Partial<AgentDeps>
  readonly history?: AgentTask['history']
  readonly knownInstructions?: AgentTask['knownInstructions']
  readonly attachments?: AgentTask['attachments']
  /** Tools besides those of the workspace. */
  readonly tools?: readonly Tool[]
}

const settings: AgentSettings = {
  model: 'gpt-5-mini',
  fallbackModels: [],
  protocol: 'auto',
  maxSteps: 30,
  maxMinutes: 20,
  maxCredits: 0,
  allowedRoots: ['*'],
  requireApproval: true,
}

/** Creates a task with a real folder, the real tools, and a real daemon in front of the simulated Copilot. */
export async function openAgent({
  files = {},
  mode = 'agent',
  text,
  settings: more,
  approve,
  deps: otherDeps,
  history = [],
  knownInstructions = new Map(),
  attachments = [],
  tools: otherTools = [],
}: AgentOptions) {
  const { daemon, demo, send } = await openProxy()
  const log = recordingLog()
  const root = await makeFolder(files)
  const folder = await openFolder(root)
  const policy = openPolicy(folder, { consents: confirming(folder.root), log })
  onTestFinished(policy.close)
  const closed = new AbortController()
  const session: Session = { id: 'test-id', name: 'test', folder, policy, signal: closed.signal }
  const journalDir = join(await makeFolder(), 'journal')
  const journal = await openJournal({ folder, dir: journalDir, now: Date.now })
  const tools = createTools({
    sources: [
      createWorkspaceTools({ journal: async () => journal }),
      createGitTools(),
      createPlanTools(),
      createCommandTools(),
      createCodeTools({ journal: async () => journal }),
      { tools: () => otherTools },
      createRegistryTools({
        sessions: () => [session],
        list: (each) => tools.list(each),
        isReadOnly: () => false,
      }),
    ],
    limits: () => ({ maxFileBytes: 4 * 1024 * 1024, timeoutMs: 60_000, isReadOnly: false }),
    log,
    now: () => performance.now(),
  })
  const deps: AgentDeps = {
    runTurn: daemon.runTurn,
    tools,
    modelFacts: () => ({ contextTokens: 128_000, hasToolCalls: true, seesImages: true }),
    now: () => performance.now(),
    setTimer(run, delayMs) {
      const timer = setTimeout(run, delayMs)
      return () => clearTimeout(timer)
    },
    randomId: randomUUID,
    log,
    ...otherDeps,
  }
  const events: AgentEvent[] = []
  const cancel = new AbortController()
  const task: AgentTask = {
    id: randomUUID(),
    session,
    mode,
    text,
    attachments,
    history,
    knownInstructions,
    settings: { ...settings, ...more },
    initiator: 'user',
    caller: 'agent:test',
    key: undefined,
    signal: cancel.signal,
    emit: (event) => events.push(event),
    approve: approve ?? (async () => 'once'),
  }
  return { deps, task, events, root, demo, send, log, journal, session, cancel: () => cancel.abort() }
}

/** Returns a prompt that makes the simulated model follow a script. */
export function scriptOf(...steps: readonly object[]): string {
  return `Do it. [demo:script ${JSON.stringify(steps)}]`
}

/** Returns a script step that answers in the JSON protocol. */
export function jsonStep(value: unknown): { readonly text: string } {
  return { text: `Here it is:\n\`\`\`json\n${JSON.stringify(value)}\n\`\`\`` }
}
