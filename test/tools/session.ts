import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { onTestFinished } from 'vitest'
import { createTools, type RunLimits } from '../../src/tools/create-tools.ts'
import type { Session } from '../../src/tools/session.ts'
import type { Tool, ToolCall, ToolResult } from '../../src/tools/tool.ts'
import { openFolder } from '../../src/workspace/open-folder.ts'
import type { Decision, Policy } from '../../src/workspace/policy/policy.ts'
import { recordingLog } from '../recording-log.ts'

function decide(answer: boolean | 'open'): Decision {
  if (answer === 'open') return { isAllowed: false, isOpen: true, reason: 'open by the test' }
  return { isAllowed: answer, reason: answer ? 'allowed by the test' : 'denied by the test' }
}

/** Creates a policy from two predicates. */
export function policyOf(
  mayWrite: (path: string) => boolean | 'open',
  mayRun: (argv: readonly string[]) => boolean = () => false,
): Policy {
  return {
    mayWrite: async (path) => decide(mayWrite(path)),
    mayRun: async (argv) => decide(mayRun(argv)),
    describe: async () => ({
      files: [],
      unconfirmed: [],
      reads: { allow: [], deny: [], secrets: [] },
      writes: { allow: [], deny: [], protected: [] },
      shell: { allow: [], network: [] },
      always: [],
      problem: undefined,
    }),
    readRules: async () => ({
      decide: async () => ({ ...decide(true), isSecret: false }),
      deniedIn: async () => () => false,
      isDeniedByRoot: () => false,
    }),
    unconfirmed: async () => [],
    close: () => {},
  }
}

/** Creates a folder that is removed after the test. */
export async function makeFolder(files: Readonly<Record<string, string>> = {}): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'copilot-proxy-workspace-'))
  // A command that is being stopped may still write.
  onTestFinished(() => rm(dir, { recursive: true, force: true, maxRetries: 10 }))
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(dir, path)), { recursive: true })
    await writeFile(join(dir, path), text)
  }
  return dir
}

/** Creates a session and a registry of the given tools. */
export async function openTools(
  given: readonly Tool[],
  options: { readonly policy?: Policy; readonly limits?: Partial<RunLimits> } = {},
) {
  const controller = new AbortController()
  const session: Session = {
    id: 'test-id',
    name: 'test',
    folder: await openFolder(await makeFolder()),
    policy: options.policy ?? policyOf(() => true),
    signal: controller.signal,
  }
  const log = recordingLog()
  const limits = { maxFileBytes: 1024 * 1024, timeoutMs: 10_000, isReadOnly: false, ...options.limits }
  const tools = createTools({
    sources: [{ tools: () => given }],
    limits: () => limits,
    log,
    now: () => performance.now(),
  })
  return {
    session,
    tools,
    log,
    close: () => controller.abort(),
    call: (name: string, args: unknown = {}, more: Partial<ToolCall> = {}): Promise<ToolResult> =>
      tools.call({ session, name, args, caller: 'test', signal: new AbortController().signal, ...more }),
  }
}
