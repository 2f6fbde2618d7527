import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import { runProgram } from '../../src/commands/program.ts'
import type { CommandContext } from '../../src/commands/shared/command.ts'
import { createKnownSecrets } from '../../src/redaction/known-secrets.ts'
import { createStyle } from '../../src/terminal/output.ts'
import { startCopilot } from '../upstreams/copilot.ts'
import type { CopilotOptions, CopilotUpstream } from '../upstreams/copilot.ts'
import type { Output } from '../../src/terminal/output.ts'

const mainFile = fileURLToPath(new URL('../../bin/copilot-proxy.cjs', import.meta.url))

interface Ran {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

export interface TestUser {
  /** Of this user alone; empty at first, removed after the test. */
  readonly home: string
  readonly env: Record<string, string | undefined>
  /** What a command may touch, all of it of this test; `change` replaces parts. */
  readonly context: (change?: Partial<CommandContext>) => CommandContext
  /** Runs a command line in this process, as the user would in a shell; `change` replaces parts of the context. */
  readonly run: (commandLine: string, change?: Partial<CommandContext>) => Promise<Ran>
}

/** A user with an empty home, whose GitHub is the simulated one when it is given. */
export async function createUser(github?: CopilotUpstream): Promise<TestUser> {
  const home = await mkdtemp(join(tmpdir(), 'copilot-proxy-'))
  onTestFinished(() => rm(home, { recursive: true }))
  const env: Record<string, string | undefined> = {
    COPILOT_PROXY_HOME: home,
    // Nothing listens there: a daemon of whoever runs the tests is not asked.
    COPILOT_PROXY_SERVER_PORT: '2',
    ...(github !== undefined && githubVariables(github)),
  }
  const context: TestUser['context'] = (change = {}) => ({
    env,
    workingDir: () => home,
    homeDir: () => home,
    platform: 'linux',
    stdout: recordOutput(),
    stderr: recordOutput(),
    stdin: (async function* () {})(),
    interactive: false,
    signal: new AbortController().signal,
    fetch: (...args) => fetch(...args),
    prepareFetch: () => Promise.resolve(),
    // Waits cost no time; the simulated GitHub answers by count, not by clock.
    sleep: (_ms, signal) => {
      signal.throwIfAborted()
      return Promise.resolve()
    },
    self: [process.execPath, mainFile],
    pid: process.pid,
    now: Date.now,
    version: '0.0.0-test',
    nodeVersion: process.version,
    secrets: createKnownSecrets(),
    ...change,
  })
  return {
    home,
    env,
    context,
    run: async (commandLine, change = {}) => {
      const stdout = recordOutput()
      const stderr = recordOutput()
      const argv = commandLine.split(' ').filter((word) => word !== '')
      const code = await runProgram(argv, context({ stdout, stderr, ...change }))
      return { code, stdout: stdout.text(), stderr: stderr.text() }
    },
  }
}

/** The variables that point a copilot-proxy at the simulated GitHub. */
export function githubVariables({ url }: CopilotUpstream): Record<string, string> {
  return { COPILOT_PROXY_COPILOT_OAUTH_GITHUB_BASE_URL: url, COPILOT_PROXY_COPILOT_OAUTH_GITHUB_API_BASE_URL: url }
}

/** The variables with which a copilot-proxy serves from the simulated Copilot, as a logged-in user. */
export function upstreamVariables(upstream: CopilotUpstream): Record<string, string> {
  return {
    COPILOT_GITHUB_TOKEN: upstream.tokens.issueGithub(),
    COPILOT_PROXY_COPILOT_BASE_URL: upstream.url,
    ...githubVariables(upstream),
  }
}

/** A simulated GitHub and Copilot for one test. */
export async function openGithub(options: CopilotOptions = {}): Promise<CopilotUpstream> {
  const github = await startCopilot(options)
  onTestFinished(() => github.close())
  return github
}

export function recordOutput(columns = Infinity): Output & { readonly text: () => string } {
  const written: string[] = []
  return {
    write: (text) => void written.push(text),
    columns,
    isTerminal: false,
    hasColors: false,
    style: createStyle(false),
    text: () => written.join(''),
  }
}

/** Standard input that holds this text. */
export async function* inputOf(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text)
}
